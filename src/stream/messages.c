#include "stream/messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/stream-plan.h"
#include "stream/core.h"

enum { BETWEEN = 10 }; // seconds between lines

static const uint64_t SECOND    = 1000000000;
static const double   SLOW_DISK = 1.5e9; // bytes per second: less than any NVMe disk

// ---- expectations ----

static int most_first(const void * a, const void * b) {
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
    return x < y ? 1 : x > y ? -1 : 0;
}

// The share of a group's choices that find their expert in a slot: by choices so far and in earlier
// runs, with each expert counted once more, because few choices say little.
static double share_of_slots(const struct ggs_expert_group * g) {
    uint32_t   n    = g->n_slots - g->n_given;
    uint64_t   held = n, all = g->n_experts;
    uint64_t * counts = malloc(g->n_experts * sizeof(*counts));
    if (counts != NULL) {
        memcpy(counts, g->chosen, g->n_experts * sizeof(*counts));
        qsort(counts, g->n_experts, sizeof(*counts), most_first);
        for (uint32_t e = 0; e < g->n_experts; e++) all += counts[e];
        for (uint32_t e = 0; e < n; e++) held += counts[e];
        free(counts);
    }
    return (double) held / (double) all;
}

struct ggs_expectation ggs_messages_expect(const struct ggs_stream * s) {
    struct ggs_expectation e     = {0};
    double                 dense = 0, experts = 0; // bytes to read
    for (size_t i = 0; i < s->weights.n; i++) {
        const struct ggs_weight * w     = s->weights.weights[i];
        double                    bytes = (double) w->bytes;
        if (w->group != NULL) {
            bytes *= (double) w->group->n_used / (double) w->group->n_experts;
            experts += bytes * (1 - share_of_slots(w->group));
        } else if (w->where != GGS_WEIGHT_KEPT) {
            dense += bytes;
        }
        e.bytes += bytes;
    }
    e.resident = e.bytes - dense - experts;
    if (s->speed.random > 0 && s->speed.sequential > 0)
        e.seconds = dense / (double) s->speed.sequential + experts / (double) s->speed.random;
    return e;
}

// ---- the first line ----

static const char * size_text(char text[32], double bytes) {
    double mib = bytes / (1 << 20);
    snprintf(text, 32, mib < 1024 ? "%.0f MiB" : "%.1f GiB", mib < 1024 ? mib : mib / 1024);
    return text;
}

static const char * traffic_text(char text[32], double bytes) {
    snprintf(text, 32, bytes < 1e9 ? "%.0f MB" : "%.1f GB", bytes < 1e9 ? bytes / 1e6 : bytes / 1e9);
    return text;
}

static void print_expectation(struct ggs_stream * s, bool pieces) {
    const struct ggs_stream_sizes * z = &s->sizes;
    struct ggs_expectation          e = ggs_messages_expect(s);
    char   model[32], limit[32], all[32], token[32], speed[96] = "disk not measured", rate[64] = "";
    double all_bytes = (double) z->model + (double) z->engine + (double) ggs_stream_reserve(z->model + z->engine);
    if (s->speed.random > 0) snprintf(speed, sizeof(speed), "disk %.1f GB/s", (double) s->speed.random / 1e9);
    if (e.seconds > 0) snprintf(rate, sizeof(rate), "at most %.*f tokens/s, ", e.seconds > 0.1 ? 1 : 0, 1 / e.seconds);
    ggs_stream_print(s,
                     "streaming %s of weights within %s of memory: %s%s per token, %.0f %% of it in memory, %s; "
                     "faster with more memory (%s hold all)%s%s",
                     size_text(model, (double) z->model), size_text(limit, (double) z->limit), rate,
                     traffic_text(token, e.bytes), e.bytes > 0 ? 100 * e.resident / e.bytes : 0, speed,
                     size_text(all, all_bytes),
                     s->speed.random > 0 && (double) s->speed.random < SLOW_DISK ? " or a faster disk" : "",
                     pieces ? " or fewer experts on the CPU" : "");
}

static void print_division(struct ggs_stream * s) {
    const struct ggs_stream_sizes * z = &s->sizes;
    char                            t[5][32];
    ggs_stream_print(s, "engine %s, kept %s, slots %s, ring %s, left to the mapping %s; %u reads of %u KiB at a time",
                     size_text(t[0], (double) z->engine), size_text(t[1], (double) z->kept),
                     size_text(t[2], (double) (z->slots + z->spare)), size_text(t[3], (double) z->ring),
                     size_text(t[4], (double) z->mapped), s->speed.depth, s->speed.piece >> 10);
}

