// What the machine did: from the kernel's events to records in order, and from those to the ops and
// files of a trace.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/observe/block-requests.h"
#include "record/observe/faults.h"
#include "record/observe/machine-spool.h"
#include "record/observe/observer.h"
#include "sealing-fixture.h"
#include "trace/spool-reader.h"

static struct ggs_machine_spool machine;
static struct ggs_outbox        outbox;

static int setup(void ** state) {
    struct ggs_error error;
    sealing_setup(state);
    if (ggs_machine_spool_open(&machine, f.directory, &error) != 0) fail_msg("%s", error.text);
    outbox = (struct ggs_outbox){.spool = &machine, .room = UINT64_MAX};
    return 0;
}

static int teardown(void ** state) {
    ggs_outbox_release(&outbox);
    ggs_machine_spool_close(&machine, NULL);
    fixture_close(&f);
    return sealing_teardown(state);
}

// What the machine's stream holds, in order; `n` records of one type.
static void * records(uint32_t type, size_t bytes, size_t * n) {
    struct ggs_spool  spool;
    struct ggs_record record;
    char *            list = calloc(64, bytes);
    assert_non_null(list);
    ggs_machine_spool_close(&machine, NULL);
    assert_int_equal(ggs_spool_open(&spool, f.directory, NULL), 0);
    *n = 0;
    while (ggs_spool_stream_record(&spool.machine, &record)) {
        assert_int_equal(record.type, type);
        assert_int_equal(record.length, bytes);
        assert_true(*n < 64);
        memcpy(list + bytes * (*n)++, record.body, bytes);
    }
    ggs_spool_release(&spool);
    return list;
}

// ---- the stream ----

// The file grows while it is read: whatever part of the last record is there, it is not damage. A
// record that cannot be one is.
static void test_a_record_in_progress(void ** state) {
    (void) state;
    struct ggs_journal_fault fault = {.begin_ns = 5, .end_ns = 6, .pid = 7};
    struct ggs_record        record;
    struct ggs_spool         spool;
    char *                   path = scratch_path(f.directory, "machine-0000.seg");
    fixture_process(&f);
    for (unsigned i = 0; i < 2; i++) ggs_machine_spool_append(&machine, GGS_JOURNAL_FAULT, i, &fault, sizeof(fault));
    ggs_machine_spool_close(&machine, NULL);
    off_t whole = sizeof(struct ggs_journal_record) + sizeof(fault), first = sizeof(struct ggs_spool_header) + whole;
    for (off_t there = whole - 1; there >= 0; there--) {
        assert_int_equal(truncate(path, first + there), 0);
        assert_int_equal(ggs_spool_open(&spool, f.directory, NULL), 0);
        assert_true(ggs_spool_stream_record(&spool.machine, &record));
        assert_false(ggs_spool_stream_record(&spool.machine, &record));
        assert_int_equal(spool.machine.damaged, 0);
        ggs_spool_release(&spool);
    }
    static const uint32_t wrong[] = {8, 20, UINT32_MAX - 7};
    for (unsigned i = 0; i < 3; i++) {
        struct ggs_journal_record damaged = {.type = GGS_JOURNAL_FAULT, .bytes = wrong[i]};
        int                       fd      = open(path, O_WRONLY);
        assert_int_equal(pwrite(fd, &damaged, sizeof(damaged), first), sizeof(damaged));
        close(fd);
        assert_int_equal(ggs_spool_open(&spool, f.directory, NULL), 0);
        assert_true(ggs_spool_stream_record(&spool.machine, &record));
        assert_false(ggs_spool_stream_record(&spool.machine, &record));
        assert_int_equal(spool.machine.damaged, 1);
        ggs_spool_release(&spool);
    }
    free(path);
}

// ---- pairing ----

