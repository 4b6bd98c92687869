#include "trace/seal/story.h"

#include <stdlib.h>
#include <string.h>

static void fail_memory(struct ggs_story * story) {
    if (story->writer.status == 0) story->writer.status = ggs_fail_memory(&story->writer.error);
}

// A record's text has zeros after it up to a multiple of 8.
static size_t text_length(const char * text, size_t length) {
    return strnlen(text, length);
}

// ---- schedules and loads ----

static void begin_schedule(struct ggs_story * story, const uint64_t * value, int64_t ns) {
    if (story->n_schedules == story->schedules_capacity) {
        size_t                capacity = story->schedules_capacity == 0 ? 16 : 2 * story->schedules_capacity;
        struct ggs_schedule * bigger   = realloc(story->schedules, capacity * sizeof(*bigger));
        if (bigger == NULL) {
            fail_memory(story);
            return;
        }
        story->schedules          = bigger;
        story->schedules_capacity = capacity;
    }
    story->schedules[story->n_schedules++] = (struct ggs_schedule){.schedule  = value[0],
                                                                   .scheduler = value[1],
                                                                   .decode    = value[2],
                                                                   .nodes     = value[3],
                                                                   .begin_ns  = ns,
                                                                   .end_ns    = -1};
}

static struct ggs_schedule * find_schedule(struct ggs_story * story, uint64_t schedule) {
    for (size_t i = story->n_schedules; schedule != 0 && i-- > 0;)
        if (story->schedules[i].schedule == schedule) return &story->schedules[i];
    return NULL;
}

static void end_schedule(struct ggs_story * story, struct ggs_schedule * schedule) {
    ggs_writer_append(&story->writer, GGS_TABLE_SCHEDULES, schedule);
    *schedule = story->schedules[--story->n_schedules];
}

static void begin_load(struct ggs_story * story, uint64_t load, const char * path, size_t length, int64_t ns) {
    if (story->n_loads == story->loads_capacity) {
        size_t            capacity = story->loads_capacity == 0 ? 8 : 2 * story->loads_capacity;
        struct ggs_load * bigger   = realloc(story->loads, capacity * sizeof(*bigger));
        if (bigger == NULL) {
            fail_memory(story);
            return;
        }
        story->loads  = bigger;
        char ** files = realloc(story->load_files, capacity * sizeof(*files));
        if (files == NULL) {
            fail_memory(story);
            return;
        }
        story->load_files     = files;
        story->loads_capacity = capacity;
    }
    story->load_files[story->n_loads] = NULL;
    story->loads[story->n_loads++] =
        (struct ggs_load){load, ggs_writer_string(&story->writer, path, length), ns, -1, 0};
    story->places.load = load;
}

static void end_load(struct ggs_story * story, uint64_t load, uint64_t model, int64_t ns) {
    story->places.load = 0;
    for (size_t i = story->n_loads; i-- > 0;) {
        struct ggs_load * row = &story->loads[i];
        if (row->load == load && row->end_ns < 0)
            row->end_ns = ns, row->model = model;
        else if (row->end_ns < 0)
            story->places.load = row->load; // another one is still going on
    }
}

// Which file a model came from: the first one that was opened while it was loaded. A program that loads where no hook sees it has
// the newest file that was opened at all.
static const char * model_file(void * owner, uint64_t model) {
    const struct ggs_story * story = owner;
    for (size_t i = story->n_loads; model != 0 && i-- > 0;)
        if (story->loads[i].model == model && story->load_files[i] != NULL) return story->load_files[i];
    return story->newest_file;
}

static void note_file(struct ggs_story * story, const char * path, size_t length) {
    char * copy = strndup(path, length);
    if (copy == NULL) return;
    free(story->newest_file);
    story->newest_file = copy;
    size_t last        = story->n_loads;
    if (last > 0 && story->loads[last - 1].end_ns < 0 && story->load_files[last - 1] == NULL)
        story->load_files[last - 1] = strdup(copy);
}

// ---- records ----

