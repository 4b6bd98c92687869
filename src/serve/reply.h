// What a request gets: a status and a body. Made by one thread, then shared and never changed.
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
    unsigned         status; // HTTP's
    const char *     type;   // content type, constant
    bool             gzip;   // the body is compressed
    struct ggs_text  body;
};

extern const char ggs_type_json[], ggs_type_columns[], ggs_type_html[];

struct ggs_reply * ggs_reply_new(void); // status 200, JSON, empty; NULL when out of memory
struct ggs_reply * ggs_reply_hold(struct ggs_reply * reply);
void               ggs_reply_drop(struct ggs_reply * reply); // NULL is fine; frees with the last holder

// Turns it into {"error": text}.
void ggs_reply_refuse(struct ggs_reply * reply, unsigned status, const char * text);
// The same with the status that fits what failed.
void ggs_reply_fail(struct ggs_reply * reply, const struct ggs_error * error);

// Compresses the body if that is worth it.
void ggs_reply_compress(struct ggs_reply * reply);
// Puts the text packed by gzip in its place if that is worth it; false if the text is as it was.
bool ggs_deflate(struct ggs_text * text);
// Appends what gzip packed; false if it is damaged, or memory is out.
bool ggs_inflate(const void * packed, size_t size, struct ggs_text * out);

// JSON straight into the body: open makes the writer, close says whether all that was written was
// kept.
void ggs_reply_open(struct ggs_reply * reply, struct ggs_json * json);
int  ggs_reply_close(struct ggs_reply * reply, struct ggs_json * json, struct ggs_error * error);
// Binary columns: as ggs_columns_end.
int ggs_reply_columns(struct ggs_reply * reply, struct ggs_columns * columns, const struct ggs_object * header,
                      const struct ggs_trace * trace, struct ggs_error * error);
