// Measures the cost of watching page faults for the program: CPU time per fault, watched and not,
// in turn. CPU time excludes other programs. Prints one JSON line.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "record/observe/machine-spool.h"
#include "record/observe/observer.h"

enum { PAGES = 100000, PAGE = 4096, ROUNDS = 11 };

__attribute__((noreturn)) static void fail(const char * what) {
    fprintf(stderr, "bench-faults: %s\n", what);
    exit(1);
}

static double cpu_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double) time.tv_sec * 1e9 + (double) time.tv_nsec;
}

// The program: touches fresh pages, and prints the time per page.
static int touch(void) {
    char * memory = mmap(NULL, (size_t) PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, (size_t) PAGES * PAGE, MADV_NOHUGEPAGE) != 0) return 1;
    double begin = cpu_ns(CLOCK_THREAD_CPUTIME_ID);
    for (size_t i = 0; i < PAGES; i++) ((volatile char *) memory)[i * PAGE] = 1;
    double each = (cpu_ns(CLOCK_THREAD_CPUTIME_ID) - begin) / PAGES;
    return write(STDOUT_FILENO, &each, sizeof(each)) == sizeof(each) ? 0 : 1;
}

// Returns the time per fault; `reader` receives our own CPU time.
static double run(const char * folder, bool watched, double * reader) {
    struct ggs_machine_spool spool;
    struct ggs_observer *    watch = NULL;
    struct ggs_error         error;
    int                      gate[2], told[2], status;
    double                   each, begin = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
    char                     byte, path[4200];
    if (pipe(gate) != 0 || pipe(told) != 0) fail("no pipe");
    pid_t child = fork();
    if (child == 0) {
        dup2(told[1], STDOUT_FILENO);
        if (read(gate[0], &byte, 1) == 1) execl("/proc/self/exe", "bench-faults", "touch", NULL);
        _exit(1);
    }
    if (watched && (ggs_machine_spool_open(&spool, folder, &error) != 0 ||
                    ggs_observer_new(&watch, &spool, UINT64_MAX, &error) != 0 ||
                    ggs_observer_faults(watch, child, true, &error) != 0 || ggs_observer_begin(watch, &error) != 0))
        fail(error.text);
    if (write(gate[1], "", 1) != 1 || read(told[0], &each, sizeof(each)) != sizeof(each)) fail("the program failed");
    if (waitpid(child, &status, 0) != child) fail("the program is lost");
    ggs_observer_end(watch);
    if (watched) {
        ggs_machine_spool_close(&spool, &error);
        snprintf(path, sizeof(path), "%s/machine-0000.seg", folder);
        unlink(path);
    }
    for (int i = 0; i < 2; i++) close(gate[i]), close(told[i]);
    *reader = (cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - begin) / PAGES;
    return each;
}

static int by_value(const void * a, const void * b) {
    double x = *(const double *) a, y = *(const double *) b;
    return x < y ? -1 : x > y;
}

static double median(double * values) {
    qsort(values, ROUNDS, sizeof(*values), by_value);
    return values[ROUNDS / 2];
}

int main(int argc, char ** argv) {
    double plain[ROUNDS], watched[ROUNDS], reader[ROUNDS], ignored;
    if (argc != 2) fail("which folder for the spool?");
    if (strcmp(argv[1], "touch") == 0) return touch();
    for (int i = 0; i < ROUNDS; i++) {
        plain[i]   = run(argv[1], false, &ignored);
        watched[i] = run(argv[1], true, &reader[i]);
    }
    printf("{\"fault_ns\": %.0f, \"watched_ns\": %.0f, \"more_ns\": %.0f, \"reader_ns\": %.0f}\n", median(plain),
           median(watched), median(watched) - median(plain), median(reader));
    return 0;
}
