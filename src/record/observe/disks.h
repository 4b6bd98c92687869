// Which file lies where on a disk: the inverse of FIEMAP.
//
// Requests name a whole disk and a sector. A file's extents count from the start of its
// filesystem's device, which may be a partition of that disk. Devices made of others (device
// mapper, RAID) send requests of their own, which cannot be attributed to a file; filesystems
// without one device (tmpfs, overlay, btrfs, network) have none.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "gguf/extents.h"
#include "trace/seal/seal.h"

struct ggs_error;

struct ggs_disk_file {
    char *             path;
    uint64_t           device;  // of the whole disk, as in trace points; 0 if the file has none
    uint64_t           start;   // of the partition, in bytes
    struct ggs_extents extents; // sorted by place on the device
};

// A zeroed struct is ready for use.
struct ggs_disks {
    struct ggs_disk_file * files;
    size_t                 n_files, capacity;
};

void ggs_disks_release(struct ggs_disks * disks);
// For ggs_seal_options.disk; the context is a struct ggs_disks. Files are examined on first use.
enum ggs_disk_place ggs_disks_find(void * context, const char * const * paths, size_t n_paths, uint64_t device,
                                   uint64_t offset, struct ggs_disk_piece * piece);
// Returns GGS_UNSUPPORTED with the reason if requests cannot be attributed to this file.
int ggs_disks_check(const char * path, struct ggs_error * error);
