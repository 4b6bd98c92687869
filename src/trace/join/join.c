#include "trace/join/join.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

// ---- sources ----

static int read_processes(struct ggs_join_source * source, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_process  row;
    bool                any    = false;
    int                 status = ggs_cursor_open(&cursor, source->reader, GGS_TABLE_PROCESSES, error);
    while (status >= 0 && (status = ggs_cursor_next(cursor, &row, error)) > 0) {
        if (row.recording != 0)
            status = ggs_fail(error, GGS_USAGE, "%s was joined already: name the recordings that it was joined from",
                              source->path);
        if (!any || row.begin_ns < source->begin_ns) source->begin_ns = row.begin_ns;
        if (!any || row.end_ns > source->end_ns) source->end_ns = row.end_ns;
        if (!any && row.realtime_ns > 0 && row.realtime_ns < INT64_MAX / 2)
            source->wall_ns = (int64_t) row.realtime_ns - row.begin_ns;
        any = true;
    }
    ggs_cursor_close(cursor);
    if (status < 0) return status;
    if (!any) return ggs_fail(error, GGS_FORMAT, "%s has no process: nothing was recorded", source->path);
    if (source->end_ns < source->begin_ns) source->end_ns = source->begin_ns;
    return 0;
}

static int find_tokens(struct ggs_join_source * source, struct ggs_error * error) {
    struct ggs_cursor * cursor;
    struct ggs_step     row;
    int                 status = ggs_cursor_open(&cursor, source->reader, GGS_TABLE_STEPS, error);
    while (status >= 0 && !source->tokens && (status = ggs_cursor_next(cursor, &row, error)) > 0)
        source->tokens = row.phase != GGS_PHASE_GRAPH;
    ggs_cursor_close(cursor);
    return status < 0 ? status : 0;
}

static bool same_boot(const struct ggs_join_source * a, const struct ggs_join_source * b) {
    return a->boot[0] != '\0' && strcmp(a->boot, b->boot) == 0 && a->start_monotonic_ns != 0 &&
           b->start_monotonic_ns != 0;
}

static void number_machines(struct ggs_join * join) {
    uint64_t machines = 0;
    for (uint32_t i = 0; i < join->n; i++) {
        struct ggs_join_source * source = &join->sources[i];
        source->machine                 = 0;
        for (uint32_t k = 0; k < i && source->machine == 0; k++)
            if (same_boot(source, &join->sources[k])) source->machine = join->sources[k].machine;
        if (source->machine == 0) source->machine = ++machines;
    }
}

// ---- clocks ----

// Recordings of one boot share a clock: exact.
static struct ggs_clock_line by_boot(const struct ggs_join_source * source, const struct ggs_join_source * other) {
    return (struct ggs_clock_line){.origin_ns = source->begin_ns,
                                   .offset_ns = (int64_t) (source->start_monotonic_ns - other->start_monotonic_ns)};
}

static struct ggs_clock_line by_wall(const struct ggs_join_source * source, const struct ggs_join_source * other) {
    bool known = source->wall_ns != 0 && other->wall_ns != 0;
    return (struct ggs_clock_line){
        .origin_ns = source->begin_ns, .offset_ns = known ? source->wall_ns - other->wall_ns : 0, .error_ns = -1};
}

// Estimates the client's clock minus the server's without looking at their runs.
static int64_t apart(void * context, uint32_t client, uint32_t server, int64_t * within) {
    const struct ggs_join *       join = context;
    const struct ggs_join_source *c = &join->sources[client], *s = &join->sources[server];
    *within = same_boot(c, s) ? 0 : 2000000000; // wall clocks that are synchronised are closer
    return same_boot(c, s) ? by_boot(s, c).offset_ns : by_wall(s, c).offset_ns;
}

// Fits the line from the server's clock to the client's by the runs that both recorded. Returns
// false if these give no bounds.
static int by_runs(const struct ggs_join * join, uint32_t client, uint32_t server, struct ggs_clock_line * line,
                   uint64_t * pairs, struct ggs_error * error) {
    enum { UNSURE = GGS_RUN_INTERRUPTED | GGS_RUN_RESULTS_UNSEEN };
    const struct ggs_join_side * c        = &join->sides[client];
    struct ggs_clock_bound *     bounds   = NULL;
    uint64_t                     n        = 0;
    uint64_t                     capacity = 0;
    for (uint64_t i = 0; i < c->n; i++) {
        const struct ggs_join_run * sent = &c->runs[i];
        if (!sent->remote || sent->peer_source != server) continue;
        const struct ggs_join_run * done  = &join->sides[server].runs[sent->peer_run];
        struct ggs_clock_bound      bound = {
                 .at_ns = done->begin_ns, .least_ns = sent->begin_ns - done->begin_ns, .most_ns = INT64_MAX / 4};
        if (((sent->flags | done->flags) & UNSURE) == 0) bound.most_ns = sent->end_ns - done->end_ns;
        if (!ggs_array_push(bounds, n, capacity, bound)) {
            free(bounds);
            return ggs_fail_memory(error);
        }
    }
    bool bounded = false; // a server killed in its first run leaves it open
    for (uint64_t i = 0; i < n && !bounded; i++) bounded = bounds[i].most_ns < INT64_MAX / 4;
    // Fits only the time span of common runs: a server may have been idle for days before.
    bool found = bounded && ggs_clocks_fit(bounds, n, bounds[0].at_ns, bounds[n - 1].at_ns, line);
    free(bounds);
    *pairs = n;
    return found;
}

