#include "capture/forks.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

struct code {
    uintptr_t start, size;
};

static struct code find_fork(void) {
    Dl_info object;
    const ElfW(Sym) * symbol = NULL;
    void * fork              = dlsym(RTLD_DEFAULT, "fork");
    if (fork == NULL || dladdr1(fork, &object, (void **) &symbol, RTLD_DL_SYMENT) == 0 || symbol == NULL)
        return (struct code){0, 0};
    return (struct code){(uintptr_t) object.dli_saddr, symbol->st_size};
}

// Reads where a thread stands. False while it runs, and after its end.
static bool read_position(const char * thread, uintptr_t * stack, uintptr_t * instruction) {
    char path[64], text[256];
    snprintf(path, sizeof(path), "/proc/self/task/%.20s/syscall", thread);
    int     file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n    = file < 0 ? -1 : read(file, text, sizeof(text) - 1);
    if (file >= 0) close(file);
    if (n <= 0) return false;
    text[n]           = '\0'; // "NUMBER [ARGUMENTS] STACK INSTRUCTION", or "running"
    const char * last = strrchr(text, ' ');
    if (last == NULL) return false;
    const char * before = last;
    while (before > text && before[-1] != ' ') before--;
    *stack       = strtoul(before, NULL, 16);
    *instruction = strtoul(last, NULL, 16);
    return true;
}

// True if the thread stands in `code`, or will return to it. The stack may be unmapped meanwhile,
// so it is not read directly.
static bool is_inside(const char * thread, struct code code) {
    enum { WORDS = 512, BLOCKS = 8 };
    uintptr_t stack, instruction, words[WORDS];
    if (!read_position(thread, &stack, &instruction)) return true; // not known yet
    if (instruction - code.start < code.size) return true;
    for (int block = 0; block < BLOCKS; block++, stack += sizeof(words)) {
        struct iovec to = {words, sizeof(words)}, from = {(void *) stack, sizeof(words)};
        ssize_t      n = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
        for (ssize_t i = 0; i < n / (ssize_t) sizeof(words[0]); i++)
            if (words[i] - code.start < code.size) return true;
        if (n < (ssize_t) sizeof(words)) break;
    }
    return false;
}

enum { MOST_THREADS = 1024 };

// Drops threads that stand elsewhere. Returns how many are left.
static unsigned drop_outside(long * threads, unsigned n, struct code code) {
    unsigned left = 0;
    for (unsigned i = 0; i < n; i++) {
        char name[24];
        snprintf(name, sizeof(name), "%ld", threads[i]);
        if (is_inside(name, code)) threads[left++] = threads[i];
    }
    return left;
}

static unsigned list_threads(long * threads) {
    unsigned n   = 0;
    DIR *    all = opendir("/proc/self/task");
    if (all == NULL) return 0;
    for (struct dirent * entry; n < MOST_THREADS && (entry = readdir(all)) != NULL;) {
        long thread = strtol(entry->d_name, NULL, 10);
        if (thread > 0 && thread != syscall(SYS_gettid)) threads[n++] = thread;
    }
    closedir(all);
    return n;
}

void ggs_forks_await(void) {
    enum { LOOKS = 200 };
    const struct timespec nap  = {.tv_nsec = 1000000};
    struct code           code = find_fork();
    long                  threads[MOST_THREADS];
    unsigned              n = code.size == 0 ? 0 : list_threads(threads);
    for (int look = 0; look < LOOKS && (n = drop_outside(threads, n, code)) > 0; look++) nanosleep(&nap, NULL);
}