static void test_faults_are_paired_and_in_order(void ** state) {
    (void) state;
    static const struct ggs_event events[] = {
        {.ns = 100, .kind = GGS_EVENT_FAULT, .pid = 7, .os_thread = 1, .address = 0x5123}, // a long one
        {.ns = 110, .kind = GGS_EVENT_FAULT, .pid = 7, .os_thread = 2, .address = 0x6000},
        {.ns = 112, .kind = GGS_EVENT_MINOR, .pid = 7, .os_thread = 2, .address = 0x6000},
        {.ns = 120, .kind = GGS_EVENT_FAULT, .pid = 7, .os_thread = 2, .address = 0x7000}, // whose end is lost
        {.ns = 130, .kind = GGS_EVENT_FAULT, .pid = 7, .os_thread = 2, .address = 0x8000},
        {.ns = 140, .kind = GGS_EVENT_MAJOR, .pid = 7, .os_thread = 2, .address = 0x8000},
        {.ns = 150, .kind = GGS_EVENT_MAJOR, .pid = 7, .os_thread = 3, .address = 0x9000}, // whose begin is lost
        {.ns = 160, .kind = GGS_EVENT_MINOR, .pid = 7, .os_thread = 1, .address = 0x4000}, // of another one, likewise
        {.ns = 200, .kind = GGS_EVENT_MAJOR, .pid = 7, .os_thread = 1, .address = 0x5000}, // the page of its begin
        {.ns = 300, .kind = GGS_EVENT_FAULT, .pid = 7, .os_thread = 1, .address = 0xa000}, // the program ends in it
    };
    static const struct {
        uint64_t begin, end, kind;
    } expected[]             = {{100, 200, GGS_FAULT_MAJOR},
                                {110, 112, GGS_FAULT_MINOR},
                                {120, 0, GGS_FAULT_OPEN},
                                {130, 140, GGS_FAULT_MAJOR},
                                {300, 0, GGS_FAULT_OPEN}};
    struct ggs_faults faults = {0};
    size_t            n;
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        ggs_faults_add(&faults, &events[i], &outbox);
        uint64_t oldest = ggs_faults_oldest(&faults);
        ggs_outbox_flush(&outbox, oldest < events[i].ns ? oldest : events[i].ns);
        if (i == 5) assert_int_equal(oldest, 100);
    }
    assert_int_equal(ggs_faults_finish(&faults, &outbox), 0);
    ggs_outbox_flush(&outbox, UINT64_MAX);
    ggs_faults_close(&faults);
    struct ggs_journal_fault * list = records(GGS_JOURNAL_FAULT, sizeof(*list), &n);
    assert_int_equal(n, sizeof(expected) / sizeof(expected[0]));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(list[i].begin_ns, expected[i].begin);
        assert_int_equal(list[i].end_ns, expected[i].end);
        assert_int_equal(list[i].kind, expected[i].kind);
        assert_int_equal(list[i].pid, 7);
    }
    free(list);
}

// Two threads of a program on one CPU, and another program; thread 1 has the kernel's number 101.
static void test_switches_are_paired(void ** state) {
    (void) state;
    static const struct ggs_event events[] = {
        {.ns = 90, .kind = GGS_EVENT_RETURN, .pid = 7, .os_thread = 1}, // new
        {.ns = 99, .kind = GGS_EVENT_NEXT, .pid = 7, .os_thread = 1, .previous = 101, .next = 102},
        {.ns = 100, .kind = GGS_EVENT_LEAVE, .pid = 7, .os_thread = 1, .preempted = 1, .cpu = 3},
        {.ns = 100, .kind = GGS_EVENT_LEAVE, .pid = 7, .os_thread = 1, .preempted = 1, .source = 5}, // seen twice
        {.ns = 101, .kind = GGS_EVENT_RETURN, .pid = 7, .os_thread = 2},
        {.ns = 149, .kind = GGS_EVENT_NEXT, .pid = 7, .os_thread = 2, .previous = 102, .next = 900, .name = "cc1"},
        {.ns = 150, .kind = GGS_EVENT_LEAVE, .pid = 7, .os_thread = 2, .preempted = 1},
        {.ns = 160, .kind = GGS_EVENT_RETURN, .pid = 7, .os_thread = 1},
        {.ns = 160, .kind = GGS_EVENT_RETURN, .pid = 7, .os_thread = 1, .source = 5},
        {.ns = 170, .kind = GGS_EVENT_RETURN, .pid = 7, .os_thread = 2},
        {.ns = 179, .kind = GGS_EVENT_NEXT, .pid = 7, .os_thread = 2, .previous = 102, .next = 0, .name = "swapper/1"},
        {.ns = 180, .kind = GGS_EVENT_LEAVE, .pid = 7, .os_thread = 2},
        {.ns = 190, .kind = GGS_EVENT_RETURN, .pid = 7, .os_thread = 2},
        {.ns = 200, .kind = GGS_EVENT_LEAVE, .pid = 7, .os_thread = 2}, // nobody told who came
        {.ns = 250, .kind = GGS_EVENT_LEAVE, .pid = 7, .os_thread = 2}, // the return between was lost
        {.ns = 260, .kind = GGS_EVENT_RETURN, .pid = 7, .os_thread = 2},
        {.ns = 300, .kind = GGS_EVENT_LEAVE, .pid = 7, .os_thread = 1}, // it ends
    };
    static const struct {
        uint64_t     begin, end;
        uint32_t     os_thread, kind, other;
        const char * name;
    } expected[] = {{100, 160, 1, GGS_OFF_CPU_PREEMPTED, GGS_OTHER_OWN, ""},
                    {150, 170, 2, GGS_OFF_CPU_PREEMPTED, GGS_OTHER_PROGRAM, "cc1"},
                    {180, 190, 2, GGS_OFF_CPU_BLOCKED, GGS_OTHER_IDLE, ""},
                    {250, 260, 2, GGS_OFF_CPU_BLOCKED, GGS_OTHER_UNSEEN, ""}};
    struct ggs_switches switches;
    size_t              n;
    assert_true(ggs_switches_init(&switches));
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) ggs_switches_add(&switches, &events[i], &outbox);
    assert_int_equal(switches.lost, 1);
    ggs_outbox_flush(&outbox, UINT64_MAX);
    ggs_switches_release(&switches);
    struct ggs_journal_off_cpu * list = records(GGS_JOURNAL_OFF_CPU, sizeof(*list), &n);
    assert_int_equal(n, sizeof(expected) / sizeof(expected[0]));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(list[i].begin_ns, expected[i].begin);
        assert_int_equal(list[i].end_ns, expected[i].end);
        assert_int_equal(list[i].os_thread, expected[i].os_thread);
        assert_int_equal(list[i].kind, expected[i].kind);
        assert_int_equal(list[i].other, expected[i].other);
        assert_string_equal(list[i].name, expected[i].name);
    }
    assert_int_equal(list[0].cpu, 3);
    free(list);
}

