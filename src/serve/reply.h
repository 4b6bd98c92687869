// The reply to a request: a status and a body. One thread makes it; it is then shared and
// immutable.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/json.h"
#include "base/text.h"

struct ggs_columns;
struct ggs_error;
struct ggs_object;
struct ggs_trace;

struct ggs_reply {
    _Atomic unsigned holders;
    unsigned         status; // HTTP status
    const char *     type;   // content type, constant
    bool             gzip;   // the body is compressed
    struct ggs_text  body;
};

extern const char ggs_type_json[], ggs_type_columns[], ggs_type_html[];

struct ggs_reply * ggs_reply_new(void); // status 200, JSON, empty; NULL if out of memory
struct ggs_reply * ggs_reply_hold(struct ggs_reply * reply);
void               ggs_reply_drop(struct ggs_reply * reply); // NULL is fine; the last holder frees it

// Turns the reply into {"error": text}.
void ggs_reply_refuse(struct ggs_reply * reply, unsigned status, const char * text);
// The same with a status that matches the error.
void ggs_reply_fail(struct ggs_reply * reply, const struct ggs_error * error);

// Compresses the body if it gets smaller.
void ggs_reply_compress(struct ggs_reply * reply);
// Replaces the text by its gzip form if that is smaller; false if the text is unchanged.
bool ggs_deflate(struct ggs_text * text);
// Appends the decompressed data; false if it is damaged or memory is out.
bool ggs_inflate(const void * packed, size_t size, struct ggs_text * out);

// Writes JSON directly into the body. ggs_reply_close fails if something was lost.
void ggs_reply_open(struct ggs_reply * reply, struct ggs_json * json);
int  ggs_reply_close(struct ggs_reply * reply, struct ggs_json * json, struct ggs_error * error);
// Writes binary columns, like ggs_columns_end.
int ggs_reply_columns(struct ggs_reply * reply, struct ggs_columns * columns, const struct ggs_object * header,
                      const struct ggs_trace * trace, struct ggs_error * error);
