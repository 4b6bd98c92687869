// Which file lies where on a disk: the other way round from FIEMAP.
//
// Requests name a whole disk and a sector. A file's extents count from the start of its
// filesystem's device, which may be a partition of that disk. Devices that are made of others
// (device mapper, RAID) send requests of their own, which cannot be told back to a file;
// filesystems without one device (tmpfs, overlay, btrfs, network) have none.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "gguf/extents.h"
#include "trace/seal/seal.h"

struct ggs_error;

struct ggs_disk_file {
    char *             path;
    uint64_t           device;  // of the whole disk, as trace points number it; 0: the file cannot be found on one
    uint64_t           start;   // of the partition, in bytes
    struct ggs_extents extents; // by their place on the device
};

// A zeroed struct is ready for use.
struct ggs_disks {
    struct ggs_disk_file * files;
    size_t                 n_files, capacity;
};

void ggs_disks_release(struct ggs_disks * disks);
// For ggs_seal_options.disk; the context is a struct ggs_disks. Files are looked at when they are
// met first.
enum ggs_disk_place ggs_disks_find(void * context, const char * const * paths, size_t n_paths, uint64_t device,
                                   uint64_t offset, struct ggs_disk_piece * piece);
// Can requests be told back to this file? GGS_UNSUPPORTED with the reason if they cannot.
int ggs_disks_check(const char * path, struct ggs_error * error);
