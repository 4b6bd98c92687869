#include "attach/bootstrap.h"

#include <stdbool.h>

#include "base/error.h"

#if defined(__x86_64__)

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/borrow.h"
#include "attach/c-library.h"
#include "attach/tracee.h"
#include "base/system/clock.h"

static const uint64_t PATIENCE_NS = 2000000000;

// The region, from low to high: code, struct ggs_stub, the library's image, the bootstrap's stack,
// its thread-local variables and its thread block. The last two are kept for the next bootstrap,
// whose region is without them.
enum { PAGE = 4096, STACK = 256 << 10, VARIABLES = 4 << 20, BLOCK = 16 << 10 };

struct layout {
    struct ggs_stub_region region;
    uint64_t               stub, image, stack_end, block;
    uint64_t               kept_size; // 0 if the block exists
};

static uint64_t pages(uint64_t bytes) {
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

// Chooses a place where the kernel does not put mappings on its own. The bootstrap's exit path
// unmaps it regardless of what is there, so no other thread may be able to get this place.
static bool choose_place(const struct ggs_tracee * tracee, uint64_t size, uint64_t * start) {
    enum { ATTEMPTS = 64 };
    const uint64_t margin = UINT64_C(16) << 30, low = UINT64_C(1) << 40, high = UINT64_C(0x50) << 40;
    for (int i = 0; i < ATTEMPTS; i++) {
        uint64_t random;
        if (getrandom(&random, sizeof(random), 0) != sizeof(random)) return false;
        *start    = (low + random % (high - low)) & ~(uint64_t) (PAGE - 1);
        bool free = true;
        for (size_t k = 0; free && k < tracee->n_maps; k++)
            free = tracee->maps[k].end + margin < *start || *start + size + margin < tracee->maps[k].start;
        if (free) return true;
    }
    return false;
}

// The thread block of an earlier bootstrap; 0 if there is none.
static uint64_t find_block(const struct ggs_bootstrap * bootstrap, const struct ggs_tracee * tracee) {
    uint64_t block = 0, self = 0;
    if (bootstrap->block_at == 0 || !ggs_tracee_read(tracee, bootstrap->block_at, &block, sizeof(block)) || block == 0)
        return 0;
    return ggs_tracee_read(tracee, block, &self, sizeof(self)) && self == block ? block : 0;
}

static bool lay_out(struct layout * layout, const struct ggs_bootstrap * bootstrap, const struct ggs_tracee * tracee) {
    uint64_t image = PAGE + pages(sizeof(struct ggs_stub)), stack = image + pages(bootstrap->image_size);
    layout->block     = find_block(bootstrap, tracee);
    layout->kept_size = layout->block != 0 ? 0 : VARIABLES + BLOCK;
    uint64_t size     = stack + STACK + layout->kept_size;
    if (!choose_place(tracee, size, &layout->region.start)) return false;
    layout->region.size = size;
    layout->stub        = layout->region.start + PAGE;
    layout->image       = layout->region.start + image;
    layout->stack_end   = layout->region.start + stack + STACK;
    if (layout->block == 0) layout->block = layout->region.start + size - BLOCK;
    return true;
}

// ---- the new thread, traced ----

struct start {
    struct ggs_bootstrap *       bootstrap;
    const struct ggs_tracee *    tracee;
    const struct ggs_c_library * library;
    struct layout                layout;
    struct ggs_borrowed          borrowed;
    struct user_regs_struct      registers; // initial registers
    struct ggs_error *           error;
    int                          status;
};

static int fail_gone(const struct ggs_tracee * tracee, struct ggs_error * error) {
    return ggs_fail(error, GGS_ABSENT, "process %d (%s) ended, or became another program, while ggscope attached to it",
                    (int) tracee->pid, tracee->name);
}

// Makes a system call in the new thread. Its stack pointer stays at its exit path.
static int call(const struct start * start, const long arguments[7], long * result) {
    struct user_regs_struct r      = start->registers;
    pid_t                   thread = start->borrowed.thread;
    r.rip                          = start->library->call;
    r.rsp                          = start->library->unused;
    r.rax = (uint64_t) arguments[0], r.rdi = (uint64_t) arguments[1], r.rsi = (uint64_t) arguments[2];
    r.rdx = (uint64_t) arguments[3], r.r10 = (uint64_t) arguments[4], r.r8 = (uint64_t) arguments[5];
    r.r9 = (uint64_t) arguments[6], r.orig_rax = (uint64_t) -1;
    if (ptrace(PTRACE_SETREGS, thread, 0, &r) != 0) return fail_gone(start->tracee, start->error);
    for (int stops = 0; stops < 2;) { // entry and exit
        if (ptrace(PTRACE_SYSCALL, thread, 0, 0) != 0) return fail_gone(start->tracee, start->error);
        int status = ggs_trace_wait(thread, PATIENCE_NS);
        if (status == GGS_WAIT_LATE)
            return ggs_fail(start->error, GGS_IO, "process %d (%s) does not go on: is it stopped, or frozen?",
                            (int) start->tracee->pid, start->tracee->name);
        if (status < 0) return fail_gone(start->tracee, start->error);
        stops += WSTOPSIG(status) == (SIGTRAP | 0x80);
    }
    if (ptrace(PTRACE_GETREGS, thread, 0, &r) != 0) return fail_gone(start->tracee, start->error);
    *result = (long) r.rax;
    return 0;
}

static int fail_call(const struct start * start, const char * what, long result) {
    errno = (int) -result;
    return ggs_fail_errno(start->error, "cannot attach to process %d (%s): %s", (int) start->tracee->pid,
                          start->tracee->name, what);
}

static int map_region(const struct start * start) {
    const struct ggs_stub_region * region       = &start->layout.region;
    long                           result       = 0;
    const long                     arguments[7] = {SYS_mmap,
                                                   (long) region->start,
                                                   (long) region->size,
                                                   PROT_READ | PROT_WRITE,
                                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                                                   -1,
                                                   0};
    int                            status       = call(start, arguments, &result);
    if (status != 0) return status;
    if (result < 0 && result > -PAGE) return fail_call(start, "it has no room for a mapping", result);
    // A kernel without the flag takes the address as a hint.
    return (uint64_t) result == region->start ? 0 : fail_call(start, "it has no room where one is wanted", -EEXIST);
}

static int protect_code(const struct start * start) {
    const long arguments[7] = {SYS_mprotect, (long) start->layout.region.start, PAGE, PROT_READ | PROT_EXEC, 0, 0, 0};
    long       result       = 0;
    int        status       = call(start, arguments, &result);
    if (status == 0 && result != 0)
        status = fail_call(start, "a policy of the system forbids code in its memory", result);
    return status;
}

// ---- contents of the region ----

// The C library keeps a thread's id in its block, for recursive locks. The offset depends on the
// version and is found in the borrowed thread's block.
static bool find_number(const struct start * start, uint64_t * offset) {
    enum { FIRST = 0x200, LAST = 0x800 };
    int32_t words[LAST / 4] = {0};
    if (!ggs_tracee_read(start->tracee, start->borrowed.thread_area, words, sizeof(words))) return false;
    for (unsigned i = FIRST / 4; i < LAST / 4; i++) {
        if (words[i] != start->borrowed.owner_inside) continue;
        *offset = i * 4ull;
        return true;
    }
    return false;
}

// Writes the thread block: pointers to itself, the process's canary and pointer guard, the thread's
// id, and a table of modules (dtv) without entries: the C library fills in those of variables that
// it looks up. The rest is zero. The block must say that there are several threads, because malloc
// skips its locks in a single-threaded process.
static bool write_block(const struct start * start) {
    enum { SELF = 0, MODULES = 8, SELF_AGAIN = 0x10, SEVERAL = 0x18, GUARDS = 0x28, TABLE = BLOCK / 2 };
    struct {
        uint64_t value, to_free;
    } table[(BLOCK - TABLE) / 16]    = {{.value = (BLOCK - TABLE) / 16 - 2}}; // their number, the generation, entries
    const struct ggs_tracee * tracee = start->tracee;
    uint64_t                  block = start->layout.block, modules = block + TABLE + sizeof(table[0]), guards[2];
    int32_t                   one = 1;
    for (size_t i = 2; i < sizeof(table) / sizeof(table[0]); i++) table[i].value = UINT64_MAX; // not allocated
    return ggs_tracee_read(tracee, start->borrowed.thread_area + GUARDS, guards, sizeof(guards)) &&
           ggs_tracee_write(tracee, block + GUARDS, guards, sizeof(guards)) &&
           ggs_tracee_write(tracee, block + TABLE, table, sizeof(table)) &&
           ggs_tracee_write(tracee, block + MODULES, &modules, sizeof(modules)) &&
           ggs_tracee_write(tracee, block + SELF, &block, sizeof(block)) &&
           ggs_tracee_write(tracee, block + SELF_AGAIN, &block, sizeof(block)) &&
           ggs_tracee_write(tracee, block + SEVERAL, &one, sizeof(one));
}

static bool write_number(const struct start * start) {
    uint64_t number;
    int32_t  inside = start->borrowed.inside;
    return find_number(start, &number) &&
           ggs_tracee_write(start->tracee, start->layout.block + number, &inside, sizeof(inside));
}

// The distance of a module's variables below the borrowed thread's block, which is the same for all
// threads; 0 if the C library allocates them for each thread.
static uint64_t module_distance(const struct start * start, uint64_t module) {
    enum { MODULES = 8, ENTRY = 16 };
    uint64_t area = start->borrowed.thread_area, table, most, place;
    if (!ggs_tracee_read(start->tracee, area + MODULES, &table, sizeof(table)) ||
        !ggs_tracee_read(start->tracee, table - ENTRY, &most, sizeof(most)) || module > most ||
        !ggs_tracee_read(start->tracee, table + ENTRY * module, &place, sizeof(place)))
        return 0;
    return area - place <= VARIABLES ? area - place : 0;
}

static bool write_variables(const struct start * start) {
    enum { LARGEST = 1 << 20 };
    bool good = true;
    for (size_t i = 0; good && i < start->library->n_variables; i++) {
        const struct ggs_variables * variables = &start->library->variables[i];
        uint64_t distance = variables->distance != 0 ? variables->distance : module_distance(start, variables->module);
        if (distance == 0) continue;
        if (variables->size > LARGEST || distance > VARIABLES || variables->size > distance) return false;
        uint8_t * values = malloc(variables->size);
        good             = values != NULL && ggs_tracee_read(start->tracee, variables->from, values, variables->size) &&
               ggs_tracee_write(start->tracee, start->layout.block - distance, values, variables->size);
        free(values);
    }
    return good;
}

static bool write_stub(const struct start * start) {
    const struct ggs_bootstrap * bootstrap = start->bootstrap;
    const struct ggs_c_library * library   = start->library;
    uint64_t                     code      = start->layout.region.start;
    struct ggs_stub *            stub      = calloc(1, sizeof(*stub));
    if (stub == NULL) return false;
#define POINTER(member, address) memcpy(&stub->member, &(uint64_t){address}, sizeof(stub->member))
    POINTER(dlopen, library->dlopen);
    POINTER(dlsym, library->dlsym);
    POINTER(dlerror, library->dlerror);
    POINTER(pthread_create, library->pthread_create);
    POINTER(pthread_self, library->pthread_self);
    POINTER(pthread_detach, library->pthread_detach);
    POINTER(munmap, library->munmap);
    POINTER(thread, code + ggs_stub_thread_offset());
    POINTER(entry, bootstrap->entry);
    POINTER(region, start->layout.region.start);
    POINTER(unused, library->unused);
    POINTER(image, bootstrap->image == NULL ? 0 : start->layout.image);
    POINTER(block_at, bootstrap->block_at);
#undef POINTER
    stub->region_size     = start->layout.region.size;
    stub->kept_size       = start->layout.kept_size;
    stub->block           = start->layout.block;
    stub->unused_bytes    = GGS_UNUSED_BYTES;
    stub->image_size      = bootstrap->image_size;
    stub->bootstrap_lives = 1;
    snprintf(stub->path, sizeof(stub->path), "%s", bootstrap->image != NULL ? "/proc/self/fd/" : bootstrap->path);
    snprintf(stub->symbol, sizeof(stub->symbol), "ggscope_attach");
    snprintf(stub->block_symbol, sizeof(stub->block_symbol), "ggscope_attach_block");
    snprintf(stub->request, sizeof(stub->request), "%s", bootstrap->request);
    bool good = ggs_tracee_write(start->tracee, start->layout.stub, stub, sizeof(*stub));
    free(stub);
    return good;
}

static bool fill_region(const struct start * start) {
    const struct ggs_bootstrap * bootstrap = start->bootstrap;
    size_t                       size;
    const uint8_t *              code = ggs_stub_code(&size);
    return size <= PAGE && ggs_tracee_write(start->tracee, start->layout.region.start, code, size) &&
           write_stub(start) &&
           (bootstrap->image == NULL ||
            ggs_tracee_write(start->tracee, start->layout.image, bootstrap->image, bootstrap->image_size)) &&
           (start->layout.kept_size == 0 || (write_variables(start) && write_block(start))) && write_number(start);
}

// ---- the tracer ----

static int let_go(const struct start * start) {
    struct user_regs_struct r = start->registers;
    r.rip                     = start->layout.region.start + ggs_stub_bootstrap_offset();
    r.rdi                     = start->layout.stub;
    r.rsp                     = start->layout.stack_end - 8; // as after a call
    r.fs_base                 = start->layout.block;
    r.orig_rax                = (uint64_t) -1;
    r.eflags &= ~0x500ull;
    if (ptrace(PTRACE_SETREGS, start->borrowed.thread, 0, &r) != 0 ||
        ptrace(PTRACE_DETACH, start->borrowed.thread, 0, 0) != 0)
        return fail_gone(start->tracee, start->error);
    return 0;
}

static int trace(struct start * start) {
    int status = ggs_borrow(&start->borrowed, start->tracee, start->library, &start->layout.region, start->error);
    if (status != 0) return status;
    if (ptrace(PTRACE_SETOPTIONS, start->borrowed.thread, 0, (void *) PTRACE_O_TRACESYSGOOD) != 0 ||
        ptrace(PTRACE_GETREGS, start->borrowed.thread, 0, &start->registers) != 0)
        return fail_gone(start->tracee, start->error);
    status = map_region(start);
    if (status != 0) return status;
    if (!fill_region(start))
        return ggs_fail(start->error, GGS_IO,
                        "cannot attach to process %d (%s): its C library is not laid out as expected",
                        (int) start->tracee->pid, start->tracee->name);
    status = protect_code(start);
    return status != 0 ? status : let_go(start);
}

// Runs as a thread of its own, because the kernel detaches all its tracees when it ends, at any
// point. It has a high priority, because a thread of the program is stopped meanwhile.
static void * tracer(void * context) {
    struct start *     start = context;
    struct sched_param first = {.sched_priority = 1};
    pthread_setschedparam(pthread_self(), SCHED_FIFO, &first); // fails without the privilege
    start->status = trace(start);
    return NULL;
}

int ggs_bootstrap_start(struct ggs_bootstrap * bootstrap, const struct ggs_tracee * tracee,
                        const struct ggs_c_library * library, struct ggs_error * error) {
    struct start start = {.bootstrap = bootstrap, .tracee = tracee, .library = library, .error = error};
    pthread_t    thread;
    if (!lay_out(&start.layout, bootstrap, tracee))
        return ggs_fail(error, GGS_IO, "process %d (%s) has no free addresses", (int) tracee->pid, tracee->name);
    errno = pthread_create(&thread, NULL, tracer, &start);
    if (errno != 0) return ggs_fail_errno(error, "cannot start a thread");
    pthread_join(thread, NULL);
    bootstrap->stub     = start.layout.stub;
    bootstrap->stood_ns = start.borrowed.stood_ns;
    return start.status;
}

// In another PID namespace the id means nothing here, and there is nothing to wait for.
static void wait_for_end(const struct ggs_tracee * tracee, int thread) {
    enum { ROUNDS = 400, NAP_US = 500 };
    for (int i = 0; i < ROUNDS && ggs_tracee_state(tracee, thread) != 'X'; i++) usleep(NAP_US);
}

#define OF_STUB(member) bootstrap->stub + offsetof(struct ggs_stub, member)

// False if the process is about to exit or exec, which rules out new threads; both show with a
// delay.
static bool stays(const struct ggs_tracee * tracee) {
    enum { ROUNDS = 40, NAP_US = 5000 };
    uint8_t byte;
    for (int i = 0; i < ROUNDS; i++, usleep(NAP_US))
        if (!ggs_tracee_lives(tracee) || !ggs_tracee_read(tracee, tracee->maps[0].start, &byte, 1)) return false;
    return true;
}

int ggs_bootstrap_finish(const struct ggs_bootstrap * bootstrap, const struct ggs_tracee * tracee, uint64_t patience_ns,
                         int * result, struct ggs_error * error) {
    uint64_t end = ggs_clock_now() + patience_ns;
    uint32_t state, one = 1;
    int32_t  thread = 0;
    char     text[512];
    for (;;) {
        if (!ggs_tracee_read(tracee, OF_STUB(state), &state, sizeof(state))) return fail_gone(tracee, error);
        if (state != GGS_STUB_BUSY) break;
        if (ggs_clock_now() > end)
            return ggs_fail(
                error, GGS_IO,
                "process %d (%s) does not answer: one of its threads holds the dynamic linker's lock, or it is "
                "stopped; the thread of ggscope in it ends by itself once it continues",
                (int) tracee->pid, tracee->name);
        usleep(500);
    }
    bool known = ggs_tracee_read(tracee, OF_STUB(result), result, sizeof(*result)) &&
                 ggs_tracee_read(tracee, OF_STUB(thread_id), &thread, sizeof(thread)) &&
                 ggs_tracee_read(tracee, OF_STUB(error), text, sizeof(text));
    ggs_tracee_write(tracee, OF_STUB(acknowledged), &one, sizeof(one));
    if (known && thread != 0) wait_for_end(tracee, thread);
    if (known && state == GGS_STUB_DONE) return 0;
    if (!known || !stays(tracee)) return fail_gone(tracee, error);
    text[sizeof(text) - 1] = '\0';
    if (text[0] == '\0')
        snprintf(text, sizeof(text), "%s",
                 *result == EAGAIN ? "it cannot have one more thread" : "it has no memory, or no /proc");
    return ggs_fail(error, GGS_IO, "cannot load the capture library into process %d (%s): %s", (int) tracee->pid,
                    tracee->name, text);
}

int ggs_bootstrap_check(struct ggs_error * error) {
    (void) error;
    return 0;
}

#else

int ggs_bootstrap_check(struct ggs_error * error) {
    return ggs_fail(error, GGS_UNSUPPORTED, "ggscope attach is made for x86-64: start the program with ggscope record");
}

int ggs_bootstrap_start(struct ggs_bootstrap * bootstrap, const struct ggs_tracee * tracee,
                        const struct ggs_c_library * library, struct ggs_error * error) {
    (void) bootstrap, (void) tracee, (void) library;
    return ggs_bootstrap_check(error);
}

int ggs_bootstrap_finish(const struct ggs_bootstrap * bootstrap, const struct ggs_tracee * tracee, uint64_t patience_ns,
                         int * result, struct ggs_error * error) {
    (void) bootstrap, (void) tracee, (void) patience_ns, (void) result;
    return ggs_bootstrap_check(error);
}

#endif
