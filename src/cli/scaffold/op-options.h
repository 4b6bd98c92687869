// Options that limit a verb to some ops: a struct ggs_op_filter of its arguments.
#pragma once

#include "analyze/walk/op-filter.h"
#include "cli/scaffold/verb.h"

bool ggs_set_op_layer(void * member, const char * text); // a number, or none
bool ggs_set_thread(void * member, const char * text);
bool ggs_set_buffer(void * member, const char * text);
bool ggs_set_source(void * member, const char * text);

struct ggs_word ggs_source_words(unsigned i);

#define GGS_EXPECTS_TIME "a time such as 1.5s, 300ms, 20us or 5000 (nanoseconds)"

// `type_`: the struct of arguments; `filter_`: its member.
#define GGS_OPTIONS_OPS(group_, type_, filter_)                                                                      \
    GGS_OPTION("layer", 0, "N", "Ops of layer N, or none: ops outside of layers", group_,                            \
               offsetof(type_, filter_.layer), ggs_set_op_layer,                                                     \
               "the number of a layer, or none for ops of no layer"),                                                \
        GGS_OPTION("op", 0, "NAME", "Ops of this name, such as MUL_MAT", group_, offsetof(type_, filter_.op),        \
                   ggs_set_text, NULL),                                                                              \
        GGS_OPTION("tensor", 0, "GLOB", "Ops whose result or operand matches GLOB, such as '*attn_q*'", group_,      \
                   offsetof(type_, filter_.tensor), ggs_set_text, NULL),                                             \
        GGS_OPTION("thread", 0, "N", "Ops on thread N, with the times of that thread", group_,                       \
                   offsetof(type_, filter_.thread), ggs_set_thread, "the number of a thread, from 0"),               \
        GGS_OPTION_OF("source", 0, "SOURCE", "Ops with an operand in this place", group_,                            \
                      offsetof(type_, filter_.source), ggs_set_source, ggs_source_words),                            \
        GGS_OPTION("range", 0, "OFF..OFF", "Ops that touch these bytes of a model file", group_,                     \
                   offsetof(type_, filter_.range_begin), ggs_set_offsets,                                            \
                   "a range of bytes such as 4096..8192, 64K..1.5M or 1G.., or one offset"),                         \
        GGS_OPTION("buffer", 0, "ID", "Ops with an operand in this buffer", group_, offsetof(type_, filter_.buffer), \
                   ggs_set_buffer, "the number of a buffer, from 1"),                                                \
        GGS_OPTION("since", 0, "TIME", "Ops that end after this time, such as 1.5s", group_,                         \
                   offsetof(type_, filter_.since_ns), ggs_set_time, GGS_EXPECTS_TIME),                               \
        GGS_OPTION("until", 0, "TIME", "Ops that begin before this time", group_, offsetof(type_, filter_.until_ns), \
                   ggs_set_time, GGS_EXPECTS_TIME)
