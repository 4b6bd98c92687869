#include "answer/pictures.h"

#include "analyze/walk/words.h"

// ---- timeline ----

#define BIN(member, key, ...) GGS_FIELD(struct ggs_timeline_bin, member, key, __VA_ARGS__)

static const struct ggs_field bin_fields[] = {
    BIN(lane, "lane", "lanes[] of the summary"),
    BIN(begin, "begin_ns"),
    BIN(busy, "busy_ns"),
    BIN(wait, "wait_ns"),
    BIN(stalled, "stalled_ns", "by page faults; part of busy_ns"),
    BIN(disk_wait, "disk_wait_ns", "for streamed weights; part of busy_ns"),
    BIN(count, "count", "op runs that begin in the bin"),
    BIN(longest_ns, "longest_ns", "duration of the longest of these"),
    BIN(longest_op, "longest_op", "ops[] of the header; 65535: not known"),
    BIN(longest_run, "longest_run"),
    BIN(longest_node, "longest_node"),
    BIN(longest_layer, "longest_layer", "-1: none"),
    BIN(fits, "fits_ns", "part of busy_ns in ops that the parameters ask for; all of it without parameters"),
    {0},
};
const struct ggs_object ggs_timeline_bins = {.fields = bin_fields};

#define OP(member, key, ...) GGS_FIELD(struct ggs_timeline_op, member, key, __VA_ARGS__)

static const struct ggs_field op_fields[] = {
    OP(lane, "lane"),
    OP(run, "run"),
    OP(node, "node"),
    OP(op, "op", "ops[] of the header; 65535: a whole graph run"),
    OP(layer, "layer", "-1: none"),
    OP(begin, "begin_ns"),
    OP(duration, "duration_ns"),
    OP(wait, "wait_ns", "after the op"),
    OP(inner, "inner_wait_ns", "inside the op"),
    OP(stalled, "stalled_ns"),
    OP(disk_wait, "disk_wait_ns"),
    OP(token, "token", "-1: none"),
    OP(label, "label", "labels[] of the header; 65535: none"),
    OP(fits, "fits", "1: the parameters ask for it"),
    OP(flags, "flags", "bits: 1 it did not end, 2 fused, 4 computed by an extra buffer type"),
    {0},
};
const struct ggs_object ggs_timeline_ops = {.fields = op_fields};

static const struct ggs_field timeline_columns_fields[] = {
    GGS_MEMBERS_OF(&ggs_timeline_bins), GGS_MEMBERS_OF(&ggs_timeline_ops), {0}};
static const struct ggs_object timeline_columns = {.fields = timeline_columns_fields};

GGS_NEXT(next_op) {
    const struct ggs_trace * trace = context;
    (void) at;
    return *i < trace->n_ops ? &trace->op_names[(*i)++] : NULL;
}

GGS_NEXT(next_label) {
    const struct ggs_timeline_view * timeline = ((const struct ggs_timeline_header *) at)->timeline;
    if (*i >= timeline->n_labels) return NULL;
    *(const char **) room = ggs_names_text(timeline->labels, (uint32_t) (*i)++);
    return room;
}

// Graph runs that a client sent to a server, one by one.
GGS_NEXT(next_sent) {
    const struct ggs_timeline_view * timeline = ((const struct ggs_timeline_header *) at)->timeline;
    while (timeline->one_by_one && *i < timeline->n_ops) {
        const struct ggs_timeline_op * op = &timeline->ops[(*i)++];
        if (op->server_run != 0) return op;
    }
    return NULL;
}

static const struct ggs_field  sent_fields[] = {OP(run, "run"), OP(server_run, "server_run"), {0}};
static const struct ggs_object sent          = {.fields = sent_fields};

enum { GAPS_MOST = 1000 };

GGS_NEXT(next_gap) {
    const struct ggs_gaps * gaps = &((const struct ggs_timeline_header *) at)->gaps;
    return *i < gaps->n && *i < GAPS_MOST ? &gaps->gap[(*i)++] : NULL;
}

static const struct ggs_field gap_fields[] = {
    GGS_FIELD(struct ggs_gap, lane, "lane"),
    GGS_FIELD(struct ggs_gap, begin_ns, "begin_ns"),
    GGS_FIELD(struct ggs_gap, end_ns, "end_ns"),
    GGS_FIELD(struct ggs_gap, count, "count", "records"),
    {0},
};
static const struct ggs_object gap = {.fields = gap_fields};

