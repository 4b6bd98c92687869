#include "cupti-stand-in.h"

#include <string.h>

#include "capture/device/cupti.h"

enum { STRIDE = 160, RECORDS = 64 };

#define DECLARE(type, name, parameters) type name parameters;
CUPTI_FUNCTIONS(DECLARE)
#undef DECLARE

static cupti_callback_function callback;
static cupti_buffer_wanted     wanted;
static cupti_buffer_full       full;
static _Alignas(8) uint8_t records[RECORDS * STRIDE];
static unsigned n_records;
static uint64_t captured;
static bool     ended;

// ---- what a test does ----

void stand_in_call(uint32_t id, uint32_t correlation) {
    char                  parameters[64] = {0};
    struct cupti_callback call = {.site = CUPTI_SITE_EXIT, .parameters = parameters, .correlation = correlation};
    if (callback != NULL) callback(NULL, CUPTI_DOMAIN_DRIVER, id, &call);
}

void stand_in_capture(uint64_t graph_node) {
    captured = graph_node;
}

uint64_t stand_in_captured(void) {
    return captured;
}

void stand_in_clone(uint64_t original, uint64_t node) {
    struct cupti_graph_data data = {.node = (void *) (uintptr_t) node, .original_node = (void *) (uintptr_t) original};
    struct cupti_resource   resource = {.descriptor = &data};
    if (callback != NULL) callback(NULL, CUPTI_DOMAIN_RESOURCE, CUPTI_GRAPH_NODE_CLONED, &resource);
}

static void add(const void * record, size_t size) {
    if (n_records < RECORDS) memcpy(records + STRIDE * n_records++, record, size);
}

void stand_in_kernel(uint32_t correlation, uint64_t graph_node, uint64_t start, uint64_t end, const char * name) {
    struct cupti_kernel kernel = {.kind        = CUPTI_KIND_KERNEL,
                                  .start       = start,
                                  .end         = end,
                                  .stream      = 7,
                                  .grid        = {4, 2, 1},
                                  .block       = {32, 1, 1},
                                  .correlation = correlation,
                                  .name        = name,
                                  .graph_node  = graph_node};
    add(&kernel, sizeof(kernel));
}

void stand_in_copy(uint32_t correlation, uint64_t graph_node, uint64_t start, uint64_t end, uint64_t bytes) {
    struct cupti_transfer copy = {.kind        = CUPTI_KIND_MEMCPY,
                                  .bytes       = bytes,
                                  .start       = start,
                                  .end         = end,
                                  .stream      = 7,
                                  .correlation = correlation,
                                  .graph_node  = graph_node};
    add(&copy, sizeof(copy));
}

bool stand_in_ended(void) {
    return ended;
}

// ---- libcupti ----

int cuptiGetVersion(uint32_t * version) {
    *version = 130000;
    return 0;
}

int cuptiSubscribe(void ** subscriber, cupti_callback_function function, void * user) {
    (void) user;
    *subscriber = &callback;
    callback    = function;
    return 0;
}

int cuptiUnsubscribe(void * subscriber) {
    (void) subscriber;
    callback = NULL;
    return 0;
}

int cuptiEnableCallback(uint32_t on, void * subscriber, int domain, uint32_t id) {
    (void) on, (void) subscriber, (void) domain, (void) id;
    return 0;
}

int cuptiActivityRegisterCallbacks(cupti_buffer_wanted w, cupti_buffer_full f) {
    wanted = w;
    full   = f;
    return 0;
}

int cuptiActivityRegisterTimestampCallback(cupti_clock clock) {
    return clock() == 0;
}

int cuptiActivityEnable(uint32_t kind) {
    (void) kind;
    return 0;
}

int cuptiActivityDisable(uint32_t kind) {
    (void) kind;
    return 0;
}

int cuptiActivityFlushAll(uint32_t flag) {
    uint8_t * buffer;
    size_t    size, most;
    (void) flag;
    if (n_records == 0) return 0;
    wanted(&buffer, &size, &most);
    memcpy(buffer, records, STRIDE * n_records);
    size_t used = STRIDE * n_records;
    n_records   = 0;
    full(NULL, 0, buffer, size, used);
    return 0;
}

int cuptiActivityGetNextRecord(uint8_t * buffer, size_t used, void ** record) {
    uint8_t * next = *record == NULL ? buffer : (uint8_t *) *record + STRIDE;
    if (next >= buffer + used) return 1;
    *record = next;
    return 0;
}

int cuptiGetGraphNodeId(void * node, uint64_t * id) {
    *id = (uint64_t) (uintptr_t) node;
    return 0;
}

int cuptiFinalize(void) {
    ended = true;
    return 0;
}
