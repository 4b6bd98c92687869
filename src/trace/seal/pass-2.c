// Pass 2 over the journal: passes every record to the module that writes its tables.
#include <stdlib.h>
#include <string.h>

#include "trace/seal/runs/device-runs.h"
#include "trace/seal/seal-state.h"
#include "trace/seal/windows.h"

// ---- schedules ----

static void on_schedule(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    const uint64_t *    value = ((const struct ggs_journal_number *) record->body)->value;
    struct ggs_schedule row   = {.schedule  = value[0],
                                 .scheduler = value[1],
                                 .decode    = value[2],
                                 .nodes     = value[3],
                                 .begin_ns  = ns,
                                 .end_ns    = -1};
    if (ggs_writer_reserve(&sealing->writer, sealing->schedules, sealing->schedules_capacity, sealing->n_schedules + 1))
        sealing->schedules[sealing->n_schedules++] = row;
}

static struct ggs_schedule * find_schedule(struct ggs_seal_state * sealing, uint64_t schedule) {
    for (size_t i = sealing->n_schedules; schedule != 0 && i-- > 0;)
        if (sealing->schedules[i].schedule == schedule) return &sealing->schedules[i];
    return NULL;
}

static void write_schedule(struct ggs_seal_state * sealing, struct ggs_schedule * schedule) {
    ggs_writer_append(&sealing->writer, GGS_TABLE_SCHEDULES, schedule);
    *schedule = sealing->schedules[--sealing->n_schedules];
}

static void on_schedule_end(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    const uint64_t *      value    = ((const struct ggs_journal_number *) record->body)->value;
    struct ggs_schedule * schedule = find_schedule(sealing, value[0]);
    if (schedule == NULL) return;
    schedule->end_ns = ns;
    schedule->status = (int64_t) value[1];
    write_schedule(sealing, schedule);
}

// ---- model loads ----

static void on_load(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    uint64_t             load = ((const struct ggs_journal_number *) record->body)->value[0];
    struct ggs_open_load open = {.row = {.load = load,
                                         .path = ggs_writer_string(&sealing->writer, record->text, record->text_length),
                                         .begin_ns = ns,
                                         .end_ns   = -1}};
    if (!ggs_writer_reserve(&sealing->writer, sealing->loads, sealing->loads_capacity, sealing->n_loads + 1)) return;
    open.path                          = strndup(record->text, record->text_length);
    sealing->loads[sealing->n_loads++] = open;
    sealing->places.load               = load;
}

static void on_load_end(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    const uint64_t * value = ((const struct ggs_journal_number *) record->body)->value;
    sealing->places.load   = 0;
    for (size_t i = sealing->n_loads; i-- > 0;) {
        struct ggs_load * row = &sealing->loads[i].row;
        if (row->load == value[0] && row->end_ns < 0)
            row->end_ns = ns, row->model = value[1];
        else if (row->end_ns < 0)
            sealing->places.load = row->load; // another load is in progress
    }
}

// Finds the file of a model: the first one that was opened while it was loaded, or else the
// requested one. A model whose load was not recorded has the newest file of all.
static const char * model_file(void * owner, uint64_t model) {
    const struct ggs_seal_state * sealing = owner;
    for (size_t i = sealing->n_loads; model != 0 && i-- > 0;)
        if (sealing->loads[i].row.model == model)
            return sealing->loads[i].file != NULL ? sealing->loads[i].file : sealing->loads[i].path;
    return sealing->newest_file;
}

static void on_file(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) ns;
    uint64_t file = ggs_places_file(&sealing->places, record->text, record->text_length);
    char *   copy = strndup(record->text, record->text_length);
    if (file != 0) {
        sealing->places.files[file - 1].gguf = 1;
        if (sealing->places.load != 0) sealing->places.files[file - 1].load = sealing->places.load;
    }
    if (copy == NULL) return;
    free(sealing->newest_file);
    sealing->newest_file        = copy;
    struct ggs_open_load * last = sealing->n_loads == 0 ? NULL : &sealing->loads[sealing->n_loads - 1];
    if (last != NULL && last->row.end_ns < 0 && last->file == NULL) last->file = strdup(copy);
}

