// What a signal's context says of the access that raised it, and when a fault is one too many.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/memory/fault-context.h"

enum { FPSIMD = 0x46508001, SYNDROME = 0x45535201 };

// The end of a signal frame, written record by record.
struct frame {
    _Alignas(16) uint8_t bytes[4096];
    size_t at;
};

static void put(struct frame * frame, uint32_t magic, uint32_t size, uint64_t value) {
    uint32_t head[2] = {magic, size};
    memcpy(frame->bytes + frame->at, head, sizeof(head));
    memcpy(frame->bytes + frame->at + sizeof(head), &value, sizeof(value));
    frame->at += size;
}

static uint64_t syndrome(unsigned class, unsigned bits) {
    return (uint64_t) class << 26 | 1u << 25 | bits;
}

static enum ggs_fault_access access_of(unsigned class, unsigned bits) {
    struct frame frame = {0};
    put(&frame, FPSIMD, 528, 0);
    put(&frame, SYNDROME, 16, syndrome(class, bits));
    return ggs_fault_access_aarch64(frame.bytes, sizeof(frame.bytes));
}

static void test_aarch64_syndrome(void ** state) {
    (void) state;
    enum { PERMISSION = 0x0f, WRITE = 1 << 6, MAINTENANCE = 1 << 8 };
    assert_int_equal(access_of(0x24, PERMISSION), GGS_ACCESS_READ);
    assert_int_equal(access_of(0x24, PERMISSION | WRITE), GGS_ACCESS_WRITE);
    assert_int_equal(access_of(0x25, PERMISSION | WRITE), GGS_ACCESS_WRITE);
    assert_int_equal(access_of(0x24, PERMISSION | WRITE | MAINTENANCE), GGS_ACCESS_READ);
    assert_int_equal(access_of(0x20, PERMISSION), GGS_ACCESS_UNKNOWN); // a jump
    assert_int_equal(access_of(0x22, WRITE), GGS_ACCESS_UNKNOWN);      // a crooked program counter
}

static void test_aarch64_frames_without_it(void ** state) {
    (void) state;
    struct frame frame = {0};
    assert_int_equal(ggs_fault_access_aarch64(frame.bytes, sizeof(frame.bytes)), GGS_ACCESS_UNKNOWN);
    put(&frame, FPSIMD, 528, 0); // as an emulator leaves it
    assert_int_equal(ggs_fault_access_aarch64(frame.bytes, sizeof(frame.bytes)), GGS_ACCESS_UNKNOWN);
    // What follows the end is nobody's.
    frame.at += 16;
    put(&frame, SYNDROME, 16, syndrome(0x24, 1 << 6));
    assert_int_equal(ggs_fault_access_aarch64(frame.bytes, sizeof(frame.bytes)), GGS_ACCESS_UNKNOWN);
    // Sizes that lie: none, too small, past the end, and a record that the frame cuts.
    for (uint32_t size = 0; size < 16; size++) {
        frame = (struct frame){0};
        put(&frame, SYNDROME, size, syndrome(0x24, 1 << 6));
        assert_int_equal(ggs_fault_access_aarch64(frame.bytes, sizeof(frame.bytes)), GGS_ACCESS_UNKNOWN);
    }
    frame = (struct frame){0};
    put(&frame, FPSIMD, 8192, 0);
    assert_int_equal(ggs_fault_access_aarch64(frame.bytes, sizeof(frame.bytes)), GGS_ACCESS_UNKNOWN);
    frame = (struct frame){0};
    put(&frame, SYNDROME, 16, syndrome(0x24, 1 << 6));
    assert_int_equal(ggs_fault_access_aarch64(frame.bytes, 12), GGS_ACCESS_UNKNOWN);
}

static void test_a_fault_that_comes_again(void ** state) {
    (void) state;
    struct ggs_fault_last last = {0};
    assert_false(ggs_fault_repeated(&last, 0x10000, 2));
    assert_true(ggs_fault_repeated(&last, 0x10000, 2)); // it was opened, and is forbidden all the same
    assert_false(ggs_fault_repeated(&last, 0x20000, 2));
    assert_false(ggs_fault_repeated(&last, 0x20000, 4)); // closed again by another op
    assert_false(ggs_fault_repeated(&last, 0x20000, 5));
    assert_false(ggs_fault_repeated(&last, 0x20000, 5)); // it may have been closed just now
}

// What this machine's kernel says of a write to a page that may only be read; an emulator may say
// nothing.
static volatile sig_atomic_t seen = -1, faults;
static void *                page;

static void on_fault(int number, siginfo_t * info, void * context) {
    (void) number, (void) info;
    seen = (sig_atomic_t) ggs_fault_access(context);
    faults++;
    mprotect(page, (size_t) sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE);
}

static void test_a_write_on_this_machine(void ** state) {
    (void) state;
    page = mmap(NULL, (size_t) sysconf(_SC_PAGESIZE), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED);
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, before;
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    *(volatile char *) page = 1;
    sigaction(SIGSEGV, &before, NULL);
    assert_int_equal(faults, 1);
#if defined(__x86_64__)
    assert_int_equal(seen, GGS_ACCESS_WRITE);
#else
    assert_int_not_equal(seen, GGS_ACCESS_READ);
#endif
    munmap(page, (size_t) sysconf(_SC_PAGESIZE));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aarch64_syndrome),
        cmocka_unit_test(test_aarch64_frames_without_it),
        cmocka_unit_test(test_a_fault_that_comes_again),
        cmocka_unit_test(test_a_write_on_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
