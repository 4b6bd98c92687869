#include <stdlib.h>
#include <zlib.h>

#include "serve/reply.h"

enum { LEAST = 1024, MOST = 32 << 20, LEVEL = 1, GZIP = 16 };

bool ggs_deflate(struct ggs_text * text) {
    z_stream stream = {0};
    if (text->length < LEAST || text->length > MOST) return false;
    if (deflateInit2(&stream, LEVEL, Z_DEFLATED, MAX_WBITS + GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK) return false;
    size_t bound     = deflateBound(&stream, (uLong) text->length);
    char * packed    = malloc(bound);
    stream.next_in   = (Bytef *) text->data;
    stream.avail_in  = (uInt) text->length;
    stream.next_out  = (Bytef *) packed;
    stream.avail_out = (uInt) bound;
    bool done        = packed != NULL && deflate(&stream, Z_FINISH) == Z_STREAM_END && stream.total_out < text->length;
    if (done) {
        ggs_text_release(text);
        ggs_text_append(text, packed, stream.total_out);
    }
    deflateEnd(&stream);
    free(packed);
    return done;
}

void ggs_reply_compress(struct ggs_reply * reply) {
    if (!reply->gzip) reply->gzip = ggs_deflate(&reply->body);
}

bool ggs_inflate(const void * packed, size_t size, struct ggs_text * out) {
    z_stream stream = {0};
    char     piece[16384];
    int      state = Z_OK;
    if (inflateInit2(&stream, MAX_WBITS + GZIP) != Z_OK) return false;
    stream.next_in  = (Bytef *) (uintptr_t) packed;
    stream.avail_in = (uInt) size;
    while (state == Z_OK && !out->failed) {
        stream.next_out  = (Bytef *) piece;
        stream.avail_out = sizeof(piece);
        state            = inflate(&stream, Z_NO_FLUSH);
        ggs_text_append(out, piece, sizeof(piece) - stream.avail_out);
    }
    inflateEnd(&stream);
    return state == Z_STREAM_END && !out->failed;
}
