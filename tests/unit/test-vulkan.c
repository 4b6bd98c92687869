// Time stamps of runs on Vulkan devices, with a loader that does nothing: devices that end while
// runs are not read yet, and stamps beyond the pool's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "capture/device/device.h"
#include "capture/graph-run.h"
#include "vulkan-stand-in.h"

enum { NODES = 100 };
static struct abi_tensor   tensors[NODES];
static struct abi_tensor * nodes[NODES];
static int                 backends[2];

static const char * name_of(void * backend) {
    (void) backend;
    return "Vulkan0";
}

static int set_up(void ** state) {
    (void) state;
    ggs_engine.backend_name = name_of;
    for (unsigned i = 0; i < NODES; i++) nodes[i] = &tensors[i];
    return 0;
}

// A run of all nodes on a device, submitted.
static void submit(void * backend, VkDevice device) {
    struct abi_graph graph = {.n_nodes = NODES, .nodes = nodes};
    ggs_in.run++;
    ggs_device_begin(backend, &graph);
    for (unsigned i = 0; i < NODES; i++) {
        assert_false(ggml_is_empty(nodes[i]));
        vkCmdDispatch((VkCommandBuffer) device, 1, 1, 1);
    }
    vkEndCommandBuffer((VkCommandBuffer) device);
    ggs_device_end();
}

static void test_results(void ** state) {
    (void) state;
    VkDevice device = stand_in_create();
    submit(&backends[0], device);
    assert_int_equal(stand_in_results(), 0);
    ggs_device_results(&backends[0]);
    assert_int_equal(stand_in_results(), 2 * NODES);
    stand_in_destroy(device);
}

// Runs of a device that ended are read when another one has its place in the table.
static void test_device_ends_before_results(void ** state) {
    (void) state;
    VkDevice first = stand_in_create();
    for (unsigned i = 0; i < 3; i++) submit(&backends[0], first);
    stand_in_destroy(first);
    VkDevice second = stand_in_create();
    uint64_t before = stand_in_results();
    ggs_device_results(&backends[0]);
    assert_int_equal(stand_in_results(), before); // nothing of the other device's pool is theirs
    for (unsigned i = 0; i < 3; i++) {
        submit(&backends[1], second);
        ggs_device_results(&backends[1]);
        assert_int_equal(stand_in_results(), before + (i + 1) * 2 * NODES);
    }
    stand_in_destroy(second);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results),
                                       cmocka_unit_test(test_device_ends_before_results)};
    return cmocka_run_group_tests(tests, set_up, NULL);
}