static const struct ggs_field timeline_fields[] = {
    GGS_COLUMNS_HEAD,
    GGS_FIELD(struct ggs_timeline_header, level, "level", "bins are 2^level ns wide; -1: op runs one by one"),
    GGS_FIELD(struct ggs_timeline_header, bin_ns, "bin_ns"),
    GGS_LIST_EACH(STRING, "ops", next_op, "names by number"),
    GGS_LIST_EACH(STRING, "labels", next_label, "by number: the weight that an op reads, else its result"),
    GGS_EACH("sent", next_sent, &sent,
             "joined recordings: graph runs of a client, with the run of the server that computed it"),
    GGS_EACH("losses", next_gap, &gap, "where records are missing, 1000 at most"),
    GGS_COLUMNS_LIST(&timeline_columns),
    {0},
};
const struct ggs_object ggs_timeline_object = {
    .name = "Timeline", .text = "What the lanes did in a window of time.", .fields = timeline_fields};

// ---- tokens ----

#define TOKEN(member, key, ...) GGS_FIELD(struct ggs_token_row, member, key, __VA_ARGS__)

static const struct ggs_field token_fields[] = {
    TOKEN(first, "first_token", "4294967295: a warm-up"),
    TOKEN(last, "last_token"),
    TOKEN(begin, "begin_ns"),
    TOKEN(end, "end_ns"),
    TOKEN(phase, "phase", "number of a word", .word = ggs_word_phase),
    TOKEN(count, "count", "steps that the row stands for"),
    {0},
};
const struct ggs_object ggs_tokens_columns = {.fields = token_fields};

GGS_GET_TEXT(text_of, struct ggs_token_row, (*length = it->length, it->text))

static const struct ggs_field text_fields[] = {
    GGS_TEXT_OR_NULL("texts", text_of, "what was fed; null if the row stands for several steps, or no text is known"),
    {0},
};
static const struct ggs_object texts = {.fields = text_fields};

static const struct ggs_field tokens_fields[] = {
    GGS_COLUMNS_HEAD,
    GGS_COLUMNS(struct ggs_tokens_header, row, columns.rows, NULL, &texts),
    GGS_COLUMNS_LIST(&ggs_tokens_columns),
    {0},
};
const struct ggs_object ggs_tokens_object = {.name = "Tokens",
                                             .text =
                                                 "Token steps; neighbours share a row if there are more than wanted.",
                                             .fields = tokens_fields};

// ---- choices ----

#define CHOICE(member, ...) GGS_FIELD(struct ggs_choice_row, member, #member, __VA_ARGS__)

static const struct ggs_field choice_fields[] = {
    CHOICE(token, "-1: none"),
    CHOICE(input, "index of the token in its step: a prompt has many"),
    CHOICE(rank, "0 is the first choice"),
    CHOICE(expert),
    CHOICE(weight, "multiplies the expert's output; NaN: not seen"),
    CHOICE(run),
    CHOICE(node),
    {0},
};
const struct ggs_object ggs_choices_columns = {.fields = choice_fields};

static const struct ggs_field choices_fields[] = {
    GGS_COLUMNS_HEAD,
    GGS_FIELD(struct ggs_choices_header, layer, "layer", "", .from_0 = true),
    GGS_FIELD(struct ggs_choices_header, total, "total", "choices in the layer; the first 40,000 are sent"),
    GGS_COLUMNS_LIST(&ggs_choices_columns),
    {0},
};
const struct ggs_object ggs_choices_object = {
    .name = "Choices", .text = "Which experts each token took in one layer.", .fields = choices_fields};

// ---- access ----

#define CELL(member, ...) GGS_FIELD(struct ggs_access_cell, member, #member, __VA_ARGS__)

static const struct ggs_field cell_fields[] = {
    CELL(layer, "which of sums: 0 is the first"), CELL(column), CELL(row), CELL(amount), {0},
};
const struct ggs_object ggs_access_columns = {.fields = cell_fields};

#define MAP(member, key, ...)  GGS_FIELD(struct ggs_access_map, member, key, __VA_ARGS__)
#define SUM(number, key, text) GGS_FIELD(struct ggs_access_map, sums[number], key, text, .from_0 = true)

