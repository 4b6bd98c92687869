#include "analyze/memory/last-reads.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"

enum { SEGMENTS = 128 };

// The byte at b was last read at shift + b, modulo 2^64.
struct segment {
    uint64_t begin, end, shift;
};

struct ggs_last_chunk {
    unsigned       n;
    struct segment segment[SEGMENTS];
};

struct place {
    uint64_t chunk;
    unsigned segment;
};

void ggs_last_reads_release(struct ggs_last_reads * reads) {
    for (uint64_t i = 0; i < reads->n; i++) free(reads->chunks[i]);
    free(reads->chunks);
    *reads = (struct ggs_last_reads){0};
}

// Returns the first segment that ends behind `offset`; chunk n if there is none.
static struct place find(const struct ggs_last_reads * reads, uint64_t offset) {
    struct ggs_last_chunk ** chunks = reads->chunks;
    struct place place = {.chunk = ggs_search(reads->n, at, chunks[at]->segment[chunks[at]->n - 1].end <= offset)};
    if (place.chunk == reads->n) return place;
    const struct ggs_last_chunk * chunk = chunks[place.chunk];
    place.segment                       = (unsigned) ggs_search(chunk->n, at, chunk->segment[at].end <= offset);
    return place;
}

static bool insert_chunk(struct ggs_last_reads * reads, uint64_t at, struct ggs_last_chunk * chunk) {
    if (chunk == NULL || !ggs_array_push(reads->chunks, reads->n, reads->capacity, chunk)) {
        free(chunk);
        return false;
    }
    memmove(reads->chunks + at + 1, reads->chunks + at, (reads->n - 1 - at) * sizeof(*reads->chunks));
    reads->chunks[at] = chunk;
    return true;
}

static bool split(struct ggs_last_reads * reads, uint64_t at) {
    struct ggs_last_chunk *lower = reads->chunks[at], *upper = malloc(sizeof(*upper));
    if (upper == NULL) return false;
    upper->n = lower->n / 2;
    memcpy(upper->segment, lower->segment + lower->n - upper->n, upper->n * sizeof(*upper->segment));
    if (!insert_chunk(reads, at + 1, upper)) return false;
    lower->n -= upper->n;
    return true;
}

// Inserts a segment that overlaps no other.
static bool insert(struct ggs_last_reads * reads, struct segment segment) {
    struct place place = find(reads, segment.begin);
    if (reads->n == 0 && !insert_chunk(reads, 0, calloc(1, sizeof(struct ggs_last_chunk)))) return false;
    if (place.chunk == reads->n) place = (struct place){reads->n - 1, reads->chunks[reads->n - 1]->n};
    if (reads->chunks[place.chunk]->n == SEGMENTS) {
        if (!split(reads, place.chunk)) return false;
        unsigned lower = reads->chunks[place.chunk]->n;
        if (place.segment > lower) place = (struct place){place.chunk + 1, place.segment - lower};
    }
    struct ggs_last_chunk * chunk = reads->chunks[place.chunk];
    memmove(chunk->segment + place.segment + 1, chunk->segment + place.segment,
            (chunk->n - place.segment) * sizeof(*chunk->segment));
    chunk->segment[place.segment] = segment;
    chunk->n++;
    return true;
}

// Removes `n` segments from a chunk, and the chunk if it becomes empty.
static void remove_segments(struct ggs_last_reads * reads, struct place from, unsigned n) {
    struct ggs_last_chunk * chunk = reads->chunks[from.chunk];
    chunk->n -= n;
    memmove(chunk->segment + from.segment, chunk->segment + from.segment + n,
            (chunk->n - from.segment) * sizeof(*chunk->segment));
    if (chunk->n > 0) return;
    free(chunk);
    reads->n--;
    memmove(reads->chunks + from.chunk, reads->chunks + from.chunk + 1,
            (reads->n - from.chunk) * sizeof(*reads->chunks));
}

struct read {
    uint64_t              begin, end, shift, at; // `at`: reported up to here
    ggs_last_reads_part * part;
    void *                context;
};

static bool emit(struct read * read, const struct segment * segment) {
    uint64_t begin = segment->begin > read->at ? segment->begin : read->at;
    uint64_t end   = segment->end < read->end ? segment->end : read->end;
    if (begin > read->at && !read->part(read->context, begin - read->at, 0)) return false;
    read->at = end;
    return read->part(read->context, end - begin, read->shift - segment->shift);
}

bool ggs_last_reads_put(struct ggs_last_reads * reads, uint64_t begin, uint64_t end, uint64_t time,
                        ggs_last_reads_part * part, void * context) {
    struct read    read = {begin, end, time - begin, begin, part, context};
    struct segment left = {0}, right = {0};
    if (begin >= end) return true;
    for (struct place place = find(reads, begin); place.chunk < reads->n;) {
        struct ggs_last_chunk * chunk = reads->chunks[place.chunk];
        struct segment *        first = &chunk->segment[place.segment];
        if (first->begin == begin && first->end == end) {
            uint64_t distance = read.shift - first->shift;
            first->shift      = read.shift;
            return part(context, end - begin, distance);
        }
        unsigned n = 0;
        for (; place.segment + n < chunk->n && first[n].begin < end; n++) {
            if (!emit(&read, &first[n])) return false;
            if (first[n].begin < begin) left = (struct segment){first[n].begin, begin, first[n].shift};
            if (first[n].end > end) right = (struct segment){end, first[n].end, first[n].shift};
        }
        bool more = place.segment + n == chunk->n, all = n == chunk->n;
        if (n > 0) remove_segments(reads, place, n);
        if (!more) break;
        place = (struct place){all && n > 0 ? place.chunk : place.chunk + 1, 0};
    }
    if (read.at < end && !part(context, end - read.at, 0)) return false;
    return (left.end == 0 || insert(reads, left)) && insert(reads, (struct segment){begin, end, read.shift}) &&
           (right.end == 0 || insert(reads, right));
}
