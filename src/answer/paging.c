#include "answer/paging.h"

#include "analyze/paging/suggest.h"

#include "analyze/walk/trace.h"
#include "analyze/walk/words.h"

bool ggs_paging_curve_next(struct ggs_paging_curve * curve, const struct ggs_paging * paging) {
    const struct ggs_paging_lru * lru    = &paging->lru;
    enum ggs_read_class           class_ = ggs_paging_class(paging);
    uint64_t                      gained = 0;
    if (!curve->begun) { // without any memory
        *curve = (struct ggs_paging_curve){.begun = true, .cost = ggs_paging_lru_cost(lru, 0)};
        return true;
    }
    while (curve->next < lru->n) {
        const struct ggs_paging_distance * distance = &lru->distances[curve->next++];
        curve->memory                               = distance->pages * lru->page;
        gained += distance->count[class_];
        for (unsigned c = 0; c < GGS_READ_CLASSES; c++) curve->cost.bytes[c] -= distance->count[c] * lru->page;
        if (gained > lru->all[class_] / 1000 || (curve->next == lru->n && gained > 0)) return true;
    }
    return false;
}

double ggs_paging_miss_ratio(const struct ggs_paging * paging, const struct ggs_paging_cost * cost) {
    enum ggs_read_class class_ = ggs_paging_class(paging);
    uint64_t            all    = paging->lru.all[class_] * paging->page;
    return all == 0 ? 0 : (double) cost->bytes[class_] / (double) all;
}

// ---- costs of a policy ----

struct cost_row {
    const struct ggs_paging *        paging;
    const struct ggs_paging_budget * budget;
    const struct ggs_paging_cost *   cost;
};

#define COST(get, ...) GGS_GET(int64_t, get, struct cost_row, (int64_t) (__VA_ARGS__))
COST(load_of, it->cost->bytes[GGS_READ_LOAD])
COST(prompt_of, it->cost->bytes[GGS_READ_PROMPT])
COST(generate_of, it->cost->bytes[GGS_READ_GENERATE])
COST(per_token_of, ggs_paging_per_token(it->paging, it->cost))
COST(least_of, ggs_paging_share(it->paging, it->budget->linux_least))
COST(most_of, ggs_paging_share(it->paging, it->budget->linux_most))
GGS_GET(double, miss_ratio_of, struct cost_row, ggs_paging_miss_ratio(it->paging, it->cost))
GGS_GET(bool, is_known, struct cost_row, it->budget->linux_known)
GGS_GET(bool, does_stream, struct cost_row, it->budget->streams)

#define COSTS                                                                                                       \
    GGS_COUNT("load_bytes", load_of, "read at load"), GGS_COUNT("prompt_bytes", prompt_of, "read in prompt steps"), \
        GGS_COUNT("generate_bytes", generate_of, "read in steps that generate"),                                    \
        GGS_COUNT("bytes_per_token", per_token_of, "bytes read per generated token"),                               \
        GGS_REAL("miss_ratio", miss_ratio_of, "pages read / pages asked for")

static const struct ggs_field cost_fields[]  = {COSTS, {0}};
static const struct ggs_field linux_fields[] = {
    COSTS,
    GGS_COUNT("least_bytes_per_token", least_of, "least of runs with slightly more or less memory"),
    GGS_COUNT("most_bytes_per_token", most_of, ""),
    GGS_TEST(
        "known", is_known,
        "false: runs with slightly more or less memory differ more than fourfold and by more than a token asks for; none is a prediction"),
    {0},
};
static const struct ggs_field stream_fields[] = {
    COSTS,
    GGS_TEST("streams", does_stream,
             "false: the model fits, or memory is too small for streaming; the bytes are those of lru"),
    {0},
};
static const struct ggs_object cost   = {.name = "PagingCost", .text = "What a policy reads.", .fields = cost_fields},
                               linux_ = {.fields = linux_fields}, stream = {.fields = stream_fields};

// ---- weights to keep in memory ----

static const char * path_of(const void * at, const void * trace, char * room, size_t * length) {
    (void) room, (void) length;
    return ggs_answer_path(trace, ((const struct ggs_paging_weight *) at)->file + 1);
}
GGS_GET(int64_t, file_of, struct ggs_paging_weight, (int64_t) it->file + 1)

static const struct ggs_field weight_fields[] = {
    GGS_FIELD(struct ggs_paging_weight, name, "name"),
    GGS_FIELD_OR_NULL(struct ggs_paging_weight, expert, "expert"),
    GGS_FIELD(struct ggs_paging_weight, offset, "file_offset"),
    GGS_FIELD(struct ggs_paging_weight, size, "bytes"),
    GGS_COUNT("file", file_of, "files.file"),
    GGS_TEXT("path", path_of, ""),
    {0},
};
static const struct ggs_object weight = {.fields = weight_fields};

