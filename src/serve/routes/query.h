// The parameters of a request: "a=1&b=x%20y".
//
// They are untrusted: number and length are limited, and what cannot be decoded is refused. Unknown
// parameters are refused too, so that a misspelt one is not ignored. A getter leaves its result
// alone if the parameter is missing.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_error;
struct ggs_overview;
struct ggs_timeline_window;

enum { GGS_QUERY_MOST = 24, GGS_QUERY_LENGTH = 2048 };

struct ggs_query {
    char     text[GGS_QUERY_LENGTH]; // names and values, decoded, each with a NUL
    unsigned n;
    struct {
        const char *name, *value; // in `text`
        bool        used;
    } pair[GGS_QUERY_MOST];
};

// `text` may be NULL or empty. Every failure is GGS_USAGE.
int ggs_query_parse(struct ggs_query * query, const char * text, struct ggs_error * error);
// Call it after all getters: fails if a parameter was not read by any of them.
int ggs_query_finish(const struct ggs_query * query, struct ggs_error * error);

const char * ggs_query_text(struct ggs_query * query, const char * name); // NULL if it is missing
int ggs_query_u64(struct ggs_query * query, const char * name, uint64_t least, uint64_t most, uint64_t * result,
                  struct ggs_error * error);
int ggs_query_i64(struct ggs_query * query, const char * name, int64_t least, int64_t most, int64_t * result,
                  struct ggs_error * error);
// "begin" and "end" in nanoseconds; the end must be after the begin.
int ggs_query_window(struct ggs_query * query, int64_t * begin_ns, int64_t * end_ns, struct ggs_error * error);
// The same for a picture, with "pixels"; the whole recording by default. Other parameters are
// refused.
int ggs_query_pixels(struct ggs_query * query, const struct ggs_overview * overview,
                     struct ggs_timeline_window * window, struct ggs_error * error);
// "0,2,5": at least `least` and at most `most` numbers of experiments.
int ggs_query_indices(struct ggs_query * query, const char * name, unsigned least, unsigned most, unsigned * indices,
                      unsigned * n, struct ggs_error * error);
// "A..B", "A", "A..", "..B": token steps, both included.
int ggs_query_tokens(struct ggs_query * query, int64_t * first, int64_t * last, struct ggs_error * error);
