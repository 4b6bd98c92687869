#include "serve/reply.h"

#include <stdlib.h>

#include "answer/columns.h"
#include "answer/server-answers.h"
#include "base/error.h"

const char ggs_type_json[] = "application/json", ggs_type_columns[] = "application/octet-stream",
           ggs_type_html[] = "text/html; charset=utf-8";

struct ggs_reply * ggs_reply_new(void) {
    struct ggs_reply * reply = calloc(1, sizeof(*reply));
    if (reply == NULL) return NULL;
    atomic_init(&reply->holders, 1);
    reply->status = 200;
    reply->type   = ggs_type_json;
    return reply;
}

struct ggs_reply * ggs_reply_hold(struct ggs_reply * reply) {
    atomic_fetch_add(&reply->holders, 1);
    return reply;
}

void ggs_reply_drop(struct ggs_reply * reply) {
    if (reply == NULL || atomic_fetch_sub(&reply->holders, 1) > 1) return;
    ggs_text_release(&reply->body);
    free(reply);
}

void ggs_reply_refuse(struct ggs_reply * reply, unsigned status, const char * text) {
    struct ggs_json json;
    ggs_text_clear(&reply->body);
    reply->status = status;
    reply->type   = ggs_type_json;
    reply->gzip   = false;
    ggs_reply_open(reply, &json);
    ggs_object_write(&json, NULL, &ggs_refusal_object, &(struct ggs_refusal){text}, NULL);
    ggs_reply_close(reply, &json, NULL);
}

void ggs_reply_fail(struct ggs_reply * reply, const struct ggs_error * error) {
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
        default: // the experiment's files are invalid
            status = 409;
            break;
    }
    ggs_reply_refuse(reply, status, error->text);
}

void ggs_reply_open(struct ggs_reply * reply, struct ggs_json * json) {
    ggs_json_init(json, ggs_json_to_text, &reply->body, false);
}

int ggs_reply_close(struct ggs_reply * reply, struct ggs_json * json, struct ggs_error * error) {
    return ggs_json_finish(json) != 0 || reply->body.failed ? ggs_fail_memory(error) : 0;
}

int ggs_reply_columns(struct ggs_reply * reply, struct ggs_columns * columns, const struct ggs_object * header,
                      const struct ggs_trace * trace, struct ggs_error * error) {
    reply->type = ggs_type_columns;
    return ggs_columns_end(columns, header, trace, &reply->body, error);
}
