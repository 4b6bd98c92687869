#include "trace/spool-reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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

// A segment that was made ahead is identified by its header; an unused one has none.
static bool is_ahead(const char * name) {
    size_t length = strlen(name);
    return (strncmp(name, "free-", 5) == 0 || strncmp(name, "spare-", 6) == 0) && length > 4 &&
           strcmp(name + length - 4, ".seg") == 0;
}

static bool parse_ahead(int folder, const char * name, struct ggs_spool_segment * segment) {
    struct ggs_spool_header header;
    if (!is_ahead(name)) return false;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) return false;
    bool taken = read(fd, &header, sizeof(header)) == (ssize_t) sizeof(header) &&
                 memcmp(header.magic, GGS_SPOOL_MAGIC, sizeof(header.magic)) == 0 &&
                 (header.lane < GGS_SPOOL_MACHINE || header.lane == GGS_SPOOL_JOURNAL);
    close(fd);
    if (taken) segment->lane = header.lane, segment->sequence = header.sequence;
    return taken;
}

static int by_name(const void * a, const void * b) {
    const struct ggs_spool_segment *x = a, *y = b;
    // The journal, lane 0xffff, comes first.
    uint32_t x_lane = (uint16_t) (x->lane + 1), y_lane = (uint16_t) (y->lane + 1);
    if (x_lane != y_lane) return x_lane < y_lane ? -1 : 1;
    return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

static int list_once(struct ggs_spool * spool, const char * directory, struct ggs_error * error) {
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
        if (!parse_name(entry->d_name, &segment) && !parse_ahead(dirfd(folder), entry->d_name, &segment)) continue;
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
    if (status == 0) qsort(spool->segments, spool->n_segments, sizeof(*spool->segments), by_name);
    return status;
}

static void forget_list(struct ggs_spool * spool) {
    for (size_t i = 0; i < spool->n_segments; i++) free(spool->segments[i].path);
    free(spool->segments);
    spool->segments   = NULL;
    spool->n_segments = 0;
    spool->bytes      = 0;
}

// True if a segment in the middle of a stream is not listed.
static bool has_gap(const struct ggs_spool * spool) {
    for (size_t i = 1; i < spool->n_segments; i++) {
        const struct ggs_spool_segment *here = &spool->segments[i], *before = here - 1;
        if (before->lane == here->lane && here->sequence > before->sequence + 1) return true;
    }
    return false;
}

// Listing a folder is not atomic: of two segments created meanwhile, only the later one may be
// listed. Listing again finds the other, unless it is lost.
static int list(struct ggs_spool * spool, const char * directory, struct ggs_error * error) {
    int status = list_once(spool, directory, error);
    for (int again = 0; status == 0 && again < 4 && has_gap(spool); again++) {
        forget_list(spool);
        status = list_once(spool, directory, error);
    }
    return status;
}

// ---- segments ----

static void close_segment(struct ggs_spool_stream * stream) {
    stream->consumed += stream->mapping.size;
    ggs_mapping_close(&stream->mapping);
    stream->position = stream->end = 0;
}

enum opened {
    NO_SEGMENT,
    BLANK_SEGMENT, // no magic: its writer died, skipped it or is not there yet
    EMPTY_SEGMENT, // without a record
    SEGMENT
};

// Maps the next file of the stream.
static enum opened open_file(struct ggs_spool_stream * stream) {
    const struct ggs_spool_segment * segment = &stream->segments[stream->next];
    uint32_t expected = stream->next == 0 ? stream->base : stream->segments[stream->next - 1].sequence + 1, type = 0;
    struct ggs_spool_header header;
    stream->next++;
    if (segment->sequence > expected) {
        stream->missing += segment->sequence - expected;
        stream->gap = true;
    }
    if (ggs_mapping_open(&stream->mapping, segment->path, NULL) != 0) {
        if (access(segment->path, F_OK) != 0) {
            stream->missing++;
            stream->gap = true;
        } else {
            stream->damaged++;
        }
        return NO_SEGMENT;
    }
    if (stream->mapping.size < sizeof(header)) return NO_SEGMENT;
    // The writer stores the magic last: the rest is complete if it is there.
    if (__atomic_load_n((const uint64_t *) stream->mapping.data, __ATOMIC_ACQUIRE) == 0) return BLANK_SEGMENT;
    memcpy(&header, stream->mapping.data, sizeof(header));
    if (memcmp(header.magic, GGS_SPOOL_MAGIC, sizeof(header.magic)) != 0 || header.version != GGS_SPOOL_VERSION ||
        header.lane != segment->lane || header.size < sizeof(header)) {
        stream->damaged++;
        return NO_SEGMENT;
    }
    stream->slot        = header.slot;
    stream->thread      = header.thread;
    stream->chain.known = false;
    stream->position    = sizeof(header);
    stream->end         = header.size < stream->mapping.size ? header.size : stream->mapping.size;
    if (stream->cut != 0 && stream->next == stream->n_segments && stream->cut < stream->end) stream->end = stream->cut;
    if (stream->end - stream->position >= sizeof(type))
        memcpy(&type, stream->mapping.data + stream->position, sizeof(type));
    return type == 0 ? EMPTY_SEGMENT : SEGMENT;
}

// The ring policy frees the memory of a segment that it removes, header included: the mapping
// becomes zeros.
static bool was_given_up(const struct ggs_spool_stream * stream) {
    return stream->mapping.size >= sizeof(struct ggs_spool_header) &&
           memcmp(stream->mapping.data, GGS_SPOOL_MAGIC, sizeof(GGS_SPOOL_MAGIC) - 1) != 0;
}

// Opens the next segment with contents. Returns false at the end of the stream and stays there: its
// writer may continue, and blank segments that were made ahead come later.
static bool open_segment(struct ggs_spool_stream * stream) {
    struct ggs_spool_stream ahead = *stream;
    unsigned                blank = 0, empty = 0;
    ahead.mapping = (struct ggs_mapping){0};
    while (ahead.next < ahead.n_segments) {
        enum opened opened = open_file(&ahead);
        if (opened == SEGMENT) {
            // Writers fill segments in order, so a blank segment before this one was removed.
            ahead.missing += blank + was_given_up(stream);
            ahead.gap |= blank > 0 || was_given_up(stream);
            ahead.consumed += stream->mapping.size;
            ggs_mapping_close(&stream->mapping);
            *stream = ahead;
            return true;
        }
        blank += opened == BLANK_SEGMENT;
        empty += opened == EMPTY_SEGMENT;
        if (stream->mapping.data == NULL) stream->slot = ahead.slot, stream->thread = ahead.thread;
        ggs_mapping_close(&ahead.mapping);
    }
    if (blank + empty == 0)
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

// Size of the struct that a record of each type begins with, + 1.
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
    [GGS_JOURNAL_OUTPUT_READ]  = FIXED(output_read),
    [GGS_JOURNAL_SAMPLE]       = FIXED(sample),
    [GGS_JOURNAL_OFF_CPU]      = FIXED(off_cpu),
};
_Static_assert(sizeof(fixed_parts) / sizeof(fixed_parts[0]) == GGS_JOURNAL_COUNT, "every type has its struct");

// The machine's stream is a growing file: its end may lie inside a record.
static bool is_in_progress(const struct ggs_spool_stream * stream, const struct ggs_journal_record * record) {
    enum { MOST = 65536 };
    return stream->lane == GGS_SPOOL_MACHINE && record->bytes >= sizeof(*record) && record->bytes % 8 == 0 &&
           record->bytes <= MOST;
}

// Returns the next record of any type, header included, or NULL.
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
                stream->damaged += !is_in_progress(stream, record);
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

static bool has_payload(unsigned type) {
    return type == GGS_UNIT_INDEX || (type >= GGS_UNIT_VALUES && type <= GGS_UNIT_WEIGHT);
}

// Size of the unit at the stream's position with its payload; 0 if the segment ends before it.
static uint64_t unit_bytes(const struct ggs_spool_stream * stream) {
    const struct ggs_spool_index * raw   = (const void *) (stream->mapping.data + stream->position);
    uint64_t                       bytes = GGS_SPOOL_UNIT;
    if (has_payload(raw->type)) {
        if (!ggs_inside(stream->position, sizeof(*raw), stream->end)) return 0;
        bytes = sizeof(*raw) + ((uint64_t) raw->bytes + GGS_SPOOL_UNIT - 1) / GGS_SPOOL_UNIT * GGS_SPOOL_UNIT;
    }
    return ggs_inside(stream->position, bytes, stream->end) ? bytes : 0;
}

static bool read_op(struct ggs_spool_stream * stream, const struct ggs_spool_op * raw) {
    if (!stream->chain.known || raw->shift > 31) return false;
    uint8_t  flags = __atomic_load_n(&raw->flags, __ATOMIC_ACQUIRE); // read first
    uint64_t begin = stream->chain.begin;
    uint32_t node  = stream->chain.node;
    if (stream->chain.op != 0) { // its times are complete by this time
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

// Reads the unit at the stream's position. Returns false if there is none.
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
            case GGS_UNIT_VALUES:
            case GGS_UNIT_POSITIONS:
            case GGS_UNIT_DUMP:
            case GGS_UNIT_WEIGHT:
                stream->unit = (struct ggs_unit){.type = raw->type, .run = index->run, .node = index->node};
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
    // A unit's meaning depends on the units before it in the lane.
    while (stream->position < position && read_unit(stream) && stream->position < position)
        ggs_spool_stream_skip(stream);
}

// ---- spools ----

static int by_place(const void * a, const void * b) {
    const struct ggs_spool_stream *x = a, *y = b;
    if (x->slot != y->slot) return x->slot < y->slot ? -1 : 1;
    if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
    return x->lane < y->lane ? -1 : x->lane > y->lane;
}

static int split(struct ggs_spool * spool, struct ggs_error * error) {
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
    // The headers of a lane's segments have its slot and thread.
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

struct cut {
    uint32_t sequence; // of a segment of the journal
    uint64_t position; // end of its last record; 0 if there is none, or it ends in damage
};

// A writer never returns to an earlier segment, so only the last one with a record is read.
static struct cut find_cut(const struct ggs_spool * spool) {
    struct cut cut = {0, 0};
    for (size_t n = spool->journal.n_segments; n-- > 0 && cut.position == 0;) {
        struct ggs_spool_stream stream = spool->journal;
        stream.next = n, stream.n_segments = n + 1;
        if (open_file(&stream) == SEGMENT) {
            while (next_record(&stream) != NULL) {}
            cut = (struct cut){stream.segments[n].sequence, stream.damaged > 0 ? 0 : stream.position};
            if (stream.damaged > 0) n = 0;
        }
        ggs_mapping_close(&stream.mapping);
    }
    return cut;
}

static int open_listed(struct ggs_spool * spool, const char * directory, struct ggs_error * error) {
    *spool           = (struct ggs_spool){0};
    spool->directory = strdup(directory);
    int status       = spool->directory == NULL ? ggs_fail_memory(error) : list(spool, directory, error);
    if (status == 0) status = split(spool, error);
    return status;
}

int ggs_spool_open(struct ggs_spool * spool, const char * directory, struct ggs_error * error) {
    int status = open_listed(spool, directory, error);
    if (status == 0) {
        struct cut cut = find_cut(spool);
        ggs_spool_release(spool);
        status                            = open_listed(spool, directory, error);
        struct ggs_spool_stream * journal = &spool->journal;
        while (cut.position != 0 && journal->n_segments > 0 &&
               journal->segments[journal->n_segments - 1].sequence > cut.sequence)
            journal->n_segments--;
        journal->cut = cut.position;
    }
    if (status == 0) open_control(spool, directory);
    if (status != 0) ggs_spool_release(spool);
    return status;
}

bool ggs_spool_goes_on(const struct ggs_spool * spool) {
    struct ggs_spool               now;
    const struct ggs_spool_stream *journal = &spool->journal, *newer = &now.journal;
    if (journal->n_segments == 0 || ggs_spool_open(&now, spool->directory, NULL) != 0) return false;
    bool goes_on = newer->n_segments > 0 && (newer->segments[newer->n_segments - 1].sequence >
                                                 journal->segments[journal->n_segments - 1].sequence ||
                                             newer->cut > journal->cut);
    ggs_spool_release(&now);
    return goes_on;
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
    free(spool->directory);
    *spool = (struct ggs_spool){0};
}

// Removes unused segments, and the files by which ggscope and the program communicate.
static void remove_free(const char * directory) {
    DIR *                 folder = opendir(directory);
    const struct dirent * entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        size_t length = strlen(entry->d_name);
        if (strcmp(entry->d_name, GGS_SPOOL_CONTROL) == 0 || strcmp(entry->d_name, GGS_SPOOL_ATTACH) == 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
        if ((strncmp(entry->d_name, "free-", 5) != 0 && strncmp(entry->d_name, "spare-", 6) != 0) || length < 10)
            continue;
        const char * end = entry->d_name + length - 4;
        if (strcmp(end, ".seg") == 0 || strcmp(end, ".tmp") == 0) unlinkat(dirfd(folder), entry->d_name, 0);
    }
    if (folder != NULL) closedir(folder);
}

// Returns the real path of a folder. A link into /proc leads to another mount namespace, where the
// result of realpath may be another folder.
static char * resolve(const char * directory) {
    char    text[4096];
    ssize_t length                = readlink(directory, text, sizeof(text) - 1);
    text[length < 0 ? 0 : length] = '\0';
    if (strncmp(text, "/proc/", 6) != 0) return realpath(directory, NULL);
    return access(text, F_OK) == 0 ? strdup(text) : NULL;
}

int ggs_spool_remove(const char * directory, struct ggs_error * error) {
    struct ggs_spool spool  = {0};
    char *           target = resolve(directory);
    struct stat      info;
    int              status = 0;
    if (target != NULL) {
        status = list(&spool, target, error);
        if (status == GGS_ABSENT) status = 0;
        for (size_t i = 0; status == 0 && i < spool.n_segments; i++)
            if (unlink(spool.segments[i].path) != 0 && errno != ENOENT)
                status = ggs_fail_errno(error, "cannot remove %s", spool.segments[i].path);
        if (status == 0) remove_free(target);
        if (status == 0) rmdir(target); // stays if it is not empty
    }
    if (status == 0 && lstat(directory, &info) == 0 && S_ISLNK(info.st_mode) && unlink(directory) != 0)
        status = ggs_fail_errno(error, "cannot remove the link %s", directory);
    free(target);
    ggs_spool_release(&spool);
    return status;
}

// A lane fills front to back: all segments but the last are full. Bisection finds the end of the
// last.
uint64_t ggs_spool_estimate(struct ggs_spool * spool) {
    uint64_t units = 0;
    for (size_t i = 0; i < spool->n_lanes; i++) {
        struct ggs_spool_stream * lane = &spool->lanes[i];
        if (lane->thread == GGS_SPOOL_VALUES) continue;
        while (open_segment(lane)) {
            static const uint8_t blank[2 * GGS_SPOOL_UNIT];
            const uint8_t *      first = lane->mapping.data + lane->position;
            uint64_t             room  = (lane->end - lane->position) / GGS_SPOOL_UNIT;
            if (room == 0) continue; // cut off within its first unit
            units += ggs_search(room - 1, at, memcmp(first + at * GGS_SPOOL_UNIT, blank, sizeof(blank)) != 0);
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

bool ggs_decode_arrays(struct ggs_decode_arrays * arrays, const void * body, uint64_t length) {
    enum { PER_TOKEN = 3 * sizeof(int32_t) + sizeof(uint8_t), PER_PAIR = 2 * sizeof(int32_t) };
    const struct ggs_journal_decode * head = body;
    if (length < sizeof(*head)) return false;
    uint64_t n = head->tokens;
    if (PER_TOKEN * n + PER_PAIR * (uint64_t) head->more > length - sizeof(*head)) return false;
    const int32_t * first = (const int32_t *) (head + 1);
    const uint8_t * bytes = (const uint8_t *) (first + 3 * n);
    *arrays               = (struct ggs_decode_arrays){head, first, first + n, first + 2 * n, bytes, bytes + n};
    return true;
}
