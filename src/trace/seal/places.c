#include "trace/seal/places.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/search.h"

static void forget_areas(struct ggs_places * places) {
    for (size_t i = 0; i < places->n_areas; i++) free(places->areas[i].text);
    free(places->areas);
    places->areas   = NULL;
    places->n_areas = 0;
}

void ggs_places_release(struct ggs_places * places) {
    forget_areas(places);
    for (size_t i = 0; i < places->n_files; i++) free(places->paths[i]);
    free(places->files);
    free(places->paths);
    free(places->buffers);
    ggs_map_release(&places->known_areas);
    ggs_map_release(&places->buffer_numbers);
    ggs_map_release(&places->origins);
    free(places->fills);
}

// ---- files ----

static uint64_t find_file(const struct ggs_places * places, const char * path, size_t length) {
    for (size_t i = 0; i < places->n_files; i++)
        if (strlen(places->paths[i]) == length && memcmp(places->paths[i], path, length) == 0) return i + 1;
    return 0;
}

uint64_t ggs_places_file(struct ggs_places * places, const char * path, size_t length) {
    uint64_t known = find_file(places, path, length);
    if (known != 0) return known;
    size_t capacity = places->files_capacity;
    if (length == 0 || places->n_files >= UINT16_MAX ||
        !ggs_writer_reserve(places->writer, places->files, capacity, places->n_files + 1) ||
        !ggs_writer_reserve(places->writer, places->paths, places->files_capacity, places->n_files + 1))
        return 0;
    char * copy = strndup(path, length);
    if (copy == NULL) {
        ggs_writer_fail_memory(places->writer);
        return 0;
    }
    places->paths[places->n_files] = copy;
    places->files[places->n_files] = (struct ggs_file){
        .file = places->n_files + 1, .path = ggs_writer_string(places->writer, path, length), .load = places->load};
    return ++places->n_files;
}

// ---- mappings ----

static bool hexadecimal(const char ** p, const char * end, uint64_t * number) {
    uint64_t     value = 0;
    const char * start = *p;
    for (; *p < end && *p - start < 16; ++*p) {
        char c = **p;
        if (c >= '0' && c <= '9')
            value = value << 4 | (uint64_t) (c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (uint64_t) (c - 'a' + 10);
        else
            break;
    }
    if (*p == start || *p == end || **p != ' ') return false;
    ++*p;
    *number = value;
    return true;
}

// True unless it is memory with a path but without a file that can be read later.
static bool is_disk(const char * path, size_t length) {
    static const char * const not [] = {"/memfd:", "/SYSV", "/anon_hugepage", "/i915", "/drm ", "/dmabuf:"};
    if (length == 0 || path[0] != '/') return false;
    for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++)
        if (strncmp(path, not [i], strnlen(not [i], length)) == 0) return false;
    return length < 5 || strncmp(path, "/dev/", 5) != 0 || (length > 9 && strncmp(path, "/dev/shm/", 9) == 0);
}