static const struct ggs_field sums_fields[] = {
    SUM(GGS_ACCESS_MAPPED, "bytes_mapped", "bytes that ops read from mapped files"),
    SUM(GGS_ACCESS_COPIES, "bytes_copied", "bytes that ops read from copies"),
    SUM(GGS_ACCESS_FAULTS, "faults", "page faults"),
    SUM(GGS_ACCESS_DISK, "bytes_requested", "bytes requested from the disk"),
    {0},
};
static const struct ggs_object sums = {.fields = sums_fields};

static const struct ggs_field map_fields[] = {
    MAP(begin_ns, "begin_ns"),
    MAP(end_ns, "end_ns"),
    MAP(first_byte, "first_byte", "first byte shown, on an axis of all the model's files one after the other"),
    MAP(end_byte, "end_byte"),
    MAP(axis_bytes, "axis_bytes", "length of the whole axis"),
    MAP(columns, "n_columns", "columns of the grid: time"),
    MAP(rows, "n_rows", "rows of the grid: bytes"),
    GGS_OBJECT_OF("sums", &sums, "totals over all cells"),
    {0},
};
static const struct ggs_object map = {.fields = map_fields};

GGS_GET_VIEW(map_of, struct ggs_access_header, it->map)

static const struct ggs_field access_fields[] = {
    GGS_COLUMNS_HEAD,
    GGS_MEMBERS_VIEW(map_of, &map),
    GGS_COLUMNS_LIST(&ggs_access_columns),
    {0},
};
const struct ggs_object ggs_access_object = {
    .name   = "Access",
    .text   = "Where in the model's files ops read over time: a grid; only cells with something in them are sent.",
    .fields = access_fields,
};

// ---- occupancy ----

#define CLASS(number, key) GGS_FIELD(struct ggs_occupancy_bin, bytes[number], key)

static const struct ggs_field class_fields[] = {CLASS(GGS_CLASS_OTHER, "other"), CLASS(GGS_CLASS_WEIGHTS, "weights"),
                                                CLASS(GGS_CLASS_KV, "kv"),       CLASS(GGS_CLASS_COMPUTE, "compute"),
                                                CLASS(GGS_CLASS_IO, "io"),       {0}};
const struct ggs_object       ggs_occupancy_columns = {.fields = class_fields};

#define OCCUPANCY(member) GGS_FIELD(struct ggs_occupancy_header, member, #member)

static const struct ggs_field occupancy_fields[] = {
    GGS_COLUMNS_HEAD,
    OCCUPANCY(begin_ns),
    OCCUPANCY(end_ns),
    OCCUPANCY(peak_bytes),
    GGS_COLUMNS_LIST(&ggs_occupancy_columns),
    {0},
};
const struct ggs_object ggs_occupancy_object = {
    .name   = "Occupancy",
    .text   = "The most bytes of each class of buffers at any moment of each bin.",
    .fields = occupancy_fields,
};

// ---- curves ----

#define CURVE(key_, ...) \
    { .key = (key_), .type = GGS_FIELD_DOUBLE, GGS_SAY(__VA_ARGS__) }

static const struct ggs_field curve_fields[] = {
    CURVE("bytes_disk", "read from mapped files"),
    CURVE("faults", "page faults, if recorded"),
    CURVE("stalled_ns", "by page faults, if recorded"),
    CURVE("bytes_requested", "requested from the disk, if recorded"),
    CURVE("disk_wait_ns", "waiting for streamed weights, if recorded"),
    CURVE("bytes_to_devices", "if there are devices"),
    CURVE("bytes_from_devices", "if there are devices"),
    {0},
};
const struct ggs_object ggs_curves_columns = {.fields = curve_fields};

#define CURVES(member) GGS_FIELD(struct ggs_curves_header, member, #member)

static const struct ggs_field curves_fields[] = {
    GGS_COLUMNS_HEAD, CURVES(begin_ns), CURVES(end_ns), CURVES(bin_ns), GGS_COLUMNS_LIST(&ggs_curves_columns), {0}};
const struct ggs_object ggs_curves_object = {
    .name = "Curves", .text = "Bytes and page faults over time.", .fields = curves_fields};
