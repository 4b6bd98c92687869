// What the journal says about the program that wrote it: for experiment.json. Collected in pass 1.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/reader.h"

struct ggs_record;

struct ggs_spool_facts {
    bool     seen;  // there is a journal
    bool     ended; // the program left main or called exit
    uint32_t pid;
    uint64_t monotonic_ns, realtime_ns; // when recording began
    char *   executable;                // never NULL once seen
    char *   engine;                    // "key=value\n" lines of GGS_JOURNAL_ENGINE, NULL for none
    char **  files;                     // GGUF files that were opened, each once
    size_t   n_files, files_capacity;
    uint64_t threads;    // the most that computed one graph
    uint64_t runs;       // graph runs
    char     layout[32]; // "AMX", "CPU_REPACK": the first buffer for weights in a layout of the CPU's own; "" for none
    bool     resident;   // snapshots of what is in memory were taken
    bool     resident_in_process;    // and tell only what the process itself has mapped
    uint64_t losses[GGS_LOSS_COUNT]; // by enum ggs_loss_reason
};

// Takes what a record says; false when out of memory.
bool ggs_spool_facts_add(struct ggs_spool_facts * facts, const struct ggs_record * record);
void ggs_spool_facts_release(struct ggs_spool_facts * facts);
