#include "analyze/paging/suggest.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/words.h"
#include "base/error.h"
#include "base/number.h"
#include "base/text.h"

// ---- llama.cpp's --override-tensor: a regular expression over names, and their place ----

// "blk.7.attn_q.weight" is layer 7 of "attn_q.weight"; any other name is itself, layer -1.
struct part {
    const char * rest;
    long         layer;
};

static struct part split_name(const char * name) {
    struct part part = {name, -1};
    char *      end;
    if (strncmp(name, "blk.", 4) != 0 || !isdigit((unsigned char) name[4])) return part;
    long layer = strtol(name + 4, &end, 10);
    if (*end != '.' || end[1] == '\0' || layer > 100000) return part;
    return (struct part){end + 1, layer};
}

// Names come from a file. A name with special characters of the shell or the option's syntax is not
// offered.
static bool is_plain(const char * name) {
    for (const char * c = name; *c != '\0'; c++) {
        if (!isalnum((unsigned char) *c) && strchr("._-", *c) == NULL) return false;
    }
    return name[0] != '\0';
}

static void put_quoted(struct ggs_text * text, const char * name) {
    for (const char * c = name; *c != '\0'; c++) {
        if (*c == '.') ggs_text_putc(text, '\\');
        ggs_text_putc(text, *c);
    }
}

static int by_rest(const void * a, const void * b) {
    const struct part *x = a, *y = b;
    int                order = strcmp(x->rest, y->rest);
    return order != 0 ? order : x->layer < y->layer ? -1 : x->layer > y->layer;
}

// The layers of one kind of tensor: "0|1|2", "" without layers.
struct kind {
    const char *    rest;
    struct ggs_text layers;
};

static int by_layers(const void * a, const void * b) {
    const struct kind *x = a, *y = b;
    int                order = strcmp(ggs_text_string(&x->layers), ggs_text_string(&y->layers));
    return order != 0 ? order : strcmp(x->rest, y->rest);
}

static size_t make_kinds(struct kind * kinds, const struct part * parts, size_t n) {
    size_t n_kinds = 0;
    for (size_t i = 0; i < n; i++) {
        if (n_kinds == 0 || strcmp(kinds[n_kinds - 1].rest, parts[i].rest) != 0)
            kinds[n_kinds++] = (struct kind){.rest = parts[i].rest};
        struct ggs_text * layers = &kinds[n_kinds - 1].layers;
        if (parts[i].layer >= 0) ggs_text_printf(layers, "%s%ld", layers->length == 0 ? "" : "|", parts[i].layer);
    }
    return n_kinds;
}

// Kinds with the same layers are grouped: blk\.(0|1)\.(attn_k\.weight|attn_q\.weight)
static void put_expression(struct ggs_text * text, struct kind * kinds, size_t n) {
    qsort(kinds, n, sizeof(*kinds), by_layers);
    for (size_t i = 0; i < n;) {
        const char * layers = ggs_text_string(&kinds[i].layers);
        size_t       end    = i + 1;
        while (end < n && strcmp(ggs_text_string(&kinds[end].layers), layers) == 0) end++;
        if (i > 0) ggs_text_putc(text, '|');
        if (layers[0] != '\0') ggs_text_printf(text, "blk\\.(%s)\\.", layers);
        ggs_text_putc(text, '(');
        for (size_t k = i; k < end; k++) {
            if (k > i) ggs_text_putc(text, '|');
            put_quoted(text, kinds[k].rest);
        }
        ggs_text_putc(text, ')');
        i = end;
    }
}

