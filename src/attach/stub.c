// This code runs in another process, where it is copied byte by byte. It may use only struct
// ggs_stub: no data, no library, no canary. It has its own compiler options (CMakeLists.txt) and
// section.
#include "attach/stub.h"

#include "attach/c-library.h"

#if defined(__x86_64__)

#include <sys/syscall.h>

#define STUB __attribute__((section("ggs_stub"), noinline, used))

extern const uint8_t __start_ggs_stub[], __stop_ggs_stub[];

__attribute__((always_inline)) static inline long call(long number, long a, long b, long c, long d) {
    long          result;
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return result;
}

STUB static void sleep_ms(void) {
    long ms[2] = {0, 1000000};
    call(SYS_nanosleep, (long) ms, 0, 0, 0);
}

STUB static void finish(struct ggs_stub * stub, uint32_t state) {
    __atomic_store_n(&stub->state, state, __ATOMIC_RELEASE);
    for (int i = 0; i < 2000 && __atomic_load_n(&stub->acknowledged, __ATOMIC_ACQUIRE) == 0; i++) sleep_ms();
}

STUB static void copy_text(char * to, size_t size, const char * from) {
    size_t i = 0;
    for (; from != NULL && from[i] != '\0' && i + 1 < size; i++) to[i] = from[i];
    to[i] = '\0';
}

// Makes a memfd with the library and writes "/proc/self/fd/N" to `path`. N is high, to keep the
// program's low numbers free.
STUB static int open_image(struct ggs_stub * stub) {
    enum { CLOEXEC = 1, EXECUTABLE = 0x10, DUPFD_CLOEXEC = 1030, OUT_OF_THE_WAY = 700 };
    long fd = call(SYS_memfd_create, (long) stub->symbol, CLOEXEC | EXECUTABLE, 0, 0);
    if (fd < 0) fd = call(SYS_memfd_create, (long) stub->symbol, CLOEXEC, 0, 0); // older kernels
    if (fd < 0) return -1;
    long high = call(SYS_fcntl, fd, DUPFD_CLOEXEC, OUT_OF_THE_WAY, 0);
    if (high >= 0) {
        call(SYS_close, fd, 0, 0, 0);
        fd = high;
    }
    for (uint64_t done = 0; done < stub->image_size;) {
        long n = call(SYS_write, fd, (long) (stub->image + done), (long) (stub->image_size - done), 0);
        if (n <= 0) {
            call(SYS_close, fd, 0, 0, 0);
            return -1;
        }
        done += (uint64_t) n;
    }
    char * to = stub->path;
    while (*to != '\0') to++; // to the end of "/proc/self/fd/"
    long divisor = 1;
    while (fd / divisor >= 10) divisor *= 10;
    for (; divisor > 0; divisor /= 10) *to++ = (char) ('0' + fd / divisor % 10);
    *to = '\0';
    return (int) fd;
}

STUB static void load(struct ggs_stub * stub) {
    enum { NOW = 2 };
    int fd = stub->image == NULL ? -1 : open_image(stub);
    if (stub->image != NULL && fd < 0) {
        __atomic_store_n(&stub->result, -1, __ATOMIC_RELAXED);
        return;
    }
    void * library = stub->dlopen(stub->path, NOW);
    if (fd >= 0) call(SYS_close, fd, 0, 0, 0);
    void * found = library == NULL ? NULL : stub->dlsym(library, stub->symbol);
    if (found == NULL) copy_text(stub->error, sizeof(stub->error), stub->dlerror());
    *(void **) &stub->entry = found;
    if (found != NULL) stub->block_at = stub->dlsym(library, stub->block_symbol);
}

STUB void * ggs_stub_thread(void * argument);
STUB void * ggs_stub_thread(void * argument) {
    struct ggs_stub * stub = argument;
    stub->thread_id        = (int32_t) call(SYS_gettid, 0, 0, 0, 0);
    stub->pthread_detach(stub->pthread_self());
    while (__atomic_load_n(&stub->bootstrap_lives, __ATOMIC_ACQUIRE) != 0) sleep_ms();
    for (uint64_t i = 0; i < stub->unused_bytes / 8; i++) ((volatile uint64_t *) stub->unused)[i] = 0;
    if (stub->entry == NULL) load(stub);
    if (stub->block_at != NULL) *stub->block_at = stub->block;
    if (stub->entry != NULL) stub->result = stub->entry(stub->request);
    finish(stub, stub->entry != NULL ? GGS_STUB_DONE : GGS_STUB_FAILED);
    return stub->munmap(stub->region, stub->region_size - stub->kept_size); // a tail call: this code is unmapped
}

STUB void ggs_stub_bootstrap(struct ggs_stub * stub);
STUB void ggs_stub_bootstrap(struct ggs_stub * stub) {
    unsigned long thread;
    call(SYS_set_tid_address, (long) &stub->bootstrap_lives, 0, 0, 0);
    stub->result = stub->pthread_create(&thread, NULL, stub->thread, stub);
    if (stub->result == 0)
        for (;;) call(SYS_exit, 0, 0, 0, 0);
    finish(stub, GGS_STUB_FAILED);
    // The exit path there unmaps the region, with this code, and ends the thread.
    stub->unused[GGS_UNUSED_SIZE] -= stub->kept_size;
    __asm__ volatile("mov %0, %%rsp; ret" : : "r"(stub->unused));
    __builtin_unreachable();
}

const uint8_t * ggs_stub_code(size_t * size) {
    *size = (size_t) (__stop_ggs_stub - __start_ggs_stub);
    return __start_ggs_stub;
}

size_t ggs_stub_bootstrap_offset(void) {
    return (size_t) ((const uint8_t *) ggs_stub_bootstrap - __start_ggs_stub);
}

size_t ggs_stub_thread_offset(void) {
    return (size_t) ((const uint8_t *) ggs_stub_thread - __start_ggs_stub);
}

#endif
