#include "engine/run/run-teacher.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "trace/reader.h"

struct text {
    int32_t * tokens;
    uint64_t  n, capacity;
    int64_t   sequence;
};

// False for tokens of other sequences, of warm-ups and of later texts.
static bool belongs(const struct text * text, const struct ggs_token * token) {
    return token->step >= 0 && token->position == (int64_t) text->n &&
           (text->n == 0 || token->sequence == text->sequence);
}

static int read_tokens(struct ggs_reader * reader, const char * path, struct text * text, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_token    token;
    int                 status = ggs_cursor_open(&cursor, reader, GGS_TABLE_TOKENS, error);
    if (status != 0) return status;
    while ((status = ggs_cursor_next(cursor, &token, error)) > 0) {
        if (!belongs(text, &token)) continue;
        if (token.token < 0 || token.token > INT32_MAX) {
            status =
                ggs_fail(error, GGS_UNSUPPORTED, "%s was fed embeddings, not tokens: there is no text to feed", path);
            break;
        }
        text->sequence = token.sequence;
        if (!ggs_array_push(text->tokens, text->n, text->capacity, (int32_t) token.token)) {
            status = ggs_fail_memory(error);
            break;
        }
    }
    ggs_cursor_close(cursor);
    return status;
}

int ggs_run_teacher_read(const char * path, int32_t ** tokens, uint32_t * count, struct ggs_error * error) {
    struct ggs_reader * reader;
    struct text         text   = {0};
    int                 status = ggs_reader_open(&reader, path, error);
    if (status != 0) return status;
    status = read_tokens(reader, path, &text, error);
    ggs_reader_close(reader);
    if (status == 0 && text.n == 0)
        status = ggs_fail(error, GGS_ABSENT, "%s has no tokens that start a text: it cannot be a teacher", path);
    if (status == 0 && text.n > INT32_MAX) status = ggs_fail(error, GGS_USAGE, "%s has too many tokens", path);
    if (status != 0) {
        free(text.tokens);
        return status;
    }
    *tokens = text.tokens;
    *count  = (uint32_t) text.n;
    return 0;
}
