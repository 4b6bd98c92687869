// The tables that grow with the recording: ops, op_runs, accesses, experts.
#include <stdlib.h>
#include <string.h>

#include "analyze/ops/choices.h"
#include "base/error.h"
#include "export/tables/tables.h"

void ggs_row_text(struct ggs_row * row, const char * text) {
    row->cells[row->n++] =
        (struct ggs_cell){.null = text == NULL, .text = text, .length = text == NULL ? 0 : strlen(text)};
}

// Calls `see` for each run of the walk.
static int each_run(struct ggs_export * export, const struct ggs_sink * sink,
                    int (*see)(struct ggs_export * export, struct ggs_walk * walk, const struct ggs_sink * sink,
                               void * state, struct ggs_error * error),
                    void * state, struct ggs_error * error) {
    struct ggs_walk * walk;
    int               status = ggs_export_walk(export, &walk, error);
    if (status < 0) return status;
    while ((status = ggs_walk_run(walk, error)) > 0) {
        status = see(export, walk, sink, state, error);
        if (status < 0) break;
        ggs_export_step(export);
    }
    ggs_walk_close(walk);
    return status < 0 ? status : 0;
}

// ---- ops ----

struct bytes {
    uint64_t read, written, disk;
};

static int bytes_of(struct ggs_walk * walk, struct bytes * out, struct ggs_error * error) {
    const struct ggs_access_list * list;
    int                            status = ggs_walk_accesses(walk, &list, error);
    *out                                  = (struct bytes){0};
    for (unsigned i = 0; status == 0 && i < list->n; i++) {
        const struct ggs_access * access = &list->access[i];
        *(access->write ? &out->written : &out->read) += access->bytes;
        if (access->tensor->source == GGS_SOURCE_DISK) out->disk += access->bytes;
    }
    return status;
}

static int ops_of_run(struct ggs_export * export, struct ggs_walk * walk, const struct ggs_sink * sink, void * state,
                      struct ggs_error * error) {
    (void) state;
    struct ggs_row row;
    struct bytes   bytes;
    const char *   phase  = ggs_word_phase(walk->run.phase);
    int            status = 0;
    while (status >= 0 && ggs_walk_op(walk)) {
        const struct ggs_op_seen * op = &walk->op;
        status                        = bytes_of(walk, &bytes, error);
        if (status < 0) break;
        ggs_row_begin(&row);
        ggs_row_integer(&row, (int64_t) walk->run.run);
        ggs_row_integer(&row, (int64_t) op->node);
        ggs_row_integer(&row, (int64_t) walk->run.graph);
        ggs_row_natural(&row, walk->run.step);
        ggs_row_text(&row, phase);
        ggs_row_text(&row, op->name);
        ggs_row_text(&row, op->result == NULL ? "" : ggs_tensor_name_of(export, op->result->tensor));
        ggs_row_integer(&row, op->result == NULL ? 0 : (int64_t) op->result->tensor);
        ggs_row_natural(&row, op->layer);
        ggs_row_integer(&row, (int64_t) op->absorbed);
        ggs_row_integer(&row, (int64_t) op->n_op_runs);
        ggs_row_integer(&row, op->begin_ns);
        ggs_row_integer(&row, op->end_ns - op->begin_ns);
        ggs_row_integer(&row, (int64_t) op->busy_ns);
        ggs_row_integer(&row, (int64_t) op->wait_ns);
        ggs_row_integer(&row, (int64_t) bytes.read);
        ggs_row_integer(&row, (int64_t) bytes.written);
        ggs_row_integer(&row, (int64_t) bytes.disk);
        ggs_row_integer(&row, op->cut);
        status = sink->row(sink->context, row.cells, error);
    }
    return status;
}

int ggs_rows_ops(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    return each_run(export, sink, ops_of_run, NULL, error);
}

// ---- op runs ----

static int op_runs_of_run(struct ggs_export * export, struct ggs_walk * walk, const struct ggs_sink * sink,
                          void * state, struct ggs_error * error) {
    (void) export;
    (void) state;
    struct ggs_row row;
    int            status = 0;
    while (ggs_walk_op(walk)) {
        for (uint64_t i = 0; status >= 0 && i < walk->op.n_op_runs; i++) {
            const struct ggs_op_run * r = &walk->op.op_runs[i];
            ggs_row_begin(&row);
            ggs_row_integer(&row, (int64_t) r->run);
            ggs_row_integer(&row, (int64_t) r->node);
            ggs_row_integer(&row, (int64_t) r->thread);
            ggs_row_natural(&row, walk->run.step);
            ggs_row_integer(&row, (int64_t) r->os_thread);
            ggs_row_integer(&row, r->begin_ns);
            ggs_row_integer(&row, (int64_t) r->duration_ns);
            ggs_row_integer(&row, (int64_t) r->wait_ns);
            ggs_row_integer(&row, (int64_t) r->inner_wait_ns);
            ggs_row_integer(&row, (r->flags & GGS_OP_RUN_ENDED) != 0);
            ggs_row_integer(&row, (r->flags & GGS_OP_RUN_FUSED) != 0);
            ggs_row_integer(&row, (r->flags & GGS_OP_RUN_EXTRA) != 0);
            status = sink->row(sink->context, row.cells, error);
        }
        if (status < 0) break;
    }
    return status;
}

