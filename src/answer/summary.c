#include "answer/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/words.h"
#include "answer/answer.h"
#include "answer/notes.h"
#include "base/error.h"
#include "base/json-read.h"
#include "base/system/file.h"
#include "base/text.h"
#include "trace/schema.h"

// A summary, and everything that is read before writing starts.
struct facts {
    const struct ggs_summary * summary;
    struct ggs_json_value      root; // of experiment.json
    struct ggs_text *          text; // the current string of it
    const char *               prompt;
    struct ggs_windows         windows;
    struct ggs_process_list    processes; // empty if there is only one
    const char *               model;     // NULL: none was opened
    uint64_t                   model_bytes;
    uint64_t                   page_bytes, trace_bytes;
    uint64_t                   index; // of an entry
    const struct ggs_notes *   notes;
};

// ---- experiment.json ----

static struct ggs_json_value value_of(const struct facts * facts, const char * object, const char * key) {
    return ggs_json_member(ggs_json_member(facts->root, object), key);
}

static const char * text_of(const struct facts * facts, struct ggs_json_value value) {
    ggs_text_clear(facts->text);
    return ggs_json_append_to(value, facts->text) ? ggs_text_string(facts->text) : NULL;
}

static int64_t number_of(struct ggs_json_value value) {
    uint64_t number;
    return ggs_json_to_u64(value, &number) ? (int64_t) number : -1;
}

struct word {
    struct ggs_json_value value;
    const char *          text;
};

GGS_NEXT(next_word) {
    const struct facts * facts = at;
    struct word *        word  = room;
    if ((*i)++ == 0) *word = (struct word){0};
    while (ggs_json_next(ggs_json_member(facts->root, "command"), &word->value)) {
        word->text = text_of(facts, word->value);
        if (word->text != NULL) return &word->text;
    }
    return NULL;
}

#define HOST_TEXT(name, object) GGS_GET_TEXT(object##_##name, struct facts, text_of(it, value_of(it, #object, #name)))
HOST_TEXT(ggml_version, engine)
HOST_TEXT(llama_version, engine)
HOST_TEXT(ggml_commit, engine)
HOST_TEXT(cpu_library, engine)
HOST_TEXT(cpu, host)
HOST_TEXT(kernel, host)
GGS_GET(int64_t, cores_of, struct facts, number_of(value_of(it, "host", "cores")))
GGS_GET(int64_t, usable_of, struct facts, number_of(value_of(it, "host", "usable_cores")))
GGS_GET(int64_t, memory_of, struct facts, number_of(value_of(it, "host", "memory_bytes")))
GGS_GET_TEXT(start_of, struct facts, text_of(it, ggs_json_member(it->root, "start_utc")))

static const struct ggs_field engine_fields[] = {
    GGS_TEXT_OR_NULL("ggml_version", engine_ggml_version, ""),
    GGS_TEXT_OR_NULL("llama_version", engine_llama_version, ""),
    GGS_TEXT_OR_NULL("ggml_commit", engine_ggml_commit, ""),
    GGS_TEXT_OR_NULL("cpu_library", engine_cpu_library, "library with the CPU's kernels"),
    {0},
};
static const struct ggs_field host_fields[] = {
    GGS_TEXT_OR_NULL("cpu", host_cpu, ""),
    GGS_NATURAL("cores", cores_of, ""),
    GGS_NATURAL("usable_cores", usable_of, "by affinity; null if not recorded"),
    GGS_NATURAL("memory_bytes", memory_of, ""),
    GGS_TEXT_OR_NULL("kernel", host_kernel, ""),
    {0},
};
static const struct ggs_object engine = {.name = "Engine", .fields = engine_fields, .lines = true},
                               host   = {.name = "Host", .fields = host_fields, .lines = true};

#define MACHINE                                                                                                  \
    GGS_LIST_EACH(STRING, "command", next_word), GGS_OBJECT_OF("engine", &engine), GGS_OBJECT_OF("host", &host), \
        GGS_TEXT_OR_NULL("start_utc", start_of, "UTC of 0 ns, ISO 8601")

