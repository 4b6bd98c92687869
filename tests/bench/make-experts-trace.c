// make-experts-trace OUT.ggs [LAYERS EXPERTS TOKENS]: writes a trace of a very large mixture of
// experts, without an engine.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../unit/recording-fixture.h"

enum { USED = 8, NODES = 5 };

struct shape {
    int layers, experts, tokens;
};

static uint64_t weight(struct recording * r, const char * what, int layer, int64_t ne0, int64_t ne1, int experts,
                       uint64_t * offset) {
    char name[64];
    snprintf(name, sizeof(name), "blk.%d.ffn_%s_exps.weight", layer, what);
    uint64_t tensor = recording_tensor(r, name, F32, ne0, ne1, experts, in_file(1, *offset));
    *offset += (uint64_t) (ne0 * ne1 * experts * 4);
    return tensor;
}

static uint64_t result(struct recording * r, const char * what, int layer, uint64_t type, int64_t ne0, int64_t ne1) {
    char name[64];
    snprintf(name, sizeof(name), "%s-%d", what, layer);
    return recording_tensor(r, name, type, ne0, ne1, 1, in_buffer(1));
}

static void write_graph(struct recording * r, const struct shape * shape) {
    uint64_t offset = 4096;
    recording_file(r, "/gone/experts.gguf",
                   4096ull + (uint64_t) shape->layers * (uint64_t) shape->experts * 3 * 4096 * 4);
    recording_buffer(r, 1 << 20, GGS_CLASS_COMPUTE, 0, -1);
    for (int layer = 0; layer < shape->layers; layer++) {
        uint64_t up   = weight(r, "up", layer, 64, 64, shape->experts, &offset);
        uint64_t gate = weight(r, "gate", layer, 64, 64, shape->experts, &offset);
        uint64_t down = weight(r, "down", layer, 64, 64, shape->experts, &offset);
        uint64_t x = result(r, "ffn_norm", layer, F32, 64, 1), ids = result(r, "ffn_moe_topk", layer, I32, USED, 1);
        uint64_t a = result(r, "ffn_moe_up", layer, F32, 64, USED), b = result(r, "ffn_moe_gate", layer, F32, 64, USED);
        uint64_t c   = result(r, "ffn_moe_down", layer, F32, 64, USED),
                 w   = result(r, "ffn_moe_weights", layer, F32, 1, USED);
        uint64_t out = result(r, "ffn_moe_weighted", layer, F32, 64, USED);
        recording_node(r, 1, OP_ADD, ids, x, 0, 0);
        recording_node(r, 1, OP_MUL_MAT_ID, a, up, x, ids);
        recording_node(r, 1, OP_MUL_MAT_ID, b, gate, x, ids);
        recording_node(r, 1, OP_MUL_MAT_ID, c, down, a, ids);
        recording_node(r, 1, OP_MUL, out, c, w, 0);
    }
}

// The experts of a token: some stay from token to token, most change.
static void choose(int32_t chosen[USED], const struct shape * shape, int layer, int token) {
    for (int rank = 0; rank < USED; rank++)
        chosen[rank] = (int32_t) ((rank * 16 + layer * 5 + (rank % 3 == 0 ? 0 : token * (7 + rank))) % shape->experts);
}

static void write_run(struct recording * r, const struct shape * shape, int token) {
    uint64_t       run   = (uint64_t) token + 1;
    int64_t        begin = 1000 + 1000000ll * token;
    uint64_t       nodes = (uint64_t) shape->layers * NODES;
    struct ggs_run row   = {.run      = run,
                            .graph    = 1,
                            .step     = token,
                            .phase    = token == 0 ? GGS_PHASE_PROMPT : GGS_PHASE_GENERATE,
                            .backend  = recording_string(r, "CPU"),
                            .host     = 1,
                            .schedule = run,
                            .begin_ns = begin,
                            .end_ns   = begin + 900000,
                            .threads  = 1,
                            .nodes    = nodes,
                            .op_runs  = nodes,
                            .executed = nodes};
    recording_run(r, &row);
    for (uint64_t node = 0; node < nodes; node++)
        recording_op_run(r, run, node, 0, begin + 3000 * (int64_t) node, 2500, 100, 0, 0);
    for (int layer = 0; layer < shape->layers; layer++) {
        int32_t chosen[USED];
        choose(chosen, shape, layer, token);
        for (uint64_t k = 1; k <= 3; k++) recording_index(r, run, (uint64_t) layer * NODES + k, 2, chosen, USED, 1);
    }
    recording_step(r, token, row.phase, run, row.begin_ns, row.end_ns, 1);
}

int main(int argc, char ** argv) {
    struct shape     shape = {48, 128, 96};
    struct recording r;
    if (argc < 2) return 2;
    if (argc > 2) shape.layers = (int) strtol(argv[2], NULL, 10);
    if (argc > 3) shape.experts = (int) strtol(argv[3], NULL, 10);
    if (argc > 4) shape.tokens = (int) strtol(argv[4], NULL, 10);
    recording_open(&r);
    write_graph(&r, &shape);
    for (int token = 0; token < shape.tokens; token++) write_run(&r, &shape, token);
    recording_write(&r);
    if (rename(r.path, argv[1]) != 0) { // on another file system: copies
        FILE *from = fopen(r.path, "rb"), *to = fopen(argv[1], "wb");
        int   c;
        while (from != NULL && to != NULL && (c = fgetc(from)) != EOF) fputc(c, to);
        if (from == NULL || to == NULL || fclose(to) != 0) return 1;
        fclose(from);
    }
    recording_close(&r, NULL);
    return 0;
}
