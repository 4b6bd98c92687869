#include "analyze/memory/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/walk.h"
#include "base/error.h"
#include "base/search.h"
#include "gguf/gguf-slice.h"

enum { NEVER = 0, ROWS = 1, WHOLE = 2 }; // above: when, counted from WHOLE

struct finder {
    struct ggs_trace *      trace;
    const struct ggs_gguf * gguf;
    uint64_t                file;      // of the trace
    size_t *                by_offset; // tensors
    uint64_t *              use;       // by tensor: NEVER, ROWS or when
    uint64_t                next;
    struct ggs_error *      error;
};

static int fail_other_model(const struct finder * finder, const char * why) {
    return ggs_fail(finder->error, GGS_USAGE, "this is not a recording of %s: %s", finder->gguf->path, why);
}

// The number of the model's file in the trace; it may have moved since.
static int find_file(struct finder * finder) {
    const struct ggs_trace * trace = finder->trace;
    char                     why[96];
    for (uint64_t i = 0; i < trace->n_files; i++) {
        if (!trace->models[i] || trace->files[i].size != finder->gguf->size) continue;
        finder->file = i + 1;
        return 0;
    }
    snprintf(why, sizeof(why), "no op in it reads a model of %" PRIu64 " bytes", finder->gguf->size);
    return fail_other_model(finder, why);
}

// The last step that generated a token, or of all if none did.
static int find_step(struct finder * finder, int64_t * found) {
    struct ggs_cursor * cursor;
    struct ggs_step     step;
    int64_t             last = -1, generated = -1;
    int                 status = ggs_cursor_open(&cursor, finder->trace->reader, GGS_TABLE_STEPS, finder->error);
    if (status < 0) return status;
    while ((status = ggs_cursor_next(cursor, &step, finder->error)) > 0) {
        if (step.step > last) last = step.step;
        if (step.step > generated && step.phase == GGS_PHASE_GENERATE) generated = step.step;
    }
    ggs_cursor_close(cursor);
    if (status == 0 && last < 0) return ggs_fail(finder->error, GGS_ABSENT, "this recording has no tokens");
    *found = generated >= 0 ? generated : last;
    return status;
}

static int note(struct finder * finder, const struct ggs_access * access, bool rows) {
    const struct ggs_gguf * gguf = finder->gguf;
    char                    why[160], name[GGS_PRINTABLE_LENGTH];
    uint64_t                file, offset;
    if (access->write || !ggs_trace_origin(access->tensor, &file, &offset) || file != finder->file) return 0;
    uint64_t behind = ggs_search(gguf->n_tensors, at, gguf->tensors[finder->by_offset[at]].offset <= offset);
    size_t   tensor = behind == 0 ? 0 : finder->by_offset[behind - 1];
    const struct ggs_gguf_tensor * place = &gguf->tensors[tensor];
    const struct ggs_tensor *      root  = ggs_trace_root(finder->trace, access->tensor);
    const char *                   read  = ggs_reader_string(finder->trace->reader, root->name);
    if (behind == 0 || strlen(read) != place->name_length || memcmp(read, place->name, place->name_length) != 0) {
        ggs_printable(name, sizeof(name), read, strlen(read));
        snprintf(why, sizeof(why), "it has %s at offset %" PRIu64, name, offset);
        return fail_other_model(finder, why);
    }
    if (rows && finder->use[tensor] == NEVER) finder->use[tensor] = ROWS;
    if (!rows && finder->use[tensor] <= ROWS) finder->use[tensor] = WHOLE + finder->next++;
    return 0;
}

static int walk_step(struct finder * finder, int64_t step) {
    struct ggs_walk *              walk;
    const struct ggs_access_list * list;
    int                            more, status = ggs_walk_open(&walk, finder->trace, step, step, finder->error);
    if (status < 0) return status;
    walk->sums_only   = true;
    walk->with_opaque = true; // on a device that is seen as a whole the order of the graph is what there is
    while (status == 0 && (more = ggs_walk_run(walk, finder->error)) != 0) {
        if (more < 0) status = more;
        while (status == 0 && ggs_walk_op(walk)) {
            bool rows = ggs_trace_op_kind(finder->trace, walk->op.op) == GGS_KIND_GET_ROWS;
            status    = ggs_walk_accesses(walk, &list, finder->error);
            for (unsigned i = 0; status == 0 && i < list->n; i++) status = note(finder, &list->access[i], rows);
        }
    }
    ggs_walk_close(walk);
    return status;
}

// Rows, then by use, then what was never used: a place for each, and those without one left out.
static int put_in_order(struct ggs_use_order * order, const struct finder * finder) {
    size_t   n      = finder->gguf->n_tensors;
    size_t * places = malloc((3 * n + 1) * sizeof(*places));
    if (places == NULL) return ggs_fail_memory(finder->error);
    for (size_t i = 0; i < 3 * n; i++) places[i] = n;
    for (size_t i = 0; i < n; i++) {
        uint64_t use = finder->use[i];
        order->n_used += use != NEVER;
        places[use == NEVER ? 2 * n + i : use == ROWS ? i : n + (size_t) (use - WHOLE)] = i;
    }
    for (size_t i = 0, at = 0; i < 3 * n; i++)
        if (places[i] < n) order->tensors[at++] = places[i];
    free(places);
    return order->n_used > 0 ? 0 : fail_other_model(finder, "no op of its last token reads one of its tensors");
}

int ggs_use_order_find(struct ggs_use_order * order, struct ggs_trace * trace, const struct ggs_gguf * gguf,
                       struct ggs_error * error) {
    struct finder finder = {.trace = trace, .gguf = gguf, .error = error};
    int64_t       step   = 0;
    *order               = (struct ggs_use_order){0};
    order->tensors       = calloc(gguf->n_tensors + 1, sizeof(*order->tensors));
    finder.use           = calloc(gguf->n_tensors + 1, sizeof(*finder.use));
    finder.by_offset     = ggs_gguf_by_offset(gguf);
    int status = order->tensors == NULL || finder.use == NULL || finder.by_offset == NULL ? ggs_fail_memory(error)
                                                                                          : find_file(&finder);
    if (status == 0) status = find_step(&finder, &step);
    if (status == 0) status = walk_step(&finder, step);
    if (status == 0 && step > 0) status = walk_step(&finder, 0);
    if (status == 0) status = put_in_order(order, &finder);
    free(finder.use);
    free(finder.by_offset);
    if (status < 0) ggs_use_order_release(order);
    return status;
}

void ggs_use_order_release(struct ggs_use_order * order) {
    free(order->tensors);
    *order = (struct ggs_use_order){0};
}
