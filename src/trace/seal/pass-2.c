#include "trace/seal/sealing.h"

#include <stdlib.h>
#include <string.h>

// A record's text has zeros after it up to a multiple of 8.
static size_t text_length(const char * text, size_t length) {
    return strnlen(text, length);
}

// ---- schedules and loads ----

static void begin_schedule(struct ggs_sealing * sealing, const uint64_t * value, int64_t ns) {
    if (sealing->n_schedules == sealing->schedules_capacity) {
        size_t                capacity = sealing->schedules_capacity == 0 ? 16 : 2 * sealing->schedules_capacity;
        struct ggs_schedule * bigger   = realloc(sealing->schedules, capacity * sizeof(*bigger));
        if (bigger == NULL) {
            ggs_writer_fail_memory(&sealing->writer);
            return;
        }
        sealing->schedules          = bigger;
        sealing->schedules_capacity = capacity;
    }
    sealing->schedules[sealing->n_schedules++] = (struct ggs_schedule){.schedule  = value[0],
                                                                       .scheduler = value[1],
                                                                       .decode    = value[2],
                                                                       .nodes     = value[3],
                                                                       .begin_ns  = ns,
                                                                       .end_ns    = -1};
}

static struct ggs_schedule * find_schedule(struct ggs_sealing * sealing, uint64_t schedule) {
    for (size_t i = sealing->n_schedules; schedule != 0 && i-- > 0;)
        if (sealing->schedules[i].schedule == schedule) return &sealing->schedules[i];
    return NULL;
}

static void end_schedule(struct ggs_sealing * sealing, struct ggs_schedule * schedule) {
    ggs_writer_append(&sealing->writer, GGS_TABLE_SCHEDULES, schedule);
    *schedule = sealing->schedules[--sealing->n_schedules];
}

static void begin_load(struct ggs_sealing * sealing, uint64_t load, const char * path, size_t length, int64_t ns) {
    if (sealing->n_loads == sealing->loads_capacity) {
        size_t            capacity = sealing->loads_capacity == 0 ? 8 : 2 * sealing->loads_capacity;
        struct ggs_load * bigger   = realloc(sealing->loads, capacity * sizeof(*bigger));
        if (bigger == NULL) {
            ggs_writer_fail_memory(&sealing->writer);
            return;
        }
        sealing->loads = bigger;
        char ** files  = realloc(sealing->load_files, capacity * sizeof(*files));
        if (files == NULL) {
            ggs_writer_fail_memory(&sealing->writer);
            return;
        }
        sealing->load_files     = files;
        sealing->loads_capacity = capacity;
    }
    sealing->load_files[sealing->n_loads] = NULL;
    sealing->loads[sealing->n_loads++]    = (struct ggs_load){
           .load = load, .path = ggs_writer_string(&sealing->writer, path, length), .begin_ns = ns, .end_ns = -1};
    sealing->places.load = load;
}

static void end_load(struct ggs_sealing * sealing, uint64_t load, uint64_t model, int64_t ns) {
    sealing->places.load = 0;
    for (size_t i = sealing->n_loads; i-- > 0;) {
        struct ggs_load * row = &sealing->loads[i];
        if (row->load == load && row->end_ns < 0)
            row->end_ns = ns, row->model = model;
        else if (row->end_ns < 0)
            sealing->places.load = row->load; // another one is still going on
    }
}

// Which file a model came from: the first one that was opened while it was loaded. A program that loads where no hook sees it has
// the newest file that was opened at all.
static const char * model_file(void * owner, uint64_t model) {
    const struct ggs_sealing * sealing = owner;
    for (size_t i = sealing->n_loads; model != 0 && i-- > 0;)
        if (sealing->loads[i].model == model && sealing->load_files[i] != NULL) return sealing->load_files[i];
    return sealing->newest_file;
}

static void note_file(struct ggs_sealing * sealing, const char * path, size_t length) {
    char * copy = strndup(path, length);
    if (copy == NULL) return;
    free(sealing->newest_file);
    sealing->newest_file = copy;
    size_t last          = sealing->n_loads;
    if (last > 0 && sealing->loads[last - 1].end_ns < 0 && sealing->load_files[last - 1] == NULL)
        sealing->load_files[last - 1] = strdup(copy);
}

// ---- records ----

