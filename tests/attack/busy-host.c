// A process to attach to. Its threads check all the time that nothing of theirs has changed:
//     vectors    keep values in vector registers, computing and in system calls
//     sleeper    sleeps in short naps; waits for a condition; polls; each must end as it does otherwise
//     churn      malloc, dlopen, pthread_create all the time
//     signals    a timer's signal arrives all the time, and is counted by its handler
// Prints a line every 50 ms while all is well: "ok ROUNDS". Ends with a message if it is not.
//     busy-host [churn] [signals] [rounds=N]
#include <dlfcn.h>
#include <errno.h>
#include <immintrin.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint64_t rounds[4], n_signals;

__attribute__((noreturn)) static void fail(const char * what, long value) {
    dprintf(1, "WRONG %s %ld\n", what, value);
    _exit(3);
}

// Keeps values in registers across a loop and a raw system call.
__attribute__((target("avx"))) static void * vectors(void * in_call) {
    for (;;) {
        uint64_t before[16], after[16];
        for (int i = 0; i < 16; i++) before[i] = (uint64_t) rand() << 32 | (uint64_t) i;
        memset(after, 0, sizeof(after));
        long spins = in_call == NULL ? 200000 : 1, number = in_call == NULL ? -1 : SYS_nanosleep, result = 0;
        long nap[2] = {0, 300000};
        __asm__ volatile(
            "vmovdqu (%[from]), %%ymm0; vmovdqu 32(%[from]), %%ymm7; vmovdqu 64(%[from]), %%ymm12; vmovdqu 96(%[from]), %%ymm15;"
            "cmp $0, %[number]; jl 1f; mov %[nap], %%rdi; xor %%esi, %%esi; mov %[number], %%rax; syscall; mov %%rax, %[result]; jmp 2f;"
            "1: dec %[spins]; jnz 1b;"
            "2: vmovdqu %%ymm0, (%[to]); vmovdqu %%ymm7, 32(%[to]); vmovdqu %%ymm12, 64(%[to]); vmovdqu %%ymm15, 96(%[to]);"
            : [spins] "+r"(spins), [result] "+r"(result)
            : [from] "r"(before), [to] "r"(after), [number] "r"(number), [nap] "r"(nap)
            : "rax", "rcx", "rdi", "rsi", "r11", "xmm0", "xmm7", "xmm12", "xmm15", "memory", "cc");
        if (result != 0) fail("nanosleep in registers", result);
        if (memcmp(before, after, sizeof(before)) != 0) fail("vector registers", (long) rounds[0]);
        rounds[0]++;
    }
    return NULL;
}

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

static void * sleeper(void * unused) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t  never = PTHREAD_COND_INITIALIZER;
    for (;;) {
        uint64_t        begin = now();
        struct timespec nap   = {0, 2000000}, until;
        if (nanosleep(&nap, NULL) != 0) fail("nanosleep", errno);
        if (now() - begin < 2000000) fail("nanosleep was too short", (long) (now() - begin));
        if (poll(NULL, 0, 2) != 0) fail("poll", errno);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 2000000;
        if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec++;
        pthread_mutex_lock(&mutex);
        int woken = pthread_cond_timedwait(&never, &mutex, &until);
        pthread_mutex_unlock(&mutex);
        if (woken != ETIMEDOUT && woken != 0) fail("a wait for a condition", woken);
        rounds[1]++;
    }
    return unused;
}

static void * nothing(void * unused) {
    return unused;
}

static void * churn(void * unused) {
    static void * blocks[256];
    unsigned      seed = 1;
    for (;;) {
        for (int i = 0; i < 200; i++) {
            seed       = seed * 1103515245 + 12345;
            unsigned k = seed >> 24;
            free(blocks[k]);
            blocks[k] = malloc(seed >> 8 & 0x1ffff);
        }
        void * library = dlopen("libresolv.so.2", RTLD_NOW);
        if (library != NULL) dlclose(library);
        pthread_t thread;
        if (pthread_create(&thread, NULL, nothing, NULL) == 0) pthread_join(thread, NULL);
        rounds[2]++;
    }
    return unused;
}

// Waits forever: a borrowed thread whose call never returns.
static void * waiter(void * unused) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t  never = PTHREAD_COND_INITIALIZER;
    pthread_mutex_lock(&mutex);
    for (;;) pthread_cond_wait(&never, &mutex);
    return unused;
}

static void on_signal(int number) {
    (void) number;
    n_signals++;
}

int main(int argc, char ** argv) {
    pthread_t thread;
    bool      wants_churn = false, wants_signals = false, alone = false, wants_waiter = false;
    long      most = -1;
    for (int i = 1; i < argc; i++) {
        wants_churn |= strcmp(argv[i], "churn") == 0;
        wants_signals |= strcmp(argv[i], "signals") == 0;
        wants_waiter |= strcmp(argv[i], "waiter") == 0;
        alone |= strcmp(argv[i], "alone") == 0;
        if (strncmp(argv[i], "rounds=", 7) == 0) most = strtol(argv[i] + 7, NULL, 10);
    }
    if (!alone) {
        pthread_create(&thread, NULL, vectors, NULL);
        pthread_create(&thread, NULL, vectors, argv);
        pthread_create(&thread, NULL, sleeper, NULL);
    }
    if (wants_churn) pthread_create(&thread, NULL, churn, NULL);
    if (wants_waiter) pthread_create(&thread, NULL, waiter, NULL);
    if (wants_signals) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigset_t         set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigaction(SIGUSR1, &action, NULL);
    }
    for (long i = 0; most < 0 || i < most; i++) {
        struct timespec nap = {0, 20000000};
        if (nanosleep(&nap, NULL) != 0 && !wants_signals) fail("nanosleep of the first thread", errno);
        if (wants_signals) pthread_kill(pthread_self(), SIGUSR1);
        printf("ok %lu %lu %lu %lu\n", (unsigned long) rounds[0], (unsigned long) rounds[1], (unsigned long) rounds[2],
               (unsigned long) n_signals);
        fflush(stdout);
    }
    return 0;
}
