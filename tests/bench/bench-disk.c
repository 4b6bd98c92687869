// Measures the disk of a file: reads the file, or 4 GiB of it, with direct I/O, in reads of 1 MiB,
// eight at a time.
//     bench-disk FILE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/system/clock.h"
#include "stream/disk/model-disk-speed.h"
#include "stream/disk/pool.h"
#include "stream/memory/machine-memory.h"

int main(int argc, char ** argv) {
    struct stat status;
    int         fd = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECT | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &status) != 0) {
        fputs("Usage: bench-disk FILE\n", stderr);
        return 2;
    }
    struct ggs_kernel_memory * machine = ggs_kernel_memory_create();
    struct ggs_pool *          pool    = ggs_pool_create(&(struct ggs_pool_options){0});
    if (machine == NULL || pool == NULL || !ggs_pool_disk(pool)->start(ggs_pool_disk(pool))) return 1;
    struct ggs_memory * m      = ggs_kernel_memory_face(machine);
    size_t              bytes  = (size_t) GGS_READ_THREADS * GGS_READ_PIECE;
    char *              memory = m->reserve(m, bytes);
    if (memory == NULL || !m->commit(m, memory, bytes, true)) return 1;
    for (size_t i = 0; i < bytes; i += 4096) memory[i] = 1;
    uint64_t               n     = (uint64_t) status.st_size / GGS_READ_PIECE, rate;
    struct ggs_speed_bench bench = {ggs_pool_disk(pool), ggs_clock_now, fd, (uint64_t) status.st_size, memory, bytes};
    rate                         = ggs_speed_in_order(&bench, n < 4096 ? n : 4096, GGS_READ_PIECE, GGS_READ_THREADS);
    if (rate == 0) {
        fputs("bench-disk: the file is too small, or cannot be read\n", stderr);
        return 1;
    }
    printf("{\"rate\":%llu}\n", (unsigned long long) rate);
    return 0;
}