static void on_process(struct ggs_sealing * sealing, const struct ggs_journal_process * process, const char * text,
                       size_t length) {
    sealing->process = (struct ggs_process){.process     = sealing->writer.process,
                                            .pid         = process->pid,
                                            .executable  = ggs_writer_string(&sealing->writer, text, length),
                                            .engine      = sealing->process.engine,
                                            .begin_ns    = ggs_clock_ns(&sealing->clock, process->ticks),
                                            .realtime_ns = process->realtime_ns,
                                            .page_size   = process->page_size};
    if (process->page_size > 0) sealing->machine.page_size = process->page_size;
    sealing->observed.pid = process->pid;
}

static void on_transfer(struct ggs_sealing * sealing, const struct ggs_journal_transfer * transfer, const char * name,
                        size_t length) {
    int64_t begin = ggs_clock_ns(&sealing->clock, transfer->begin), end = ggs_clock_ns(&sealing->clock, transfer->end);
    struct ggs_transfer row = {.kind        = transfer->kind,
                               .async       = transfer->async != 0,
                               .from        = transfer->from,
                               .to          = transfer->to,
                               .from_buffer = transfer->from_buffer,
                               .to_buffer   = transfer->to_buffer,
                               .bytes       = transfer->bytes,
                               .begin_ns    = begin,
                               .duration_ns = end > begin ? (uint64_t) (end - begin) : 0,
                               .name        = ggs_writer_string(&sealing->writer, name, length)};
    ggs_places_transfer(&sealing->places, &row);
    ggs_writer_append(&sealing->writer, GGS_TABLE_TRANSFERS, &row);
}

static void on_loss(struct ggs_sealing * sealing, const uint64_t * value, int64_t ns) {
    struct ggs_loss row = {
        .reason = value[0], .lane = value[1], .count = value[2], .run = value[3], .begin_ns = ns, .end_ns = ns};
    ggs_writer_append(&sealing->writer, GGS_TABLE_LOSSES, &row);
    ggs_runs_lost(&sealing->runs, value[3], value[2]);
    sealing->lost += value[2];
}

// Records that are four numbers and perhaps a text.
static void on_number(struct ggs_sealing * sealing, uint32_t type, const uint64_t * value, const char * text,
                      size_t length, int64_t ns) {
    struct ggs_schedule * schedule;
    switch (type) {
        case GGS_JOURNAL_BUFFER_FREE:
            ggs_places_buffer_free(&sealing->places, value[0], ns);
            break;
        case GGS_JOURNAL_BUFFER_USAGE:
            ggs_places_buffer_usage(&sealing->places, value[0], value[1]);
            break;
        case GGS_JOURNAL_RUN_THREADS:
            ggs_runs_threads(&sealing->runs, value[0], value[1], value[2]);
            break;
        case GGS_JOURNAL_DECODE_END:
            ggs_steps_decode_end(&sealing->steps, value[0], (int64_t) value[1], ns);
            break;
        case GGS_JOURNAL_WARMUP:
            ggs_steps_warmup(&sealing->steps, value[0], value[1] != 0, ns);
            break;
        case GGS_JOURNAL_CLEAR:
            ggs_steps_clear(&sealing->steps, value[0]);
            break;
        case GGS_JOURNAL_LOAD:
            begin_load(sealing, value[0], text, length, ns);
            break;
        case GGS_JOURNAL_LOAD_END:
            end_load(sealing, value[0], value[1], ns);
            break;
        case GGS_JOURNAL_CONTEXT:
            ggs_steps_context(&sealing->steps, value[0], value[1], value[2], ns);
            break;
        case GGS_JOURNAL_SCHEDULE:
            begin_schedule(sealing, value, ns);
            break;
        case GGS_JOURNAL_SCHEDULE_END:
            schedule = find_schedule(sealing, value[0]);
            if (schedule == NULL) break;
            schedule->end_ns = ns;
            schedule->status = (int64_t) value[1];
            end_schedule(sealing, schedule);
            break;
        case GGS_JOURNAL_LOSS:
            on_loss(sealing, value, ns);
            break;
        case GGS_JOURNAL_END:
            sealing->ended = true;
            break;
        default:
            break;
    }
}

// Bytes of the fixed part of a record's body.
static size_t fixed_part(uint32_t type) {
    switch (type) {
        case GGS_JOURNAL_PROCESS:
            return sizeof(struct ggs_journal_process);
        case GGS_JOURNAL_BUFFER:
            return sizeof(struct ggs_journal_buffer);
        case GGS_JOURNAL_RUN:
            return sizeof(struct ggs_journal_run);
        case GGS_JOURNAL_RUN_END:
            return sizeof(struct ggs_journal_run_end);
        case GGS_JOURNAL_TRANSFER:
            return sizeof(struct ggs_journal_transfer);
        case GGS_JOURNAL_PAGES:
            return sizeof(struct ggs_journal_pages);
        case GGS_JOURNAL_READ:
            return sizeof(struct ggs_journal_read);
        case GGS_JOURNAL_RESIDENT:
            return sizeof(struct ggs_journal_resident);
        case GGS_JOURNAL_ENGINE:
        case GGS_JOURNAL_OPS:
        case GGS_JOURNAL_TYPES:
        case GGS_JOURNAL_FILE:
        case GGS_JOURNAL_MAPS:
            return 0;
        case GGS_JOURNAL_GRAPH:
        case GGS_JOURNAL_GRAPH_DELTA:
        case GGS_JOURNAL_DECODE:
            return 0; // they look for themselves
        default:
            return sizeof(struct ggs_journal_number);
    }
}

