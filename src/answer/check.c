#include "answer/answer.h"

void ggs_checks_write(struct ggs_json * json, const struct ggs_checks * checks) {
    ggs_json_object(json, NULL);
    ggs_json_bool(json, "ok", !checks->failed);
    ggs_json_array(json, "checks");
    for (uint64_t i = 0; i < checks->n; i++) {
        ggs_json_object_inline(json, NULL);
        ggs_json_string(json, "name", checks->check[i].name);
        ggs_json_string(json, "result", ggs_check_word(checks->check[i].status));
        ggs_json_string(json, "text", checks->check[i].text);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_end(json);
}
