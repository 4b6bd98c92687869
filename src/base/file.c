#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

int ggs_mapping_open(struct ggs_mapping * mapping, const char * path, struct ggs_error * error) {
    *mapping = (struct ggs_mapping){0};
    // O_NONBLOCK: a fifo without a writer must not hang us; it is refused below.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return ggs_fail_errno(error, "cannot open %s", path);

    int         result = 0;
    struct stat status;
    if (fstat(fd, &status) != 0) {
        result = ggs_fail_errno(error, "cannot look at %s", path);
    } else if (!S_ISREG(status.st_mode)) {
        result = ggs_fail(error, GGS_USAGE, "%s is %s, not a regular file", path,
                          S_ISDIR(status.st_mode)    ? "a directory"
                          : S_ISFIFO(status.st_mode) ? "a pipe"
                                                     : "a device or socket");
    } else if (status.st_size > 0) {
        void * data = mmap(NULL, (size_t) status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            result = ggs_fail_errno(error, "cannot map %s", path);
        } else {
            mapping->data = data;
            mapping->size = (uint64_t) status.st_size;
        }
    }
    close(fd);
    return result;
}

void ggs_mapping_close(struct ggs_mapping * mapping) {
    if (mapping->data != NULL) munmap((void *) mapping->data, mapping->size);
    *mapping = (struct ggs_mapping){0};
}

int ggs_output_open(struct ggs_output * output, const char * path, struct ggs_error * error) {
    static unsigned counter;
    *output      = (struct ggs_output){0};
    output->path = strdup(path);
    if (output->path == NULL || asprintf(&output->temporary, "%s.tmp-%d-%u", path, (int) getpid(), counter++) < 0) {
        output->temporary = NULL;
        ggs_output_discard(output);
        return ggs_fail_memory(error);
    }
    int fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0) output->file = fdopen(fd, "w");
    if (output->file == NULL) {
        int status = ggs_fail_errno(error, "cannot create %s", path);
        if (fd >= 0) {
            close(fd);
            unlink(output->temporary);
        }
        free(output->temporary);
        output->temporary = NULL;
        ggs_output_discard(output);
        return status;
    }
    return 0;
}

int ggs_output_commit(struct ggs_output * output, struct ggs_error * error) {
    bool failed = ferror(output->file) != 0;
    if (fclose(output->file) != 0) failed = true;
    output->file = NULL;
    int status   = 0;
    if (failed) {
        if (errno == 0) errno = EIO;
        status = ggs_fail_errno(error, "cannot write %s", output->path);
    } else if (rename(output->temporary, output->path) != 0) {
        status = ggs_fail_errno(error, "cannot rename %s to %s", output->temporary, output->path);
    } else {
        free(output->temporary);
        output->temporary = NULL;
    }
    ggs_output_discard(output);
    return status;
}

void ggs_output_discard(struct ggs_output * output) {
    if (output->file != NULL) fclose(output->file);
    if (output->temporary != NULL) unlink(output->temporary);
    free(output->temporary);
    free(output->path);
    *output = (struct ggs_output){0};
}

int ggs_make_directories(const char * path, struct ggs_error * error) {
    char * copy = strdup(path);
    if (copy == NULL) return ggs_fail_memory(error);
    int status = 0;
    for (char * at = copy; status == 0 && *at != '\0';) {
        at += strspn(at, "/");
        at += strcspn(at, "/");
        char rest = *at;
        *at       = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            status = ggs_fail_errno(error, "cannot create the directory %s", copy);
        *at = rest;
    }
    free(copy);
    return status;
}

const char * ggs_file_name(const char * path) {
    const char * slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}