static void test_requests_are_paired(void ** state) {
    (void) state;
    static const struct ggs_event events[] = {
        {.ns = 10, .kind = GGS_EVENT_ISSUE, .device = 1, .sector = 8, .bytes = 4096, .os_thread = 5},
        {.ns = 11, .kind = GGS_EVENT_ISSUE, .device = 2, .sector = 8, .bytes = 8192, .write = 1}, // another disk
        {.ns = 12, .kind = GGS_EVENT_REQUEUE, .device = 1, .sector = 8, .bytes = 4096},           // put back
        {.ns = 13, .kind = GGS_EVENT_ISSUE, .device = 1, .sector = 8, .bytes = 4096},             // and issued again
        {.ns = 20, .kind = GGS_EVENT_COMPLETE, .device = 2, .sector = 8, .bytes = 4096},          // its first half
        {.ns = 21, .kind = GGS_EVENT_COMPLETE, .device = 3, .sector = 8, .bytes = 4096},          // nobody's
        {.ns = 30, .kind = GGS_EVENT_COMPLETE, .device = 2, .sector = 16, .bytes = 4096},
        {.ns = 40, .kind = GGS_EVENT_COMPLETE, .device = 1, .sector = 8, .bytes = 4096},
    };
    struct ggs_block_requests requests = {0};
    size_t                    n;
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        ggs_block_requests_add(&requests, &events[i], &outbox);
    assert_int_equal(ggs_block_requests_oldest(&requests), UINT64_MAX);
    ggs_outbox_flush(&outbox, UINT64_MAX);
    ggs_block_requests_close(&requests);
    struct ggs_journal_request * list = records(GGS_JOURNAL_REQUEST, sizeof(*list), &n);
    assert_int_equal(n, 2);
    assert_int_equal(list[0].begin_ns, 10);
    assert_int_equal(list[0].end_ns, 40);
    assert_int_equal(list[0].os_thread, 5);
    assert_int_equal(list[1].begin_ns, 11);
    assert_int_equal(list[1].end_ns, 30);
    assert_int_equal(list[1].bytes, 8192);
    assert_int_equal(list[1].write, 1);
    free(list);
}

