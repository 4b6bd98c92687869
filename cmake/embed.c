// Turns the page's files into C: embed OUT.c FOLDER. Files are compressed with gzip and served in
// that form.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zlib.h>

enum { FILES_MOST = 64 };

static const char * type_of(const char * name) {
    static const char * const types[][2] = {{".html", "text/html; charset=utf-8"},
                                            {".js", "text/javascript; charset=utf-8"},
                                            {".css", "text/css; charset=utf-8"},
                                            {".svg", "image/svg+xml"},
                                            {".png", "image/png"},
                                            {".ico", "image/x-icon"},
                                            {".json", "application/json"},
                                            {".woff2", "font/woff2"}};
    const char *              dot        = strrchr(name, '.');
    for (size_t i = 0; dot != NULL && i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(dot, types[i][0]) == 0) return types[i][1];
    }
    return NULL;
}

static int by_name(const void * a, const void * b) {
    return strcmp(*(char * const *) a, *(char * const *) b);
}

static unsigned char * read_file(const char * folder, const char * name, size_t * size) {
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE * file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) return NULL;
    long length = ftell(file);
    rewind(file);
    unsigned char * data = length < 0 ? NULL : malloc((size_t) length + 1);
    if (data != NULL && fread(data, 1, (size_t) length, file) != (size_t) length) return NULL;
    fclose(file);
    *size = (size_t) length;
    return data;
}

static int write_file(FILE * out, const char * folder, const char * name, unsigned number, char etag[32]) {
    z_stream        stream = {0};
    size_t          size;
    unsigned char * data = read_file(folder, name, &size);
    if (data == NULL || deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK) return -1;
    size_t          bound  = deflateBound(&stream, size) + 64;
    unsigned char * packed = malloc(bound);
    if (packed == NULL) return -1;
    stream.next_in = data, stream.avail_in = (uInt) size;
    stream.next_out = packed, stream.avail_out = (uInt) bound;
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END) return -1;
    fprintf(out, "static const unsigned char data_%u[] = {", number);
    for (size_t i = 0; i < stream.total_out; i++) fprintf(out, "%s%u,", i % 32 == 0 ? "\n" : "", packed[i]);
    fprintf(out, "};\n");
    snprintf(etag, 32, "%016llx", (unsigned long long) XXH3_64bits(data, size));
    deflateEnd(&stream);
    free(packed);
    free(data);
    return 0;
}

int main(int argc, char ** argv) {
    char *   names[FILES_MOST], etags[FILES_MOST][32];
    unsigned n = 0;
    if (argc != 3) return 2;
    DIR *  folder = opendir(argv[2]);
    FILE * out    = fopen(argv[1], "w");
    if (folder == NULL || out == NULL) {
        fprintf(stderr, "embed: cannot read %s or write %s\n", argv[2], argv[1]);
        return 1;
    }
    for (struct dirent * entry; (entry = readdir(folder)) != NULL && n < FILES_MOST;) {
        if (type_of(entry->d_name) != NULL) names[n++] = strdup(entry->d_name);
    }
    qsort(names, n, sizeof(names[0]), by_name);
    fputs("#include \"serve/assets.h\"\n", out);
    for (unsigned i = 0; i < n; i++) {
        if (write_file(out, argv[2], names[i], i, etags[i]) == 0) continue;
        fprintf(stderr, "embed: cannot pack %s/%s\n", argv[2], names[i]);
        return 1;
    }
    fputs("const struct ggs_asset ggs_assets[] = {\n", out);
    for (unsigned i = 0; i < n; i++)
        fprintf(out, "{\"/%s\", \"%s\", \"\\\"%s\\\"\", data_%u, sizeof(data_%u)},\n", names[i], type_of(names[i]),
                etags[i], i, i);
    fprintf(out, "{0}};\nconst size_t ggs_n_assets = %u;\n", n);
    return fclose(out) == 0 ? 0 : 1;
}
