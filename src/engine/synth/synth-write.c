#include "engine/synth/synth-write.h"

#include "base/error.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/system/interrupt.h"
#include "base/system/progress.h"
#include "engine/synth/synth-metadata.h"
#include "engine/synth/synth-plan.h"
#include "engine/synth/synth-weights.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 20 };

// One output file: the tensors [first, end) of the plan.
struct part {
    size_t            first, end;
    struct ggs_text   head; // everything ahead of the tensor data
    uint64_t          size; // of the whole file
    struct ggs_output output;
    bool              open, committed;
    char *            path;
};

struct writer {
    const struct ggs_synth_job * job;
    struct part *                parts;
    uint32_t                     count;
    struct ggs_synth_weights     weights;
    struct ggs_progress          progress;
    uint64_t                     written;
    uint8_t *                    piece;
    struct ggs_interrupt         interrupt;
};

char * ggs_synth_path(const struct ggs_synth_job * job, uint32_t number) {
    static const char suffix[] = ".gguf";
    size_t            length = strlen(job->path), tail = sizeof suffix - 1;
    char *            path = NULL;
    if (job->splits == 0) return strdup(job->path);
    if (length > tail && strcmp(job->path + length - tail, suffix) == 0) length -= tail;
    if (asprintf(&path, "%.*s-%05u-of-%05u.gguf", (int) length, job->path, number + 1, job->splits) < 0) return NULL;
    return path;
}

static uint64_t padding(uint64_t size) {
    return (GGS_SYNTH_ALIGNMENT - size % GGS_SYNTH_ALIGNMENT) % GGS_SYNTH_ALIGNMENT;
}

static uint64_t padded(uint64_t size) {
    return size + padding(size);
}

// Walks the plan and begins a new file whenever one has `minimum` bytes; the last file takes the
// rest. Returns the number of files that reach the minimum; records the cuts if `parts` is not
// NULL.
static size_t cut(const struct ggs_synth_plan * plan, uint64_t minimum, size_t count, struct part * parts) {
    size_t   full = 0, first = 0;
    uint64_t size = 0;
    for (size_t i = 0; i < plan->count; i++) {
        size += plan->tensors[i].size;
        if (size < minimum) continue;
        if (parts != NULL && full < count) {
            parts[full].first = first;
            parts[full].end   = full + 1 < count ? i + 1 : plan->count;
        }
        full++;
        first = i + 1;
        size  = 0;
    }
    return full;
}

// Keeps the tensors in order and maximises the size of the smallest file.
static void divide(const struct ggs_synth_plan * plan, struct part * parts, size_t count) {
    uint64_t low = 1, high = UINT64_MAX; // with a minimum of 1 each tensor is a file: always enough
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if (cut(plan, middle, count, NULL) >= count) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    cut(plan, low, count, parts);
}

static void put_split(struct ggs_synth_metadata * metadata, const struct ggs_synth_job * job, uint32_t number) {
    if (job->splits == 0) return;
    ggs_synth_metadata_u16(metadata, "split.no", (uint16_t) number);
    ggs_synth_metadata_u16(metadata, "split.count", (uint16_t) job->splits);
    ggs_synth_metadata_i32(metadata, "split.tensors.count", (int32_t) job->plan->count);
}

// Header, key-values (the model's in the first file only) and tensor infos.
static int build_head(struct part * part, const struct ggs_synth_job * job, uint32_t number, struct ggs_error * error) {
    struct ggs_synth_metadata extra = {0};
    struct ggs_text *         head  = &part->head;
    uint64_t                  data  = 0;

    put_split(&extra, job, number);
    ggs_text_append(head, "GGUF", 4);
    ggs_synth_put_u32(head, 3);
    ggs_synth_put_u64(head, part->end - part->first);
    ggs_synth_put_u64(head, extra.count + (number == 0 ? job->metadata->count : 0));
    if (number == 0) ggs_text_append(head, job->metadata->bytes.data, job->metadata->bytes.length);
    if (extra.count > 0) ggs_text_append(head, extra.bytes.data, extra.bytes.length);
    for (size_t i = part->first; i < part->end; i++) {
        const struct ggs_synth_tensor * tensor = &job->plan->tensors[i];
        ggs_synth_put_string(head, tensor->name);
        ggs_synth_put_u32(head, tensor->dimensions);
        for (unsigned d = 0; d < tensor->dimensions; d++) ggs_synth_put_u64(head, tensor->shape[d]);
        ggs_synth_put_u32(head, (uint32_t) tensor->type);
        ggs_synth_put_u64(head, data);
        data += padded(tensor->size);
    }
    ggs_text_append(head, (char[GGS_SYNTH_ALIGNMENT]){0}, padding(head->length));
    part->size  = head->length + data;
    bool failed = head->failed || extra.bytes.failed;
    ggs_synth_metadata_release(&extra);
    return failed ? ggs_fail_memory(error) : 0;
}

static int check_target(const char * path, bool force, struct ggs_error * error) {
    struct stat status;
    if (stat(path, &status) != 0) return 0;
    if (!S_ISREG(status.st_mode))
        return ggs_fail(error, GGS_IO, "%s is not a regular file, so no model can take its place", path);
    if (!force) return ggs_fail(error, GGS_IO, "%s exists already; use --force to replace it", path);
    return 0;
}