// The same place is read again and again, and the end of the first time is not seen: it is a
// request of its own.
static void test_a_request_whose_end_is_not_seen(void ** state) {
    (void) state;
    static const struct ggs_event events[] = {
        {.ns = 10, .kind = GGS_EVENT_ISSUE, .device = 1, .sector = 8, .bytes = 4096},
        {.ns = 50, .kind = GGS_EVENT_ISSUE, .device = 1, .sector = 8, .bytes = 4096},
        {.ns = 60, .kind = GGS_EVENT_COMPLETE, .device = 1, .sector = 8, .bytes = 4096},
        {.ns = 70, .kind = GGS_EVENT_ISSUE, .device = 1, .sector = 16, .bytes = 4096},
        {.ns = 80, .kind = GGS_EVENT_ISSUE, .device = 1, .sector = 24, .bytes = 4096},
    };
    struct ggs_block_requests requests = {0};
    size_t                    n;
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        ggs_block_requests_add(&requests, &events[i], &outbox);
    assert_int_equal(ggs_block_requests_oldest(&requests), 70);
    ggs_block_requests_expire(&requests, 75, &outbox);
    assert_int_equal(ggs_block_requests_oldest(&requests), 80);
    ggs_outbox_flush(&outbox, UINT64_MAX);
    ggs_block_requests_close(&requests);
    struct ggs_journal_request * list = records(GGS_JOURNAL_REQUEST, sizeof(*list), &n);
    assert_int_equal(n, 3);
    assert_int_equal(list[2].begin_ns, 70);
    assert_int_equal(list[2].end_ns, 0);
    assert_int_equal(list[0].begin_ns, 10);
    assert_int_equal(list[0].end_ns, 0);
    assert_int_equal(list[1].begin_ns, 50);
    assert_int_equal(list[1].end_ns, 60);
    free(list);
}

static void test_a_full_spool_is_counted(void ** state) {
    (void) state;
    struct ggs_journal_fault fault = {.begin_ns = 1, .end_ns = 2};
    size_t                   n;
    outbox.room = 3 * (sizeof(struct ggs_journal_record) + sizeof(fault)) - 1;
    for (int i = 0; i < 5; i++) ggs_outbox_fault(&outbox, &fault);
    ggs_outbox_flush(&outbox, UINT64_MAX);
    assert_int_equal(outbox.refused_faults, 3);
    free(records(GGS_JOURNAL_FAULT, sizeof(fault), &n));
    assert_int_equal(n, 2);
}

static void test_fields_of_a_trace_point(void ** state) {
    (void) state;
    static const struct ggs_trace_format format = {
        .text = "name: block_rq_issue\nID: 1\nformat:\n"
                "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
                "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
                "\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n"
                "\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n"
                "\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n"
                "\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n"
                "\tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;\n"};
    static const struct {
        const char * name;
        uint32_t     offset, size;
    } fields[] = {{"dev", 8, 4},    {"sector", 16, 8},     {"nr_sector", 24, 4},
                  {"rwbs", 34, 10}, {"common_type", 0, 2}, {"absent", 0, 0}};
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        struct ggs_trace_field field = ggs_trace_format_field(&format, fields[i].name);
        assert_int_equal(field.offset, fields[i].offset);
        assert_int_equal(field.size, fields[i].size);
    }
}

// ---- a program, watched ----

enum { TOUCHED = 5000, PAGE = 4096 };

// What the watched program does: touches fresh pages one by one, and tells where they are.
static int touch(void) {
    char * memory = mmap(NULL, (size_t) TOUCHED * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, (size_t) TOUCHED * PAGE, MADV_NOHUGEPAGE) != 0) return 1;
    for (size_t i = 0; i < TOUCHED; i++) ((volatile char *) memory)[i * PAGE + i % PAGE] = 1;
    return write(STDOUT_FILENO, &memory, sizeof(memory)) == sizeof(memory) ? 0 : 1;
}

static pid_t start(const char * self, int gate[2], int told[2]) {
    assert_int_equal(pipe(gate), 0);
    assert_int_equal(pipe(told), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        dup2(told[1], STDOUT_FILENO);
        if (read(gate[0], &byte, 1) == 1) execl(self, self, "touch", NULL);
        _exit(1);
    }
    assert_true(child > 0);
    return child;
}

