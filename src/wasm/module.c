// The routes of `ggscope serve` as a WebAssembly module. A report's page passes traces to it and
// asks it instead of a server; ui/src/engine.ts is the other side.
//
//     data = ggs_new(size), write the bytes there; ggs_add_file(path, data, known, size)
//     ggs_add_experiment(path, directory, name, state)                 -> its number
//     reply = ggs_ask("/api/x/0/summary")     -> NULL if out of memory; calls progress(0..1)
//     ggs_reply_status(reply), ..._is_json, ..._data, ..._length     then ggs_reply_drop(reply)
#include "wasm/module.h"

#include <stdlib.h>
#include <string.h>

#include "serve/site.h"
#include "wasm/in-memory.h"
#include "wasm/memory-files.h"

#define EXPORT(name) __attribute__((export_name(name)))

__attribute__((import_module("ggscope"), import_name("progress"))) void page_progress(double share);

EXPORT("ggs_new") void * module_new(size_t size);
EXPORT("ggs_delete") void module_delete(void * memory);
EXPORT("ggs_add_file") int module_add_file(const char * path, const void * data, size_t known, double size);
EXPORT("ggs_add_experiment")
int module_add_experiment(const char * path, const char * directory, const char * name, const char * state);
EXPORT("ggs_ask") struct ggs_reply * module_ask(const char * target);
EXPORT("ggs_reply_status") unsigned module_status(const struct ggs_reply * reply);
EXPORT("ggs_reply_is_json") int module_is_json(const struct ggs_reply * reply);
EXPORT("ggs_reply_data") const void * module_data(const struct ggs_reply * reply);
EXPORT("ggs_reply_length") size_t module_length(const struct ggs_reply * reply);
EXPORT("ggs_reply_drop") void module_drop(struct ggs_reply * reply);

// The module has one user, and keeps its state until the page is closed.
static struct ggs_experiments *  experiments;
static struct ggs_job_progress * current; // of the current question

void * module_new(size_t size) {
    return malloc(size);
}

void module_delete(void * memory) {
    free(memory);
}

int module_add_file(const char * path, const void * data, size_t known, double size) {
    return ggs_file_add(path, data, known, (uint64_t) size);
}

static bool start(void) {
    return experiments != NULL || ggs_experiments_new(&experiments, NULL, 0, NULL, NULL) == 0;
}

int module_add_experiment(const char * path, const char * directory, const char * name, const char * state) {
    return start() ? ggs_experiments_add(experiments, path, directory, name, state) : -1;
}

void ggs_module_tick(void) {
    uint64_t total = current == NULL ? 0 : atomic_load(&current->total);
    uint64_t done  = current == NULL ? 0 : atomic_load(&current->watch.done);
    if (total > 0) page_progress(done < total ? (double) done / (double) total : 1);
}

struct ggs_reply * module_ask(const char * target) {
    struct ggs_job_progress progress = {0};
    struct ggs_reply *      reply    = start() ? ggs_reply_new() : NULL;
    current                          = &progress;
    if (reply != NULL) ggs_site_answer_target(experiments, target, &progress, reply);
    current = NULL;
    return reply;
}

unsigned module_status(const struct ggs_reply * reply) {
    return reply->status;
}

int module_is_json(const struct ggs_reply * reply) {
    return reply->type == ggs_type_json;
}

const void * module_data(const struct ggs_reply * reply) {
    return reply->body.data;
}

size_t module_length(const struct ggs_reply * reply) {
    return reply->body.length;
}

void module_drop(struct ggs_reply * reply) {
    ggs_reply_drop(reply);
}