// ---- the process ----

static void on_process(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) ns;
    const struct ggs_journal_process * process = record->body;
    sealing->process =
        (struct ggs_process){.process     = sealing->writer.process,
                             .pid         = process->pid,
                             .executable  = ggs_writer_string(&sealing->writer, record->text, record->text_length),
                             .engine      = sealing->process.engine,
                             .begin_ns    = ggs_clock_ns(&sealing->clock, process->ticks),
                             .realtime_ns = process->realtime_ns,
                             .page_size   = process->page_size};
    if (process->page_size > 0) sealing->machine.page_size = process->page_size;
    sealing->observed.pid = process->pid;
}

static void on_engine(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) ns;
    sealing->process.engine = ggs_writer_string(&sealing->writer, record->text, record->text_length);
}

static void on_end(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) record, (void) ns;
    sealing->ended = true;
}

static void on_loss(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    const struct ggs_journal_loss * loss = record->body;
    struct ggs_loss                 row  = {.reason   = loss->reason,
                                            .lane     = loss->lane,
                                            .count    = loss->count,
                                            .run      = loss->run,
                                            .begin_ns = loss->begin == 0 ? 0 : ggs_clock_ns(&sealing->clock, loss->begin),
                                            .end_ns   = loss->end == 0 ? ns : ggs_clock_ns(&sealing->clock, loss->end)};
    ggs_writer_append(&sealing->writer, GGS_TABLE_LOSSES, &row);
    ggs_runs_lost(&sealing->runs, loss->run, loss->count);
    sealing->lost += loss->count;
}

// ---- graphs, buffers, transfers ----

static void on_ops(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) ns;
    ggs_graphs_ops(&sealing->graphs, record->text, record->text_length);
}

static void on_types(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) ns;
    ggs_graphs_types(&sealing->graphs, record->text, record->text_length);
}

static void on_graph(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    ggs_graphs_define(&sealing->graphs, record->body, record->length, ns);
}

static void on_graph_delta(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    ggs_graphs_define_delta(&sealing->graphs, record->body, record->length, ns);
}

static void on_maps(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    ggs_places_maps(&sealing->places, record->text, record->text_length, ns);
}

static void on_buffer(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    const char * newline = memchr(record->text, '\n', record->text_length);
    size_t       length = newline == NULL ? record->text_length : (size_t) (newline - record->text), rest = 0;
    if (newline != NULL) rest = strnlen(newline + 1, record->text_length - length - 1);
    uint64_t device = rest == 0 ? 0 : ggs_devices_number(&sealing->devices, newline + 1, rest, false);
    ggs_places_buffer(&sealing->places, record->body, record->text, length, device, ns);
}

static void on_buffer_free(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    ggs_places_buffer_free(&sealing->places, ((const struct ggs_journal_number *) record->body)->value[0], ns);
}

static void on_buffer_usage(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) ns;
    const uint64_t * value = ((const struct ggs_journal_number *) record->body)->value;
    ggs_places_buffer_usage(&sealing->places, value[0], value[1]);
}

static void on_transfer(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) ns;
    const struct ggs_journal_transfer * transfer = record->body;
    int64_t                             begin    = ggs_clock_ns(&sealing->clock, transfer->begin);
    int64_t                             end      = ggs_clock_ns(&sealing->clock, transfer->end);
    struct ggs_transfer                 row      = {.kind        = transfer->kind,
                                                    .async       = transfer->async != 0,
                                                    .from        = transfer->from,
                                                    .to          = transfer->to,
                                                    .from_buffer = transfer->from_buffer,
                                                    .to_buffer   = transfer->to_buffer,
                                                    .bytes       = transfer->bytes,
                                                    .begin_ns    = begin,
                                                    .duration_ns = end > begin ? (uint64_t) (end - begin) : 0,
                                                    .name = ggs_writer_string(&sealing->writer, record->text, record->text_length)};
    ggs_places_transfer(&sealing->places, &row);
    ggs_writer_append(&sealing->writer, GGS_TABLE_TRANSFERS, &row);
}