static void test_every_fault_of_a_program_is_seen(void ** state) {
    (void) state;
    struct ggs_error      error;
    struct ggs_observer * watch;
    int                   gate[2], told[2], status;
    uint64_t              base;
    if (ggs_faults_probe(&error) != 0) {
        print_message("%s\n", error.text);
        skip();
    }
    assert_int_equal(ggs_observer_new(&watch, &machine, UINT64_MAX, &error), 0);
    pid_t child = start("/proc/self/exe", gate, told);
    if (ggs_observer_faults(watch, child, true, &error) != 0) fail_msg("%s", error.text);
    assert_int_equal(ggs_observer_begin(watch, &error), 0);
    assert_int_equal(write(gate[1], "", 1), 1);
    assert_int_equal(read(told[0], &base, sizeof(base)), sizeof(base));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    ggs_observer_end(watch);
    for (int i = 0; i < 2; i++) close(gate[i]), close(told[i]);

    struct ggs_spool  spool;
    struct ggs_record record;
    uint64_t          seen = 0, last = 0;
    ggs_machine_spool_close(&machine, NULL);
    assert_int_equal(ggs_spool_open(&spool, f.directory, NULL), 0);
    while (ggs_spool_stream_record(&spool.machine, &record)) {
        if (record.type == GGS_JOURNAL_OFF_CPU) continue;
        assert_int_equal(record.type, GGS_JOURNAL_FAULT); // and no loss
        const struct ggs_journal_fault * fault = record.body;
        assert_true(fault->begin_ns >= last);
        last = fault->begin_ns;
        if (fault->pid != (uint32_t) child) continue; // a sanitizer starts processes of its own
        if (fault->address < base || fault->address >= base + (uint64_t) TOUCHED * PAGE) continue;
        assert_int_equal(fault->address, base + seen * PAGE + seen % PAGE);
        assert_int_equal(fault->kind, GGS_FAULT_MINOR);
        assert_true(fault->end_ns > fault->begin_ns);
        seen++;
    }
    assert_int_equal(seen, TOUCHED);
    ggs_spool_release(&spool);
}

// ---- sealing ----

enum { PID = 4711 };

static void add_fault(uint64_t begin, uint64_t end, uint32_t os_thread, uint64_t address, uint32_t pid) {
    struct ggs_journal_fault fault = {.begin_ns  = FIXTURE_FIRST_NS + begin,
                                      .end_ns    = FIXTURE_FIRST_NS + end,
                                      .address   = address,
                                      .pid       = pid,
                                      .os_thread = os_thread,
                                      .kind      = GGS_FAULT_MINOR};
    ggs_machine_spool_append(&machine, GGS_JOURNAL_FAULT, fault.begin_ns, &fault, sizeof(fault));
}

static void add_request(uint64_t begin, uint64_t end, uint32_t os_thread, uint64_t device, uint64_t sector,
                        uint64_t bytes) {
    struct ggs_journal_request request = {.begin_ns  = FIXTURE_FIRST_NS + begin,
                                          .end_ns    = FIXTURE_FIRST_NS + end,
                                          .sector    = sector,
                                          .bytes     = bytes,
                                          .device    = device,
                                          .os_thread = os_thread};
    ggs_machine_spool_append(&machine, GGS_JOURNAL_REQUEST, request.begin_ns, &request, sizeof(request));
}

// Two runs of the tiny graph, each on the threads 900 and 901: ops of thread 0 begin at 1100 + 200
// k and 3200 + 200 k and take 100.
static void two_runs(void) {
    static const int32_t prompt[] = {11, 22, 33}, token[] = {44};
    fixture_process(&f);
    fixture_record(&f, GGS_JOURNAL_FILE, NULL, 0, "/models/some.gguf");
    fixture_record(&f, GGS_JOURNAL_MAPS, NULL, 0, "100000 200000 3000 /models/some.gguf\n300000 400000 0 /etc/other\n");
    fixture_advance(&f, 500);
    tiny_graph(&f, 1);
    fixture_advance(&f, 500);
    fixture_decode(&f, 1, 0xc0, 3, prompt, 0, 5, 1);
    for (uint32_t i = 0; i < 2; i++) {
        fixture_lane(&f, i, 0, i);
        fixture_thread(&f, i, 900 + i);
    }
    tiny_run(&f, 1, 1, 1, 2, 0, 3, prompt, 0);
    fixture_decode_end(&f, 1, 0);
    fixture_decode(&f, 2, 0xc0, 1, token, 3, 5, 1);
    fixture_thread(&f, 1, 902); // the engine makes a new thread
    tiny_run(&f, 2, 1, 2, 2, 0, 1, token, 3);
    fixture_decode_end(&f, 2, 0);
    fixture_numbers(&f, GGS_JOURNAL_END, 0, 0, 0, 0, NULL);
}

