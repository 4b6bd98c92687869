// The machine's stream of a spool (trace/spool.h): kernel events, written from outside of the
// program.
//
// Memory and writes are the recorder's own, never the engine's. Thread-safe. The first failure is
// kept and reported at the end.
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_error;

struct ggs_machine_spool {
    int             fd; // -1 if not open
    pthread_mutex_t lock;
    uint8_t         buffer[65536];
    size_t          used;
    int             failed; // errno
};

// Makes machine-0000.seg in the spool folder.
int ggs_machine_spool_open(struct ggs_machine_spool * spool, const char * folder, struct ggs_error * error);
// Appends a record of enum ggs_journal_type; `body` is a small structure of a multiple of 8 bytes.
void ggs_machine_spool_append(struct ggs_machine_spool * spool, uint32_t type, uint64_t monotonic_ns, const void * body,
                              size_t bytes);
// Writes pending records.
void ggs_machine_spool_flush(struct ggs_machine_spool * spool);
// Writes pending records and closes. Fails if anything could not be written.
int ggs_machine_spool_close(struct ggs_machine_spool * spool, struct ggs_error * error);
