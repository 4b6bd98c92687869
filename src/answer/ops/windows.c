#include "answer/answer.h"

#include "analyze/walk/words.h"

GGS_GET(bool, is_mark, struct ggs_window, it->kind == GGS_WINDOW_MARK)

static const struct ggs_field window_fields[] = {
    GGS_FIELD(struct ggs_window, window, "window", "number, from 1", .least = 1),
    GGS_FIELD_WORD(struct ggs_window, kind, "kind", ggs_word_window,
                   "graph runs were recorded, or a moment was marked"),
    GGS_FIELD(struct ggs_window, begin_ns, "begin_ns", "", .from_0 = true),
    GGS_FIELD(struct ggs_window, end_ns, "end_ns", "", .from_0 = true),
    GGS_FIELD_NUMBER(struct ggs_window, text, "text", "of a mark", .known = is_mark),
    {0},
};
static const struct ggs_object window = {.fields = window_fields};

static const struct ggs_field fields[] = {
    GGS_FIELD(struct ggs_windows, recorded_ns, "recorded_ns", "time in windows"),
    GGS_FIELD(struct ggs_windows, whole_ns, "whole_ns", "from the program's begin to the recording's end"),
    GGS_ROWS(struct ggs_windows, window, n, "list", &window, "in order of time"),
    {0},
};
const struct ggs_object ggs_windows_object = {.name = "Windows", .fields = fields, .lines = true};
