// Sealing while the recording goes on: whenever it is done and wherever it stops, the trace is the
// one that sealing at the end makes.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/system/file.h"
#include "trace-fixture.h"
#include "trace/format.h"
#include "trace/seal/incremental.h"
#include "trace/seal/spool-facts.h"

enum { RUNS = 9000, SLOTS = 2 };

// ---- a recording with everything that lanes may hold ----

struct story {
    struct spool_fixture     f;
    char *                   folder;
    int                      machine;    // -1: the kernel is not asked
    uint64_t                 told_ns;    // up to here
    unsigned                 seed;       // of what is told
    unsigned                 when;       // of when it is looked at
    struct ggs_incremental * background; // NULL: it is sealed at the end
    unsigned                 moments;    // how often it is looked at, in percent
    unsigned                 most;       // blocks that are sealed before it is killed
    uint32_t                 os_thread[SLOTS * 4];
};

static unsigned moment(struct story * s, unsigned n) {
    return (unsigned) rand_r(&s->when) % n;
}

static unsigned chance(struct story * s, unsigned n) {
    return (unsigned) rand_r(&s->seed) % n;
}

static void anchor(struct story * s, uint64_t * ticks, uint64_t * ns) {
    *ticks = s->f.ticks;
    *ns    = fixture_ns(&s->f) + chance(s, 80); // the jitter of reading two clocks
}

// Faults since the last call, in order: of threads that compute, of others, and of other programs.
static void tell_machine(struct story * s, unsigned most) {
    uint64_t now = fixture_ns(&s->f);
    for (unsigned n = chance(s, most + 1); s->machine >= 0 && n > 0; n--) {
        s->told_ns += chance(s, (unsigned) (now - s->told_ns) / n + 1);
        uint32_t thread = s->os_thread[chance(s, SLOTS * 4)];
        struct {
            struct ggs_journal_record header;
            struct ggs_journal_fault  body;
        } fault = {{GGS_JOURNAL_FAULT, sizeof(fault), s->told_ns},
                   {.begin_ns  = s->told_ns,
                    .end_ns    = s->told_ns + 100,
                    .address   = 0x1000,
                    .pid       = chance(s, 10) == 0 ? 1 : 4711,
                    .os_thread = chance(s, 5) == 0 ? 5 : thread,
                    .kind      = GGS_FAULT_MAJOR}};
        assert_int_equal(write(s->machine, &fault, sizeof(fault)), sizeof(fault));
    }
    s->told_ns = now;
}

static void look(struct story * s) {
    struct ggs_error error;
    uint64_t         late = moment(s, 2) * moment(s, 30000000);
    for (int status = 1; status > 0 && s->most > 0;) {
        status = ggs_incremental_step(s->background, fixture_ns(&s->f) - late, UINT64_MAX, &error);
        if (status < 0) fail_msg("%s", error.text);
        if (status > 0) s->most--;
    }
}

static void begin_run(struct story * s, uint64_t run, uint32_t slot, uint32_t threads, uint64_t flags) {
    struct ggs_journal_run record = {.run = run, .graph = 1, .os_thread = 100 + slot, .host = 1};
    anchor(s, &record.ticks, &record.monotonic_ns);
    fixture_record(&s->f, GGS_JOURNAL_RUN, &record, sizeof(record), "CPU");
    fixture_numbers(&s->f, GGS_JOURNAL_RUN_THREADS, run, threads, slot, flags, NULL);
    for (uint32_t i = 0; i < threads; i++) {
        fixture_lane(&s->f, slot * 4 + i, slot, i);
        if (s->os_thread[slot * 4 + i] != 0 && chance(s, 200) != 0) continue;
        s->os_thread[slot * 4 + i] = 900 + chance(s, 12);
        fixture_thread(&s->f, slot * 4 + i, s->os_thread[slot * 4 + i]);
    }
    fixture_advance(&s->f, 100);
}