void ggs_messages_begin(struct ggs_stream * s, bool pieces) {
    if (!s->messages.begun && !s->settings.quiet) print_expectation(s, pieces);
    if (s->settings.verbose) print_division(s);
    s->messages.begun = true;
}

// ---- during a run ----

static uint64_t bytes_read(const struct ggs_stream_counts * c) {
    return c->bytes_streamed + c->bytes_kept + c->bytes_experts + c->bytes_predicted + c->bytes_filled;
}

// Appends "12 tokens one by one at 3.1 per second".
static void append_tokens(char * text, size_t size, uint64_t tokens, uint64_t ns, const char * how) {
    size_t at = 0;
    while (at < size && text[at] != '\0') at++;
    if (tokens == 0 || ns == 0 || at >= size) return;
    double rate = (double) tokens * (double) SECOND / (double) ns;
    snprintf(text + at, size - at, "%s%llu tokens %s at %.*f per second", at > 0 ? ", " : "",
             (unsigned long long) tokens, how, rate < 10 ? 1 : 0, rate);
}

// Writes what was done between two states of the counters.
static void sum_up(const struct ggs_stream_counts * from, const struct ggs_stream_counts * to, char * text,
                   size_t size) {
    char     tokens[192] = "", traffic[32];
    uint64_t read = bytes_read(to) - bytes_read(from), ns = to->run_ns - from->run_ns;
    uint64_t hits = to->hits - from->hits, chosen = hits + to->misses - from->misses;
    append_tokens(tokens, sizeof(tokens), to->tokens - from->tokens, to->tokens_ns - from->tokens_ns, "one by one");
    append_tokens(tokens, sizeof(tokens), to->batch_tokens - from->batch_tokens, to->batch_ns - from->batch_ns,
                  "in batches");
    int n = snprintf(text, size, "%s; %.0f %% of the time waiting for the disk, which read %s",
                     tokens[0] == '\0' ? "no tokens" : tokens,
                     ns == 0 ? 0 : 100 * (double) (to->wait_ns - from->wait_ns) / (double) ns,
                     traffic_text(traffic, (double) read));
    if (chosen > 0 && n > 0 && (size_t) n < size)
        snprintf(text + n, size - (size_t) n, "; %.0f %% of the experts were in memory",
                 100 * (double) hits / (double) chosen);
}

static void count_pass(struct ggs_stream * s) {
    struct ggs_messages * t = &s->messages;
    if (t->tokens == 1) {
        s->counts.tokens++;
        s->counts.tokens_ns += t->ended - t->began;
    } else {
        s->counts.batch_tokens += t->tokens;
        s->counts.batch_ns += t->ended - t->began;
    }
    t->tokens = 0;
}

void ggs_messages_run_begin(struct ggs_stream * s) {
    struct ggs_messages *  t = &s->messages;
    const struct ggs_use * u = &s->uses.uses[0];
    // Runs of one pass begin with later and later weights.
    bool another = t->tokens == 0 || u->weight->number <= t->last;
    t->last      = u->weight->number;
    if (!another) return;
    count_pass(s);
    int64_t tokens = u->routing < 0 ? u->node->ne[1] : u->node->src[2]->ne[1];
    t->tokens      = tokens < 1 ? 1 : (uint64_t) tokens;
    t->began = t->ended = s->run.began;
}

void ggs_messages_run_end(struct ggs_stream * s) {
    struct ggs_messages * t   = &s->messages;
    uint64_t              now = s->world.clock();
    t->ended                  = now;
    if (t->printed_at == 0) t->printed_at = now;
    if (!s->settings.verbose || now - t->printed_at < BETWEEN * SECOND) return;
    char text[512];
    sum_up(&t->printed, &s->counts, text, sizeof(text));
    ggs_stream_print(s, "last %.0f s: %s", (double) (now - t->printed_at) / (double) SECOND, text);
    t->printed    = s->counts;
    t->printed_at = now;
}

// ---- at the end ----

bool ggs_stream_sum_up(struct ggs_stream * s, char * text, size_t size) {
    struct ggs_stream_counts none   = {0};
    bool                     locked = pthread_mutex_trylock(&s->lock) == 0;
    if (locked) count_pass(s);
    sum_up(&none, &s->counts, text, size);
    if (locked) pthread_mutex_unlock(&s->lock);
    return s->counts.runs > 0;
}
