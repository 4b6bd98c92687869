// Calls the functions of libc that the capture library stands in for, in good and in bad ways, and
// prints what each did: errno, result, a checksum of what came. With and without the library it
// must print the same.
//     libc-calls FILE LIBRARY     LIBRARY: libggml-base.so, by which FILE is opened as a model first, so that calls are timed
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static uint8_t buffer[1 << 20];

static void tell(const char * what, long result) {
    int      reason = errno;
    uint32_t sum    = 0;
    for (size_t i = 0; i < sizeof(buffer); i++) sum = sum * 31 + buffer[i];
    printf("%s %ld %d %08x\n", what, result, reason, sum);
    memset(buffer, 0, sizeof(buffer));
    errno = 77;
}

static void plain_reads(const char * path) {
    int fd = open(path, O_RDONLY), ends[2];
    tell("read", read(fd, buffer, 1000));
    tell("read more", read(fd, buffer, sizeof(buffer)));
    tell("read nothing", read(fd, buffer, 0));
    tell("pread", pread(fd, buffer, 4096, 12345));
    tell("pread64", pread64(fd, buffer, 4096, 54321));
    tell("pread before the begin", pread(fd, buffer, 10, -1));
    tell("where", lseek(fd, 0, SEEK_CUR));
    lseek(fd, -5, SEEK_END);
    tell("short", read(fd, buffer, 100));
    tell("at the end", read(fd, buffer, 100));
    tell("bad address", read(fd, (void *) 8, 100));
    close(fd);
    tell("closed", read(fd, buffer, 100));
    tell("closed pread", pread(fd, buffer, 100, 0));
    if (pipe(ends) != 0) exit(1);
    if (write(ends[1], "abc", 3) != 3) exit(1);
    tell("pipe", read(ends[0], buffer, 100));
    tell("pipe pread", pread(ends[0], buffer, 100, 0));
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    tell("empty pipe", read(ends[0], buffer, 100));
}

static void streams(const char * path) {
    FILE * file = fopen(path, "r");
    tell("fread", (long) fread(buffer, 3, 1000, file));
    tell("fread nothing", (long) fread(buffer, 0, 10, file));
    ungetc(getc(file), file);
    tell("fread after ungetc", (long) fread(buffer, 1, 10, file));
    fseek(file, -7, SEEK_END);
    tell("fread at the end", (long) fread(buffer, 4, 10, file));
    tell("end of file", feof(file));
    tell("again", (long) fread(buffer, 1, 10, file));
    fclose(file);
    file = fopen("/dev/null", "w");
    tell("fread of a stream to write", (long) fread(buffer, 1, 10, file));
    fclose(file);
    file = popen("printf 'from a pipe'", "r");
    tell("popen", (long) fread(buffer, 1, 100, file));
    pclose(file);
}

static void mappings(const char * path) {
    int       fd   = open(path, O_RDONLY);
    uint8_t * data = mmap(NULL, 65536, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 4096);
    memcpy(buffer, data, 65536);
    tell("mmap", data != MAP_FAILED);
    tell("madvise", madvise(data, 65536, MADV_WILLNEED));
    tell("posix_madvise", posix_madvise(data, 65536, POSIX_MADV_WILLNEED));
    tell("posix_madvise of nothing", posix_madvise(data + 1, 65536, POSIX_MADV_WILLNEED));
    tell("madvise with bad advice", madvise(data, 65536, 4711));
    tell("mlock", mlock(data, 4096));
    tell("mlock of nothing", mlock((void *) (64ul << 40), 4096));
    tell("mmap at a bad offset", mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 100) == MAP_FAILED);
    tell("mmap of nothing", mmap(NULL, 0, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED);
    tell("mmap of no file", mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_POPULATE, 4711, 0) == MAP_FAILED);
    data = mmap64(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 8192);
    memcpy(buffer, data, 4096);
    tell("mmap64", data != MAP_FAILED);
}

struct gguf_params {
    bool   no_alloc;
    void * context;
};

// Found like in any program: the capture library's function, if that is loaded.
static void open_model(const char * path, const char * library) {
    void * (*init)(const char *, struct gguf_params) = NULL;
    if (dlopen(library, RTLD_NOW | RTLD_GLOBAL) != NULL) init = dlsym(RTLD_DEFAULT, "gguf_init_from_file");
    if (init == NULL || init(path, (struct gguf_params){true, NULL}) == NULL) exit(1);
}

int main(int argc, char ** argv) {
    if (argc != 3) return 2;
    open_model(argv[1], argv[2]);
    errno = 77;
    plain_reads(argv[1]);
    streams(argv[1]);
    mappings(argv[1]);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        plain_reads(argv[1]);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    return 0;
}