// ---- runs and steps ----

static void on_run(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) ns;
    const struct ggs_journal_run * run      = record->body;
    const struct ggs_schedule *    schedule = find_schedule(sealing, run->schedule);
    ggs_runs_begin(&sealing->runs, run, record->text, record->text_length, schedule == NULL ? 0 : schedule->scheduler);
}

static void on_run_threads(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) ns;
    const uint64_t * value = ((const struct ggs_journal_number *) record->body)->value;
    ggs_runs_threads(&sealing->runs, value[0], value[1], value[2], value[3]);
}

static void on_run_end(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) ns;
    ggs_runs_end(&sealing->runs, record->body);
    sealing->machine.step = sealing->runs.newest_step;
}

static void on_device_run(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) ns;
    ggs_runs_device(&sealing->runs, record->body, record->length);
    sealing->machine.step = sealing->runs.newest_step;
}

static void on_device(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) ns;
    ggs_devices_describe(&sealing->devices, record->body, record->text, record->text_length);
}

static void on_kernels(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) ns;
    ggs_runs_kernels(&sealing->runs, record->body, record->length);
}

static void on_streamed(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    const struct ggs_journal_streamed * head = record->body;
    const char *                        uses = (const char *) record->body + sizeof(*head);
    (void) ns;
    if (head->count > (record->length - sizeof(*head)) / sizeof(struct ggs_journal_streamed_use)) {
        sealing->runs.damaged++;
        return;
    }
    for (uint64_t i = 0; i < head->count; i++) {
        struct ggs_journal_streamed_use use;
        memcpy(&use, uses + i * sizeof(use), sizeof(use));
        struct ggs_streamed row = {.run            = head->run,
                                   .node           = use.node,
                                   .source         = use.source,
                                   .place          = use.place,
                                   .bytes_read     = use.bytes_read,
                                   .bytes_early    = use.bytes_early,
                                   .hits           = use.hits,
                                   .misses         = use.misses,
                                   .predicted      = use.predicted,
                                   .predicted_used = use.predicted_used,
                                   .wait_ns        = use.wait_ns};
        ggs_writer_append(&sealing->writer, GGS_TABLE_STREAMED, &row);
    }
}

static void on_decode(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    ggs_steps_decode(&sealing->steps, record->body, record->length, ns);
}

static void on_decode_end(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    const uint64_t * value = ((const struct ggs_journal_number *) record->body)->value;
    ggs_steps_decode_end(&sealing->steps, value[0], (int64_t) value[1], ns);
    if (!ggs_windows_end_with(&sealing->spool, value[0])) return;
    uint64_t * end = ggs_map_put(&sealing->ends, ggs_map_key_number(value[0]));
    if (end != NULL) *end = (uint64_t) ns;
}

static void on_warmup(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    const uint64_t * value = ((const struct ggs_journal_number *) record->body)->value;
    ggs_steps_warmup(&sealing->steps, value[0], value[1] != 0, ns);
}

static void on_clear(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    struct ggs_memory_change change = {
        .kind = GGS_MEMORY_CLEAR, .sequence = -1, .other = -1, .from = -1, .to = -1, .begin_ns = ns};
    ggs_steps_change(&sealing->steps, ((const struct ggs_journal_number *) record->body)->value[0], change);
}

static void on_memory(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    const struct ggs_journal_memory * memory = record->body;
    struct ggs_memory_change          change = {.kind     = memory->kind,
                                                .sequence = memory->sequence,
                                                .other    = memory->other,
                                                .from     = memory->from,
                                                .to       = memory->to,
                                                .delta    = memory->delta,
                                                .begin_ns = ns};
    ggs_steps_change(&sealing->steps, memory->object, change);
}

