// Measures the recorder's functions per event, beyond reading the clock, on a made-up graph. Prints
// one JSON line: the clock, the cost of a reading and of an op run. An op run is two events (begin,
// end with its wait) and two clock readings.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/system/ticks.h"
#include "capture/cpu/ops.h"
#include "capture/graphs.h"
#include "capture/segment.h"

enum { NODES = 700, RUNS = 400, ROUNDS = 15 };

static int by_value(const void * a, const void * b) {
    double x = *(const double *) a, y = *(const double *) b;
    return x < y ? -1 : x > y;
}

static double median(double * values, int n) {
    qsort(values, (size_t) n, sizeof(*values), by_value);
    return values[n / 2];
}

static const char * clock_name(void) {
    if (ggs_ticks_are_ns) return "CLOCK_MONOTONIC";
#if defined(__x86_64__)
    return "time stamp counter";
#else
    return "generic timer";
#endif
}

static double clock_ns(void) {
    uint64_t sum = 0, begin = ggs_clock_now();
    for (int i = 0; i < NODES * RUNS * 3; i++) sum += ggs_ticks_now();
    uint64_t end = ggs_clock_now();
    if (sum == 1) puts(""); // keeps the loop
    return (double) (end - begin) / (NODES * RUNS * 3);
}

static double op_ns(const struct abi_graph * graph, const struct ggs_captured_graph * known, uint32_t * number) {
    static struct abi_params params = {.ith = 0, .nth = 1};
    uint64_t                 total  = 0;
    for (int r = 0; r < RUNS; r++) {
        struct ggs_slot * run = ggs_slot_open(++*number, graph, known, NULL, 1);
        if (run == NULL) {
            fprintf(stderr, "bench-recorder: no room for the spool\n");
            exit(1);
        }
        ggs_op_set_opened(run);
        uint64_t begin = ggs_clock_now();
        for (int i = 0; i < NODES; i++) {
            if (!ggs_op_begin_next(&params, graph->nodes[i], false)) ggs_op_begin_anew(&params, graph->nodes[i], false);
            uint64_t enter = ggs_ticks_now();
            ggs_op_barrier(enter, ggs_ticks_now(), ggs_op_self.unusual);
        }
        total += ggs_clock_now() - begin;
        ggs_op_set_opened(NULL);
        ggs_slot_close(run);
    }
    return (double) total / (NODES * (double) RUNS);
}

int main(int argc, char ** argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: bench-recorder EMPTY-DIRECTORY\n");
        return 2;
    }
    struct ggs_segment_settings settings = {.most_bytes = 4ull << 30};
    snprintf(settings.directory, sizeof(settings.directory), "%s", argv[1]);
    ggs_segment_configure(&settings);
    ggs_ticks_choose();

    static struct abi_tensor   tensors[NODES];
    static struct abi_tensor * nodes[NODES];
    static uint8_t             copies[NODES + 1];
    for (int i = 0; i < NODES; i++) nodes[i] = &tensors[i];
    struct abi_graph          graph  = {.n_nodes = NODES, .nodes = nodes};
    struct ggs_captured_graph known  = {.id = 1, .n_nodes = NODES, .last_executed = NODES - 1, .copies = copies};
    uint32_t                  number = 0;

    double clocks[ROUNDS], ops[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        clocks[i] = clock_ns();
        ops[i]    = op_ns(&graph, &known, &number);
    }
    double clock = median(clocks, ROUNDS), op = median(ops, ROUNDS);
    printf("{\"clock\": \"%s\", \"clock_ns\": %.2f, \"op_run_ns\": %.2f, \"ns_per_event_beyond_clock\": %.2f}\n",
           clock_name(), clock, op, (op - 2 * clock) / 2);
    return 0;
}
