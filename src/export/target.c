#include "export/target.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/error.h"

enum { BUFFER = 1 << 16 };

static void release(struct ggs_target * target) {
    if (target->gzip != NULL) deflateEnd(target->gzip);
    free(target->gzip);
    free(target->buffer);
    target->gzip   = NULL;
    target->buffer = NULL;
}

static int open_file(struct ggs_target * target, const char * path, struct ggs_error * error) {
    struct stat facts;
    if (target->standard) {
        target->file = stdout;
        return 0;
    }
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode))
        return ggs_fail(error, GGS_USAGE, "%s is a directory, and this export is one file; give another name", path);
    int status   = ggs_output_open(&target->output, path, error);
    target->file = target->output.file;
    // The target has a buffer already. Unbuffered, a failure shows at the write that failed, with
    // errno.
    if (status == 0) setvbuf(target->file, NULL, _IONBF, 0);
    return status;
}

int ggs_target_open(struct ggs_target * target, const char * path, bool gzip, struct ggs_error * error) {
    *target          = (struct ggs_target){.standard = strcmp(path, "-") == 0};
    target->buffer   = malloc(BUFFER);
    target->gzip     = gzip ? calloc(1, sizeof(z_stream)) : NULL;
    int gzip_failure = Z_OK;
    // 31: the largest window, and a gzip header. The header has no time stamp, so equal input gives
    // equal bytes.
    if (target->gzip != NULL) gzip_failure = deflateInit2(target->gzip, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
    if (gzip_failure != Z_OK) {
        free(target->gzip);
        target->gzip = NULL;
    }
    int status = target->buffer == NULL || (gzip && target->gzip == NULL) ? ggs_fail_memory(error)
                                                                          : open_file(target, path, error);
    if (status < 0) release(target);
    return status;
}

static void fail(struct ggs_target * target, int reason) {
    if (target->failed == 0) target->failed = reason != 0 ? reason : EIO;
}

static void put(struct ggs_target * target, const void * data, size_t length) {
    if (target->failed != 0 || length == 0) return;
    errno = 0;
    if (fwrite(data, 1, length, target->file) != length) fail(target, errno);
}

static void compress_part(struct ggs_target * target, const void * data, size_t length, int how) {
    z_stream * z            = target->gzip;
    uint8_t    out[1 << 14] = {0};
    z->next_in              = (Bytef *) data; // zlib does not write to it
    z->avail_in             = (uInt) length;
    do {
        z->next_out  = out;
        z->avail_out = sizeof(out);
        if (deflate(z, how) == Z_STREAM_ERROR) fail(target, EIO);
        put(target, out, sizeof(out) - z->avail_out);
    } while (target->failed == 0 && z->avail_out == 0);
}

static void flush(struct ggs_target * target, bool last) {
    if (target->gzip == NULL) {
        put(target, target->buffer, target->used);
    } else {
        compress_part(target, target->buffer, target->used, last ? Z_FINISH : Z_NO_FLUSH);
    }
    target->used = 0;
}

void ggs_target_write(struct ggs_target * target, const void * data, size_t length) {
    const uint8_t * bytes = data;
    target->bytes += length;
    while (length > 0) {
        size_t part = BUFFER - target->used < length ? BUFFER - target->used : length;
        memcpy(target->buffer + target->used, bytes, part);
        target->used += part;
        bytes += part;
        length -= part;
        if (target->used == BUFFER) flush(target, false);
    }
}

void ggs_target_text(struct ggs_target * target, const char * text) {
    ggs_target_write(target, text, strlen(text));
}

void ggs_target_format(struct ggs_target * target, const char * format, ...) {
    char    text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t) length >= sizeof(text)) {
        fail(target, EOVERFLOW); // a programming error: longer texts must use ggs_target_text
        return;
    }
    ggs_target_write(target, text, (size_t) length);
}

int ggs_target_json(void * context, const char * data, size_t length) {
    struct ggs_target * target = context;
    ggs_target_write(target, data, length);
    return target->failed != 0 ? -1 : 0;
}

int ggs_target_result(const struct ggs_target * target, struct ggs_error * error) {
    if (target->failed == 0) return 0;
    errno = target->failed;
    return ggs_fail_errno(error, "cannot write %s", target->standard ? "the export" : target->output.path);
}

int ggs_target_commit(struct ggs_target * target, struct ggs_error * error) {
    flush(target, true);
    errno = 0;
    if (target->failed == 0 && fflush(target->file) != 0) fail(target, errno);
    int status = ggs_target_result(target, error);
    if (status < 0) {
        ggs_target_discard(target);
        return status;
    }
    release(target);
    return target->standard ? 0 : ggs_output_commit_changed(&target->output, &target->unchanged, error);
}

void ggs_target_discard(struct ggs_target * target) {
    release(target);
    if (!target->standard) ggs_output_discard(&target->output);
}
