// Recognising graphs: by all of their nodes, or by the number that the engine gives them, once that
// has proved to be one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "capture/graphs.h"
#include "capture/journal.h"
#include "capture/memory/buffers.h"
#include "capture/memory/fills.h"
#include "capture/memory/mapped-files.h"

// ---- what graphs.c calls ----

static unsigned                  told; // definitions, whole or by their differences
static struct ggs_journal_tensor leaf; // the first of the last definition

int ggs_journal_append(uint32_t type, const struct ggs_piece * pieces, unsigned n_pieces) {
    const struct ggs_journal_graph * head = pieces[0].data;
    if (type == GGS_JOURNAL_GRAPH && n_pieces > 1 && head->tensors > head->nodes)
        leaf = ((const struct ggs_journal_tensor *) pieces[1].data)[head->nodes];
    told += type == GGS_JOURNAL_GRAPH || type == GGS_JOURNAL_GRAPH_DELTA;
    return 0;
}

int ggs_journal_text(uint32_t type, const char * text) {
    (void) type, (void) text;
    return 0;
}

uint64_t ggs_buffer_of_tensor(void * buffer) {
    (void) buffer;
    return 0;
}

void ggs_mapped_files_emit(void) {}

void ggs_fills_used(const void * data, uint64_t bytes) {
    (void) data, (void) bytes;
}

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
    const struct ggs_captured_graph * known = ggs_graphs_identify(&numbered.graph, &functions);
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

// A scheduler has the graphs of a token side by side, and each must be known in its place: their
// nodes are not looked at then.
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

static bool host;
static int  kind; // of the buffer type's device

static _Bool is_host(void * buffer) {
    (void) buffer;
    return host;
}

static void * same(void * object) {
    return object;
}

static int kind_of(void * device) {
    (void) device;
    return kind;
}

static size_t with_sums(void * type, const struct abi_tensor * tensor) {
    (void) type;
    return (size_t) tensor->ne[0] * 4 + 8;
}

// What a weight takes in a layout of the CPU's own is the engine's word; memory of a device, and
// memory that anybody can read, are as the shape says.
static void test_packed(void ** state) {
    (void) state;
    static struct abi_tensor weight  = {.ne = {16, 1, 1, 1}, .data = &weight, .buffer = &weight};
    tensors[0].src[0]                = &weight;
    functions.buffer_is_host         = is_host;
    functions.buffer_type            = same;
    functions.buffer_type_device     = same;
    functions.device_type            = kind_of;
    functions.buffer_type_alloc_size = with_sums;
    numbered.uid                     = 0;
    const struct {
        bool     host;
        int      kind;
        uint64_t packed;
    } cases[] = {{false, 0, 72}, {true, 0, 0}, {false, 1, 0}};
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        weight.flags     = (int32_t) i; // a graph that is not known yet
        tensors[0].ne[1] = 2 + i;
        host             = cases[i].host;
        kind             = cases[i].kind;
        identify();
        assert_int_equal(leaf.ne[0], 16);
        assert_int_equal(leaf.packed_bytes, cases[i].packed);
    }
    functions.buffer_type_alloc_size = NULL; // a release that cannot tell
    tensors[0].ne[1]                 = 9;
    identify();
    assert_int_equal(leaf.packed_bytes, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_looked_at),       cmocka_unit_test(test_not_believed), cmocka_unit_test(test_believed),
        cmocka_unit_test(test_several_engines), cmocka_unit_test(test_neighbours),   cmocka_unit_test(test_packed),
    };
    return cmocka_run_group_tests_name("graphs", tests, make, NULL);
}