int ggs_rows_op_runs(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    return each_run(export, sink, op_runs_of_run, NULL, error);
}

// ---- accesses ----

static int ranges_of(const struct ggs_walk * walk, const struct ggs_access * access, const struct ggs_sink * sink,
                     struct ggs_error * error) {
    const struct ggs_tensor * t      = access->tensor;
    bool                      disk   = t->source == GGS_SOURCE_DISK;
    uint64_t                  file   = disk ? t->file : t->origin_file;
    uint64_t                  offset = disk ? t->file_offset : t->origin_offset;
    struct ggs_row            row;
    int                       status = 0;
    for (uint32_t i = 0; status >= 0 && i < access->n_ranges; i++) {
        const struct ggs_range * range = &access->ranges[i];
        ggs_row_begin(&row);
        ggs_row_integer(&row, (int64_t) walk->run.run);
        ggs_row_integer(&row, (int64_t) walk->op.node);
        ggs_row_natural(&row, walk->run.step);
        ggs_row_natural(&row, access->slot == GGS_ACCESS_RESULT ? -1 : (int64_t) access->slot);
        ggs_row_integer(&row, access->write);
        ggs_row_integer(&row, (int64_t) t->tensor);
        ggs_row_integer(&row, access->exact);
        ggs_row_integer(&row, (int64_t) range->offset);
        ggs_row_integer(&row, (int64_t) range->length);
        ggs_row_text(&row, ggs_word_source(t->source));
        ggs_row_id(&row, file);
        ggs_row_natural(&row, file == 0 ? -1 : (int64_t) (offset + range->offset));
        ggs_row_id(&row, t->buffer);
        ggs_row_natural(&row, t->buffer == 0 ? -1 : (int64_t) (t->buffer_offset + range->offset));
        status = sink->row(sink->context, row.cells, error);
    }
    return status;
}

static int accesses_of_run(struct ggs_export * export, struct ggs_walk * walk, const struct ggs_sink * sink,
                           void * state, struct ggs_error * error) {
    (void) export;
    (void) state;
    int status = 0;
    while (status >= 0 && ggs_walk_op(walk)) {
        const struct ggs_access_list * list;
        status = ggs_walk_accesses(walk, &list, error);
        for (unsigned i = 0; status >= 0 && i < list->n; i++) status = ranges_of(walk, &list->access[i], sink, error);
    }
    return status;
}

int ggs_rows_accesses(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    return each_run(export, sink, accesses_of_run, NULL, error);
}

// ---- experts ----

static void put_real(struct ggs_row * row, const float * values, uint64_t i) {
    if (values == NULL) {
        ggs_row_null(row);
    } else {
        ggs_row_real(row, (double) values[i]);
    }
}

static int rows_of_choice(const struct ggs_walk * walk, const struct ggs_choice * c, const struct ggs_sink * sink,
                          struct ggs_error * error) {
    struct ggs_row row;
    int            status = 0;
    for (uint64_t i = 0; status >= 0 && i < c->tokens * c->used; i++) {
        ggs_row_begin(&row);
        ggs_row_integer(&row, (int64_t) walk->run.run);
        ggs_row_integer(&row, (int64_t) c->node);
        ggs_row_integer(&row, (int64_t) (i / c->used));
        ggs_row_integer(&row, (int64_t) (i % c->used));
        ggs_row_natural(&row, walk->run.step);
        ggs_row_natural(&row, c->layer);
        ggs_row_integer(&row, c->experts[i]);
        put_real(&row, c->weights, i);
        put_real(&row, c->probabilities, i);
        status = sink->row(sink->context, row.cells, error);
    }
    return status;
}

static int experts_of_run(struct ggs_export * export, struct ggs_walk * walk, const struct ggs_sink * sink,
                          void * state, struct ggs_error * error) {
    (void) export;
    struct ggs_choices * choices = state;
    int                  status  = ggs_choices_of(choices, walk, error);
    for (uint64_t i = 0; status >= 0 && i < choices->n; i++)
        status = rows_of_choice(walk, &choices->choice[i], sink, error);
    return status;
}

int ggs_rows_experts(struct ggs_export * export, const struct ggs_sink * sink, struct ggs_error * error) {
    struct ggs_choices choices = {0};
    int                status  = each_run(export, sink, experts_of_run, &choices, error);
    ggs_choices_release(&choices);
    return status;
}
