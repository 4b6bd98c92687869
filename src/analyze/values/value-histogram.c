#include "analyze/values/value-histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { BYTES_MOST = 64 << 20 };

enum form { FORM_NONE, FORM_F32, FORM_F16, FORM_BF16 };

static enum form form_of(const struct ggs_trace * trace, const struct ggs_tensor * t) {
    const char * type = t->type < trace->n_types ? ggs_reader_string(trace->reader, trace->types[t->type].name) : "";
    if (strcmp(type, "f32") == 0) return FORM_F32;
    if (strcmp(type, "f16") == 0) return FORM_F16;
    return strcmp(type, "bf16") == 0 ? FORM_BF16 : FORM_NONE;
}

static double from_f16(uint16_t bits) {
    unsigned exponent = bits >> 10 & 31, fraction = bits & 1023;
    double   value = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, (int) exponent - 25);
    if (exponent == 31) value = fraction == 0 ? INFINITY : NAN;
    return bits >> 15 ? -value : value;
}

static double element_at(const uint8_t * data, enum form form, uint64_t i) {
    uint16_t half = 0;
    float    whole;
    if (form == FORM_F32) {
        memcpy(&whole, data + 4 * i, 4);
        return (double) whole;
    }
    memcpy(&half, data + 2 * i, 2);
    if (form == FORM_F16) return from_f16(half);
    uint32_t bits = (uint32_t) half << 16;
    memcpy(&whole, &bits, 4);
    return (double) whole;
}

static void count(struct ggs_value_histogram * h, const uint8_t * data, enum form form, uint64_t n) {
    h->least = INFINITY, h->most = -INFINITY;
    for (uint64_t i = 0; i < n; i++) {
        double value = element_at(data, form, i);
        if (!isfinite(value)) continue;
        h->elements++;
        h->least = fmin(h->least, value);
        h->most  = fmax(h->most, value);
    }
    for (uint64_t i = 0; i < n && h->elements > 0; i++) {
        double value = element_at(data, form, i), span = h->most - h->least;
        if (!isfinite(value)) continue;
        uint64_t bin = span > 0 ? (uint64_t) ((value - h->least) / span * GGS_VALUE_BINS) : 0;
        h->counts[bin < GGS_VALUE_BINS ? bin : GGS_VALUE_BINS - 1]++;
    }
}

// Reads the pieces of the output; *data is NULL if there are none.
static int gather(struct ggs_trace * trace, uint64_t run, uint64_t node, uint64_t bytes, uint8_t ** data,
                  struct ggs_error * error) {
    struct ggs_cursor * cursor = NULL;
    struct ggs_op_dump  dump;
    uint64_t            found  = 0;
    int                 status = ggs_cursor_open(&cursor, trace->reader, GGS_TABLE_OP_DUMPS, error);
    if (status == 0) ggs_cursor_keys(cursor, (int64_t) run, (int64_t) run);
    while (status == 0 && (status = ggs_cursor_next(cursor, &dump, error)) > 0) {
        status = 0;
        if (dump.run != run || dump.node != node || dump.slot >= 0 || dump.total != bytes || dump.offset > bytes ||
            dump.length > bytes - dump.offset)
            continue;
        if (*data == NULL) *data = calloc(1, bytes);
        if (*data == NULL) status = ggs_fail_memory(error);
        if (status == 0) memcpy(*data + dump.offset, dump.data, dump.length);
        found += dump.length;
    }
    ggs_cursor_close(cursor);
    if (found < bytes) {
        free(*data);
        *data = NULL;
    }
    return status < 0 ? status : 0;
}

int ggs_value_histogram_compute(struct ggs_value_histogram * histogram, struct ggs_trace * trace, uint64_t run,
                                uint64_t node, uint64_t tensor, struct ggs_error * error) {
    const struct ggs_tensor * t    = ggs_trace_tensor(trace, tensor);
    uint8_t *                 data = NULL;
    *histogram                     = (struct ggs_value_histogram){.bins = GGS_VALUE_BINS};
    if (t == NULL || ggs_reader_rows(trace->reader, GGS_TABLE_OP_DUMPS) == 0) return 0;
    enum form form = form_of(trace, t);
    uint64_t  n    = form == FORM_NONE ? 0 : 1;
    for (int d = 0; d < 4; d++) n = t->ne[d] < 1 || n > BYTES_MOST / (uint64_t) t->ne[d] ? 0 : n * (uint64_t) t->ne[d];
    uint64_t bytes = n * (form == FORM_F32 ? 4 : 2);
    if (n == 0 || bytes > BYTES_MOST) return 0;
    int status = gather(trace, run, node, bytes, &data, error);
    if (status == 0 && data != NULL) count(histogram, data, form, n);
    free(data);
    return status;
}