static void on_run(struct ggs_sealing * sealing, const struct ggs_journal_run * run, const char * text, size_t length) {
    const struct ggs_schedule * schedule = find_schedule(sealing, run->schedule);
    ggs_runs_begin(&sealing->runs, run, text, length, schedule == NULL ? 0 : schedule->scheduler);
}

static void on_file(struct ggs_sealing * sealing, const char * path, size_t length) {
    uint64_t file = ggs_places_file(&sealing->places, path, length);
    if (file == 0) return;
    sealing->places.files[file - 1].gguf = 1;
    if (sealing->places.load != 0) sealing->places.files[file - 1].load = sealing->places.load;
}

static void tell(struct ggs_sealing * sealing, const struct ggs_journal_record * record) {
    const void * body   = record + 1;
    size_t       length = record->bytes - sizeof(*record), fixed = fixed_part(record->type);
    int64_t      ns = ggs_clock_ns(&sealing->clock, record->ticks);
    if (length < fixed) {
        sealing->damaged++;
        return;
    }
    if (ns > sealing->last_ns) sealing->last_ns = ns;
    const char * text       = (const char *) body + fixed;
    size_t       text_bytes = text_length(text, length - fixed);
    switch (record->type) {
        case GGS_JOURNAL_PROCESS:
            on_process(sealing, body, text, text_bytes);
            break;
        case GGS_JOURNAL_ENGINE:
            sealing->process.engine = ggs_writer_string(&sealing->writer, text, text_bytes);
            break;
        case GGS_JOURNAL_OPS:
            ggs_graphs_ops(&sealing->graphs, text, text_bytes);
            break;
        case GGS_JOURNAL_TYPES:
            ggs_graphs_types(&sealing->graphs, text, text_bytes);
            break;
        case GGS_JOURNAL_FILE:
            on_file(sealing, text, text_bytes);
            note_file(sealing, text, strnlen(text, text_bytes));
            break;
        case GGS_JOURNAL_MAPS:
            ggs_places_maps(&sealing->places, text, text_bytes, ns);
            break;
        case GGS_JOURNAL_BUFFER:
            ggs_places_buffer(&sealing->places, body, text, text_bytes, ns);
            break;
        case GGS_JOURNAL_GRAPH:
            ggs_graphs_define(&sealing->graphs, body, length, ns);
            break;
        case GGS_JOURNAL_GRAPH_DELTA:
            ggs_graphs_define_delta(&sealing->graphs, body, length, ns);
            break;
        case GGS_JOURNAL_RUN:
            on_run(sealing, body, text, text_bytes);
            break;
        case GGS_JOURNAL_RUN_END:
            ggs_runs_end(&sealing->runs, body);
            sealing->machine.step = sealing->runs.newest_step;
            break;
        case GGS_JOURNAL_DECODE:
            ggs_steps_decode(&sealing->steps, body, length, ns);
            break;
        case GGS_JOURNAL_TRANSFER:
            on_transfer(sealing, body, text, text_bytes);
            break;
        case GGS_JOURNAL_PAGES:
            ggs_machine_pages(&sealing->machine, body, length);
            break;
        case GGS_JOURNAL_READ:
            ggs_machine_read(&sealing->machine, body, length);
            break;
        case GGS_JOURNAL_RESIDENT:
            ggs_machine_resident(&sealing->machine, body, length, ns);
            break;
        default:
            on_number(sealing, record->type, ((const struct ggs_journal_number *) body)->value, text, text_bytes, ns);
    }
}

// ---- the whole ----