struct paging_answer {
    const struct ggs_paging *         paging;
    const struct ggs_paging_options * options;
    const struct ggs_paging_weights * whole; // NULL: they could not be listed
    struct ggs_text *                 lines; // of the current budget
};

struct budget_row {
    const struct paging_answer *     answer;
    const struct ggs_paging_budget * budget;
    const char *                     suggest;
};

GGS_NEXT(next_weight) {
    const struct budget_row * row = at;
    if (*i == row->budget->pins.n) return NULL;
    return &row->answer->paging->weights.weight[row->budget->pins.weight[(*i)++]];
}

GGS_GET(int64_t, pinned_of, struct budget_row, (int64_t) it->budget->pins.bytes)
GGS_GET(int64_t, streamed_of, struct budget_row, (int64_t) it->budget->pins.stream)

static const struct ggs_field pins_fields[] = {
    GGS_COUNT("bytes", pinned_of, "bytes of their pages"),
    GGS_COUNT("stream_bytes", streamed_of, "memory for all others"),
    GGS_EACH("weights", next_weight, &weight),
    {0},
};
static const struct ggs_object pins = {.fields = pins_fields, .lines = true};

// ---- budgets ----

#define POLICY(name, number)                                                                                      \
    GGS_GET(bool, wants_##name, struct budget_row, it->answer->options->policies[number])                         \
    static const void * name##_of(const void * at, const void * trace, void * room) {                             \
        const struct budget_row * it = at;                                                                        \
        (void) trace;                                                                                             \
        *(struct cost_row *) room = (struct cost_row){it->answer->paging, it->budget, &it->budget->cost[number]}; \
        return room;                                                                                              \
    }
POLICY(lru, GGS_PAGING_LRU)
POLICY(linux_, GGS_PAGING_LINUX)
POLICY(pin_hot, GGS_PAGING_PIN_HOT)
POLICY(opt, GGS_PAGING_OPT)
POLICY(stream, GGS_PAGING_STREAM)

static const struct ggs_field policy_fields[] = {
    GGS_OBJECT_VIEW("lru", lru_of, &cost, "least recently used", .asked = wants_lru),
    GGS_OBJECT_VIEW("linux", linux__of, &linux_, "the page cache of Linux", .asked = wants_linux_),
    GGS_OBJECT_VIEW("pin-hot", pin_hot_of, &cost, "weights that are read most stay in memory", .asked = wants_pin_hot),
    GGS_OBJECT_VIEW("opt", opt_of, &cost, "the optimum: fewest possible reads", .asked = wants_opt),
    GGS_OBJECT_VIEW("stream", stream_of, &stream, "what ggscope stream would read; only if it is asked for by name",
                    .asked = wants_stream),
    {0},
};
static const struct ggs_object policies = {.fields = policy_fields, .lines = true};

GGS_GET(int64_t, memory_of, struct budget_row, (int64_t) it->budget->memory)

static const struct ggs_field budget_fields[] = {
    GGS_COUNT("memory_bytes", memory_of, ""),
    GGS_OBJECT_OF("policies", &policies, "the policies of --policy"),
    GGS_OBJECT_OF("pins", &pins, "weights that pin-hot keeps in memory", .asked = wants_pin_hot),
    GGS_FIELD_OR_NULL(struct budget_row, suggest, "suggest",
                      "with pins: the lines of ggscope paging --suggest for this budget, to paste into command lines",
                      .asked = wants_pin_hot),
    {0},
};
static const struct ggs_object budget = {.fields = budget_fields, .lines = true};

GGS_NEXT(next_budget) {
    const struct paging_answer * answer = at;
    struct budget_row *          row    = room;
    if (*i == answer->paging->n_budgets) return NULL;
    *row = (struct budget_row){answer, &answer->paging->budget[(*i)++], NULL};
    ggs_text_clear(answer->lines);
    if (answer->options->policies[GGS_PAGING_PIN_HOT] && answer->whole != NULL &&
        ggs_paging_suggest(answer->lines, context, answer->paging, answer->whole, row->budget, NULL) == 0)
        row->suggest = ggs_text_string(answer->lines);
    return row;
}

// ---- the curve ----

struct curve_row {
    struct ggs_paging_curve curve;
    struct cost_row         cost;
};