static void on_output_read(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    const struct ggs_journal_output_read * read = record->body;
    (void) ns;
    ggs_steps_output_read(&sealing->steps, read->context, read->index);
}

static void on_context(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    const uint64_t * value = ((const struct ggs_journal_number *) record->body)->value;
    ggs_steps_context(&sealing->steps, value[0], value[1], value[2], ns);
}

// ---- requests to the machine ----

static void on_pages(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) ns;
    ggs_machine_pages(&sealing->machine, record->body, record->length);
}

static void on_read(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) ns;
    ggs_machine_read(&sealing->machine, record->body, record->length);
}

static void on_filled(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) ns;
    ggs_places_filled(&sealing->places, record->body, record->text, record->text_length);
}

static void on_sample(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    (void) ns;
    ggs_places_sample(&sealing->places, record->body, record->length);
}

static void on_resident(struct ggs_seal_state * sealing, const struct ggs_record * record, int64_t ns) {
    ggs_machine_resident(&sealing->machine, record->body, record->length, ns);
}

static void (*const handlers[GGS_JOURNAL_COUNT])(struct ggs_seal_state *, const struct ggs_record *, int64_t ns) = {
    [GGS_JOURNAL_PROCESS]      = on_process,
    [GGS_JOURNAL_ENGINE]       = on_engine,
    [GGS_JOURNAL_OPS]          = on_ops,
    [GGS_JOURNAL_TYPES]        = on_types,
    [GGS_JOURNAL_FILE]         = on_file,
    [GGS_JOURNAL_MAPS]         = on_maps,
    [GGS_JOURNAL_BUFFER]       = on_buffer,
    [GGS_JOURNAL_BUFFER_FREE]  = on_buffer_free,
    [GGS_JOURNAL_BUFFER_USAGE] = on_buffer_usage,
    [GGS_JOURNAL_GRAPH]        = on_graph,
    [GGS_JOURNAL_GRAPH_DELTA]  = on_graph_delta,
    [GGS_JOURNAL_RUN]          = on_run,
    [GGS_JOURNAL_RUN_THREADS]  = on_run_threads,
    [GGS_JOURNAL_RUN_END]      = on_run_end,
    [GGS_JOURNAL_DECODE]       = on_decode,
    [GGS_JOURNAL_DECODE_END]   = on_decode_end,
    [GGS_JOURNAL_WARMUP]       = on_warmup,
    [GGS_JOURNAL_CLEAR]        = on_clear,
    [GGS_JOURNAL_TRANSFER]     = on_transfer,
    [GGS_JOURNAL_LOAD]         = on_load,
    [GGS_JOURNAL_LOAD_END]     = on_load_end,
    [GGS_JOURNAL_CONTEXT]      = on_context,
    [GGS_JOURNAL_SCHEDULE]     = on_schedule,
    [GGS_JOURNAL_SCHEDULE_END] = on_schedule_end,
    [GGS_JOURNAL_LOSS]         = on_loss,
    [GGS_JOURNAL_END]          = on_end,
    [GGS_JOURNAL_PAGES]        = on_pages,
    [GGS_JOURNAL_READ]         = on_read,
    [GGS_JOURNAL_RESIDENT]     = on_resident,
    [GGS_JOURNAL_DEVICE_RUN]   = on_device_run,
    [GGS_JOURNAL_KERNELS]      = on_kernels,
    [GGS_JOURNAL_DEVICE]       = on_device,
    [GGS_JOURNAL_FILLED]       = on_filled,
    [GGS_JOURNAL_MEMORY]       = on_memory,
    [GGS_JOURNAL_STREAMED]     = on_streamed,
    [GGS_JOURNAL_OUTPUT_READ]  = on_output_read,
    [GGS_JOURNAL_SAMPLE]       = on_sample,
    [GGS_JOURNAL_EMBEDDINGS]   = NULL, // done in pass 1
    [GGS_JOURNAL_OFF_CPU]      = NULL, // only in the machine's stream (observed.c)
};