GGS_GET(bool, is_distorted, struct facts, ggs_json_is_true(value_of(it, "settings", "prove")))
GGS_GET(int64_t, limit_of, struct facts, number_of(value_of(it, "machine", "memory_limit")))
GGS_GET(int64_t, read_of, struct facts, number_of(value_of(it, "machine", "read_bytes")))
GGS_GET(bool, is_cold, struct facts, ggs_json_is_there(value_of(it, "machine", "cold")))

#define CONDITIONS                                                             \
    GGS_TEST("times_distorted", is_distorted, "recorded with --prove"),        \
        GGS_NATURAL("memory_limit", limit_of, "bytes; null without a limit"),  \
        GGS_NATURAL("read_bytes", read_of, "from disk; null if not recorded"), \
        GGS_TEST("cold", is_cold, "the model was dropped from the page cache before the start")

// ---- the prompt ----

enum { PROMPT_MOST = 4096 };

// Reads the value of -p; false if there is none.
static bool asked_for(struct ggs_json_value command, struct ggs_text * prompt) {
    struct ggs_json_value word = {0};
    char                  option[16];
    while (ggs_json_next(command, &word)) {
        ggs_json_to_buffer(word, option, sizeof(option));
        if (strcmp(option, "-p") == 0 || strcmp(option, "--prompt") == 0)
            return ggs_json_next(command, &word) && ggs_json_append_to(word, prompt);
    }
    return false;
}

// Reads the text of the first step's tokens, as far as known.
static int read_tokens(const struct ggs_trace * trace, struct ggs_text * text, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_token    token;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_TOKENS, error);
    if (status < 0) return status;
    ggs_cursor_keys(cursor, 0, 0);
    while (text->length < PROMPT_MOST && (status = ggs_cursor_next(cursor, &token, error)) > 0) {
        uint64_t     length;
        const char * piece = ggs_reader_bytes(trace->reader, token.text, &length);
        if (token.text != 0 && piece != NULL) ggs_text_append(text, piece, length);
    }
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

static int find_prompt(struct facts * facts, struct ggs_text * text, struct ggs_error * error) {
    bool asked  = asked_for(ggs_json_member(facts->root, "command"), text);
    int  status = asked ? 0 : read_tokens(facts->summary->trace, text, error);
    if (text->length > PROMPT_MOST) text->data[PROMPT_MOST] = '\0';
    if (asked || text->length > 0) facts->prompt = ggs_text_string(text);
    return status;
}

// ---- the model ----

// The type of most bytes of the model.
static const char * quantization_of(const struct ggs_model_map * map) {
    const char * best = NULL;
    uint64_t     most = 0;
    for (uint64_t i = 0; i < map->n; i++) {
        uint64_t sum = 0;
        if (map->places[i].type[0] == '\0' || map->places[i].type == best) continue;
        // Equal strings of a map are one string, and there are few: most tensors match the best
        // already.
        for (uint64_t k = i; k < map->n; k++)
            sum += map->places[k].type == map->places[i].type ? map->places[k].bytes : 0;
        if (sum > most) most = sum, best = map->places[i].type;
    }
    return best;
}

// Returns the name of the model's first file, NULL if none was opened, and the bytes of all files.
static void find_model(const struct ggs_trace * trace, const char ** name, uint64_t * bytes) {
    *name  = NULL;
    *bytes = 0;
    for (uint64_t i = 0; i < trace->n_files; i++) {
        if (!trace->models[i]) continue;
        if (*name == NULL) *name = ggs_file_name(ggs_reader_string(trace->reader, trace->files[i].path));
        *bytes += trace->files[i].size;
    }
}

GGS_GET_TEXT(name_of, struct facts, it->summary->map->model[0] != '\0' ? it->summary->map->model : it->model)
GGS_GET_TEXT(architecture_of, struct facts, it->summary->map->architecture)
GGS_GET_TEXT(quantization_of_model, struct facts, quantization_of(it->summary->map))
GGS_GET_VIEW(map_of, struct facts, it->summary->map)

static const struct ggs_field map_fields[] = {
    GGS_FIELD(struct ggs_model_map, layers, "layers"),
    GGS_FIELD(struct ggs_model_map, experts, "experts"),
    GGS_FIELD(struct ggs_model_map, experts_used, "experts_used"),
    {0},
};
static const struct ggs_object map_counts = {.fields = map_fields};