GGS_NEXT(next_size) {
    const struct paging_answer * answer = at;
    struct curve_row *           row    = room;
    if ((*i)++ == 0) row->curve = (struct ggs_paging_curve){0};
    row->cost = (struct cost_row){answer->paging, NULL, &row->curve.cost};
    return answer->options->policies[GGS_PAGING_LRU] && ggs_paging_curve_next(&row->curve, answer->paging) ? row : NULL;
}

static const struct ggs_field size_cost_fields[] = {
    GGS_COUNT("bytes_per_token", per_token_of, ""),
    GGS_REAL("miss_ratio", miss_ratio_of, ""),
    {0},
};
static const struct ggs_object size_cost     = {.fields = size_cost_fields};
static const struct ggs_field  size_fields[] = {
     GGS_FIELD(struct curve_row, curve.memory, "memory_bytes"),
     GGS_MEMBERS(struct curve_row, cost, &size_cost),
     {0},
};
static const struct ggs_object size = {.fields = size_fields};

// ---- the answer ----

#define PAGING(member, key, ...) GGS_FIELD(struct ggs_paging, member, key, __VA_ARGS__)

static const char * const readahead_words[] = {"given", "disk", "usual", NULL};
GGS_GET_TEXT(readahead_from_of, struct ggs_paging, readahead_words[it->readahead_from])
GGS_GET(double, disk_speed_of, struct ggs_paging, it->speed.disk_bytes_per_second)
GGS_GET(int64_t, token_ns_of, struct ggs_paging, it->speed.token_ns == 0 ? -1 : (int64_t) it->speed.token_ns)
GGS_GET(int64_t, compute_ns_of, struct ggs_paging, it->speed.compute_ns)
GGS_GET(int64_t, limit_of, struct ggs_paging, it->speed.memory_limit == 0 ? -1 : (int64_t) it->speed.memory_limit)
GGS_GET(int64_t, demand_of, struct ggs_paging, (int64_t) ggs_paging_demand(it))

static const struct ggs_field fact_fields[] = {
    PAGING(page, "page_bytes"),
    PAGING(readahead, "readahead_bytes"),
    GGS_TEXT("readahead_from", readahead_from_of, "", .words = readahead_words),
    PAGING(cold, "cold", "the cache is empty at first"),
    PAGING(model_bytes, "model_bytes"),
    PAGING(touched_bytes, "touched_bytes", "bytes that ops read, in whole pages"),
    PAGING(facts.copied, "copied_bytes", "bytes read of weights that were copied at load"),
    PAGING(facts.unknown, "unknown_ops", "ops whose rows or experts were not recorded"),
    PAGING(facts.steps[GGS_READ_PROMPT], "prompt_steps"),
    PAGING(facts.steps[GGS_READ_GENERATE], "generate_steps"),
    GGS_COUNT("demand_bytes_per_token", demand_of, "bytes that a token reads if nothing stays in memory"),
    GGS_REAL_OR_NULL(
        "disk_bytes_per_second", disk_speed_of,
        "rate of reads of the model's files while a request was in progress; null if requests were not recorded"),
    GGS_NATURAL("ns_per_token", token_ns_of, "time of a step that generates, as recorded; null if there are none"),
    GGS_NATURAL("compute_ns_per_token", compute_ns_of,
                "of that, the time not spent waiting for the disk; null if not known"),
    GGS_NATURAL("memory_limit", limit_of, "memory limit of the recording, in bytes; null if there was none"),
    {0},
};
static const struct ggs_object facts = {.fields = fact_fields};

GGS_GET_VIEW(paging_of, struct paging_answer, it->paging)

static const struct ggs_field fields[] = {
    GGS_ABOUT,
    GGS_STEP_KIND,
    GGS_MEMBERS_VIEW(paging_of, &facts),
    GGS_EACH("budgets", next_budget, &budget, "one entry per size of memory"),
    GGS_EACH("lru_curve", next_size, &size, "sizes of memory at which lru reads noticeably less"),
    {0},
};
const struct ggs_object ggs_paging_object = {
    .name = "Paging", .text = "What less memory than the model would cost.", .fields = fields, .lines = true};

void ggs_paging_write(struct ggs_json * json, struct ggs_trace * trace, const struct ggs_paging * paging,
                      const struct ggs_paging_options * options) {
    struct ggs_paging_weights whole;
    struct ggs_text           lines  = {0};
    bool                      listed = ggs_paging_weights_list(&whole, trace, &paging->sequence, false, NULL) == 0;
    struct paging_answer      answer = {paging, options, listed ? &whole : NULL, &lines};
    ggs_answer_write(json, &ggs_paging_object, &answer, trace);
    if (listed) ggs_paging_weights_release(&whole);
    ggs_text_release(&lines);
}