static void test_faults_find_their_op(void ** state) {
    (void) state;
    static const struct {
        uint64_t begin;
        uint32_t os_thread;
        uint64_t address, run, node, file;
        int64_t  step;
    } cases[] = {
        {10, 900, 0x100010, 0, 0, 1, -1},   // while the model is loaded; a page of it
        {1050, 900, 0x999, 0, 0, 0, 0},     // in the run, before its first op
        {1100, 900, 0x1fffff, 1, 0, 1, 0},  // at an op's begin, at the mapping's end
        {1199, 900, 0x200000, 1, 0, 0, 0},  // its last nanosecond; behind the mapping
        {1200, 900, 0x100000, 0, 0, 1, 0},  // waits
        {1301, 901, 0x300010, 1, 1, 0, 0},  // the other thread; a file that is no part of the recording
        {1310, 905, 0x100000, 0, 0, 1, 0},  // a thread that computes nothing
        {1950, 901, 0x100000, 1, 6, 1, 0},  // the last op
        {2500, 900, 0x100000, 0, 0, 1, -1}, // between the runs
        {3450, 902, 0x100000, 2, 1, 1, 1},  // the new thread of the second run
        {3460, 901, 0x100000, 0, 0, 1, 1},  // the one that it replaced
        {9000, 900, 0x100000, 0, 0, 1, -1}, // after everything
    };
    enum { N = sizeof(cases) / sizeof(cases[0]) };
    struct ggs_seal_result result;
    size_t                 n;
    two_runs();
    for (size_t i = 0; i < N; i++) {
        add_fault(cases[i].begin, cases[i].begin + 7, cases[i].os_thread, cases[i].address, PID);
        add_fault(cases[i].begin, cases[i].begin + 7, cases[i].os_thread, cases[i].address, PID + 1); // not ours
    }
    struct ggs_journal_loss loss = {.reason = GGS_LOSS_FAULTS, .count = 17};
    ggs_machine_spool_append(&machine, GGS_JOURNAL_LOSS, FIXTURE_FIRST_NS + 9000, &loss, sizeof(loss));
    ggs_machine_spool_close(&machine, NULL);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, &result);
    assert_int_equal(result.lost + result.damaged, 0); // of the engine nothing is
    struct ggs_fault * rows = READ(reader, GGS_TABLE_FAULTS, ggs_fault, &n);
    assert_int_equal(n, N);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rows[i].begin_ns, cases[i].begin);
        assert_int_equal(rows[i].duration_ns, 7);
        assert_int_equal(rows[i].run, cases[i].run);
        assert_int_equal(rows[i].node, cases[i].node);
        assert_int_equal(rows[i].step, cases[i].step);
        assert_int_equal(rows[i].file, cases[i].file);
        if (rows[i].file != 0) assert_int_equal(rows[i].file_offset, cases[i].address - 0x100000 + 0x3000);
    }
    free(rows);
    struct ggs_loss * losses = READ(reader, GGS_TABLE_LOSSES, ggs_loss, &n);
    assert_int_equal(n, 1);
    assert_int_equal(losses[0].reason, GGS_LOSS_FAULTS);
    assert_int_equal(losses[0].count, 17);
    free(losses);
    ggs_reader_close(reader);
}

// A thread without a CPU stays at its op. A span that lasts over a whole run is told when it ends.
static void test_spans_without_a_cpu_find_their_op(void ** state) {
    (void) state;
    static const struct {
        uint64_t begin, end;
        uint32_t os_thread;
        uint64_t run, node;
        int64_t  step;
    } cases[] = {
        {1120, 1180, 900, 1, 0, 0}, // in an op
        {1250, 1290, 900, 0, 0, 0}, // waits for others
        {20, 1310, 901, 1, 1, 0},   // began long before
        {2100, 2500, 900, 0, 0, -1},
    };
    enum { N = sizeof(cases) / sizeof(cases[0]) };
    size_t n;
    two_runs();
    for (size_t i = 0; i < N; i++) {
        struct ggs_journal_off_cpu span = {.begin_ns  = FIXTURE_FIRST_NS + cases[i].begin,
                                           .end_ns    = FIXTURE_FIRST_NS + cases[i].end,
                                           .pid       = PID,
                                           .os_thread = cases[i].os_thread,
                                           .kind      = GGS_OFF_CPU_PREEMPTED,
                                           .other     = GGS_OTHER_PROGRAM,
                                           .cpu       = 2,
                                           .name      = "fifteen letters"};
        ggs_machine_spool_append(&machine, GGS_JOURNAL_OFF_CPU, span.end_ns, &span, sizeof(span));
        span.pid++; // not ours
        ggs_machine_spool_append(&machine, GGS_JOURNAL_OFF_CPU, span.end_ns, &span, sizeof(span));
    }
    ggs_machine_spool_close(&machine, NULL);
    struct ggs_reader *  reader = seal_and_open(&f, folder, NULL, NULL);
    struct ggs_off_cpu * rows   = READ(reader, GGS_TABLE_OFF_CPU, ggs_off_cpu, &n);
    assert_int_equal(n, N);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rows[i].begin_ns, cases[i].begin);
        assert_int_equal(rows[i].duration_ns, cases[i].end - cases[i].begin);
        assert_int_equal(rows[i].run, cases[i].run);
        assert_int_equal(rows[i].node, cases[i].node);
        assert_int_equal(rows[i].step, cases[i].step);
        assert_int_equal(rows[i].cpu, 2);
        assert_string_equal(ggs_reader_string(reader, rows[i].name), "fifteen letters");
    }
    free(rows);
    ggs_reader_close(reader);
}