static const struct ggs_field model_fields[] = {
    GGS_TEXT("name", name_of, ""),
    GGS_TEXT_OR_NULL("architecture", architecture_of, ""),
    GGS_TEXT_OR_NULL("quantization", quantization_of_model, "tensor type of most bytes"),
    GGS_MEMBERS_VIEW(map_of, &map_counts),
    GGS_FIELD(struct facts, model_bytes, "bytes"),
    GGS_MEMBERS_OF(&ggs_model_files_object),
    {0},
};
static const struct ggs_object model = {.fields = model_fields, .lines = true};

static const struct ggs_field short_model_fields[] = {
    GGS_FIELD(struct facts, model, "name", "name of its first file"),
    GGS_FIELD(struct facts, model_bytes, "bytes"),
    {0},
};
static const struct ggs_object short_model = {.fields = short_model_fields};

GGS_GET(bool, has_model, struct facts, it->model != NULL)

// ---- counts ----

#define OVERVIEW(member, key, ...) GGS_FIELD(struct ggs_overview, member, key, __VA_ARGS__)

static const struct ggs_field slowest_fields[] = {
    OVERVIEW(slowest_step, "token", "", .from_0 = true),
    OVERVIEW(slowest_ns, "duration_ns"),
    {0},
};
static const struct ggs_object slowest = {.fields = slowest_fields};

GGS_GET(double, speed_of, struct ggs_overview, ggs_answer_speed(it->decoded_tokens, it->generate_ns + it->between_ns))
GGS_GET(bool, has_slowest, struct ggs_overview, it->slowest_step >= 0)

static const struct ggs_field count_fields[] = {
    OVERVIEW(threads, "threads", "most threads that computed one op"),
    OVERVIEW(steps, "tokens", "token steps, without warm-up"),
    OVERVIEW(warmup_steps, "warmup_steps"),
    OVERVIEW(prompt_tokens, "prompt_tokens", "tokens that were fed as prompt"),
    OVERVIEW(generated_tokens, "generated_tokens", "tokens that came out"),
    OVERVIEW(runs, "runs", "graph runs"),
    OVERVIEW(ops, "ops"),
    OVERVIEW(op_runs, "op_runs"),
    OVERVIEW(lost, "lost", "records that could not be kept"),
    OVERVIEW(unseen, "unseen", "nodes seen by no hook"),
    OVERVIEW(interrupted_runs, "interrupted_runs", "graph runs that were cut off"),
    OVERVIEW(runs_without_waits, "runs_without_waits",
             "graph runs whose waits were not seen: the engine's barrier is inside its compute loop"),
    OVERVIEW(runs_of_first_thread, "runs_of_first_thread",
             "of these, graph runs of which only the first thread was seen: the engine's functions were not found"),
    GGS_REAL_OR_NULL("tokens_per_second", speed_of, "generated tokens per second, as the user gets them"),
    GGS_OBJECT_OF("slowest_token", &slowest, "slowest token step that generates; null if there is none",
                  .known = has_slowest),
    {0},
};
static const struct ggs_field  span_fields[] = {OVERVIEW(begin_ns, "begin_ns"), OVERVIEW(end_ns, "end_ns"), {0}};
static const struct ggs_object counts        = {.name   = "Counts",
                                                .text   = "What a recording holds, in numbers.",
                                                .fields = count_fields},
                               span          = {.fields = span_fields};

GGS_GET_VIEW(overview_of, struct facts, it->summary->overview)
#define SPAN   GGS_MEMBERS_VIEW(overview_of, &span)
#define COUNTS GGS_MEMBERS_VIEW(overview_of, &counts)
GGS_GET(bool, has_prompt, struct facts, it->prompt != NULL)
#define PROMPT GGS_FIELD(struct facts, prompt, "prompt", "its first 4096 bytes", .known = has_prompt)

// ---- lanes ----

struct lane_row {
    uint64_t                         lane;
    const struct ggs_overview_lane * row;
    const char *                     label;
    const char *                     device;
    char                             text[160];
};