static void on_process(struct ggs_story * story, const struct ggs_story_process * process, const char * text,
                       size_t length) {
    story->process = (struct ggs_process){.pid         = process->pid,
                                          .executable  = ggs_writer_string(&story->writer, text, length),
                                          .engine      = story->process.engine,
                                          .begin_ns    = ggs_clock_ns(&story->clock, process->ticks),
                                          .realtime_ns = process->realtime_ns,
                                          .page_size   = process->page_size};
    if (process->page_size > 0) story->machine.page_size = process->page_size;
    story->observed.pid = process->pid;
}

static void on_transfer(struct ggs_story * story, const struct ggs_story_transfer * transfer, const char * name,
                        size_t length) {
    int64_t begin = ggs_clock_ns(&story->clock, transfer->begin), end = ggs_clock_ns(&story->clock, transfer->end);
    struct ggs_transfer row = {.kind        = transfer->kind,
                               .async       = transfer->async != 0,
                               .from        = transfer->from,
                               .to          = transfer->to,
                               .from_buffer = transfer->from_buffer,
                               .to_buffer   = transfer->to_buffer,
                               .bytes       = transfer->bytes,
                               .begin_ns    = begin,
                               .duration_ns = end > begin ? (uint64_t) (end - begin) : 0,
                               .name        = ggs_writer_string(&story->writer, name, length)};
    ggs_places_transfer(&story->places, &row);
    ggs_writer_append(&story->writer, GGS_TABLE_TRANSFERS, &row);
}

static void on_loss(struct ggs_story * story, const uint64_t * value, int64_t ns) {
    struct ggs_loss row = {value[0], value[1], value[2], value[3], ns};
    ggs_writer_append(&story->writer, GGS_TABLE_LOSSES, &row);
    ggs_runs_lost(&story->runs, value[3], value[2]);
    story->lost += value[2];
}

// Records that are four numbers and perhaps a text.
static void on_number(struct ggs_story * story, uint32_t type, const uint64_t * value, const char * text, size_t length,
                      int64_t ns) {
    struct ggs_schedule * schedule;
    switch (type) {
        case GGS_STORY_BUFFER_FREE:
            ggs_places_buffer_free(&story->places, value[0], ns);
            break;
        case GGS_STORY_BUFFER_USAGE:
            ggs_places_buffer_usage(&story->places, value[0], value[1]);
            break;
        case GGS_STORY_RUN_THREADS:
            ggs_runs_threads(&story->runs, value[0], value[1], value[2]);
            break;
        case GGS_STORY_DECODE_END:
            ggs_steps_decode_end(&story->steps, value[0], (int64_t) value[1], ns);
            break;
        case GGS_STORY_WARMUP:
            ggs_steps_warmup(&story->steps, value[0], value[1] != 0, ns);
            break;
        case GGS_STORY_CLEAR:
            ggs_steps_clear(&story->steps, value[0]);
            break;
        case GGS_STORY_LOAD:
            begin_load(story, value[0], text, length, ns);
            break;
        case GGS_STORY_LOAD_END:
            end_load(story, value[0], value[1], ns);
            break;
        case GGS_STORY_CONTEXT:
            ggs_steps_context(&story->steps, value[0], value[1], value[2], ns);
            break;
        case GGS_STORY_SCHEDULE:
            begin_schedule(story, value, ns);
            break;
        case GGS_STORY_SCHEDULE_END:
            schedule = find_schedule(story, value[0]);
            if (schedule == NULL) break;
            schedule->end_ns = ns;
            schedule->status = (int64_t) value[1];
            end_schedule(story, schedule);
            break;
        case GGS_STORY_LOSS:
            on_loss(story, value, ns);
            break;
        case GGS_STORY_END:
            story->ended = true;
            break;
        default:
            break;
    }
}