static void end_run(struct story * s, uint64_t run) {
    struct ggs_journal_run_end record = {.run = run};
    anchor(s, &record.ticks, &record.monotonic_ns);
    fixture_record(&s->f, GGS_JOURNAL_RUN_END, &record, sizeof(record), NULL);
}

static void device_run(struct story * s, uint64_t run) {
    struct ggs_journal_run begin = {.run = run, .graph = 1, .os_thread = 7};
    uint64_t               start = fixture_ns(&s->f);
    anchor(s, &begin.ticks, &begin.monotonic_ns);
    fixture_record(&s->f, GGS_JOURNAL_RUN, &begin, sizeof(begin), "CUDA0");
    fixture_advance(&s->f, 1000);
    end_run(s, run);
    fixture_advance(&s->f, 9000);
    struct {
        struct ggs_journal_device_run head;
        struct ggs_journal_device_op  ops[3];
    } record = {.head = {.run        = run,
                         .results_ns = start + 9500,
                         .ops        = 3,
                         .timed      = chance(s, 3) == 0 ? GGS_DEVICE_UNTIMED : GGS_DEVICE_TIMED}};
    for (uint32_t i = 0; i < 3; i++)
        record.ops[i] = (struct ggs_journal_device_op){.node     = 2 * i + 1,
                                                       .queue    = 40,
                                                       .submit   = begin.ticks + 10 * i,
                                                       .begin_ns = start + 2000 + 1000 * i,
                                                       .end_ns   = start + 2900 + 1000 * i};
    fixture_record(&s->f, GGS_JOURNAL_DEVICE_RUN, &record, sizeof(record), NULL);
}

// An op that is damaged, one that left the barrier late, one that did not end, one of a run that is
// over.
static void odd_op(struct story * s, uint32_t lane, uint32_t run) {
    struct ggs_unit op = {.flags = GGS_OP_RUN_ENDED, .run = run, .node = 3, .duration = 100, .begin = s->f.ticks};
    switch (chance(s, 5)) {
        case 0:
            op.node = 1000;
            break;
        case 1:
            op.wait = 300000000; // it left the barrier a tenth of a second later
            break;
        case 2:
            op.flags = 0;
            break;
        case 3:
            op.run--; // which is over
            break;
        default:
            op.node = 4; // an empty node
    }
    fixture_op(&s->f, lane, &op);
}

// What some ops of the run computed: of one in a hundred, a node that is none.
static void tell_values(struct story * s, uint32_t slot, uint32_t run) {
    struct ggs_spool_value rows[3];
    uint32_t               lane = SLOTS * 4 + slot;
    fixture_lane(&s->f, lane, slot, GGS_SPOOL_VALUES);
    for (uint32_t node = 0; node < 3; node++) {
        uint32_t n = 1 + chance(s, 3);
        memset(rows, 0, sizeof(rows));
        for (uint32_t i = 0; i < n; i++) {
            rows[i].token = chance(s, 5) == 0 ? GGS_VALUE_NO_TOKEN : i;
            rows[i].rms   = (float) chance(s, 1000);
            rows[i].hash  = chance(s, 1u << 30) * 0x9e3779b97f4a7c15u;
        }
        fixture_values(&s->f, lane, run, chance(s, 100) == 0 ? 1000 : node, 256, rows, n);
    }
}