// Relates one more recording to the common clock through one that is related. Returns 1 if it did,
// 0 if none helps, or a negative status.
static int align_by_runs(struct ggs_join * join, uint32_t i, const bool * aligned, struct ggs_error * error) {
    for (uint32_t k = 0; k < join->n; k++) {
        struct ggs_clock_line line;
        uint64_t              pairs;
        if (!aligned[k]) continue;
        int found = by_runs(join, k, i, &line, &pairs, error);
        if (found == 0) {
            found = by_runs(join, i, k, &line, &pairs, error); // it is the client
            if (found > 0) line = ggs_clock_line_inverse(&line);
        }
        if (found < 0) return found;
        if (found == 0) continue;
        join->sources[i].line  = ggs_clock_line_after(&line, &join->sources[k].line);
        join->sources[i].clock = GGS_CLOCK_RUNS;
        join->sources[i].pairs = pairs;
        return 1;
    }
    return 0;
}

static bool align_by_boot(struct ggs_join * join, uint32_t i, const bool * aligned) {
    for (uint32_t k = 0; k < join->n; k++) {
        struct ggs_join_source *source = &join->sources[i], *other = &join->sources[k];
        if (!aligned[k] || !same_boot(source, other)) continue;
        struct ggs_clock_line line = by_boot(source, other);
        source->line               = ggs_clock_line_after(&line, &other->line);
        source->clock              = other->clock == GGS_CLOCK_OWN ? GGS_CLOCK_BOOT : other->clock;
        source->pairs              = other->pairs;
        return true;
    }
    return false;
}

static int align(struct ggs_join * join, struct ggs_error * error) {
    bool     aligned[GGS_JOIN_MOST] = {false};
    uint32_t reference              = join->reference;
    aligned[reference]              = true;
    join->sources[reference].line   = (struct ggs_clock_line){.origin_ns = join->sources[reference].begin_ns};
    for (bool progress = true; progress;) {
        progress = false;
        for (uint32_t i = 0; i < join->n; i++)
            if (!aligned[i] && align_by_boot(join, i, aligned)) aligned[i] = progress = true;
        for (uint32_t i = 0; i < join->n && !progress; i++) {
            int found = aligned[i] ? 0 : align_by_runs(join, i, aligned, error);
            if (found < 0) return found;
            if (found > 0) aligned[i] = progress = true;
        }
        for (uint32_t i = 0; i < join->n && !progress; i++) {
            if (aligned[i]) continue;
            join->sources[i].line  = by_wall(&join->sources[i], &join->sources[reference]);
            join->sources[i].clock = GGS_CLOCK_WALL;
            aligned[i] = progress = true;
        }
    }
    // Time 0 is the earliest time of all recordings, so no time is negative.
    join->zero_ns = 0;
    for (uint32_t i = 0; i < join->n; i++) {
        int64_t zero = ggs_clock_line_map(&join->sources[i].line, 0);
        if (zero < join->zero_ns) join->zero_ns = zero;
    }
    for (uint32_t i = 0; i < join->n; i++) join->sources[i].line.offset_ns -= join->zero_ns;
    return 0;
}

// ---- opening ----

// Prefers the clock of a program that has tokens: the others worked for it.
static uint32_t choose_reference(const struct ggs_join * join) {
    for (uint32_t i = 0; i < join->n; i++)
        if (join->sources[i].tokens) return i;
    return 0;
}

static void count_runs(struct ggs_join * join) {
    for (uint32_t i = 0; i < join->n; i++) {
        join->sources[i].runs = join->sides[i].n;
        for (uint64_t k = 0; k < join->sides[i].n; k++)
            join->sources[i].matched += join->sides[i].runs[k].peer_source != UINT32_MAX;
    }
}

int ggs_join_open(struct ggs_join * join, struct ggs_join_source * sources, uint32_t n, struct ggs_error * error) {
    *join      = (struct ggs_join){.sources = sources, .n = n};
    int status = 0;
    if (n > GGS_JOIN_MOST) return ggs_fail(error, GGS_USAGE, "at most %d recordings can be joined", GGS_JOIN_MOST);
    join->sides = calloc(n + 1, sizeof(*join->sides));
    if (join->sides == NULL) status = ggs_fail_memory(error);
    for (uint32_t i = 0; status == 0 && i < n; i++) {
        status = read_processes(&sources[i], error);
        if (status == 0) status = find_tokens(&sources[i], error);
        if (status == 0) status = ggs_join_side_read(&join->sides[i], sources[i].reader, error);
        for (uint32_t k = 0; status == 0 && k < i; k++)
            if (memcmp(ggs_reader_uuid(sources[i].reader), ggs_reader_uuid(sources[k].reader), 16) == 0)
                status =
                    ggs_fail(error, GGS_USAGE, "%s and %s are the same recording", sources[k].path, sources[i].path);
    }
    if (status == 0) {
        join->reference = choose_reference(join);
        number_machines(join);
        status = ggs_join_match(join->sides, n, apart, join, &join->links, &join->n_links, error);
    }
    if (status == 0) status = align(join, error);
    if (status == 0)
        count_runs(join);
    else
        ggs_join_release(join);
    return status;
}

void ggs_join_release(struct ggs_join * join) {
    for (uint32_t i = 0; join->sides != NULL && i < join->n; i++) ggs_join_side_release(&join->sides[i]);
    free(join->sides);
    free(join->links);
    join->sides = NULL;
    join->links = NULL;
}
