#include "serve/answer.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

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

// ---- compression ----

enum { LEAST = 1024, MOST = 32 << 20, LEVEL = 1, GZIP = 16 };

void ggs_answer_compress(struct ggs_answer * answer) {
    z_stream stream = {0};
    size_t   length = answer->body.length;
    if (answer->gzip || length < LEAST || length > MOST) return;
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, MAX_WBITS + GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK) return;
    size_t bound     = deflateBound(&stream, (uLong) length);
    char * packed    = malloc(bound);
    stream.next_in   = (Bytef *) answer->body.data;
    stream.avail_in  = (uInt) length;
    stream.next_out  = (Bytef *) packed;
    stream.avail_out = (uInt) bound;
    bool done        = packed != NULL && deflate(&stream, Z_FINISH) == Z_STREAM_END;
    if (done && stream.total_out < length) {
        ggs_text_release(&answer->body);
        ggs_text_append(&answer->body, packed, stream.total_out);
        answer->gzip = true;
    }
    deflateEnd(&stream);
    free(packed);
}

bool ggs_inflate(const void * packed, size_t size, struct ggs_text * out) {
    z_stream stream = {0};
    char     piece[16384];
    int      state = Z_OK;
    if (inflateInit2(&stream, MAX_WBITS + GZIP) != Z_OK) return false;
    stream.next_in  = (Bytef *) (uintptr_t) packed;
    stream.avail_in = (uInt) size;
    while (state == Z_OK && !out->failed) {
        stream.next_out  = (Bytef *) piece;
        stream.avail_out = sizeof(piece);
        state            = inflate(&stream, Z_NO_FLUSH);
        ggs_text_append(out, piece, sizeof(piece) - stream.avail_out);
    }
    inflateEnd(&stream);
    return state == Z_STREAM_END && !out->failed;
}
