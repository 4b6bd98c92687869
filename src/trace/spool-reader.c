#include "trace/spool-reader.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/search.h"

// ---- the folder ----

static bool digits(const char ** p, uint32_t * number) {
    if (**p < '0' || **p > '9') return false;
    uint64_t value = 0;
    while (**p >= '0' && **p <= '9' && value < UINT32_MAX) value = 10 * value + (uint64_t) (*(*p)++ - '0');
    *number = (uint32_t) value;
    return value < UINT32_MAX;
}

// "journal-0000.seg", "machine-0000.seg" and "lane-000-0000.seg"
static bool parse_name(const char * name, struct ggs_spool_segment * segment) {
    static const char journal[] = "journal-", machine[] = "machine-", lane[] = "lane-";
    const char *      p = name;
    if (strncmp(p, lane, sizeof(lane) - 1) == 0) {
        p += sizeof(lane) - 1;
        if (!digits(&p, &segment->lane) || segment->lane >= GGS_SPOOL_MACHINE || *p++ != '-') return false;
    } else if (strncmp(p, journal, sizeof(journal) - 1) == 0) {
        p += sizeof(journal) - 1;
        segment->lane = GGS_SPOOL_JOURNAL;
    } else if (strncmp(p, machine, sizeof(machine) - 1) == 0) {
        p += sizeof(machine) - 1;
        segment->lane = GGS_SPOOL_MACHINE;
    } else {
        return false;
    }
    return digits(&p, &segment->sequence) && strcmp(p, ".seg") == 0;
}

