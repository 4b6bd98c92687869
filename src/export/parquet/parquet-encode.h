// The Parquet encodings that the writer uses, and Thrift's compact protocol for its headers.
//
// All functions append to a ggs_text, whose `failed` is set if memory runs out.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

// ---- pages ----

// PLAIN 64-bit numbers are copied as they are, so the machine must be little endian.
// DELTA_BINARY_PACKED has differences in blocks of 128, minus the smallest of the block, in as few
// bits as the largest needs.
void ggs_put_delta(struct ggs_text * out, const int64_t * values, uint64_t n);
// RLE / bit-packing hybrid with a fixed width (0 to 32 bits), without a length prefix. One
// bit-packed run, or a repeated value if all are equal.
void     ggs_put_hybrid(struct ggs_text * out, const uint32_t * values, uint64_t n, unsigned width);
void     ggs_put_bits(struct ggs_text * out, const int64_t * values, uint64_t n); // PLAIN booleans: one bit each
unsigned ggs_bits_of(uint64_t value);                                             // bits of a value: 0 for 0

// ---- Thrift ----

enum ggs_thrift_type {
    GGS_THRIFT_TRUE   = 1,
    GGS_THRIFT_I32    = 5,
    GGS_THRIFT_I64    = 6,
    GGS_THRIFT_BINARY = 8,
    GGS_THRIFT_LIST   = 9,
    GGS_THRIFT_STRUCT = 12,
};

// `last` is the id of the previous field at each depth: the protocol writes ids as differences.
struct ggs_thrift {
    struct ggs_text * out;
    int               last[8]; // by depth
    unsigned          depth;
};
void ggs_thrift_begin(struct ggs_thrift * t, int id); // a struct in a field; id 0: in a list, or the outermost
void ggs_thrift_end(struct ggs_thrift * t);
void ggs_thrift_true(struct ggs_thrift * t, int id);
void ggs_thrift_i32(struct ggs_thrift * t, int id, int32_t value);
void ggs_thrift_i64(struct ggs_thrift * t, int id, int64_t value);
void ggs_thrift_binary(struct ggs_thrift * t, int id, const void * data, uint64_t length); // id 0: in a list
void ggs_thrift_list(struct ggs_thrift * t, int id, enum ggs_thrift_type of, uint64_t n);
