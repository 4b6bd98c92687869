// Seal: turns the spool that the capture library left into trace.ggs.
//
//     DIR/spool/*.seg (and DIR/trace.ggs.part)  ->  DIR/trace.ggs.tmp  ->  DIR/trace.ggs, and the
//         spool is removed
//
// What was sealed while the recording went on (incremental.h) is in the part; the trace is the same
// as without.
//
// DIR/spool may be a link to a folder elsewhere, which is then removed too. Seal may die at any
// moment and be run again: the spool is removed only when the trace has its name. Two seals of one
// directory at the same time wait for each other. Memory does not grow with the number of runs, op
// runs, tokens or transfers, only with that of distinct graphs, tensors, strings and buffers.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_error;
struct ggs_spool_facts;

enum ggs_disk_place {
    GGS_DISK_FOREIGN, // no file is on that disk
    GGS_DISK_OTHER,   // no file has these bytes, for `length` of the piece
    GGS_DISK_FILE,
};

struct ggs_disk_piece {
    size_t   file; // index in the paths
    uint64_t offset, length;
};

struct ggs_seal_options {
    size_t   size;               // sizeof(struct ggs_seal_options)
    uint64_t start_monotonic_ns; // time 0; 0 for the first anchor of the process
    uint8_t  uuid[16];
    bool     keep_spool;
    bool     no_sync; // do not wait for the disk before removing the spool
    bool     weights; // read the values of weights that lie in files; without, they are not seen
    // Finds a tensor's bytes in the files of a model load: sets the index of the file in `paths`
    // and the offset from its start, and returns true; false if none has it. May be NULL. Called
    // once per tensor and place.
    bool (*origin)(void * context, const char * const * paths, size_t n_paths, const char * name, size_t * file,
                   uint64_t * offset);
    void * origin_context;
    // Finds the text of a token in the vocabulary of a model's file: writes at most `size` bytes
    // and returns how many; 0 if unknown. May be NULL.
    size_t (*token_text)(void * context, const char * path, int64_t token, char * buffer, size_t size);
    // The tokens that begin and end a text there; false if unknown. May be NULL.
    bool (*text_ends)(void * context, const char * path, int64_t * begin, int64_t * end);
    void * token_text_context; // of both
    // Finds the file that has its bytes at an offset of a disk. If NULL, requests are not kept.
    enum ggs_disk_place (*disk)(void * context, const char * const * paths, size_t n_paths, uint64_t device,
                                uint64_t offset, struct ggs_disk_piece * piece);
    void * disk_context;
    // Called with the facts of the program before experiment.json is stored in the trace: the time
    // to complete that file. A failure ends the sealing. May be NULL. Not called without a spool,
    // or if the trace is complete.
    int (*facts)(void * context, const struct ggs_spool_facts * facts, struct ggs_error * error);
    void * facts_context;
    void (*progress)(void * context, uint64_t done, uint64_t total); // may be NULL
    void * progress_context;
    // The part, if there is one (part.h). ggs_seal sets it. May be NULL.
    const char * part;
};

struct ggs_seal_result {
    bool     already; // the trace was complete before
    bool     ended;   // false if the program was killed
    uint64_t bytes;   // of the trace
    uint64_t spool_bytes;
    uint64_t runs, op_runs, steps, interrupted;
    uint64_t lost;    // missing op runs and records
    uint64_t damaged; // damaged segments
    uint64_t unseen;  // nodes that no hook observed
};

// `options` and `result` may be NULL. Returns GGS_ABSENT if there is neither spool nor trace.
int ggs_seal(const char * directory, const struct ggs_seal_options * options, struct ggs_seal_result * result,
             struct ggs_error * error);
// The same for any spool and trace; the spool stays. For tests.
int ggs_seal_spool(const char * spool, const char * trace, const char * experiment,
                   const struct ggs_seal_options * options, struct ggs_seal_result * result, struct ggs_error * error);