static int by_name(const void * a, const void * b) {
    const struct ggs_spool_segment *x = a, *y = b;
    uint32_t x_lane = (uint16_t) (x->lane + 1), y_lane = (uint16_t) (y->lane + 1); // the journal first
    if (x_lane != y_lane) return x_lane < y_lane ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static int list(struct ggs_spool * spool, const char * directory, struct ggs_error * error) {
    DIR * folder = opendir(directory);
    if (folder == NULL) {
        if (errno == ENOENT) return ggs_fail(error, GGS_ABSENT, "there is no spool at %s", directory);
        return ggs_fail_errno(error, "cannot read the folder %s", directory);
    }
    int                   status   = 0;
    size_t                capacity = 0;
    const struct dirent * entry;
    while (status == 0 && (entry = readdir(folder)) != NULL) {
        struct ggs_spool_segment segment = {0};
        if (!parse_name(entry->d_name, &segment)) continue;
        if (!ggs_array_reserve(spool->segments, capacity, spool->n_segments + 1) ||
            asprintf(&segment.path, "%s/%s", directory, entry->d_name) < 0) {
            status = ggs_fail_memory(error);
            break;
        }
        spool->segments[spool->n_segments++] = segment;
        struct stat info;
        if (stat(segment.path, &info) == 0) spool->bytes += (uint64_t) info.st_size;
    }
    closedir(folder);
    if (status == 0 && spool->n_segments == 0)
        status = ggs_fail(error, GGS_ABSENT, "the spool %s holds no segments", directory);
    return status;
}

// ---- segments ----

static void close_segment(struct ggs_spool_stream * stream) {
    stream->consumed += stream->mapping.size;
    ggs_mapping_close(&stream->mapping);
    stream->position = stream->end = 0;
}

enum opened { NO_SEGMENT, BLANK_SEGMENT, SEGMENT };

// Maps the next file of the stream. One without a header or without a record is blank: its writer has not come to it, or died before.
static enum opened open_file(struct ggs_spool_stream * stream) {
    static const struct ggs_spool_header blank;
    const struct ggs_spool_segment *     segment = &stream->segments[stream->next];
    uint32_t expected = stream->next == 0 ? stream->base : stream->segments[stream->next - 1].sequence + 1, type = 0;
    struct ggs_spool_header header;
    stream->next++;
    if (segment->sequence > expected) {
        stream->missing += segment->sequence - expected;
        stream->gap = true;
    }
    if (ggs_mapping_open(&stream->mapping, segment->path, NULL) != 0) {
        stream->damaged++;
        return NO_SEGMENT;
    }
    if (stream->mapping.size < sizeof(header)) return NO_SEGMENT;
    memcpy(&header, stream->mapping.data, sizeof(header));
    if (memcmp(header.magic, GGS_SPOOL_MAGIC, sizeof(header.magic)) != 0 || header.version != GGS_SPOOL_VERSION ||
        header.lane != segment->lane || header.size < sizeof(header)) {
        if (memcmp(&header, &blank, sizeof(header)) == 0) return BLANK_SEGMENT;
        stream->damaged++;
        return NO_SEGMENT;
    }
    stream->slot        = header.slot;
    stream->thread      = header.thread;
    stream->chain.known = false;
    stream->position    = sizeof(header);
    stream->end         = header.size < stream->mapping.size ? header.size : stream->mapping.size;
    if (stream->end - stream->position >= sizeof(type))
        memcpy(&type, stream->mapping.data + stream->position, sizeof(type));
    return type == 0 ? BLANK_SEGMENT : SEGMENT;
}

// Opens the next segment that holds something. False at the end of the stream, which then stays where it is: its writer may go on there,
// and blank segments that were made ahead come later.
static bool open_segment(struct ggs_spool_stream * stream) {
    struct ggs_spool_stream ahead = *stream;
    bool                    blank = false;
    ahead.mapping                 = (struct ggs_mapping){0};
    while (ahead.next < ahead.n_segments) {
        enum opened opened = open_file(&ahead);
        if (opened == SEGMENT) {
            ahead.consumed += stream->mapping.size;
            ggs_mapping_close(&stream->mapping);
            *stream = ahead;
            return true;
        }
        blank |= opened == BLANK_SEGMENT;
        if (stream->mapping.data == NULL) stream->slot = ahead.slot, stream->thread = ahead.thread;
        ggs_mapping_close(&ahead.mapping);
    }
    if (!blank)
        stream->next = ahead.next, stream->damaged = ahead.damaged, stream->missing = ahead.missing,
        stream->gap = ahead.gap;
    return false;
}

void ggs_spool_stream_rewind(struct ggs_spool_stream * stream) {
    close_segment(stream);
    stream->next     = 0;
    stream->consumed = 0;
    stream->damaged  = 0;
    stream->missing  = 0;
    stream->gap      = false;
}

uint64_t ggs_spool_stream_tell(const struct ggs_spool_stream * stream, uint32_t * sequence) {
    *sequence = stream->next == 0 ? 0 : stream->segments[stream->next - 1].sequence;
    return stream->position;
}

// Bytes of the struct that a record of each type begins with, + 1.
#define FIXED(name) (1 + sizeof(struct ggs_journal_##name))
static const size_t fixed_parts[] = {
    [GGS_JOURNAL_PROCESS]      = FIXED(process),
    [GGS_JOURNAL_ENGINE]       = 1,
    [GGS_JOURNAL_OPS]          = 1,
    [GGS_JOURNAL_TYPES]        = 1,
    [GGS_JOURNAL_FILE]         = 1,
    [GGS_JOURNAL_MAPS]         = 1,
    [GGS_JOURNAL_BUFFER]       = FIXED(buffer),
    [GGS_JOURNAL_BUFFER_FREE]  = FIXED(number),
    [GGS_JOURNAL_BUFFER_USAGE] = FIXED(number),
    [GGS_JOURNAL_GRAPH]        = FIXED(graph),
    [GGS_JOURNAL_GRAPH_DELTA]  = FIXED(delta),
    [GGS_JOURNAL_RUN]          = FIXED(run),
    [GGS_JOURNAL_RUN_THREADS]  = FIXED(number),
    [GGS_JOURNAL_RUN_END]      = FIXED(run_end),
    [GGS_JOURNAL_DECODE]       = FIXED(decode),
    [GGS_JOURNAL_DECODE_END]   = FIXED(number),
    [GGS_JOURNAL_WARMUP]       = FIXED(number),
    [GGS_JOURNAL_CLEAR]        = FIXED(number),
    [GGS_JOURNAL_TRANSFER]     = FIXED(transfer),
    [GGS_JOURNAL_LOAD]         = FIXED(number),
    [GGS_JOURNAL_LOAD_END]     = FIXED(number),
    [GGS_JOURNAL_CONTEXT]      = FIXED(number),
    [GGS_JOURNAL_SCHEDULE]     = FIXED(number),
    [GGS_JOURNAL_SCHEDULE_END] = FIXED(number),
    [GGS_JOURNAL_LOSS]         = FIXED(loss),
    [GGS_JOURNAL_END]          = FIXED(number),
    [GGS_JOURNAL_PAGES]        = FIXED(pages),
    [GGS_JOURNAL_READ]         = FIXED(read),
    [GGS_JOURNAL_RESIDENT]     = FIXED(resident),
    [GGS_JOURNAL_DEVICE_RUN]   = FIXED(device_run),
    [GGS_JOURNAL_KERNELS]      = FIXED(kernels),
    [GGS_JOURNAL_DEVICE]       = FIXED(device),
    [GGS_JOURNAL_FAULT]        = FIXED(fault),
    [GGS_JOURNAL_REQUEST]      = FIXED(request),
    [GGS_JOURNAL_FILLED]       = FIXED(filled),
    [GGS_JOURNAL_MEMORY]       = FIXED(memory),
    [GGS_JOURNAL_EMBEDDINGS]   = FIXED(number),
    [GGS_JOURNAL_STREAMED]     = FIXED(streamed),
};
_Static_assert(sizeof(fixed_parts) / sizeof(fixed_parts[0]) == GGS_JOURNAL_COUNT, "every type has its struct");

// The next record of any type, header included, or NULL.
static const struct ggs_journal_record * next_record(struct ggs_spool_stream * stream) {
    for (;;) {
        if (stream->position + sizeof(struct ggs_journal_record) <= stream->end) {
            const struct ggs_journal_record * record = (const void *) (stream->mapping.data + stream->position);
            if (record->type != 0) {
                if (record->bytes >= sizeof(*record) && record->bytes % 8 == 0 &&
                    ggs_inside(stream->position, record->bytes, stream->end)) {
                    stream->position += record->bytes;
                    return record;
                }
                stream->damaged++;
                stream->end = stream->position;
            }
        }
        if (!open_segment(stream)) return NULL;
    }
}

bool ggs_spool_stream_record(struct ggs_spool_stream * stream, struct ggs_record * record) {
    const struct ggs_journal_record * header;
    while ((header = next_record(stream)) != NULL) {
        bool   known  = header->type < GGS_JOURNAL_COUNT && fixed_parts[header->type] > 0;
        size_t length = header->bytes - sizeof(*header), fixed = known ? fixed_parts[header->type] - 1 : 0;
        if (!known || length < fixed) {
            stream->damaged++;
            continue;
        }
        const char * text = (const char *) (header + 1) + fixed;
        *record           = (struct ggs_record){.type        = header->type,
                                                .ticks       = header->ticks,
                                                .body        = header + 1,
                                                .length      = length,
                                                .text        = text,
                                                .text_length = strnlen(text, length - fixed)};
        return true;
    }
    return false;
}

// ---- lanes ----

// Of the unit at the stream's position, with its payload; 0 if the segment ends before.
static uint64_t unit_bytes(const struct ggs_spool_stream * stream) {
    const struct ggs_spool_index * raw   = (const void *) (stream->mapping.data + stream->position);
    uint64_t                       bytes = GGS_SPOOL_UNIT;
    if (raw->type == GGS_UNIT_INDEX) {
        if (!ggs_inside(stream->position, sizeof(*raw), stream->end)) return 0;
        bytes = sizeof(*raw) + ((uint64_t) raw->bytes + GGS_SPOOL_UNIT - 1) / GGS_SPOOL_UNIT * GGS_SPOOL_UNIT;
    }
    return ggs_inside(stream->position, bytes, stream->end) ? bytes : 0;
}

static bool read_op(struct ggs_spool_stream * stream, const struct ggs_spool_op * raw) {
    if (!stream->chain.known || raw->shift > 31) return false;
    uint8_t  flags = __atomic_load_n(&raw->flags, __ATOMIC_ACQUIRE); // before the times
    uint64_t begin = stream->chain.begin;
    uint32_t node  = stream->chain.node;
    if (stream->chain.op != 0) { // complete by now, if it was not when it was read
        const struct ggs_spool_op * before = (const void *) (stream->mapping.data + stream->chain.op);
        begin += ((uint64_t) before->duration + before->wait) << before->shift;
        node += raw->step;
    }
    stream->unit = (struct ggs_unit){.type       = GGS_UNIT_OP,
                                     .flags      = flags,
                                     .run        = stream->chain.run,
                                     .node       = node,
                                     .begin      = begin,
                                     .duration   = (uint64_t) raw->duration << raw->shift,
                                     .wait       = (uint64_t) raw->wait << raw->shift,
                                     .inner_wait = (uint64_t) raw->inner_wait << raw->shift};
    return true;
}

static void read_at(struct ggs_spool_stream * stream, const struct ggs_spool_at * at) {
    stream->chain.known = true;
    stream->chain.begin = at->begin;
    stream->chain.op    = 0;
    stream->chain.run   = at->run;
    stream->chain.node  = at->node;
    stream->position += sizeof(*at);
}

// Reads the unit that the stream is at in its segment. False if there is none.
static bool read_unit(struct ggs_spool_stream * stream) {
    while (stream->position + GGS_SPOOL_UNIT <= stream->end) {
        const struct ggs_spool_op *    raw   = (const void *) (stream->mapping.data + stream->position);
        const struct ggs_spool_at *    at    = (const void *) raw;
        const struct ggs_spool_index * index = (const void *) raw;
        switch (unit_bytes(stream) == 0 ? UINT8_MAX : raw->type) {
            case 0:
                return false;
            case GGS_UNIT_AT:
                read_at(stream, at);
                continue;
            case GGS_UNIT_OP:
                if (read_op(stream, raw)) return true;
                break;
            case GGS_UNIT_INDEX:
                stream->unit = (struct ggs_unit){.type = GGS_UNIT_INDEX, .run = index->run, .node = index->node};
                return true;
            case GGS_UNIT_THREAD:
                stream->unit = (struct ggs_unit){.type = GGS_UNIT_THREAD, .run = at->run, .node = (uint32_t) at->begin};
                return true;
        }
        stream->damaged++;
        stream->end = stream->position;
    }
    return false;
}

const struct ggs_unit * ggs_spool_stream_unit(struct ggs_spool_stream * stream) {
    while (!read_unit(stream))
        if (!open_segment(stream)) return NULL;
    return &stream->unit;
}

void ggs_spool_stream_skip(struct ggs_spool_stream * stream) {
    const struct ggs_spool_op * raw = (const void *) (stream->mapping.data + stream->position);
    if (raw->type == GGS_UNIT_OP) {
        stream->chain.op    = stream->position;
        stream->chain.begin = stream->unit.begin;
        stream->chain.node  = stream->unit.node;
    }
    stream->position += unit_bytes(stream);
}

const struct ggs_spool_index * ggs_spool_stream_index(const struct ggs_spool_stream * stream) {
    return (const void *) (stream->mapping.data + stream->position);
}

void ggs_spool_stream_seek(struct ggs_spool_stream * stream, uint32_t sequence, uint64_t position) {
    ggs_spool_stream_rewind(stream);
    while (stream->next < stream->n_segments && stream->segments[stream->next].sequence < sequence) stream->next++;
    bool there = stream->next < stream->n_segments && stream->segments[stream->next].sequence == sequence;
    if (!there || !open_segment(stream) || position < stream->position || position > stream->end) return;
    if (stream->lane >= GGS_SPOOL_MACHINE) stream->position = position;
    // What stands in a lane hangs on what is before it.
    while (stream->position < position && read_unit(stream) && stream->position < position)
        ggs_spool_stream_skip(stream);
}

// ---- the whole ----

static int by_place(const void * a, const void * b) {
    const struct ggs_spool_stream *x = a, *y = b;
    if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    return x->lane < y->lane ? -1 : x->lane > y->lane;
}

static int split(struct ggs_spool * spool, struct ggs_error * error) {
    qsort(spool->segments, spool->n_segments, sizeof(*spool->segments), by_name);
    spool->lanes = calloc(spool->n_segments, sizeof(*spool->lanes));
    if (spool->lanes == NULL) return ggs_fail_memory(error);
    for (size_t i = 0; i < spool->n_segments; i++) {
        const struct ggs_spool_segment * segment = &spool->segments[i];
        struct ggs_spool_stream * stream = segment->lane == GGS_SPOOL_JOURNAL ? &spool->journal : &spool->machine;
        if (segment->lane < GGS_SPOOL_MACHINE) {
            if (spool->n_lanes == 0 || spool->lanes[spool->n_lanes - 1].lane != segment->lane) spool->n_lanes++;
            stream = &spool->lanes[spool->n_lanes - 1];
        }
        if (stream->n_segments++ == 0) stream->segments = segment;
        stream->lane = segment->lane;
    }
    // Slot and thread of a lane stand in its segments' headers.
    for (size_t i = 0; i < spool->n_lanes; i++) {
        open_segment(&spool->lanes[i]);
        ggs_spool_stream_rewind(&spool->lanes[i]);
    }
    if (spool->n_lanes > 1) qsort(spool->lanes, spool->n_lanes, sizeof(*spool->lanes), by_place);
    return 0;
}

static void open_control(struct ggs_spool * spool, const char * directory) {
    char * path;
    if (asprintf(&path, "%s/%s", directory, GGS_SPOOL_CONTROL) < 0) return;
    if (access(path, F_OK) == 0 && ggs_mapping_open(&spool->control, path, NULL) != 0)
        spool->control = (struct ggs_mapping){0};
    free(path);
    if (spool->control.size < sizeof(struct ggs_spool_control) ||
        memcmp(spool->control.data, GGS_CONTROL_MAGIC, sizeof(GGS_CONTROL_MAGIC) - 1) != 0)
        ggs_mapping_close(&spool->control);
}

int ggs_spool_open(struct ggs_spool * spool, const char * directory, struct ggs_error * error) {
    *spool     = (struct ggs_spool){0};
    int status = list(spool, directory, error);
    if (status == 0) status = split(spool, error);
    if (status == 0) open_control(spool, directory);
    if (status != 0) ggs_spool_release(spool);
    return status;
}

const struct ggs_control_entry * ggs_spool_control_entry(const struct ggs_spool * spool, uint32_t number) {
    const struct ggs_spool_control * control = (const void *) spool->control.data;
    size_t                           at      = sizeof(*control) + number * sizeof(struct ggs_control_entry);
    if (control == NULL || number >= control->entries || number >= GGS_CONTROL_ENTRIES ||
        !ggs_inside(at, sizeof(struct ggs_control_entry), spool->control.size))
        return NULL;
    return (const void *) (spool->control.data + at);
}

void ggs_spool_release(struct ggs_spool * spool) {
    ggs_mapping_close(&spool->journal.mapping);
    ggs_mapping_close(&spool->machine.mapping);
    ggs_mapping_close(&spool->control);
    for (size_t i = 0; i < spool->n_lanes; i++) ggs_mapping_close(&spool->lanes[i].mapping);
    for (size_t i = 0; i < spool->n_segments; i++) free(spool->segments[i].path);
    free(spool->segments);
    free(spool->lanes);
    *spool = (struct ggs_spool){0};
}

// Segments that nobody took, and the control file.
static void remove_free(const char * directory) {
    DIR *                 folder = opendir(directory);
    const struct dirent * entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        size_t length = strlen(entry->d_name);
        if (strcmp(entry->d_name, GGS_SPOOL_CONTROL) == 0) unlinkat(dirfd(folder), entry->d_name, 0);
        if (strncmp(entry->d_name, "free-", 5) != 0 || length < 10) continue;
        const char * end = entry->d_name + length - 4;
        if (strcmp(end, ".seg") == 0 || strcmp(end, ".tmp") == 0) unlinkat(dirfd(folder), entry->d_name, 0);
    }
    if (folder != NULL) closedir(folder);
}

