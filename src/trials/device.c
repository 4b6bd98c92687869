#include "trials/device.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/error.h"

#define NOTES "/run/ggscope"

static bool read_number(const char * path, uint64_t * number) {
    FILE * file = fopen(path, "re");
    bool   ok   = file != NULL && fscanf(file, "%" SCNu64, number) == 1;
    if (file != NULL) fclose(file);
    return ok;
}

static bool write_number(const char * path, uint64_t number) {
    FILE * file = fopen(path, "we");
    bool   ok   = file != NULL && fprintf(file, "%" PRIu64 "\n", number) > 0;
    if (file != NULL) ok = fclose(file) == 0 && ok;
    return ok;
}

// The lock belongs to the open file: the kernel releases it when its holder ends in any way.
static bool lock(int fd) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(fd, F_OFD_SETLK, &whole) == 0;
}

static void name_files(struct ggs_device_setting * device, unsigned high, unsigned low) {
    snprintf(device->setting, sizeof(device->setting), "/sys/class/bdi/%u:%u/read_ahead_kb", high, low);
    snprintf(device->note, sizeof(device->note), NOTES "/readahead-%u:%u", high, low);
}

int ggs_device_recover(struct ggs_error * error) {
    DIR *           folder = opendir(NOTES);
    struct dirent * entry;
    int             n = 0;
    while (folder != NULL && n >= 0 && (entry = readdir(folder)) != NULL) {
        struct ggs_device_setting device = {.fd = -1};
        unsigned                  high, low;
        if (sscanf(entry->d_name, "readahead-%u:%u", &high, &low) != 2) continue;
        name_files(&device, high, low);
        int fd = open(device.note, O_RDWR | O_CLOEXEC);
        if (fd < 0) continue; // another user's
        if (lock(fd)) {
            bool noted = read_number(device.note, &device.before_kib);
            if (noted && !write_number(device.setting, device.before_kib) && errno != ENOENT)
                n = ggs_fail_errno(error, "cannot restore readahead in %s to %" PRIu64 " KiB", device.setting,
                                   device.before_kib);
            else
                unlink(device.note);
            if (n >= 0) n += noted;
        }
        close(fd);
    }
    if (folder != NULL) closedir(folder);
    return n;
}

static int save_setting(struct ggs_device_setting * device, struct ggs_error * error) {
    if (mkdir(NOTES, 0700) != 0 && errno != EEXIST)
        return ggs_fail_errno(error, "cannot create %s to save the readahead setting", NOTES);
    device->fd = open(device->note, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (device->fd < 0) return ggs_fail_errno(error, "cannot save the readahead setting in %s", device->note);
    if (!lock(device->fd)) {
        close(device->fd);
        return ggs_fail(error, GGS_UNSUPPORTED, "another ggscope sets readahead of this device: wait for its end");
    }
    if (dprintf(device->fd, "%" PRIu64 "\n", device->before_kib) > 0) return 0;
    close(device->fd);
    return ggs_fail_errno(error, "cannot save the readahead setting in %s", device->note);
}

static int find(struct ggs_device_settings * devices, const char * path, struct ggs_device_setting ** out,
                struct ggs_error * error) {
    struct stat               info;
    struct ggs_device_setting device = {.fd = -1};
    if (stat(path, &info) != 0) return ggs_fail_errno(error, "cannot find the device of %s", path);
    name_files(&device, major(info.st_dev), minor(info.st_dev));
    for (unsigned i = 0; i < devices->n; i++) {
        *out = &devices->list[i];
        if (strcmp(devices->list[i].setting, device.setting) == 0) return 0;
    }
    if (devices->n == GGS_DEVICES) return ggs_fail(error, GGS_USAGE, "models lie on more than %d devices", GGS_DEVICES);
    if (!read_number(device.setting, &device.before_kib))
        return ggs_fail_errno(error, "the device of %s has no readahead setting %s", path, device.setting);
    int status = save_setting(&device, error);
    if (status != 0) return status;
    *out  = &devices->list[devices->n++];
    **out = device;
    return 0;
}

int ggs_device_readahead(struct ggs_device_settings * devices, const char * file, int64_t bytes,
                         struct ggs_error * error) {
    struct ggs_device_setting * device;
    if (bytes < 0 && devices->n == 0) return 0;
    int status = find(devices, file, &device, error);
    if (status != 0) return status;
    if (write_number(device->setting, bytes < 0 ? device->before_kib : (uint64_t) bytes / 1024)) return 0;
    return ggs_fail_errno(error, "cannot set readahead in %s, which needs root", device->setting);
}

void ggs_device_restore(struct ggs_device_settings * devices) {
    for (unsigned i = 0; i < devices->n; i++) {
        struct ggs_device_setting * device = &devices->list[i];
        if (write_number(device->setting, device->before_kib)) unlink(device->note); // else kept
        close(device->fd);
    }
    devices->n = 0;
}

int ggs_device_drop_caches(struct ggs_error * error) {
    sync();
    return write_number("/proc/sys/vm/drop_caches", 3)
               ? 0
               : ggs_fail_errno(error, "cannot drop the page cache by /proc/sys/vm/drop_caches, which needs root");
}
