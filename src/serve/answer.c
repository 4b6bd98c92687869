#include "serve/answer.h"

#include <stdlib.h>

#include "base/error.h"

const char ggs_type_json[] = "application/json", ggs_type_columns[] = "application/octet-stream",
           ggs_type_html[] = "text/html; charset=utf-8";

struct ggs_answer * ggs_answer_new(void) {
    struct ggs_answer * answer = calloc(1, sizeof(*answer));
    if (answer == NULL) return NULL;
    atomic_init(&answer->holders, 1);
    answer->status = 200;
    answer->type   = ggs_type_json;
    return answer;
}

struct ggs_answer * ggs_answer_hold(struct ggs_answer * answer) {
    atomic_fetch_add(&answer->holders, 1);
    return answer;
}

void ggs_answer_drop(struct ggs_answer * answer) {
    if (answer == NULL || atomic_fetch_sub(&answer->holders, 1) > 1) return;
    ggs_text_release(&answer->body);
    free(answer);
}

void ggs_answer_refuse(struct ggs_answer * answer, unsigned status, const char * text) {
    struct ggs_json json;
    ggs_text_clear(&answer->body);
    answer->status = status;
    answer->type   = ggs_type_json;
    answer->gzip   = false;
    ggs_answer_open(answer, &json);
    ggs_json_object(&json, NULL);
    ggs_json_string(&json, "error", text);
    ggs_json_end(&json);
    ggs_answer_close(answer, &json, NULL);
}

void ggs_answer_fail(struct ggs_answer * answer, const struct ggs_error * error) {
    unsigned status;
    switch (error->status) {
        case GGS_USAGE:
            status = 400;
            break;
        case GGS_ABSENT:
            status = 404;
            break;
        case GGS_IO:
            status = 410;
            break;
        case GGS_MEMORY:
            status = 503;
            break;
        default: // the experiment's files are not what they should be
            status = 409;
            break;
    }
    ggs_answer_refuse(answer, status, error->text);
}

void ggs_answer_open(struct ggs_answer * answer, struct ggs_json * json) {
    ggs_json_init(json, ggs_json_to_text, &answer->body, false);
}

int ggs_answer_close(struct ggs_answer * answer, struct ggs_json * json, struct ggs_error * error) {
    return ggs_json_finish(json) != 0 || answer->body.failed ? ggs_fail_memory(error) : 0;
}