GGS_NEXT(next_lane) {
    const struct ggs_overview * overview = ((const struct facts *) at)->summary->overview;
    struct lane_row *           lane     = room;
    if (*i == overview->n_lanes) return NULL;
    lane->lane  = *i;
    lane->row   = &overview->lanes[(*i)++];
    lane->label = lane->text;
    ggs_overview_lane_name(context, lane->row, lane->text, sizeof(lane->text));
    lane->device = ggs_overview_lane_device(context, lane->row);
    return lane;
}

GGS_GET(int64_t, slot_of, struct lane_row, it->row->slot)
GGS_GET(int64_t, thread_of, struct lane_row, (int64_t) it->row->thread)
GGS_GET(int64_t, process_of, struct lane_row, (int64_t) it->row->process)

static const struct ggs_field lane_fields[] = {
    GGS_FIELD(struct lane_row, lane, "lane"),
    GGS_INTEGER("slot", slot_of, "-1: backends that are seen as whole graphs"),
    GGS_COUNT("thread", thread_of, ""),
    GGS_COUNT("process", process_of, "0 in traces of old versions"),
    GGS_FIELD(struct lane_row, label, "label"),
    GGS_FIELD_OR_NULL(
        struct lane_row, device, "device",
        "device whose queue or whole graphs it is; null for a thread. How long a device waits is not known"),
    {0},
};
static const struct ggs_object lane = {.fields = lane_fields};

// ---- recorded data ----

// True if the recording has rows of a table that depends on the machine.
#define HAS(name, table) GGS_GET(bool, has_##name, void, ggs_reader_rows(trace->reader, table) > 0)
HAS(faults, GGS_TABLE_FAULTS)
HAS(block_requests, GGS_TABLE_BLOCK_REQUESTS)
HAS(residency, GGS_TABLE_RESIDENCY)
HAS(pages, GGS_TABLE_PAGES)
HAS(reads, GGS_TABLE_READS)
HAS(values, GGS_TABLE_OP_VALUES)

#define TABLES                                                                                                      \
    GGS_TEST("faults", has_faults, ""), GGS_TEST("block_requests", has_block_requests, ""),                         \
        GGS_TEST("residency", has_residency, ""), GGS_TEST("pages", has_pages, "pages that ops touched (--prove)"), \
        GGS_TEST("reads", has_reads, "what the engine read at load"),                                               \
        GGS_TEST("values", has_values, "what ops computed (--values)")

static bool has_experts(const void * at, const void * trace) {
    const struct ggs_model_map * map     = ((const struct facts *) at)->summary->map;
    bool                         experts = map->experts > 0;
    (void) trace;
    for (uint64_t i = 0; !experts && i < map->n; i++) experts = map->places[i].experts > 0;
    return experts;
}

static const struct ggs_field  has_fields[]        = {GGS_TEST("experts", has_experts, ""), TABLES, {0}};
static const struct ggs_field  has_tables_fields[] = {TABLES, {0}};
static const struct ggs_object has = {.fields = has_fields}, has_tables = {.fields = has_tables_fields};

GGS_GET_TEXT(warning_of, void, ggs_trace_missing(trace))
#define WARNING GGS_TEXT_OR_NULL("warning", warning_of, "what is missing of the trace; null if it is whole")

static struct ggs_list levels_of(const void * at, const void * trace, void * room) {
    const struct ggs_summary * summary = ((const struct facts *) at)->summary;
    uint64_t *                 widths  = room;
    _Static_assert(sizeof(summary->levels) <= GGS_ROOM, "they are made there");
    (void) trace;
    for (unsigned i = 0; i < summary->n_levels; i++) widths[i] = 1ull << summary->levels[i];
    return (struct ggs_list){widths, summary->n_levels, sizeof(*widths)};
}

// ---- the answers ----

#define SUMMARY(member, key, ...) GGS_FIELD(struct ggs_summary, member, key, __VA_ARGS__)

static const struct ggs_field given_fields[] = {
    SUMMARY(name, "name"),
    SUMMARY(directory, "directory"),
    SUMMARY(state, "state"),
    SUMMARY(live, "live", "being recorded"),
    {0},
};
static const struct ggs_object given = {.fields = given_fields};

