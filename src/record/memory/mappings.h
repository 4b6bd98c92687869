// What the kernel says of a program's memory while it runs: how much of each mapping is in memory,
// in huge pages, swapped out, and on which NUMA node.
//
//     struct ggs_mappings * mappings = ggs_mappings_watch(pid);
//     ... the program ends ...
//     ggs_mappings_end(mappings, conditions);
//
// A thread reads /proc/PID/smaps half a second after the start, after twice that time, and so on,
// because the kernel walks all pages for it: 10 ms per GiB of small pages. The reading with the
// most memory is kept. A program that runs for less than half a second has none.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct json_object;
struct ggs_mappings;

// NULL if the thread could not be started.
struct ggs_mappings * ggs_mappings_watch(pid_t program);
// Adds "memory.mappings" to the conditions if there was a reading. NULL is allowed.
void ggs_mappings_end(struct ggs_mappings * mappings, struct json_object * conditions);

// ---- for tests ----

enum { GGS_MAPPING_NODES = 16 };

struct ggs_mapping_pages {
    uint64_t start, bytes, resident, huge, swapped;
    uint64_t node[GGS_MAPPING_NODES]; // bytes on each
};

struct ggs_mapping_list {
    struct ggs_mapping_pages * mapping;
    size_t                     n, capacity;
    uint64_t                   resident; // of all
    unsigned                   nodes;    // 0 if not read
};

// Reads smaps; small mappings are left out. False when out of memory.
bool ggs_mapping_list_read(struct ggs_mapping_list * list, FILE * smaps);
// Adds the nodes from numa_maps, of `nodes` nodes.
void ggs_mapping_list_read_nodes(struct ggs_mapping_list * list, FILE * numa_maps, unsigned nodes);
void ggs_mapping_list_release(struct ggs_mapping_list * list);
