// Helpers for the tables of answers (base/object.h): values that need more than a member, and
// common fields.
//
//     GGS_GET(int64_t, busy_of, struct ggs_group, it->untimed > 0 ? -1 : (int64_t) it->busy_ns)
//     GGS_GET_TEXT(path_of, struct ggs_weight, ggs_answer_path(trace, it->file))
//     ...
//         GGS_NATURAL("busy_ns", busy_of, "sum over threads; null if some ops have no times"),
//         GGS_TEXT("path", path_of, "of its file"),
//
// `it` is the struct that is written, `trace` the recording.
#pragma once

#include "analyze/walk/trace.h"
#include "base/object.h"

// Defines a function for GGS_INTEGER, GGS_COUNT, GGS_NATURAL (int64_t), GGS_REAL (double),
// GGS_TEST, .asked and .known (bool).
#define GGS_GET(result_, name_, type_, ...)                         \
    static result_ name_(const void * at_, const void * context_) { \
        const type_ *            it    = at_;                       \
        const struct ggs_trace * trace = context_;                  \
        (void) it, (void) trace;                                    \
        return __VA_ARGS__;                                         \
    }
// For GGS_TEXT. `room` has GGS_ROOM bytes; a text without a NUL sets *length.
#define GGS_GET_TEXT(name_, type_, ...)                                                                \
    static const char * name_(const void * at_, const void * context_, char * room, size_t * length) { \
        const type_ *            it    = at_;                                                          \
        const struct ggs_trace * trace = context_;                                                     \
        (void) it, (void) trace, (void) room, (void) length;                                           \
        return __VA_ARGS__;                                                                            \
    }
// For GGS_OBJECT_OR_NULL and GGS_MEMBERS_VIEW: another struct.
#define GGS_GET_VIEW(name_, type_, ...)                                               \
    static const void * name_(const void * at_, const void * context_, void * room) { \
        const type_ *            it    = at_;                                         \
        const struct ggs_trace * trace = context_;                                    \
        (void) it, (void) trace, (void) room;                                         \
        return __VA_ARGS__;                                                           \
    }
// The head of a function for GGS_EACH, which returns the next row, NULL at the end. *i is for the
// function to use.
#define GGS_NEXT(name_)                                                                                    \
    static const void * name_(const void * at, __attribute__((unused)) const void * context, uint64_t * i, \
                              __attribute__((unused)) void * room)

// A member that is the number of a string in the trace.
#define GGS_FIELD_NUMBER(type_, member_, key_, ...) \
    { .key = (key_), GGS_MEMBER_AT(type_, member_), .number = ggs_answer_string, GGS_SAY(__VA_ARGS__) }
const char * ggs_answer_string(const void * trace, uint64_t number);

// "experiment_id", and "partial" if the trace is incomplete: the first members of every answer
// about a recording.
extern const struct ggs_object ggs_answer_about;
#define GGS_ABOUT        GGS_MEMBERS_OF(&ggs_answer_about)
#define GGS_PARTIAL_TEXT "the trace is incomplete: every figure covers the intact part"
// "step_kind"
extern const struct ggs_object ggs_answer_step_kind;
#define GGS_STEP_KIND GGS_MEMBERS_OF(&ggs_answer_step_kind)

// Writes a whole answer about a recording.
void ggs_answer_write(struct ggs_json * json, const struct ggs_object * object, const void * it,
                      const struct ggs_trace * trace);

// Returns the path of a file of the trace, from 1; NULL if there is none.
const char * ggs_answer_path(const struct ggs_trace * trace, uint64_t file);
// Tokens per second; NaN if the time is 0.
double ggs_answer_speed(uint64_t tokens, uint64_t ns);
// Returns the bins without trailing zeros.
struct ggs_list ggs_answer_bins(const uint64_t * bins, unsigned n);
