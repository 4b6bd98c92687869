#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

int ggs_file_open(const char * path) {
    struct stat status;
    int         fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))) return fd;
    close(fd);
    errno = EINVAL;
    return -1;
}

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

// ---- writing ----

// The file without a name: one that is killed leaves nothing behind. Else with the temporary one.
static int open_temporary(struct ggs_output * output) {
    char * folder = strdup(output->path);
    if (folder == NULL) return -1;
    char * slash = strrchr(folder, '/');
    if (slash != NULL) slash[slash == folder] = '\0';
    int fd = open(slash == NULL ? "." : folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    free(folder);
    if (fd >= 0) return fd;
    fd            = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    output->named = fd >= 0;
    return fd;
}

bool ggs_output_name(struct ggs_output * output) {
    char own[64];
    if (output->named) return true;
    snprintf(own, sizeof(own), "/proc/self/fd/%d", fileno(output->file));
    output->named = linkat(AT_FDCWD, own, AT_FDCWD, output->temporary, AT_SYMLINK_FOLLOW) == 0;
    return output->named;
}

int ggs_output_open(struct ggs_output * output, const char * path, struct ggs_error * error) {
    static _Atomic unsigned counter;
    struct stat             info;
    bool                    there = stat(path, &info) == 0, link = lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
    *output = (struct ggs_output){0};
    if (there && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return ggs_fail(error, GGS_USAGE, "cannot create %s: it is a directory", path);
    bool direct  = (link && !there) || (there && !S_ISREG(info.st_mode));
    output->path = link && there ? realpath(path, NULL) : strdup(path);
    if (output->path != NULL && !direct &&
        asprintf(&output->temporary, "%s.tmp-%d-%u", output->path, (int) getpid(), counter++) < 0)
        output->temporary = NULL;
    if (output->path == NULL || (!direct && output->temporary == NULL)) {
        ggs_output_discard(output);
        return ggs_fail_memory(error);
    }
    int fd = direct ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666) : open_temporary(output);
    if (fd >= 0) output->file = fdopen(fd, "w");
    if (output->file != NULL) return 0;
    int status = ggs_fail_errno(error, "cannot create %s", path);
    if (fd >= 0) close(fd);
    ggs_output_discard(output);
    return status;
}

int ggs_output_commit(struct ggs_output * output, struct ggs_error * error) {
    errno       = 0;
    bool failed = fflush(output->file) != 0 || ferror(output->file) != 0;
    if (!failed && output->temporary != NULL) failed = !ggs_output_name(output);
    int reason = errno;
    if (fclose(output->file) != 0 && !failed) failed = true, reason = errno;
    output->file = NULL;
    errno        = reason == 0 ? EIO : reason;
    int status   = 0;
    if (failed) {
        status = ggs_fail_errno(error, "cannot write %s", output->path);
    } else if (output->temporary != NULL && rename(output->temporary, output->path) != 0) {
        status = ggs_fail_errno(error, "cannot rename %s to %s", output->temporary, output->path);
    } else {
        output->named = false;
    }
    ggs_output_discard(output);
    return status;
}

void ggs_output_discard(struct ggs_output * output) {
    if (output->file != NULL) fclose(output->file);
    if (output->named) unlink(output->temporary);
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