// ---- interface ----

static void connect(struct ggs_seal_state * sealing) {
    sealing->places               = (struct ggs_places){.writer = &sealing->writer, .options = sealing->options};
    sealing->graphs               = (struct ggs_graphs){.writer = &sealing->writer, .places = &sealing->places};
    sealing->steps.options        = sealing->options;
    sealing->steps.model_file     = model_file;
    sealing->steps.owner          = sealing;
    sealing->steps.writer         = &sealing->writer;
    sealing->steps.clock          = &sealing->clock;
    sealing->steps.no_tokens      = !sealing->tokens;
    sealing->steps.sequences.gaps = ggs_windows_have_gaps(&sealing->spool);
    sealing->devices              = (struct ggs_devices){.writer = &sealing->writer};
    sealing->runs                 = (struct ggs_runs){.writer   = &sealing->writer,
                                                      .clock    = &sealing->clock,
                                                      .spool    = &sealing->spool,
                                                      .graphs   = &sealing->graphs,
                                                      .steps    = &sealing->steps,
                                                      .lods     = &sealing->lods,
                                                      .devices  = &sealing->devices,
                                                      .observed = &sealing->observed,
                                                      .mode     = sealing->keep != NULL        ? GGS_RUNS_INTO_PART
                                                                  : sealing->part.n_blocks > 0 ? GGS_RUNS_FROM_PART
                                                                                               : GGS_RUNS_FROM_LANES,
                                                      .part     = &sealing->part,
                                                      .keep     = sealing->keep,
                                                      .lossy    = sealing->lossy};
    sealing->observed             = (struct ggs_observed){.writer  = &sealing->writer,
                                                          .places  = &sealing->places,
                                                          .options = sealing->options,
                                                          .spool   = &sealing->spool,
                                                          .keep    = sealing->keep};
    sealing->machine              = (struct ggs_machine){.writer    = &sealing->writer,
                                                         .clock     = &sealing->clock,
                                                         .places    = &sealing->places,
                                                         .page_size = 4096,
                                                         .step      = -1};
    ggs_lods_init(&sealing->lods, &sealing->writer, &sealing->devices, ggs_spool_estimate(&sealing->spool),
                  (uint64_t) ggs_clock_ns(&sealing->clock, sealing->clock.last.ticks), sealing->spool.n_lanes);
    ggs_lods_leave_open(&sealing->lods);
    sealing->lods.keeps = sealing->keep != NULL;
}

static void finish(struct ggs_seal_state * sealing) {
    ggs_clock_reach(&sealing->clock, UINT64_MAX);
    ggs_clock_reach(&sealing->observed.clock, UINT64_MAX);
    ggs_runs_finish(&sealing->runs, sealing->last_ns, sealing->ended);
    // Kernel events after the last run of a live recording belong to runs that are not there.
    ggs_observed_emit(&sealing->observed, ggs_spool_goes_on(&sealing->spool) ? sealing->last_ns + 1 : INT64_MAX);
    ggs_steps_finish(&sealing->steps, sealing->last_ns, sealing->ended);
    while (sealing->n_schedules > 0) write_schedule(sealing, &sealing->schedules[0]);
    for (size_t i = 0; i < sealing->n_loads; i++)
        ggs_writer_append(&sealing->writer, GGS_TABLE_LOADS, &sealing->loads[i].row);
    ggs_windows_write(&sealing->spool, &sealing->clock, &sealing->ends, &sealing->writer);
    ggs_places_finish(&sealing->places);
    ggs_devices_finish(&sealing->devices);
    ggs_lods_finish(&sealing->lods);
    sealing->damaged = sealing->spool.journal.damaged + sealing->spool.machine.damaged + sealing->graphs.damaged +
                       sealing->steps.damaged + sealing->runs.damaged + sealing->machine.damaged +
                       sealing->observed.damaged;
    struct ggs_loss loss = {
        .reason = GGS_LOSS_DAMAGED, .lane = GGS_SPOOL_JOURNAL, .count = sealing->damaged, .end_ns = sealing->last_ns};
    if (loss.count > 0) ggs_writer_append(&sealing->writer, GGS_TABLE_LOSSES, &loss);
    loss.reason = GGS_LOSS_WEIGHTS;
    loss.count  = sealing->runs.lost_weights;
    if (loss.count > 0) ggs_writer_append(&sealing->writer, GGS_TABLE_LOSSES, &loss);
    for (size_t i = 0; i < sealing->spool.n_lanes; i++) sealing->damaged += sealing->spool.lanes[i].damaged;
    sealing->lost += sealing->runs.lost + sealing->runs.lost_weights;
    sealing->process.end_ns = sealing->last_ns;
    sealing->process.ended  = sealing->ended;
    ggs_writer_append(&sealing->writer, GGS_TABLE_PROCESSES, &sealing->process);
}

