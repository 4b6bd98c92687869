// What a spool says about the program that wrote it: a short look at its journal, for experiment.json.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_error;

enum { GGS_FACTS_LOSSES = 8 };

struct ggs_spool_facts {
    bool     seen;  // there was a journal
    bool     ended; // the program left main or called exit
    uint32_t pid;
    uint64_t monotonic_ns, realtime_ns; // when recording began
    char *   executable;                // never NULL once seen
    char *   engine;                    // "key=value\n" lines of GGS_JOURNAL_ENGINE, NULL for none
    char **  files;                     // GGUF files that were opened, each once
    size_t   n_files;
    uint64_t threads;                  // the most that computed one graph
    uint64_t runs;                     // graph runs
    bool     resident;                 // snapshots of what is in memory were taken
    bool     resident_in_process;      // and tell only what the process itself has mapped
    uint64_t losses[GGS_FACTS_LOSSES]; // by enum ggs_loss_reason
};

// `folder` is the spool itself. A folder without segments is no failure: `seen` stays false.
int  ggs_spool_facts_read(struct ggs_spool_facts * facts, const char * folder, struct ggs_error * error);
void ggs_spool_facts_release(struct ggs_spool_facts * facts);

// "space", "ring", ...; NULL for a number that means nothing.
const char * ggs_loss_name(unsigned reason);

// Walks the lines of `engine`: stores the key's and the value's place and length, returns the rest, NULL at the end.
//     for (const char * at = facts->engine; (at = ggs_engine_line(at, &line)) != NULL;) ...
struct ggs_engine_line {
    const char * key;
    size_t       key_length;
    const char * value;
    size_t       value_length;
};
const char * ggs_engine_line(const char * text, struct ggs_engine_line * line);
