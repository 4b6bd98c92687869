// Recognising graphs: by all of their nodes, or by the number that the engine gives them, once that has proved to be one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/graphs.h"
#include "capture/journal.h"
#include "capture/memory/buffers.h"
#include "capture/memory/maps.h"

// ---- what graphs.c calls ----

static unsigned told; // definitions, whole or by their differences

int ggs_journal_append(uint32_t type, const struct ggs_piece * pieces, unsigned n_pieces) {
    (void) pieces, (void) n_pieces;
    told += type == GGS_JOURNAL_GRAPH || type == GGS_JOURNAL_GRAPH_DELTA;
    return 0;
}

int ggs_journal_text(uint32_t type, const char * text) {
    (void) type, (void) text;
    return 0;
}

uint64_t ggs_buffer_id(const void * buffer) {
    (void) buffer;
    return 0;
}

void ggs_maps_tell(void) {}

// ---- a graph ----

enum { NODES = 3 };

// As a release lays it out that numbers its graphs.
struct numbered {
    struct abi_graph graph;
    uint8_t          more[88 - sizeof(struct abi_graph)];
    uint64_t         uid;
};

static struct abi_tensor    tensors[NODES];
static struct abi_tensor *  nodes[NODES];
static struct numbered      numbered;
static struct abi_functions functions;

static const char * op_name(int op) {
    return op == 0 ? "NONE" : "ADD";
}

static const char * type_name(int type) {
    (void) type;
    return "f32";
}

static int64_t block_size(int type) {
    (void) type;
    return 1;
}

static size_t type_size(int type) {
    (void) type;
    return 4;
}

static int make(void ** state) {
    (void) state;
    functions.op_name    = op_name;
    functions.type_name  = type_name;
    functions.block_size = block_size;
    functions.type_size  = type_size;
    for (int i = 0; i < NODES; i++) {
        tensors[i] = (struct abi_tensor){.op = 1, .ne = {4, 1, 1, 1}, .data = (void *) (uintptr_t) (4096 + 64 * i)};
        nodes[i]   = &tensors[i];
    }
    numbered.graph = (struct abi_graph){.n_nodes = NODES, .nodes = nodes};
    return 0;
}

static uint64_t identify(void) {
    const struct ggs_known_graph * known = ggs_graphs_identify(&numbered.graph, &functions);
    assert_non_null(known);
    return known->id;
}

static void move(void) {
    tensors[1].data = (char *) tensors[1].data + 4096;
}

// Tests build on each other: what graphs.c knows lives as long as the process.

static void test_looked_at(void ** state) {
    (void) state;
    numbered.uid   = 77; // an older release has anything there
    uint64_t first = identify();
    assert_int_equal(identify(), first);
    assert_int_equal(told, 1);
    move();
    assert_int_not_equal(identify(), first);
    assert_int_equal(told, 2);
}

static void test_not_believed(void ** state) {
    (void) state;
    numbered.uid = 5; // a word that stays while numbers are handed out
    for (uint64_t newest = 5; newest < 12; newest++) {
        ggs_graphs_numbered(&functions, newest);
        uint64_t before = identify();
        move();
        assert_int_not_equal(identify(), before);
    }
    numbered.uid    = UINT64_MAX;
    uint64_t before = identify();
    move();
    assert_int_not_equal(identify(), before);
}

static void test_believed(void ** state) {
    (void) state;
    for (numbered.uid = 20; numbered.uid < 24; numbered.uid++) { // one that follows them
        ggs_graphs_numbered(&functions, numbered.uid);
        identify();
    }
    ggs_graphs_numbered(&functions, numbered.uid);
    uint64_t known  = identify();
    unsigned before = told;
    move();
    assert_int_equal(identify(), known); // it is not looked at
    assert_int_equal(told, before);
    numbered.uid++;
    ggs_graphs_numbered(&functions, numbered.uid);
    assert_int_not_equal(identify(), known); // a new number: it is
    assert_int_equal(told, before + 1);
    numbered.uid = 0; // a graph that no scheduler has made
    known        = identify();
    move();
    assert_int_not_equal(identify(), known);
    numbered.uid           = 24;
    known                  = identify();
    numbered.graph.n_nodes = NODES - 1;
    assert_int_not_equal(identify(), known); // whatever its number says
}

static void test_several_engines(void ** state) {
    (void) state;
    ggs_graphs_numbered(&numbered, 3); // another one, which counts for itself
    ggs_graphs_numbered(&functions, 40);
    numbered.uid   = 40;
    uint64_t known = identify();
    move();
    assert_int_not_equal(identify(), known);
}

// A scheduler has the graphs of a token side by side, and each must be known in its place: their nodes are not looked at then.
static void test_neighbours(void ** state) {
    (void) state;
    enum { GRAPHS = 50, STRIDE = 128 };
    static uint8_t room[GRAPHS * STRIDE] __attribute__((aligned(64)));
    for (unsigned i = 0; i < GRAPHS; i++) {
        memcpy(room + i * STRIDE, &numbered, sizeof(numbered));
        assert_non_null(ggs_graphs_identify((struct abi_graph *) (room + i * STRIDE), &functions));
    }
    for (unsigned i = 0; i < GRAPHS; i++) assert_non_null(ggs_graphs_guess((struct abi_graph *) (room + i * STRIDE)));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_looked_at),       cmocka_unit_test(test_not_believed), cmocka_unit_test(test_believed),
        cmocka_unit_test(test_several_engines), cmocka_unit_test(test_neighbours),
    };
    return cmocka_run_group_tests_name("graphs", tests, make, NULL);
}
