// The part of file.h that needs only open and mmap, which src/wasm provides.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/system/file.h"

int ggs_mapping_open(struct ggs_mapping * mapping, const char * path, struct ggs_error * error) {
    *mapping = (struct ggs_mapping){0};
    // O_NONBLOCK: a FIFO without a writer must not block; it is refused below.
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return ggs_fail_errno(error, "cannot open %s", path);

    int         result = 0;
    struct stat status;
    if (fstat(fd, &status) != 0) {
        result = ggs_fail_errno(error, "cannot read the attributes of %s", path);
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

const char * ggs_file_name(const char * path) {
    const char * slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}