int ggs_spool_remove(const char * directory, struct ggs_error * error) {
    struct ggs_spool spool  = {0};
    char *           target = realpath(directory, NULL);
    struct stat      info;
    int              status = 0;
    if (target != NULL) {
        status = list(&spool, target, error);
        if (status == GGS_ABSENT) status = 0;
        for (size_t i = 0; status == 0 && i < spool.n_segments; i++)
            if (unlink(spool.segments[i].path) != 0 && errno != ENOENT)
                status = ggs_fail_errno(error, "cannot remove %s", spool.segments[i].path);
        if (status == 0) remove_free(target);
        if (status == 0) rmdir(target); // stays if something else lies in it
    }
    if (status == 0 && lstat(directory, &info) == 0 && S_ISLNK(info.st_mode) && unlink(directory) != 0)
        status = ggs_fail_errno(error, "cannot remove the link %s", directory);
    free(target);
    ggs_spool_release(&spool);
    return status;
}

// A lane fills front to back: all segments but the last are full, and the end of that one is found by halving.
uint64_t ggs_spool_estimate(struct ggs_spool * spool) {
    uint64_t units = 0;
    for (size_t i = 0; i < spool->n_lanes; i++) {
        struct ggs_spool_stream * lane = &spool->lanes[i];
        while (open_segment(lane)) {
            static const uint8_t blank[2 * GGS_SPOOL_UNIT];
            const uint8_t *      first = lane->mapping.data + lane->position;
            units += ggs_search((lane->end - lane->position) / GGS_SPOOL_UNIT - 1, at,
                                memcmp(first + at * GGS_SPOOL_UNIT, blank, sizeof(blank)) != 0);
        }
        ggs_spool_stream_rewind(lane);
    }
    return units;
}

uint64_t ggs_spool_dropped(const struct ggs_spool * spool) {
    uint64_t dropped = 0;
    for (size_t i = 0; i < spool->n_lanes; i++) {
        const struct ggs_spool_stream * lane    = &spool->lanes[i];
        uint64_t                        written = (uint64_t) lane->segments[lane->n_segments - 1].sequence + 1;
        for (size_t k = 0; k < lane->n_segments; k++) written -= lane->segments[k].sequence >= lane->base;
        if (written > lane->base) dropped += written - lane->base;
    }
    return dropped * ((GGS_SPOOL_SEGMENT - sizeof(struct ggs_spool_header)) / GGS_SPOOL_UNIT);
}

uint64_t ggs_spool_done(const struct ggs_spool * spool) {
    uint64_t done =
        spool->journal.consumed + spool->journal.position + spool->machine.consumed + spool->machine.position;
    for (size_t i = 0; i < spool->n_lanes; i++) done += spool->lanes[i].consumed + spool->lanes[i].position;
    return done;
}