static int prepare(struct writer * writer, struct ggs_error * error) {
    const struct ggs_synth_job * job = writer->job;

    writer->count = job->splits > 0 ? job->splits : 1;
    if (writer->count > job->plan->count) {
        return ggs_fail(error, GGS_USAGE, "%zu tensors cannot be divided among %u files: lower --split",
                        job->plan->count, writer->count);
    }
    writer->parts = calloc(writer->count, sizeof *writer->parts);
    writer->piece = malloc(PIECE);
    if (writer->parts == NULL || writer->piece == NULL) return ggs_fail_memory(error);
    divide(job->plan, writer->parts, writer->count);
    for (uint32_t i = 0; i < writer->count; i++) {
        struct part * part = &writer->parts[i];

        part->path = ggs_synth_path(job, i);
        if (part->path == NULL) return ggs_fail_memory(error);
        int result = check_target(part->path, job->force, error);
        if (result == 0) result = build_head(part, job, i, error);
        if (result < 0) return result;
    }
    return 0;
}

// Reserving the space detects a full disk early and limits fragmentation.
static int open_part(struct part * part, struct ggs_error * error) {
    char size[GGS_NUMBER_LENGTH];
    int  status = ggs_output_open(&part->output, part->path, error);
    if (status < 0) return status;
    part->open = true;
    if (fallocate(fileno(part->output.file), 0, 0, (off_t) part->size) != 0 &&
        (errno == ENOSPC || errno == EFBIG || errno == EDQUOT)) {
        return ggs_fail_errno(error, "cannot write the %s of %s", ggs_format_bytes(size, part->size), part->path);
    }
    return 0;
}

static int put(struct writer * writer, struct part * part, const void * data, size_t size, struct ggs_error * error) {
    if (ggs_interrupt_has_come(&writer->interrupt))
        return ggs_fail(error, GGS_IO, "%s: interrupted, nothing was written", part->path);
    if (size > 0 && fwrite(data, 1, size, part->output.file) != size)
        return ggs_fail_errno(error, "cannot write %s", part->path);
    writer->written += size;
    ggs_progress_update(&writer->progress, writer->written);
    return 0;
}

static int put_tensor(struct writer * writer, struct part * part, const struct ggs_synth_tensor * tensor,
                      struct ggs_error * error) {
    struct ggs_synth_stream stream;
    size_t                  length;
    int                     status = ggs_synth_stream_open(&stream, &writer->weights, tensor, error);
    while (status == 0 && (length = ggs_synth_stream_read(&stream, writer->piece, PIECE)) > 0) {
        status = put(writer, part, writer->piece, length, error);
    }
    if (status < 0) return status;
    return put(writer, part, (char[GGS_SYNTH_ALIGNMENT]){0}, padding(tensor->size), error);
}

static int put_part(struct writer * writer, struct part * part, struct ggs_error * error) {
    int status = open_part(part, error);
    if (status == 0) status = put(writer, part, part->head.data, part->head.length, error);
    for (size_t i = part->first; i < part->end && status == 0; i++) {
        status = put_tensor(writer, part, &writer->job->plan->tensors[i], error);
    }
    if (status == 0 && fflush(part->output.file) != 0) status = ggs_fail_errno(error, "cannot write %s", part->path);
    return status;
}

static int commit(struct writer * writer, struct ggs_error * error) {
    for (uint32_t i = 0; i < writer->count; i++) {
        struct part * part = &writer->parts[i];

        part->open = false;
        int status = ggs_output_commit(&part->output, error);
        if (status < 0) return status;
        part->committed = true;
    }
    return 0;
}

// After a failure nothing stays: neither temporary files nor some parts of a split.
static void discard(struct writer * writer) {
    for (uint32_t i = 0; i < writer->count; i++) {
        struct part * part = &writer->parts[i];
        if (part->open) ggs_output_discard(&part->output);
        if (part->committed) unlink(part->path);
    }
}

static void release(struct writer * writer) {
    for (uint32_t i = 0; i < writer->count && writer->parts != NULL; i++) {
        ggs_text_release(&writer->parts[i].head);
        free(writer->parts[i].path);
    }
    free(writer->parts);
    free(writer->piece);
    ggs_synth_weights_release(&writer->weights);
}

static int write_parts(struct writer * writer, struct ggs_error * error) {
    uint64_t total  = 0;
    int      status = 0;
    // A file size limit (ulimit -f) must fail the write, not kill the program.
    void (*limit)(int) = signal(SIGXFSZ, SIG_IGN);

    ggs_interrupt_hold(&writer->interrupt);
    for (uint32_t i = 0; i < writer->count; i++) total += writer->parts[i].size;
    ggs_progress_start(&writer->progress, "writing", total);
    for (uint32_t i = 0; i < writer->count && status == 0; i++) status = put_part(writer, &writer->parts[i], error);
    if (status == 0) status = commit(writer, error);
    if (status < 0) discard(writer);
    ggs_progress_finish(&writer->progress);
    ggs_interrupt_release(&writer->interrupt);
    signal(SIGXFSZ, limit);
    return status;
}

int ggs_synth_write(const struct ggs_synth_job * job, uint64_t * size, struct ggs_error * error) {
    struct writer writer = {.job = job};
    ggs_synth_weights_init(&writer.weights, job->seed);
    int status = prepare(&writer, error);
    if (status == 0) status = write_parts(&writer, error);
    *size = writer.written;
    release(&writer);
    return status;
}