GGS_GET_VIEW(summary_of, struct facts, it->summary)
GGS_GET(bool, has_windows, struct facts, it->windows.n > 0)

static const struct ggs_field fields[] = {
    GGS_ABOUT,
    GGS_MEMBERS_VIEW(summary_of, &given),
    WARNING,
    MACHINE,
    GGS_OBJECT_OF("model", &model, "the model; null if none was opened", .known = has_model),
    PROMPT,
    SPAN,
    GGS_STEP_KIND,
    GGS_OBJECT(struct facts, windows, "windows", &ggs_windows_object, GGS_WINDOWS_TEXT, .known = has_windows),
    GGS_FIELD(struct facts, page_bytes, "page_bytes", "page size of the recorded machine"),
    COUNTS,
    GGS_EACH("lanes", next_lane, &lane),
    GGS_ROWS(struct facts, processes.process, processes.n, "processes", &ggs_process_name_object,
             "processes of a joined experiment, by number; empty if there is one"),
    GGS_LIST_OF(U64, "level_ns", levels_of, "widths of the bins of a timeline"),
    GGS_OBJECT_OF("has", &has, "what was recorded"),
    CONDITIONS,
    {0},
};
const struct ggs_object ggs_summary_object = {
    .name = "Summary", .text = "What was recorded, in a sentence or two.", .fields = fields, .lines = true};

GGS_GET_VIEW(notes_of, struct facts, it->notes)

static const struct ggs_field entry_fields[] = {
    GGS_FIELD(struct facts, index, "index", "N in /api/x/N"),
    WARNING,
    MACHINE,
    GGS_OBJECT_OF("model", &short_model, "the model; null if none was opened", .known = has_model),
    PROMPT,
    SPAN,
    GGS_STEP_KIND,
    COUNTS,
    GGS_OBJECT_OF("has", &has_tables, "what was recorded"),
    CONDITIONS,
    GGS_FIELD(struct facts, trace_bytes, "trace_bytes", "size of the trace"),
    GGS_MEMBERS_VIEW(notes_of, &ggs_notes_object),
    {0},
};
const struct ggs_object ggs_summary_entry_object = {.name = "Entry",
                                                    .text = "An experiment that is served and can be opened, in short.",
                                                    .fields = entry_fields,
                                                    .lines  = true};

static int write_facts(struct ggs_json * json, const struct ggs_object * object, struct facts * facts,
                       struct ggs_error * error) {
    struct ggs_text text = {0}, prompt = {0};
    const char *    experiment = ggs_reader_experiment(facts->summary->trace->reader);
    facts->root                = ggs_json_read(experiment, strlen(experiment));
    facts->text                = &text;
    find_model(facts->summary->trace, &facts->model, &facts->model_bytes);
    int status = find_prompt(facts, &prompt, error);
    if (status == 0) ggs_answer_write(json, object, facts, facts->summary->trace);
    ggs_text_release(&text);
    ggs_text_release(&prompt);
    return status;
}

int ggs_summary_write(struct ggs_json * json, const struct ggs_summary * summary, struct ggs_error * error) {
    struct ggs_trace trace  = ggs_trace_borrow(summary->trace);
    struct facts     facts  = {.summary = summary, .page_bytes = ggs_trace_page_size(&trace)};
    int              status = ggs_windows_read(&facts.windows, &trace, error);
    if (ggs_process_list_names(&facts.processes, &trace, NULL) < 0) facts.processes = (struct ggs_process_list){0};
    if (facts.processes.n == 1) facts.processes.n = 0;
    if (status == 0) status = write_facts(json, &ggs_summary_object, &facts, error);
    ggs_windows_release(&facts.windows);
    ggs_process_list_release(&facts.processes);
    ggs_trace_return(&trace);
    return status;
}

int ggs_summary_write_entry(struct ggs_json * json, const struct ggs_summary * summary, uint64_t index,
                            const struct ggs_notes * notes, struct ggs_error * error) {
    struct facts facts = {
        .summary = summary, .trace_bytes = ggs_reader_size(summary->trace->reader), .index = index, .notes = notes};
    return write_facts(json, &ggs_summary_entry_object, &facts, error);
}