// Bytes of the fixed part of a record's body.
static size_t fixed_part(uint32_t type) {
    switch (type) {
        case GGS_STORY_PROCESS:
            return sizeof(struct ggs_story_process);
        case GGS_STORY_BUFFER:
            return sizeof(struct ggs_story_buffer);
        case GGS_STORY_RUN:
            return sizeof(struct ggs_story_run);
        case GGS_STORY_RUN_END:
            return sizeof(struct ggs_story_run_end);
        case GGS_STORY_TRANSFER:
            return sizeof(struct ggs_story_transfer);
        case GGS_STORY_PAGES:
            return sizeof(struct ggs_story_pages);
        case GGS_STORY_READ:
            return sizeof(struct ggs_story_read);
        case GGS_STORY_RESIDENT:
            return sizeof(struct ggs_story_resident);
        case GGS_STORY_ENGINE:
        case GGS_STORY_OPS:
        case GGS_STORY_TYPES:
        case GGS_STORY_FILE:
        case GGS_STORY_MAPS:
            return 0;
        case GGS_STORY_GRAPH:
        case GGS_STORY_GRAPH_DELTA:
        case GGS_STORY_DECODE:
            return 0; // they look for themselves
        default:
            return sizeof(struct ggs_story_number);
    }
}

static void on_run(struct ggs_story * story, const struct ggs_story_run * run, const char * text, size_t length) {
    const struct ggs_schedule * schedule = find_schedule(story, run->schedule);
    ggs_runs_begin(&story->runs, run, text, length, schedule == NULL ? 0 : schedule->scheduler);
}

static void on_file(struct ggs_story * story, const char * path, size_t length) {
    uint64_t file = ggs_places_file(&story->places, path, length);
    if (file == 0) return;
    story->places.files[file - 1].gguf = 1;
    if (story->places.load != 0) story->places.files[file - 1].load = story->places.load;
}

static void tell(struct ggs_story * story, const struct ggs_story_record * record) {
    const void * body   = record + 1;
    size_t       length = record->bytes - sizeof(*record), fixed = fixed_part(record->type);
    int64_t      ns = ggs_clock_ns(&story->clock, record->ticks);
    if (length < fixed) {
        story->damaged++;
        return;
    }
    if (ns > story->last_ns) story->last_ns = ns;
    const char * text       = (const char *) body + fixed;
    size_t       text_bytes = text_length(text, length - fixed);
    switch (record->type) {
        case GGS_STORY_PROCESS:
            on_process(story, body, text, text_bytes);
            break;
        case GGS_STORY_ENGINE:
            story->process.engine = ggs_writer_string(&story->writer, text, text_bytes);
            break;
        case GGS_STORY_OPS:
            ggs_graphs_ops(&story->graphs, text, text_bytes);
            break;
        case GGS_STORY_TYPES:
            ggs_graphs_types(&story->graphs, text, text_bytes);
            break;
        case GGS_STORY_FILE:
            on_file(story, text, text_bytes);
            note_file(story, text, strnlen(text, text_bytes));
            break;
        case GGS_STORY_MAPS:
            ggs_places_maps(&story->places, text, text_bytes, ns);
            break;
        case GGS_STORY_BUFFER:
            ggs_places_buffer(&story->places, body, text, text_bytes, ns);
            break;
        case GGS_STORY_GRAPH:
            ggs_graphs_define(&story->graphs, body, length, ns);
            break;
        case GGS_STORY_GRAPH_DELTA:
            ggs_graphs_define_delta(&story->graphs, body, length, ns);
            break;
        case GGS_STORY_RUN:
            on_run(story, body, text, text_bytes);
            break;
        case GGS_STORY_RUN_END:
            ggs_runs_end(&story->runs, body);
            story->machine.step = story->runs.newest_step;
            break;
        case GGS_STORY_DECODE:
            ggs_steps_decode(&story->steps, body, length, ns);
            break;
        case GGS_STORY_TRANSFER:
            on_transfer(story, body, text, text_bytes);
            break;
        case GGS_STORY_PAGES:
            ggs_machine_pages(&story->machine, body, length);
            break;
        case GGS_STORY_READ:
            ggs_machine_read(&story->machine, body, length);
            break;
        case GGS_STORY_RESIDENT:
            ggs_machine_resident(&story->machine, body, length, ns);
            break;
        default:
            on_number(story, record->type, ((const struct ggs_story_number *) body)->value, text, text_bytes, ns);
    }
}

// ---- the whole ----