// The buffers of a mapped model are freed, and then its mapping is: what lies at the addresses from
// then on is no part of the file, unless there is a buffer in it again.
static void test_addresses_that_are_used_again(void ** state) {
    static const struct {
        uint64_t begin, address, file[2]; // without and with that buffer
    } cases[] = {{5, 0x1ff000, {1, 1}},
                 {50, 0x1ff000, {1, 1}},
                 {150, 0x1ff000, {1, 1}},
                 {350, 0x1ff000, {0, 1}},
                 {350, 0x100000, {0, 1}}};
    enum { N = sizeof(cases) / sizeof(cases[0]) };
    static const struct ggs_journal_buffer mapped[] = {
        {1, 0x100000, 0x80000, 1, 1}, {2, 0x180000, 0x80000, 1, 1}, {3, 0x100000, 0x100000, 1, 1}};
    for (int again = 0; again < 2; again++) {
        size_t n;
        if (again) teardown(state), setup(state);
        fixture_process(&f);
        fixture_record(&f, GGS_JOURNAL_FILE, NULL, 0, "/models/some.gguf");
        for (int i = 0; i < 2; i++) fixture_record(&f, GGS_JOURNAL_BUFFER, &mapped[i], sizeof(mapped[i]), "CPU_Mapped");
        fixture_advance(&f, 20);
        fixture_record(&f, GGS_JOURNAL_MAPS, NULL, 0, "100000 200000 3000 /models/some.gguf\n");
        fixture_advance(&f, 80);
        fixture_numbers(&f, GGS_JOURNAL_BUFFER_FREE, 2, 0, 0, 0, NULL); // the other one keeps the mapping
        fixture_advance(&f, 100);
        fixture_numbers(&f, GGS_JOURNAL_BUFFER_FREE, 1, 0, 0, 0, NULL);
        fixture_advance(&f, 100);
        if (again) fixture_record(&f, GGS_JOURNAL_BUFFER, &mapped[2], sizeof(mapped[2]), "CPU_Mapped");
        fixture_advance(&f, 100);
        fixture_run_end(&f, 1); // both clocks, whose rate is not that of this machine's counter
        fixture_numbers(&f, GGS_JOURNAL_END, 0, 0, 0, 0, NULL);
        for (size_t i = 0; i < N; i++) add_fault(cases[i].begin, cases[i].begin + 7, 900, cases[i].address, PID);
        ggs_machine_spool_close(&machine, NULL);
        struct ggs_reader * reader = seal_and_open(&f, folder, NULL, NULL);
        struct ggs_fault *  rows   = READ(reader, GGS_TABLE_FAULTS, ggs_fault, &n);
        assert_int_equal(n, N);
        for (size_t i = 0; i < n; i++) assert_int_equal(rows[i].file, cases[i].file[again]);
        free(rows);
        ggs_reader_close(reader);
    }
}

// A disk 5 with two pieces of the file: bytes 4096.. of it at offset 8192, its first ones at 16384.
static enum ggs_disk_place fake_disk(void * context, const char * const * paths, size_t n_paths, uint64_t device,
                                     uint64_t offset, struct ggs_disk_piece * piece) {
    *(unsigned *) context += 1;
    assert_int_equal(n_paths, 1);
    assert_string_equal(paths[0], "/models/some.gguf");
    if (device != 5) return GGS_DISK_FOREIGN;
    *piece = (struct ggs_disk_piece){.length = offset < 8192 ? 8192 - offset : UINT64_MAX};
    if (offset >= 8192 && offset < 16384) *piece = (struct ggs_disk_piece){0, offset - 8192 + 4096, 16384 - offset};
    if (offset >= 16384 && offset < 20480) *piece = (struct ggs_disk_piece){0, offset - 16384, 20480 - offset};
    return offset >= 8192 && offset < 20480 ? GGS_DISK_FILE : GGS_DISK_OTHER;
}