static int put_override(struct ggs_text * out, const struct ggs_paging_weights * weights,
                        const struct ggs_paging_pins * pins, struct ggs_error * error) {
    struct part *   parts = calloc(pins->n + 1, sizeof(*parts));
    struct kind *   kinds = calloc(pins->n + 1, sizeof(*kinds));
    struct ggs_text text  = {0};
    size_t          n = 0, n_kinds = 0;
    if (parts != NULL && kinds != NULL) {
        for (uint64_t i = 0; i < pins->n; i++) {
            const char * name = weights->weight[pins->weight[i]].name;
            if (is_plain(name)) parts[n++] = split_name(name);
        }
        qsort(parts, n, sizeof(*parts), by_rest);
        n_kinds = make_kinds(kinds, parts, n);
        put_expression(&text, kinds, n_kinds);
        if (n > 0) ggs_text_printf(out, "--override-tensor '^(%s)$=CUDA0'\n", ggs_text_string(&text));
        if (n == 0) ggs_text_puts(out, "# no tensor fits as a whole\n");
        if (n < pins->n) ggs_text_printf(out, "# left out: %" PRIu64 " tensors with odd names\n", pins->n - n);
    }
    bool failed = parts == NULL || kinds == NULL || text.failed;
    for (size_t i = 0; i < n_kinds; i++) {
        failed |= kinds[i].layers.failed;
        ggs_text_release(&kinds[i].layers);
    }
    ggs_text_release(&text);
    free(parts);
    free(kinds);
    return failed ? ggs_fail_memory(error) : 0;
}

// ---- ranges for mlock ----

static void put_range(struct ggs_text * out, const struct ggs_trace * trace, uint64_t file, uint64_t begin,
                      uint64_t end) {
    ggs_text_printf(out, "%s:%" PRIu64 ":%" PRIu64 "\n", ggs_reader_string(trace->reader, trace->files[file].path),
                    begin, end - begin);
}

// Writes whole pages, with neighbours joined.
static void put_ranges(struct ggs_text * out, const struct ggs_trace * trace, const struct ggs_paging * p,
                       const struct ggs_paging_pins * pins) {
    uint64_t file = 0, begin = 0, end = 0;
    for (uint64_t i = 0; i < pins->n; i++) {
        const struct ggs_paging_weight * w  = &p->weights.weight[pins->weight[i]];
        uint64_t                         at = w->offset / p->page * p->page;
        if (end > 0 && (w->file != file || at > end)) {
            put_range(out, trace, file, begin, end);
            end = 0;
        }
        if (end == 0) file = w->file, begin = at;
        uint64_t last = (w->offset + w->size - 1) / p->page * p->page + p->page;
        uint64_t size = trace->files[file].size;
        end           = size > 0 && last > size ? size : last;
    }
    if (end > 0) put_range(out, trace, file, begin, end);
}

int ggs_paging_suggest(struct ggs_text * out, const struct ggs_trace * trace, const struct ggs_paging * p,
                       const struct ggs_paging_weights * whole, const struct ggs_paging_budget * budget,
                       struct ggs_error * error) {
    struct ggs_paging_pins pins;
    struct ggs_paging_cost cost;
    char                   a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], c[GGS_NUMBER_LENGTH];
    int                    status = ggs_paging_pin(&pins, &cost, whole, &p->sequence, budget->memory, error);
    if (status < 0) return status;
    ggs_text_printf(out,
                    "# %s of fast memory, whole tensors: %s left to read per %s, of %s.\n"
                    "# For llama.cpp; put the name of your device's buffer type in place of CUDA0.\n",
                    ggs_format_bytes(a, budget->memory), ggs_format_bytes(b, ggs_paging_per_token(p, &cost)),
                    ggs_word_step(trace), ggs_format_bytes(c, ggs_paging_demand(p)));
    status = put_override(out, whole, &pins, error);
    ggs_text_printf(
        out, "# The same memory locked, experts one by one: %s left to read per %s.\n# file:offset:length\n",
        ggs_format_bytes(b, ggs_paging_per_token(p, &budget->cost[GGS_PAGING_PIN_HOT])), ggs_word_step(trace));
    put_ranges(out, trace, p, &budget->pins);
    if (budget->streams)
        ggs_text_printf(
            out,
            "# The same memory, weights read ahead of use: %s to read per %s.\nggscope stream -- PROGRAM ARGS...\n",
            ggs_format_bytes(b, ggs_paging_per_token(p, &budget->cost[GGS_PAGING_STREAM])), ggs_word_step(trace));
    ggs_paging_pins_release(&pins);
    return status < 0 ? status : out->failed ? ggs_fail_memory(error) : 0;
}