static void connect(struct ggs_sealing * sealing) {
    sealing->places           = (struct ggs_places){.writer = &sealing->writer, .options = sealing->options};
    sealing->graphs           = (struct ggs_graphs){.writer = &sealing->writer, .places = &sealing->places};
    sealing->steps.options    = sealing->options;
    sealing->steps.model_file = model_file;
    sealing->steps.owner      = sealing;
    sealing->steps.writer     = &sealing->writer;
    sealing->steps.clock      = &sealing->clock;
    sealing->runs             = (struct ggs_runs){.writer   = &sealing->writer,
                                                  .clock    = &sealing->clock,
                                                  .spool    = &sealing->spool,
                                                  .graphs   = &sealing->graphs,
                                                  .steps    = &sealing->steps,
                                                  .lods     = &sealing->lods,
                                                  .devices  = &sealing->devices,
                                                  .observed = &sealing->observed,
                                                  .lossy    = sealing->lossy};
    sealing->observed         = (struct ggs_observed){
                .writer = &sealing->writer, .places = &sealing->places, .options = sealing->options, .spool = &sealing->spool};
    sealing->machine = (struct ggs_machine){.writer    = &sealing->writer,
                                            .clock     = &sealing->clock,
                                            .places    = &sealing->places,
                                            .page_size = 4096,
                                            .step      = -1};
    sealing->devices = (struct ggs_devices){.writer = &sealing->writer};
    ggs_lods_init(&sealing->lods, &sealing->writer, &sealing->devices, ggs_spool_estimate(&sealing->spool),
                  (uint64_t) ggs_clock_ns(&sealing->clock, sealing->clock.last.ticks), sealing->spool.n_lanes);
}

static void finish(struct ggs_sealing * sealing) {
    ggs_runs_finish(&sealing->runs, sealing->last_ns);
    ggs_observed_tell(&sealing->observed, INT64_MAX);
    ggs_steps_finish(&sealing->steps, sealing->last_ns);
    while (sealing->n_schedules > 0) end_schedule(sealing, &sealing->schedules[0]);
    for (size_t i = 0; i < sealing->n_loads; i++)
        ggs_writer_append(&sealing->writer, GGS_TABLE_LOADS, &sealing->loads[i]);
    ggs_places_finish(&sealing->places);
    ggs_lods_finish(&sealing->lods);
    uint64_t damaged = sealing->spool.journal.damaged + sealing->damaged + sealing->graphs.damaged +
                       sealing->steps.damaged + sealing->runs.damaged + sealing->machine.damaged +
                       sealing->observed.damaged + sealing->spool.machine.damaged;
    struct ggs_loss loss = {
        .reason = GGS_LOSS_DAMAGED, .lane = GGS_SPOOL_JOURNAL, .count = damaged, .end_ns = sealing->last_ns};
    if (damaged > 0) ggs_writer_append(&sealing->writer, GGS_TABLE_LOSSES, &loss);
    sealing->damaged = damaged;
    for (size_t i = 0; i < sealing->spool.n_lanes; i++) sealing->damaged += sealing->spool.lanes[i].damaged;
    sealing->lost += sealing->runs.lost;
    sealing->process.end_ns = sealing->last_ns;
    sealing->process.ended  = sealing->ended;
    ggs_writer_append(&sealing->writer, GGS_TABLE_PROCESSES, &sealing->process);
}

int ggs_sealing_pass_2(struct ggs_sealing * sealing, struct ggs_error * error) {
    const struct ggs_journal_record * record;
    connect(sealing);
    int status = ggs_runs_init(&sealing->runs, error);
    if (status == 0) status = ggs_observed_init(&sealing->observed, &sealing->clock, error);
    if (status != 0) return status;
    for (uint64_t n = 0; (record = ggs_spool_stream_record(&sealing->spool.journal)) != NULL; n++) {
        tell(sealing, record);
        if (sealing->writer.status != 0) break;
        if (sealing->options->progress != NULL && n % 64 == 0)
            sealing->options->progress(sealing->options->progress_context, ggs_spool_done(&sealing->spool),
                                       sealing->spool.bytes);
    }
    finish(sealing);
    if (sealing->writer.status != 0 && error != NULL) *error = sealing->writer.error;
    return sealing->writer.status;
}

void ggs_sealing_release(struct ggs_sealing * sealing) {
    ggs_runs_release(&sealing->runs);
    ggs_observed_release(&sealing->observed);
    ggs_lods_release(&sealing->lods);
    ggs_devices_release(&sealing->devices);
    ggs_steps_release(&sealing->steps);
    for (size_t i = 0; i < sealing->n_loads; i++) free(sealing->load_files[i]);
    free(sealing->load_files);
    free(sealing->newest_file);
    ggs_graphs_release(&sealing->graphs);
    ggs_places_release(&sealing->places);
    ggs_writer_release(&sealing->writer);
    ggs_spool_release(&sealing->spool);
    free(sealing->schedules);
    free(sealing->loads);
}