static void tell(struct story * s) {
    static const int32_t tokens[] = {1, 2, 3, 4};
    fixture_process(&s->f);
    tiny_graph(&s->f, 1);
    fixture_numbers(&s->f, GGS_JOURNAL_CONTEXT, 0xc0, 0xa0, 0xb0, 0, NULL);
    for (uint64_t run = 1; run <= RUNS; run++) {
        uint32_t slot = chance(s, 8) == 0, threads = 1 + chance(s, 4), n = 1 + chance(s, 3);
        bool     decode = chance(s, 3) != 0;
        if (chance(s, 50) == 0) {
            device_run(s, run);
        } else {
            if (decode) fixture_decode(&s->f, run, 0xc0, n, tokens, (int32_t) run * 4, 0, 1);
            begin_run(s, run, slot, threads, chance(s, 30) == 0 ? GGS_RUN_NO_WAITS : 0);
            tiny_ops(&s->f, (uint32_t) run, threads, slot, chance(s, 2) ? n : 0, tokens, (int32_t) run * 4,
                     chance(s, 40) == 0 ? 4 : TINY_NODES);
            if (chance(s, 4) == 0) tell_values(s, slot, (uint32_t) run);
            if (chance(s, 40) == 0) odd_op(s, slot * 4, (uint32_t) run);
            if (chance(s, 100) != 0) end_run(s, run); // else it is interrupted
            if (decode) fixture_decode_end(&s->f, run, 0);
        }
        tell_machine(s, 2);
        fixture_advance(&s->f, chance(s, 60) == 0 ? chance(s, 40000000) : 1000);
        tell_machine(s, 1);
        if (run % 7 == 0 && s->background != NULL && moment(s, 100) < s->moments) look(s);
    }
    fixture_numbers(&s->f, GGS_JOURNAL_END, 0, 0, 0, 0, NULL);
    fixture_close(&s->f);
    if (s->machine >= 0) close(s->machine);
}

static void begin(struct story * s, unsigned seed, bool machine) {
    *s           = (struct story){.seed = seed, .folder = scratch_make(), .machine = -1, .told_ns = FIXTURE_FIRST_NS};
    char * spool = scratch_path(s->folder, "spool");
    fixture_open(&s->f, spool);
    if (machine) {
        struct ggs_spool_header header = {.version = GGS_SPOOL_VERSION, .lane = GGS_SPOOL_MACHINE, .size = UINT64_MAX};
        char *                  path   = scratch_path(spool, "machine-0000.seg");
        memcpy(header.magic, GGS_SPOOL_MAGIC, sizeof(header.magic));
        s->machine = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
        assert_int_equal(write(s->machine, &header, sizeof(header)), sizeof(header));
        free(path);
    }
    free(spool);
}

static void begin_background(struct story * s, unsigned moments, unsigned most) {
    struct ggs_error error;
    char *           part = scratch_path(s->folder, "trace.ggs.part");
    s->moments            = moments;
    s->most               = most;
    if (ggs_incremental_open(&s->background, s->f.directory, part, 0, &error) != 0) fail_msg("%s", error.text);
    free(part);
}

// ---- comparing ----

// The chunks of a trace by table: what they hold, in the order of rows.
struct chunks {
    struct ggs_mapping             file;
    const struct ggs_index_entry * entries;
    uint64_t                       n;
};

static void open_chunks(struct chunks * chunks, const char * folder) {
    struct ggs_trace_trailer trailer;
    struct ggs_error         error;
    char *                   path = scratch_path(folder, "trace.ggs");
    if (ggs_mapping_open(&chunks->file, path, &error) != 0) fail_msg("%s", error.text);
    memcpy(&trailer, chunks->file.data + chunks->file.size - sizeof(trailer), sizeof(trailer));
    chunks->entries = (const void *) (chunks->file.data + trailer.index);
    chunks->n       = trailer.entries;
    free(path);
}

static void assert_same(const char * one, const char * other) {
    struct chunks a, b;
    open_chunks(&a, one);
    open_chunks(&b, other);
    for (uint64_t i = 0; i < a.n && i < b.n; i++) {
        struct ggs_chunk_header x = a.entries[i].header, y = b.entries[i].header;
        if (memcmp(&x, &y, sizeof(x)) != 0)
            fail_msg("table %u, row %llu, %u rows: not as when sealed at the end (table %u, row %llu, %u rows)",
                     y.table, (unsigned long long) y.first_row, y.rows, x.table, (unsigned long long) x.first_row,
                     x.rows);
    }
    assert_int_equal(a.n, b.n);
    ggs_mapping_close(&a.file);
    ggs_mapping_close(&b.file);
}

// A program that was not started by ggscope has no start until its journal has told it.
static int be_killed(void * context, const struct ggs_spool_facts * facts, struct ggs_error * error) {
    *(uint64_t *) context = facts->monotonic_ns;
    return ggs_fail(error, GGS_IO, "killed");
}

