#include "base/system/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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

int ggs_file_flush(FILE * file) {
    bool earlier = ferror(file) != 0;
    clearerr(file);
    if (earlier) fputc('\0', file); // repeats the earlier failure, which sets errno
    errno = 0;
    if (fflush(file) == 0 && !earlier) return 0;
    int reason = errno != 0 ? errno : EIO;
    __fpurge(file);
    clearerr(file);
    errno = reason;
    return -1;
}

// ---- atomic output files ----

// Returns the directory of a path with its slash; "./" if it has none. The caller frees it.
static char * directory_of(const char * path) {
    const char * slash = strrchr(path, '/');
    return slash == NULL ? strdup("./") : strndup(path, (size_t) (slash - path) + 1);
}

// Follows symbolic links, so that they stay links.
static int begin(struct ggs_output * output, const char * path, bool * exists, struct stat * facts,
                 struct ggs_error * error) {
    *output      = (struct ggs_output){0};
    *exists      = stat(path, facts) == 0;
    output->path = *exists ? realpath(path, NULL) : strdup(path);
    if (output->path != NULL) return 0;
    return ggs_fail_errno(error, "cannot read the attributes of %s", path);
}

// Sets `temporary` to "PATH.tmp-PID-N".
static int make_name(struct ggs_output * output) {
    static unsigned counter;
    if (asprintf(&output->temporary, "%s.tmp-%d-%u", output->path, (int) getpid(), counter++) >= 0) return 0;
    output->temporary = NULL;
    errno             = ENOMEM;
    return -1;
}

static int open_temporary(struct ggs_output * output) {
    ggs_output_sweep(output->path);
    if (make_name(output) != 0) return -1;
    int fd = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        free(output->temporary); // another process has this name
        output->temporary = NULL;
    }
    return fd;
}

// Opens a file without a name; commit links it through /proc. -1 if the system cannot do this.
static int open_unnamed(const struct ggs_output * output) {
    char * directory = directory_of(output->path);
    int    fd        = -1;
    if (directory != NULL && access("/proc/self/fd", X_OK) == 0)
        fd = open(directory, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
    free(directory);
    return fd;
}

// Locks the file, so that ggs_output_sweep sees that its writer lives.
static int finish_open(struct ggs_output * output, int fd, struct ggs_error * error) {
    if (fd >= 0 && !output->direct) flock(fd, LOCK_EX | LOCK_NB);
    if (fd >= 0) output->file = fdopen(fd, "w");
    if (output->file != NULL) return 0;
    int status = ggs_fail_errno(error, "cannot create %s", output->path);
    if (fd >= 0) close(fd);
    ggs_output_discard(output);
    return status;
}

int ggs_output_open(struct ggs_output * output, const char * path, struct ggs_error * error) {
    bool        exists;
    struct stat facts;
    int         status = begin(output, path, &exists, &facts, error);
    if (status < 0) return status;
    bool dangling  = !exists && lstat(path, &facts) == 0; // a link to nothing: written through, so that it stays
    output->direct = dangling || (exists && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode));
    int fd = output->direct ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666) : open_unnamed(output);
    if (fd < 0 && !output->direct) fd = open_temporary(output);
    return finish_open(output, fd, error);
}

int ggs_output_open_named(struct ggs_output * output, const char * path, struct ggs_error * error) {
    bool        exists;
    struct stat facts;
    int         status = begin(output, path, &exists, &facts, error);
    if (status < 0) return status;
    if (!exists || S_ISREG(facts.st_mode)) return finish_open(output, open_temporary(output), error);
    ggs_output_discard(output);
    return ggs_fail(error, GGS_USAGE, "%s is not a regular file; give another name", path);
}

// True if both files are readable and have the same bytes.
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

// Links a file without a name to its path, or to a temporary name if the path is taken.
static int name_file(struct ggs_output * output, const char * unnamed) {
    if (linkat(AT_FDCWD, unnamed, AT_FDCWD, output->path, AT_SYMLINK_FOLLOW) == 0) return 0;
    if (errno != EEXIST || make_name(output) != 0) return -1;
    return linkat(AT_FDCWD, unnamed, AT_FDCWD, output->temporary, AT_SYMLINK_FOLLOW);
}

static int put_in_place(struct ggs_output * output, bool * unchanged, struct ggs_error * error) {
    char unnamed[40];
    snprintf(unnamed, sizeof(unnamed), "/proc/self/fd/%d", fileno(output->file));
    if (unchanged != NULL) {
        *unchanged = same_bytes(output->temporary != NULL ? output->temporary : unnamed, output->path);
        if (*unchanged) return 0;
    }
    if (output->temporary == NULL && name_file(output, unnamed) != 0)
        return ggs_fail_errno(error, "cannot create %s", output->path);
    if (output->temporary == NULL) return 0;
    if (rename(output->temporary, output->path) != 0)
        return ggs_fail_errno(error, "cannot rename %s to %s", output->temporary, output->path);
    free(output->temporary);
    output->temporary = NULL;
    return 0;
}

int ggs_output_commit_changed(struct ggs_output * output, bool * unchanged, struct ggs_error * error) {
    int status = ggs_file_flush(output->file) != 0 ? ggs_fail_errno(error, "cannot write %s", output->path) : 0;
    if (unchanged != NULL) *unchanged = false;
    if (status == 0 && !output->direct) status = put_in_place(output, unchanged, error);
    FILE * file  = output->file;
    output->file = NULL;
    if (fclose(file) != 0 && status == 0 && output->direct)
        status = ggs_fail_errno(error, "cannot write %s", output->path);
    ggs_output_discard(output);
    return status;
}

int ggs_output_commit(struct ggs_output * output, struct ggs_error * error) {
    return ggs_output_commit_changed(output, NULL, error);
}

void ggs_output_discard(struct ggs_output * output) {
    if (output->temporary != NULL) unlink(output->temporary);
    if (output->file != NULL) fclose(output->file);
    free(output->temporary);
    free(output->path);
    *output = (struct ggs_output){0};
}

// True if a name ends in ".tmp-PID-N".
static bool is_temporary(const char * name) {
    const char * at = strstr(name, ".tmp-");
    for (const char * next; at != NULL && (next = strstr(at + 1, ".tmp-")) != NULL;) at = next;
    if (at == NULL) return false;
    at += 5;
    size_t pid = strspn(at, "0123456789");
    if (pid == 0 || at[pid] != '-') return false;
    at += pid + 1;
    return *at != '\0' && at[strspn(at, "0123456789")] == '\0';
}

void ggs_output_sweep(const char * prefix) {
    char *       directory = directory_of(prefix);
    const char * slash     = strrchr(prefix, '/');
    const char * base      = slash == NULL ? prefix : slash + 1;
    DIR *        folder    = directory == NULL ? NULL : opendir(directory);
    for (struct dirent * entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, base, strlen(base)) != 0 || !is_temporary(entry->d_name)) continue;
        int         fd = openat(dirfd(folder), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        struct stat facts;
        // A living writer holds a lock on its file.
        if (fd >= 0 && fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
        if (fd >= 0) close(fd);
    }
    if (folder != NULL) closedir(folder);
    free(directory);
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