static void connect(struct ggs_story * story) {
    story->places           = (struct ggs_places){.writer = &story->writer, .options = story->options};
    story->graphs           = (struct ggs_graphs){.writer = &story->writer, .places = &story->places};
    story->steps.options    = story->options;
    story->steps.model_file = model_file;
    story->steps.owner      = story;
    story->steps.writer     = &story->writer;
    story->steps.clock      = &story->clock;
    story->runs             = (struct ggs_runs){.writer   = &story->writer,
                                                .clock    = &story->clock,
                                                .spool    = &story->spool,
                                                .graphs   = &story->graphs,
                                                .steps    = &story->steps,
                                                .lods     = &story->lods,
                                                .observed = &story->observed,
                                                .lossy    = story->lossy};
    story->observed         = (struct ggs_observed){
                .writer = &story->writer, .places = &story->places, .options = story->options, .spool = &story->spool};
    story->machine = (struct ggs_machine){
        .writer = &story->writer, .clock = &story->clock, .places = &story->places, .page_size = 4096, .step = -1};
    ggs_lods_init(&story->lods, &story->writer, ggs_spool_estimate(&story->spool),
                  (uint64_t) ggs_clock_ns(&story->clock, story->clock.last.ticks), story->spool.n_lanes);
}

static void finish(struct ggs_story * story) {
    ggs_runs_finish(&story->runs, story->last_ns);
    ggs_observed_tell(&story->observed, INT64_MAX);
    ggs_steps_finish(&story->steps, story->last_ns);
    while (story->n_schedules > 0) end_schedule(story, &story->schedules[0]);
    for (size_t i = 0; i < story->n_loads; i++) ggs_writer_append(&story->writer, GGS_TABLE_LOADS, &story->loads[i]);
    ggs_places_finish(&story->places);
    ggs_lods_finish(&story->lods);
    uint64_t damaged = story->spool.story.damaged + story->damaged + story->graphs.damaged + story->steps.damaged +
                       story->runs.damaged + story->machine.damaged + story->observed.damaged +
                       story->spool.machine.damaged;
    struct ggs_loss loss = {GGS_LOSS_DAMAGED, GGS_SPOOL_STORY, damaged, 0, story->last_ns};
    if (damaged > 0) ggs_writer_append(&story->writer, GGS_TABLE_LOSSES, &loss);
    story->damaged = damaged;
    for (size_t i = 0; i < story->spool.n_lanes; i++) story->damaged += story->spool.lanes[i].damaged;
    story->lost += story->runs.lost;
    story->process.end_ns = story->last_ns;
    story->process.ended  = story->ended;
    ggs_writer_append(&story->writer, GGS_TABLE_PROCESS, &story->process);
}

int ggs_story_tell(struct ggs_story * story, struct ggs_error * error) {
    const struct ggs_story_record * record;
    connect(story);
    int status = ggs_runs_init(&story->runs, error);
    if (status == 0) status = ggs_observed_init(&story->observed, &story->clock, error);
    if (status != 0) return status;
    for (uint64_t n = 0; (record = ggs_spool_stream_record(&story->spool.story)) != NULL; n++) {
        tell(story, record);
        if (story->writer.status != 0) break;
        if (story->options->progress != NULL && n % 64 == 0)
            story->options->progress(story->options->progress_context, ggs_spool_done(&story->spool),
                                     story->spool.bytes);
    }
    finish(story);
    if (story->writer.status != 0 && error != NULL) *error = story->writer.error;
    return story->writer.status;
}

void ggs_story_release(struct ggs_story * story) {
    ggs_runs_release(&story->runs);
    ggs_observed_release(&story->observed);
    ggs_lods_release(&story->lods);
    ggs_steps_release(&story->steps);
    for (size_t i = 0; i < story->n_loads; i++) free(story->load_files[i]);
    free(story->load_files);
    free(story->newest_file);
    ggs_graphs_release(&story->graphs);
    ggs_places_release(&story->places);
    ggs_writer_release(&story->writer);
    ggs_spool_release(&story->spool);
    free(story->schedules);
    free(story->loads);
}
