#undef _FORTIFY_SOURCE

#include "base/system/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool ggs_cache_path(const char * kind, const char * identity, char path[PATH_MAX]) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    bool        own  = cache != NULL && cache[0] == '/';
    uint64_t    hash = 0xcbf29ce484222325u;
    if (!own && (home == NULL || home[0] != '/')) return false;
    for (const char * at = identity; *at != '\0'; at++) hash = (hash ^ (unsigned char) *at) * 0x100000001b3u;
    return snprintf(path, PATH_MAX, "%s%s/ggscope/%s-%016llx.json", own ? cache : home, own ? "" : "/.cache", kind,
                    (unsigned long long) hash) < PATH_MAX;
}

void ggs_cache_remove(const char * kind) {
    char path[PATH_MAX];
    if (!ggs_cache_path(kind, "", path)) return;
    *strrchr(path, '/') = '\0';
    DIR *  folder       = opendir(path);
    size_t length       = strlen(kind);
    for (struct dirent * entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, kind, length) == 0 && entry->d_name[length] == '-')
            unlinkat(dirfd(folder), entry->d_name, 0);
    }
    if (folder != NULL) closedir(folder);
}

bool ggs_cache_read(const char * path, char * text, size_t size) {
    int         fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a FIFO must not block
    struct stat status;
    size_t      length = 0;
    bool        ok     = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size < (off_t) size;
    while (ok) {
        ssize_t n = read(fd, text + length, size - 1 - length);
        ok        = n >= 0;
        if (n <= 0) break;
        length += (size_t) n;
    }
    if (fd >= 0) close(fd);
    text[length] = '\0';
    return ok;
}

bool ggs_cache_write(const char * path, const char * text, size_t length) {
    char   folder[PATH_MAX], other[PATH_MAX];
    int    n      = snprintf(folder, sizeof(folder), "%.*s", (int) (strrchr(path, '/') - path), path);
    char * parent = strrchr(folder, '/');
    if (n <= 0 || parent == NULL) return false;
    *parent = '\0';
    mkdir(folder, 0700); // ~/.cache may be missing
    *parent = '/';
    mkdir(folder, 0700);
    if (snprintf(other, sizeof(other), "%s.%d", path, (int) getpid()) >= (int) sizeof(other)) return false;
    int fd = open(other, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return false;
    bool ok = true;
    for (size_t at = 0; ok && at < length;) {
        ssize_t wrote = write(fd, text + at, length - at);
        ok            = wrote > 0;
        if (ok) at += (size_t) wrote;
    }
    ok = close(fd) == 0 && ok && rename(other, path) == 0;
    if (!ok) unlink(other);
    return ok;
}