int ggs_seal_begin(struct ggs_seal_state * sealing, struct ggs_error * error) {
    connect(sealing);
    int status = ggs_runs_init(&sealing->runs, error);
    if (status == 0) status = ggs_observed_init(&sealing->observed, &sealing->clock, error);
    if (status == 0) ggs_runs_begin_part(&sealing->runs);
    return status;
}

void ggs_seal_record(struct ggs_seal_state * sealing, const struct ggs_record * record) {
    ggs_clock_reach(&sealing->clock, record->ticks);
    ggs_clock_reach(&sealing->observed.clock, record->ticks);
    int64_t ns = ggs_clock_ns(&sealing->clock, record->ticks);
    if (ns > sealing->last_ns) sealing->last_ns = ns;
    sealing->lods.limit_ns = sealing->last_ns > INT64_MAX / 4 ? INT64_MAX / 2 : 2 * sealing->last_ns;
    if (ggs_seal_leaves_out(sealing, record)) {
        if (record->type == GGS_JOURNAL_RUN)
            ggs_runs_leave_out(&sealing->runs, ((const struct ggs_journal_run *) record->body)->run);
        return;
    }
    if (handlers[record->type] != NULL) handlers[record->type](sealing, record, ns);
}

int ggs_seal_pass_2(struct ggs_seal_state * sealing, struct ggs_error * error) {
    const struct ggs_seal_options * options = sealing->options;
    struct ggs_record               record;
    ggs_clock_finish(&sealing->clock, options->start_monotonic_ns);
    int status = ggs_seal_begin(sealing, error);
    if (status != 0) return status;
    for (uint64_t n = 0; sealing->writer.status == 0 && ggs_spool_stream_record(&sealing->spool.journal, &record);
         n++) {
        ggs_seal_record(sealing, &record);
        if (options->progress != NULL && n % 64 == 0)
            options->progress(options->progress_context, ggs_spool_done(&sealing->spool), sealing->spool.bytes);
    }
    finish(sealing);
    if (sealing->writer.status != 0 && error != NULL) *error = sealing->writer.error;
    return sealing->writer.status;
}

void ggs_seal_release(struct ggs_seal_state * sealing) {
    ggs_runs_release(&sealing->runs);
    ggs_observed_release(&sealing->observed);
    ggs_lods_release(&sealing->lods);
    ggs_devices_release(&sealing->devices);
    ggs_steps_release(&sealing->steps);
    for (size_t i = 0; i < sealing->n_loads; i++) {
        free(sealing->loads[i].file);
        free(sealing->loads[i].path);
    }
    free(sealing->loads);
    free(sealing->newest_file);
    ggs_map_release(&sealing->ends);
    ggs_graphs_release(&sealing->graphs);
    ggs_places_release(&sealing->places);
    ggs_writer_release(&sealing->writer);
    ggs_spool_release(&sealing->spool);
    ggs_part_release(&sealing->part);
    ggs_spool_facts_release(&sealing->facts);
    free(sealing->schedules);
}
