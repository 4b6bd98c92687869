// The ten slowest op runs of a trace.    cc slowest-ops.c $(pkg-config --cflags --libs ggscope) -o slowest-ops && ./slowest-ops DIR
#include <ggscope.h>
#include <stdio.h>
#include <stdlib.h>

enum { TOP = 10 };

static void fail(const struct ggs_error * error) {
    fprintf(stderr, "slowest-ops: %s\n", error->text);
    exit(1);
}

int main(int argc, char ** argv) {
    struct ggs_error    error;
    struct ggs_reader * reader;
    struct ggs_cursor * cursor;
    struct ggs_op_run   row, top[TOP + 1];
    int                 n = 0, more;
    if (argc != 2) {
        fprintf(stderr, "usage: slowest-ops DIR\n");
        return 2;
    }
    if (ggs_reader_open(&reader, argv[1], &error) < 0) fail(&error);
    if (ggs_reader_warning(reader) != NULL) fprintf(stderr, "slowest-ops: %s\n", ggs_reader_warning(reader));
    if (ggs_cursor_open(&cursor, reader, GGS_TABLE_OP_RUNS, &error) < 0) fail(&error);

    // Keep the TOP longest, sorted: one comparison for almost every row.
    while ((more = ggs_cursor_next(cursor, &row, &error)) > 0) {
        if (n == TOP && row.duration_ns <= top[TOP - 1].duration_ns) continue;
        int at = n < TOP ? n++ : TOP - 1;
        for (; at > 0 && top[at - 1].duration_ns < row.duration_ns; at--) top[at] = top[at - 1];
        top[at] = row;
    }
    if (more < 0) fail(&error);
    ggs_cursor_close(cursor);

    for (int i = 0; i < n; i++) {
        struct ggs_run     run;
        struct ggs_graph * graph;
        struct ggs_op      op;
        struct ggs_tensor  tensor;
        if (ggs_reader_row(reader, GGS_TABLE_RUNS, top[i].run - 1, &run, &error) < 0) fail(&error);
        if (ggs_reader_graph(reader, run.graph, &graph, &error) < 0) fail(&error);
        const struct ggs_node * node = &graph->nodes[top[i].node];
        if (ggs_reader_row(reader, GGS_TABLE_OPS, node->op, &op, &error) < 0) fail(&error);
        if (ggs_reader_row(reader, GGS_TABLE_TENSORS, node->tensor - 1, &tensor, &error) < 0) fail(&error);
        printf("%10.3f us  thread %llu  token %lld  %-12s %s\n", (double) top[i].duration_ns / 1e3,
               (unsigned long long) top[i].thread, (long long) run.step, ggs_reader_string(reader, op.name),
               ggs_reader_string(reader, tensor.name));
        ggs_graph_free(graph);
    }
    ggs_reader_close(reader);
    return 0;
}