static void test_requests_find_their_file(void ** state) {
    (void) state;
    unsigned                asked   = 0;
    struct ggs_seal_options options = {.size = sizeof(options), .disk = fake_disk, .disk_context = &asked};
    size_t                  n;
    two_runs();
    add_request(20, 90, 900, 5, 16, 4096);     // while the model is loaded
    add_request(1150, 1160, 77, 5, 8, 16384);  // by a thread of the kernel, from before the file over both pieces
    add_request(1160, 1170, 900, 6, 16, 4096); // another disk
    add_request(1170, 1180, 77, 5, 80, 4096);  // another file
    add_request(3210, 0, 900, 5, 32, 512);     // by the engine's thread; its end was not seen
    add_request(3220, 3221, 900, 5, 32, 1ull << 40);
    ggs_machine_spool_close(&machine, NULL);
    struct ggs_seal_result result;
    struct ggs_reader *    reader = seal_and_open(&f, folder, &options, &result);
    assert_int_equal(result.damaged, 1);
    static const struct ggs_block_request expected[] = {
        {.begin_ns = 20, .duration_ns = 70, .sector = 16, .bytes = 4096, .file = 1, .file_offset = 4096, .step = -1},
        {.begin_ns = 1150, .duration_ns = 10, .sector = 8, .bytes = 4096, .step = -1},
        {.begin_ns = 1150, .duration_ns = 10, .sector = 16, .bytes = 8192, .file = 1, .file_offset = 4096, .run = 1},
        {.begin_ns = 1150, .duration_ns = 10, .sector = 32, .bytes = 4096, .file = 1, .run = 1},
        {.begin_ns = 1170, .duration_ns = 10, .sector = 80, .bytes = 4096, .step = -1},
        {.begin_ns = 3210, .sector = 32, .bytes = 512, .file = 1, .run = 2, .step = 1},
    };
    struct ggs_block_request * rows = READ(reader, GGS_TABLE_BLOCK_REQUESTS, ggs_block_request, &n);
    assert_int_equal(n, sizeof(expected) / sizeof(expected[0]));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(rows[i].begin_ns, expected[i].begin_ns);
        assert_int_equal(rows[i].duration_ns, expected[i].duration_ns);
        assert_int_equal(rows[i].sector, expected[i].sector);
        assert_int_equal(rows[i].bytes, expected[i].bytes);
        assert_int_equal(rows[i].file, expected[i].file);
        assert_int_equal(rows[i].file_offset, expected[i].file_offset);
        assert_int_equal(rows[i].run, expected[i].run);
        assert_int_equal(rows[i].step, expected[i].step);
    }
    free(rows);
    ggs_reader_close(reader);
}

static void test_damage_is_counted(void ** state) {
    (void) state;
    struct ggs_seal_result result;
    uint64_t               short_body = 0;
    two_runs();
    ggs_machine_spool_append(&machine, GGS_JOURNAL_FAULT, FIXTURE_FIRST_NS, &short_body, sizeof(short_body));
    ggs_machine_spool_append(&machine, GGS_JOURNAL_REQUEST, FIXTURE_FIRST_NS, &short_body, sizeof(short_body));
    ggs_machine_spool_append(&machine, GGS_JOURNAL_GRAPH, FIXTURE_FIRST_NS, &short_body, sizeof(short_body));
    ggs_machine_spool_append(&machine, 12345, FIXTURE_FIRST_NS, &short_body, sizeof(short_body));
    add_fault(10, 11, 900, 0x100000, PID);
    ggs_machine_spool_close(&machine, NULL);
    struct ggs_reader * reader = seal_and_open(&f, folder, NULL, &result);
    assert_int_equal(result.damaged, 4);
    assert_int_equal(ggs_reader_rows(reader, GGS_TABLE_FAULTS), 1);
    ggs_reader_close(reader);
}

int main(int argc, char ** argv) {
    if (argc == 2 && strcmp(argv[1], "touch") == 0) return touch();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_record_in_progress, setup, teardown),
        cmocka_unit_test_setup_teardown(test_faults_are_paired_and_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_switches_are_paired, setup, teardown),
        cmocka_unit_test_setup_teardown(test_requests_are_paired, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_request_whose_end_is_not_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_full_spool_is_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_fields_of_a_trace_point, setup, teardown),
        cmocka_unit_test_setup_teardown(test_every_fault_of_a_program_is_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(test_faults_find_their_op, setup, teardown),
        cmocka_unit_test_setup_teardown(test_spans_without_a_cpu_find_their_op, setup, teardown),
        cmocka_unit_test_setup_teardown(test_addresses_that_are_used_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_requests_find_their_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damage_is_counted, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