static void seal(struct story * s, struct ggs_seal_result * result, bool again) {
    struct ggs_error        error;
    struct ggs_reader *     reader;
    struct ggs_seal_options options = {.size = sizeof(options), .no_sync = true};
    if (again) {
        options.facts         = be_killed;
        options.facts_context = &options.start_monotonic_ns;
        assert_int_equal(ggs_seal(s->folder, &options, result, &error), GGS_IO);
        assert_true(options.start_monotonic_ns > 0);
        options.facts = NULL;
    }
    if (ggs_seal(s->folder, &options, result, &error) != 0) fail_msg("seal: %s", error.text);
    if (ggs_reader_open(&reader, s->folder, &error) != 0) fail_msg("open: %s", error.text);
    if (ggs_reader_verify(reader, NULL, NULL, &error) != 0) fail_msg("verify: %s", error.text);
    ggs_reader_close(reader);
}

// Faults that an op waited for.
static size_t count_placed(const char * folder) {
    struct ggs_error    error;
    struct ggs_reader * reader;
    size_t              n, placed = 0;
    if (ggs_reader_open(&reader, folder, &error) != 0) fail_msg("open: %s", error.text);
    struct ggs_fault * faults = read_all(reader, GGS_TABLE_FAULTS, sizeof(*faults), &n);
    for (size_t i = 0; i < n; i++) placed += faults[i].run != 0;
    free(faults);
    ggs_reader_close(reader);
    return placed;
}

static uint64_t count_values(const char * folder) {
    struct ggs_error    error;
    struct ggs_reader * reader;
    if (ggs_reader_open(&reader, folder, &error) != 0) fail_msg("open: %s", error.text);
    uint64_t n = ggs_reader_rows(reader, GGS_TABLE_OP_VALUES);
    ggs_reader_close(reader);
    return n;
}

static uint64_t spool_bytes(const struct story * s) {
    char command[4300], line[64];
    snprintf(command, sizeof(command), "cat %s/lane-* | wc -c", s->f.directory);
    FILE * pipe = popen(command, "r");
    assert_non_null(fgets(line, sizeof(line), pipe));
    pclose(pipe);
    return strtoull(line, NULL, 10);
}

static void compare(unsigned seed, bool machine, unsigned moments, unsigned most) {
    struct story           whole, live;
    struct ggs_seal_result at_the_end, in_parts;
    begin(&whole, seed, machine);
    tell(&whole);
    uint64_t bytes = spool_bytes(&whole);
    seal(&whole, &at_the_end, false);
    assert_true(at_the_end.op_runs > 80000 && at_the_end.lost > 0 && at_the_end.damaged > 0);
    assert_true(count_values(whole.folder) > 10000);
    if (machine) assert_true(count_placed(whole.folder) > 500);
    begin(&live, seed, machine);
    begin_background(&live, moments, most);
    tell(&live);
    ggs_incremental_close(live.background);
    assert_true(most > 0 && live.most < most);
    if (most > 100) assert_true(spool_bytes(&live) < bytes / 2);
    seal(&live, &in_parts, most < 100);
    in_parts.spool_bytes = at_the_end.spool_bytes;
    assert_memory_equal(&at_the_end, &in_parts, sizeof(in_parts));
    assert_same(whole.folder, live.folder);
    scratch_remove(whole.folder);
    scratch_remove(live.folder);
}

static void test_any_moment(void ** state) {
    (void) state;
    for (unsigned seed = 1; seed <= 4; seed++) compare(seed, seed % 2 == 0, seed % 3 == 0 ? 100 : 5, 1000);
}

// ggscope is killed after so many blocks: what is left in the spool is read on from there. And
// again while it is sealed, when the start is known.
static void test_killed(void ** state) {
    (void) state;
    for (unsigned seed = 7; seed <= 8; seed++) compare(seed, true, 20, seed - 6);
}

#define TEST(name) cmocka_unit_test(test_##name)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(any_moment), TEST(killed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
