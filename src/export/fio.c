// The reads of mapped files as an fio iolog, version 3, which fio can replay on any disk.
//
//     timestamp filename action [offset length]     timestamps in microseconds since the first read
//
// Consecutive ranges of one op are one read. Long reads are split, because fio allocates a buffer
// of the largest.
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "export/export.h"
#include "export/formats.h"

enum { LONGEST_READ = 1 << 20, LONGEST_NAME = 255 };

struct fio {
    struct ggs_export * export;
    struct ggs_target target;
    uint8_t *         opened; // by file - 1
    int64_t           begin_ns, last_us;
    bool              any;
};

// fio splits words at blanks and has no quoting.
static int check_name(const char * path, struct ggs_error * error) {
    size_t length = strlen(path);
    for (size_t i = 0; i < length; i++) {
        if (isspace((unsigned char) path[i]))
            return ggs_fail(error, GGS_UNSUPPORTED,
                            "fio cannot replay '%s': there is a blank in its name; record with a hard link to it (ln)",
                            path);
    }
    if (length == 0 || length > LONGEST_NAME)
        return ggs_fail(error, GGS_UNSUPPORTED,
                        "fio cannot replay '%s': names of more than %d bytes are too long for it", path, LONGEST_NAME);
    return 0;
}

static const char * path_of(const struct fio * f, uint64_t file) {
    return ggs_reader_string(f->export->trace.reader, f->export->trace.files[file - 1].path);
}

static int open_file(struct fio * f, uint64_t file, struct ggs_error * error) {
    const char * path = path_of(f, file);
    if (f->opened[file - 1]) return 0;
    int status = check_name(path, error);
    if (status < 0) return status;
    f->opened[file - 1] = 1;
    ggs_target_format(&f->target, "%" PRId64 " %s add\n%" PRId64 " %s open\n", f->last_us, path, f->last_us, path);
    return 0;
}

static int put_reads(struct fio * f, const struct ggs_walk * walk, const struct ggs_access * access,
                     struct ggs_error * error) {
    const struct ggs_tensor * t = access->tensor;
    if (access->write || t->source != GGS_SOURCE_DISK || t->file == 0 || t->file > f->export->trace.n_files) return 0;
    if (access->n_ranges == 0) return 0;
    if (!f->any) f->begin_ns = walk->op.begin_ns;
    f->any     = true;
    int64_t us = (walk->op.begin_ns - f->begin_ns) / 1000;
    if (us > f->last_us) f->last_us = us; // times never decrease, even if contexts run concurrently
    int status = open_file(f, t->file, error);
    for (uint32_t i = 0; status == 0 && i < access->n_ranges; i++) {
        uint64_t at = t->file_offset + access->ranges[i].offset, left = access->ranges[i].length;
        while (left > 0) {
            uint64_t part = left < LONGEST_READ ? left : LONGEST_READ;
            ggs_target_format(&f->target, "%" PRId64 " %s read %" PRIu64 " %" PRIu64 "\n", f->last_us,
                              path_of(f, t->file), at, part);
            at += part;
            left -= part;
        }
    }
    return status;
}

static int put_run(struct fio * f, struct ggs_walk * walk, struct ggs_error * error) {
    int status = 0;
    while (status == 0 && ggs_walk_op(walk)) {
        const struct ggs_access_list * list;
        status = ggs_walk_accesses(walk, &list, error);
        for (unsigned i = 0; status == 0 && i < list->n; i++) status = put_reads(f, walk, &list->access[i], error);
    }
    return status;
}

int ggs_export_fio(struct ggs_export * export, struct ggs_error * error) {
    struct fio        f    = {.export = export};
    struct ggs_walk * walk = NULL;
    f.opened               = calloc(export->trace.n_files + 1, 1);
    if (f.opened == NULL) return ggs_fail_memory(error);
    int status = ggs_export_open(export, &f.target, NULL, error);
    if (status < 0) {
        free(f.opened);
        return status;
    }
    ggs_target_text(&f.target, "fio version 3 iolog\n");
    status = ggs_export_walk(export, &walk, error);
    while (walk != NULL && status >= 0 && (status = ggs_walk_run(walk, error)) > 0) {
        status = put_run(&f, walk, error);
        if (status >= 0) ggs_export_step(export);
    }
    for (uint64_t i = 0; i < export->trace.n_files; i++) {
        if (f.opened[i]) ggs_target_format(&f.target, "%" PRId64 " %s close\n", f.last_us, path_of(&f, i + 1));
    }
    if (status == 0 && !f.any)
        status = ggs_fail(
            error, GGS_ABSENT,
            "no op of this recording read a mapped file, so there is nothing to replay; weights that the engine "
            "copies at load are not read from the file again");
    ggs_walk_close(walk);
    free(f.opened);
    return ggs_export_close(export, &f.target, status, error);
}