static int by_start(const void * a, const void * b) {
    const struct ggs_area *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static void add_area(struct ggs_places * places, const struct ggs_area * area, int64_t ns) {
    uint64_t   identity[] = {area->start, area->end, area->offset, area->path};
    uint64_t * known      = ggs_map_put(&places->known_areas, ggs_map_key_of(identity, sizeof(identity)));
    if (known == NULL) ggs_writer_fail_memory(places->writer);
    if (known == NULL || *known != 0) return;
    *known                      = 1;
    struct ggs_file_mapping row = {
        .begin_ns = ns, .start = area->start, .end = area->end, .offset = area->offset, .path = area->path};
    ggs_writer_append(places->writer, GGS_TABLE_MAPPINGS, &row);
}

// The kernel writes a newline in a name as \012, and a backslash as it is: a file whose name
// contains these four characters must be known. Returns the name's length in `to`.
static size_t copy_path(const struct ggs_places * places, char * to, const char * path, size_t length) {
    size_t n       = 0;
    bool   literal = find_file(places, path, length) != 0;
    for (size_t i = 0; i < length; n++) {
        bool newline = !literal && length - i >= 4 && memcmp(path + i, "\\012", 4) == 0;
        to[n]        = newline ? '\n' : path[i];
        i += newline ? 4 : 1;
    }
    to[n] = '\0';
    return n;
}

static void set_path(struct ggs_places * places, struct ggs_area * area, const char * path, size_t length) {
    char * copy = malloc(length + 1);
    if (copy == NULL) {
        ggs_writer_fail_memory(places->writer);
        return;
    }
    length     = copy_path(places, copy, path, length);
    area->path = ggs_writer_string(places->writer, copy, length);
    if (is_disk(copy, length))
        area->text = copy;
    else
        free(copy);
}

void ggs_places_maps(struct ggs_places * places, const char * text, size_t length, int64_t ns) {
    const char * p        = text;
    const char * end      = text + length;
    size_t       capacity = 0;
    forget_areas(places);
    while (p < end) {
        const char *    line_end = memchr(p, '\n', (size_t) (end - p));
        struct ggs_area area     = {.left_ns = INT64_MAX};
        if (line_end == NULL) line_end = end;
        if (hexadecimal(&p, line_end, &area.start) && hexadecimal(&p, line_end, &area.end) &&
            hexadecimal(&p, line_end, &area.offset) && area.start < area.end) {
            if (!ggs_writer_reserve(places->writer, places->areas, capacity, places->n_areas + 1)) return;
            set_path(places, &area, p, (size_t) (line_end - p));
            places->areas[places->n_areas++] = area;
            add_area(places, &area, ns);
        }
        p = line_end + 1;
    }
    if (places->n_areas > 1) qsort(places->areas, places->n_areas, sizeof(*places->areas), by_start);
}

static struct ggs_area * find_area(const struct ggs_places * places, uint64_t address) {
    size_t behind = ggs_search(places->n_areas, at, places->areas[at].start <= address);
    if (behind == 0) return NULL;
    struct ggs_area * area = &places->areas[behind - 1];
    return address < area->end && area->text != NULL ? area : NULL;
}

static uint64_t file_of(struct ggs_places * places, const struct ggs_area * area) {
    return area == NULL ? 0 : ggs_places_file(places, area->text, strlen(area->text));
}

uint64_t ggs_places_address(struct ggs_places * places, uint64_t address, uint64_t * offset, uint64_t * room_) {
    const struct ggs_area * area = find_area(places, address);
    if (area == NULL) return 0;
    *offset = area->offset + (address - area->start);
    *room_  = area->end - address;
    return file_of(places, area);
}

uint64_t ggs_places_recorded(const struct ggs_places * places, uint64_t address, int64_t ns, uint64_t * offset) {
    const struct ggs_area * area = find_area(places, address);
    if (area != NULL && ns >= area->left_ns) return 0;
    for (size_t i = 0; area != NULL && i < places->n_files; i++) {
        if (strcmp(places->paths[i], area->text) != 0) continue;
        *offset = area->offset + (address - area->start);
        return i + 1;
    }
    return 0;
}

// ---- buffers ----

static struct ggs_live_buffer * by_number(struct ggs_places * places, uint64_t number) {
    uint64_t index = ggs_map_get(&places->buffer_numbers, ggs_map_key_number(number));
    return index == 0 ? NULL : &places->buffers[index - 1];
}

// The newest live buffer with some byte of [address, address + size).
static struct ggs_live_buffer * by_address(struct ggs_places * places, uint64_t address, uint64_t size) {
    enum { REACH = 4096 }; // bounds the cost for damaged spools
    size_t oldest = places->n_buffers > REACH ? places->n_buffers - REACH : 0;
    for (size_t i = places->n_buffers; places->buffers != NULL && i-- > oldest;) {
        struct ggs_live_buffer * buffer = &places->buffers[i];
        if (buffer->freed) continue;
        uint64_t begin = buffer->row.address;
        if (address >= begin ? address - begin < buffer->row.size : begin - address < size) return buffer;
    }
    return NULL;
}

void ggs_places_buffer(struct ggs_places * places, const struct ggs_journal_buffer * buffer, const char * type,
                       size_t length, uint64_t device, int64_t ns) {
    uint64_t * index = ggs_map_put(&places->buffer_numbers, ggs_map_key_number(buffer->id));
    if (index == NULL) ggs_writer_fail_memory(places->writer);
    if (index == NULL || *index != 0) return; // damaged: the first one counts
    if (!ggs_writer_reserve(places->writer, places->buffers, places->buffers_capacity, places->n_buffers + 1)) return;
    struct ggs_area * area = buffer->host ? find_area(places, buffer->address) : NULL;
    if (area != NULL) area->left_ns = INT64_MAX;
    places->buffers[places->n_buffers++] =
        (struct ggs_live_buffer){.row = {.buffer   = buffer->id,
                                         .address  = buffer->address,
                                         .size     = buffer->size,
                                         .type     = ggs_writer_string(places->writer, type, length),
                                         .usage    = buffer->usage,
                                         .host     = buffer->host != 0,
                                         .load     = places->load,
                                         .file     = file_of(places, area),
                                         .begin_ns = ns,
                                         .end_ns   = -1,
                                         .device   = device}};
    *index = places->n_buffers;
}

void ggs_places_buffer_free(struct ggs_places * places, uint64_t number, int64_t ns) {
    struct ggs_live_buffer * buffer = by_number(places, number);
    if (buffer == NULL || buffer->freed) return;
    buffer->freed      = true;
    buffer->row.end_ns = ns;
    // The engine unmaps a model after it has freed the buffers in it, which no record shows.
    struct ggs_area * area = buffer->row.host ? find_area(places, buffer->row.address) : NULL;
    if (area != NULL && by_address(places, area->start, area->end - area->start) == NULL) area->left_ns = ns;
}

void ggs_places_buffer_usage(struct ggs_places * places, uint64_t number, uint64_t usage) {
    struct ggs_live_buffer * buffer = by_number(places, number);
    if (buffer != NULL) buffer->row.usage = usage;
}

static uint64_t class_of(const struct ggs_live_buffer * buffer) {
    if (buffer->row.usage == 1) return GGS_CLASS_WEIGHTS;
    if (buffer->caches) return GGS_CLASS_KV;
    if (buffer->row.usage == 2) return GGS_CLASS_COMPUTE;
    if (buffer->tensors) return GGS_CLASS_OTHER;
    return buffer->target || buffer->inputs ? GGS_CLASS_IO : GGS_CLASS_OTHER;
}

// ---- weights read into buffers ----

// Number of fills that start at or before the address.
static size_t fills_until(const struct ggs_places * places, uint64_t address) {
    return ggs_search(places->n_fills, at, places->fills[at].start <= address);
}

// Inserts a fill at index `at`; there is room.
static void insert_fill(struct ggs_places * places, size_t at, const struct ggs_fill * fill) {
    memmove(places->fills + at + 1, places->fills + at, (places->n_fills++ - at) * sizeof(*fill));
    places->fills[at] = *fill;
}

// Removes what is known of [start, end), which was overwritten. Fills that extend beyond it keep
// their rest. Returns the index of a fill that starts there.
static size_t clear_fills(struct ggs_places * places, uint64_t start, uint64_t end) {
    size_t at = fills_until(places, start), behind = at;
    while (behind < places->n_fills && places->fills[behind].start < end) behind++;
    if (at > 0 && places->fills[at - 1].end > start) at--;
    if (behind == at || !ggs_writer_reserve(places->writer, places->fills, places->fills_capacity, places->n_fills + 2))
        return at;
    struct ggs_fill first = places->fills[at], last = places->fills[behind - 1];
    memmove(places->fills + at, places->fills + behind, (places->n_fills - behind) * sizeof(*places->fills));
    places->n_fills -= behind - at;
    if (last.end > end) {
        last.offset += end - last.start;
        last.start = end, last.before = 0;
        insert_fill(places, at, &last);
    }
    if (first.start < start) {
        first.end = start;
        insert_fill(places, at++, &first);
    }
    return at;
}

static void put_fill(struct ggs_places * places, const struct ggs_fill * fill) {
    if (!ggs_writer_reserve(places->writer, places->fills, places->fills_capacity, places->n_fills + 3)) return;
    insert_fill(places, clear_fills(places, fill->start, fill->end), fill);
}

void ggs_places_filled(struct ggs_places * places, const struct ggs_journal_filled * filled, const char * path,
                       size_t length) {
    const struct ggs_live_buffer * buffer = by_address(places, filled->address, 1);
    struct ggs_fill fill = {.start = filled->address, .offset = filled->offset, .before = filled->before};
    if (buffer == NULL || filled->bytes == 0 || !ggs_add(filled->address, filled->bytes, &fill.end)) return;
    fill.buffer = buffer->row.buffer;
    fill.file   = ggs_places_file(places, path, length);
    if (fill.file != 0) put_fill(places, &fill);
}

// Finds the file and offset that a tensor at `address` was read from; file 0 if the program
// overwrote it. Not in buffers of a scheduler or allocator, which graphs overwrite without records.
static bool origin_by_fill(const struct ggs_places * places, const struct ggs_live_buffer * buffer, uint64_t address,
                           uint64_t bytes, struct ggs_place * place) {
    enum { COMPUTE = 2 };
    size_t                  n    = buffer->row.usage == COMPUTE ? 0 : fills_until(places, address);
    const struct ggs_fill * fill = NULL;
    if (n > 0 && address < places->fills[n - 1].end) {
        fill = &places->fills[n - 1];
    } else if (buffer->row.usage != COMPUTE && n < places->n_fills) {
        // A stream had read its first bytes ahead: they come from just before the rest.
        const struct ggs_fill * next = &places->fills[n];
        if (next->start - address < bytes && next->start - address <= next->before &&
            next->start - address <= next->offset)
            fill = next;
    }
    if (fill == NULL || fill->buffer != place->buffer) return false;
    place->origin_file   = fill->file;
    place->origin_offset = fill->file == 0 ? 0 : fill->offset + (address - fill->start);
    return true;
}

static bool is_as_in_file(const char * path, uint64_t offset, const struct ggs_journal_sample * sample) {
    const uint8_t * taken = (const uint8_t *) (sample + 1);
    uint64_t        size  = ggs_sample_piece(sample->bytes);
    uint8_t         found[GGS_SAMPLE_PIECE];
    struct stat     info;
    int             fd   = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool            same = fd >= 0 && fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    for (uint64_t i = 0; same && i < ggs_sample_pieces(sample->bytes); i++) {
        off_t at = (off_t) (offset + ggs_sample_offset(sample->bytes, i));
        same     = pread(fd, found, size, at) == (ssize_t) size && memcmp(found, taken + i * size, size) == 0;
    }
    if (fd >= 0) close(fd);
    return same;
}

void ggs_places_sample(struct ggs_places * places, const struct ggs_journal_sample * sample, uint64_t length) {
    struct ggs_fill          other  = {.start = sample->address};
    struct ggs_live_buffer * buffer = by_address(places, sample->address, 1);
    if (length < sizeof(*sample) + ggs_sample_pieces(sample->bytes) * ggs_sample_piece(sample->bytes) ||
        buffer == NULL || !ggs_add(sample->address, sample->bytes, &other.end) || sample->bytes == 0)
        return;
    struct ggs_place place = {.buffer = buffer->row.buffer};
    if (!origin_by_fill(places, buffer, sample->address, sample->bytes, &place) || place.origin_file == 0) return;
    if (is_as_in_file(places->paths[place.origin_file - 1], place.origin_offset, sample)) return;
    other.buffer = place.buffer;
    put_fill(places, &other);
}

// ---- origins ----

static struct ggs_map_key origin_key(uint64_t address, uint64_t buffer) {
    return (struct ggs_map_key){address, buffer};
}

void ggs_places_transfer(struct ggs_places * places, struct ggs_transfer * transfer) {
    const struct ggs_area * area = transfer->kind == GGS_TRANSFER_SET ? find_area(places, transfer->from) : NULL;
    if (transfer->to_buffer == 0) {
        struct ggs_live_buffer * to = by_address(places, transfer->to, 1);
        if (to != NULL && transfer->kind == GGS_TRANSFER_GET) to->target = true;
        if (to != NULL && to->row.host) transfer->to_buffer = to->row.buffer;
    }
    uint64_t end;
    if (places->n_fills > 0 && transfer->kind != GGS_TRANSFER_GET && ggs_add(transfer->to, transfer->bytes, &end))
        clear_fills(places, transfer->to, end);
    if (area == NULL) return;
    transfer->file        = file_of(places, area);
    transfer->file_offset = transfer->from - area->start + area->offset;
    uint64_t * origin     = ggs_map_put(&places->origins, origin_key(transfer->to, transfer->to_buffer));
    if (origin == NULL)
        ggs_writer_fail_memory(places->writer);
    else
        *origin = (transfer->file_offset << 16 | transfer->file) + 1;
}

// Searches the files of the load that made the buffer, else all GGUF files.
static void origin_by_name(struct ggs_places * places, uint64_t load, const char * name, struct ggs_place * place) {
    const struct ggs_seal_options * options = places->options;
    const char **                   paths   = calloc(places->n_files + 1, sizeof(*paths));
    size_t *                        numbers = calloc(places->n_files + 1, sizeof(*numbers));
    size_t                          n = 0, found = 0;
    uint64_t                        offset = 0;
    if (paths == NULL || numbers == NULL) ggs_writer_fail_memory(places->writer);
    for (int all = load == 0; paths != NULL && numbers != NULL && n == 0 && all < 2; all++) {
        for (size_t i = 0; i < places->n_files; i++) {
            if (!places->files[i].gguf || (!all && places->files[i].load != load)) continue;
            paths[n]     = places->paths[i];
            numbers[n++] = i + 1;
        }
    }
    if (n > 0 && options->origin(options->origin_context, paths, n, name, &found, &offset) && found < n) {
        place->origin_file   = numbers[found];
        place->origin_offset = offset;
    }
    free(paths);
    free(numbers);
}

// ---- tensors ----

static void classify_buffer(struct ggs_live_buffer * buffer, const struct ggs_journal_tensor * tensor,
                            const char * name) {
    enum { INPUT = 1 };
    if (strncmp(name, "cache_", 6) == 0) buffer->caches = true;
    if (tensor->flags & INPUT)
        buffer->inputs = true;
    else
        buffer->tensors = true;
}

struct ggs_place ggs_places_find(struct ggs_places * places, const struct ggs_journal_tensor * tensor, uint64_t address,
                                 const char * name) {
    struct ggs_place         place  = {0};
    struct ggs_live_buffer * buffer = by_number(places, tensor->buffer);
    if (buffer == NULL && address != 0) buffer = by_address(places, address, 1);
    if (buffer != NULL) {
        classify_buffer(buffer, tensor, name);
        place.source = buffer->row.device != 0 ? GGS_SOURCE_VRAM : GGS_SOURCE_BUFFER;
        place.buffer = buffer->row.buffer;
        if (address >= buffer->row.address) place.buffer_offset = address - buffer->row.address;
    }
    // Addresses of other devices may look like ours.
    const struct ggs_area * area =
        address != 0 && (buffer == NULL || buffer->row.host) ? find_area(places, address) : NULL;
    if (area != NULL) {
        place.source      = GGS_SOURCE_DISK;
        place.file        = file_of(places, area);
        place.file_offset = address - area->start + area->offset;
        if (buffer != NULL && buffer->row.file == 0) buffer->row.file = place.file; // found later
        return place;
    }
    if (buffer == NULL) {
        place.source = address != 0 ? GGS_SOURCE_BUFFER : GGS_SOURCE_NONE;
        return place;
    }
    uint64_t origin = ggs_map_get(&places->origins, origin_key(address, place.buffer));
    if (origin != 0) {
        place.origin_file   = (origin - 1) & 0xffff;
        place.origin_offset = (origin - 1) >> 16;
    } else if (!origin_by_fill(places, buffer, address, (uint64_t) tensor->ne[3] * tensor->nb[3], &place) &&
               buffer->row.usage == 1 && places->options->origin != NULL && tensor->view < 0 && name[0] != '\0') {
        origin_by_name(places, buffer->row.load, name, &place);
    }
    return place;
}

void ggs_places_finish(struct ggs_places * places) {
    for (size_t i = 0; i < places->n_files; i++) {
        struct stat info;
        if (stat(places->paths[i], &info) == 0 && S_ISREG(info.st_mode)) {
            places->files[i].size     = (uint64_t) info.st_size;
            places->files[i].mtime_ns = info.st_mtim.tv_sec * 1000000000ll + info.st_mtim.tv_nsec;
        }
        ggs_writer_append(places->writer, GGS_TABLE_FILES, &places->files[i]);
    }
    for (size_t i = 0; i < places->n_buffers; i++) {
        places->buffers[i].row.class_ = class_of(&places->buffers[i]);
        ggs_writer_append(places->writer, GGS_TABLE_BUFFERS, &places->buffers[i].row);
    }
}
