#include "export/stream.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/error.h"

enum { BUFFER = 1 << 16 };

// ---- replacing ----

// Have both files the same bytes? A file that cannot be read has not.
static bool same_bytes(const char * a, const char * b) {
    struct ggs_mapping x, y;
    if (ggs_mapping_open(&x, a, NULL) < 0) return false;
    if (ggs_mapping_open(&y, b, NULL) < 0) {
        ggs_mapping_close(&x);
        return false;
    }
    bool same = x.size == y.size && (x.size == 0 || memcmp(x.data, y.data, x.size) == 0);
    ggs_mapping_close(&x);
    ggs_mapping_close(&y);
    return same;
}

int ggs_file_replace(const char * temporary, const char * path, bool * unchanged, struct ggs_error * error) {
    *unchanged = same_bytes(temporary, path);
    if (*unchanged) {
        unlink(temporary);
        return 0;
    }
    if (rename(temporary, path) != 0) {
        int status = ggs_fail_errno(error, "cannot put %s in its place", path);
        unlink(temporary);
        return status;
    }
    return 0;
}

// ---- the stream ----

static void release(struct ggs_stream * stream) {
    if (stream->gzip != NULL) deflateEnd(stream->gzip);
    free(stream->gzip);
    free(stream->buffer);
    stream->gzip   = NULL;
    stream->buffer = NULL;
}

// A device or a pipe is written to as it stands: a rename would put a file in its place.
static int open_path(struct ggs_stream * stream, const char * path, struct ggs_error * error) {
    struct stat facts;
    if (stat(path, &facts) == 0 && S_ISDIR(facts.st_mode))
        return ggs_fail(error, GGS_USAGE, "%s is a directory, and this export is one file; give another name", path);
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) {
        stream->direct = true;
        stream->file   = fopen(path, "we");
        return stream->file == NULL ? ggs_fail_errno(error, "cannot open %s", path) : 0;
    }
    int status   = ggs_output_open(&stream->output, path, error);
    stream->file = stream->output.file;
    return status;
}

int ggs_stream_open(struct ggs_stream * stream, const char * path, bool gzip, struct ggs_error * error) {
    *stream          = (struct ggs_stream){.standard = strcmp(path, "-") == 0};
    stream->buffer   = malloc(BUFFER);
    stream->gzip     = gzip ? calloc(1, sizeof(z_stream)) : NULL;
    int gzip_failure = Z_OK;
    // 31: the largest window, and a gzip header. The header holds no time, so equal input gives equal bytes.
    if (stream->gzip != NULL) gzip_failure = deflateInit2(stream->gzip, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY);
    if (stream->buffer == NULL || (gzip && stream->gzip == NULL) || gzip_failure != Z_OK) {
        if (gzip_failure != Z_OK) {
            free(stream->gzip);
            stream->gzip = NULL;
        }
        release(stream);
        return ggs_fail_memory(error);
    }
    int status = stream->standard ? 0 : open_path(stream, path, error);
    if (stream->standard) stream->file = stdout;
    if (status < 0) release(stream);
    return status;
}

static void put(struct ggs_stream * stream, const void * data, size_t length) {
    if (!stream->failed && length > 0 && fwrite(data, 1, length, stream->file) != length) stream->failed = true;
}

static void squeeze(struct ggs_stream * stream, const void * data, size_t length, int how) {
    z_stream * z            = stream->gzip;
    uint8_t    out[1 << 14] = {0};
    z->next_in              = (Bytef *) data; // zlib does not write to it
    z->avail_in             = (uInt) length;
    do {
        z->next_out  = out;
        z->avail_out = sizeof(out);
        if (deflate(z, how) == Z_STREAM_ERROR) stream->failed = true;
        put(stream, out, sizeof(out) - z->avail_out);
    } while (!stream->failed && z->avail_out == 0);
}

static void flush(struct ggs_stream * stream, bool last) {
    if (stream->gzip == NULL) {
        put(stream, stream->buffer, stream->used);
    } else {
        squeeze(stream, stream->buffer, stream->used, last ? Z_FINISH : Z_NO_FLUSH);
    }
    stream->used = 0;
}

void ggs_stream_write(struct ggs_stream * stream, const void * data, size_t length) {
    const uint8_t * bytes = data;
    stream->bytes += length;
    while (length > 0) {
        size_t part = BUFFER - stream->used < length ? BUFFER - stream->used : length;
        memcpy(stream->buffer + stream->used, bytes, part);
        stream->used += part;
        bytes += part;
        length -= part;
        if (stream->used == BUFFER) flush(stream, false);
    }
}

void ggs_stream_text(struct ggs_stream * stream, const char * text) {
    ggs_stream_write(stream, text, strlen(text));
}

void ggs_stream_format(struct ggs_stream * stream, const char * format, ...) {
    char    text[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t) length >= sizeof(text)) {
        stream->failed = true; // a programming error: longer texts go through ggs_stream_text
        return;
    }
    ggs_stream_write(stream, text, (size_t) length);
}

int ggs_stream_json(void * context, const char * data, size_t length) {
    struct ggs_stream * stream = context;
    ggs_stream_write(stream, data, length);
    return stream->failed ? -1 : 0;
}

int ggs_stream_commit(struct ggs_stream * stream, struct ggs_error * error) {
    flush(stream, true);
    release(stream);
    if (fflush(stream->file) != 0) stream->failed = true;
    if (stream->standard || stream->direct) {
        if (stream->direct && fclose(stream->file) != 0) stream->failed = true;
        return stream->failed ? ggs_fail_errno(error, "cannot write the export") : 0;
    }
    if (stream->failed || !ggs_output_name(&stream->output) || fclose(stream->file) != 0) {
        int status          = ggs_fail_errno(error, "cannot write %s", stream->output.path);
        stream->output.file = stream->failed ? stream->output.file : NULL;
        ggs_output_discard(&stream->output);
        return status;
    }
    stream->output.file  = NULL;
    int status           = ggs_file_replace(stream->output.temporary, stream->output.path, &stream->unchanged, error);
    stream->output.named = false; // it is gone: nothing is left to remove
    ggs_output_discard(&stream->output);
    return status;
}

void ggs_stream_discard(struct ggs_stream * stream) {
    release(stream);
    if (stream->direct) fclose(stream->file);
    if (!stream->standard && !stream->direct) ggs_output_discard(&stream->output);
}
