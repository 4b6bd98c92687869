// What a request gets: a status and a body. Made by one thread, then shared and never changed.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "base/json.h"
#include "base/text.h"

struct ggs_error;

struct ggs_answer {
    _Atomic unsigned holders;
    unsigned         status; // HTTP's
    const char *     type;   // content type, constant
    bool             gzip;   // the body is compressed
    struct ggs_text  body;
};

extern const char ggs_type_json[], ggs_type_columns[], ggs_type_html[];

struct ggs_answer * ggs_answer_new(void); // status 200, JSON, empty; NULL when out of memory
struct ggs_answer * ggs_answer_hold(struct ggs_answer * answer);
void                ggs_answer_drop(struct ggs_answer * answer); // NULL is fine; frees with the last holder

// Turns it into {"error": text}.
void ggs_answer_refuse(struct ggs_answer * answer, unsigned status, const char * text);
// The same with the status that fits what failed.
void ggs_answer_fail(struct ggs_answer * answer, const struct ggs_error * error);

// Compresses the body where that is worth it.
void ggs_answer_compress(struct ggs_answer * answer);
// Puts the text packed by gzip in its place if that is worth it; false if the text is as it was.
bool ggs_deflate(struct ggs_text * text);
// Appends what gzip packed; false if it is damaged, or memory is out.
bool ggs_inflate(const void * packed, size_t size, struct ggs_text * out);

// JSON straight into the body: open makes the writer, close says whether all that was written was kept.
void ggs_answer_open(struct ggs_answer * answer, struct ggs_json * json);
int  ggs_answer_close(struct ggs_answer * answer, struct ggs_json * json, struct ggs_error * error);
