// What the journal says about the program, for experiment.json. Collected in pass 1.
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
    uint64_t monotonic_ns, realtime_ns; // begin of the recording
    char *   executable;                // never NULL once seen
    char *   engine;                    // "key=value\n" lines of GGS_JOURNAL_ENGINE, NULL for none
    char **  files;                     // opened GGUF files, each once
    size_t   n_files, files_capacity;
    uint64_t threads;                // maximum for one graph
    uint64_t runs;                   // graph runs
    char     layout[32];             // "AMX", "CPU_REPACK": first buffer of repacked weights; or ""
    bool     resident;               // there are snapshots of memory
    bool     resident_in_process;    // only of what the process itself has mapped
    uint64_t losses[GGS_LOSS_COUNT]; // by enum ggs_loss_reason
};

// Adds the facts of a record; false when out of memory.
bool ggs_spool_facts_add(struct ggs_spool_facts * facts, const struct ggs_record * record);
void ggs_spool_facts_release(struct ggs_spool_facts * facts);
