#include "answer/answer.h"

#include "analyze/walk/words.h"

void ggs_windows_answer(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_windows * windows) {
    if (windows->n == 0) {
        ggs_json_null(json, "windows");
        return;
    }
    ggs_json_object(json, "windows");
    ggs_json_u64(json, "recorded_ns", windows->recorded_ns);
    ggs_json_u64(json, "whole_ns", windows->whole_ns);
    ggs_json_array(json, "list");
    for (uint64_t i = 0; i < windows->n; i++) {
        const struct ggs_window * w = &windows->window[i];
        ggs_json_object_inline(json, NULL);
        ggs_json_u64(json, "window", w->window);
        ggs_json_string(json, "kind", ggs_word_window(w->kind));
        ggs_json_i64(json, "begin_ns", w->begin_ns);
        ggs_json_i64(json, "end_ns", w->end_ns);
        ggs_json_string(json, "text", w->kind == GGS_WINDOW_MARK ? ggs_reader_string(trace->reader, w->text) : NULL);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_end(json);
}
