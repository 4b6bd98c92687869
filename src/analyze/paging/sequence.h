// The sequence of page reads of a model: the input of every paging policy.
//
//     ggs_paging_sequence_init(&sequence, 4096, file_sizes, n_files, &error);
//     ggs_paging_sequence_read(&sequence, file, begin, end, GGS_READ_GENERATE, &error); // in order
//     ggs_paging_sequence_finish(&sequence, true, &error);
//
// Pages of all files are numbered consecutively. Reads are long ranges, and most pages are always
// read with their neighbours, so finishing divides the pages into blocks: the longest runs with no
// start or end of a read inside. A page belongs to one block, and a read is a run of whole blocks.
// A dense model has a few blocks per tensor, regardless of its size. Memory: 8 bytes per read, one
// bit per page.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_error;

// The class of a read. LOAD is the pass over the whole files that the engine makes before the first
// token.
enum ggs_read_class { GGS_READ_LOAD, GGS_READ_PROMPT, GGS_READ_GENERATE, GGS_READ_CLASSES };

// While being filled: pages [first, first + n). Once finished: blocks.
struct ggs_page_read {
    uint32_t first, n;
};

// Consecutive reads of one class: those after the previous span, up to `end`.
struct ggs_read_span {
    uint64_t            end;
    enum ggs_read_class class_;
};

struct ggs_paging_sequence {
    uint64_t               page;       // bytes of one
    uint32_t *             first_page; // by file, and one more: its first page
    uint64_t               n_files;
    uint32_t               n_pages;
    struct ggs_page_read * reads;
    uint64_t               n_reads, capacity;
    struct ggs_read_span * spans;
    uint64_t               n_spans, spans_capacity;
    uint64_t *             cuts;  // while being filled: a bit per page where a block begins
    uint32_t *             begin; // by block, and one more: its first page
    uint32_t               n_blocks;
    bool *                 touched; // by block: read by an op, not only by the load
};

enum { GGS_PAGING_PAGES_MOST = 1 << 26 }; // 256 GiB in pages of 4 KiB
enum {
    GGS_PAGING_BLOCKS_MOST = 1 << 27
}; // maximum reads of blocks: a thousand tokens of a large model need a hundredth

// Sizes are those of the files; an empty file has no pages.
int  ggs_paging_sequence_init(struct ggs_paging_sequence * sequence, uint64_t page, const uint64_t * sizes,
                              uint64_t n_files, struct ggs_error * error);
void ggs_paging_sequence_release(struct ggs_paging_sequence * sequence); // a zeroed struct is fine

// Adds bytes [begin, end) of a file (from 0), clipped to the file's size.
int ggs_paging_sequence_read(struct ggs_paging_sequence * sequence, uint64_t file, uint64_t begin, uint64_t end,
                             enum ggs_read_class class_, struct ggs_error * error);
// Ends the reads and divides into blocks. With `load`, a read of everything with class LOAD
// precedes all others. Refuses more reads than can be simulated: a small damaged file can claim any
// number.
int ggs_paging_sequence_finish(struct ggs_paging_sequence * sequence, bool load, struct ggs_error * error);

static inline uint32_t ggs_block_pages(const struct ggs_paging_sequence * sequence, uint32_t block) {
    return sequence->begin[block + 1] - sequence->begin[block];
}
// Total number of block reads.
uint64_t ggs_paging_sequence_accesses(const struct ggs_paging_sequence * sequence);
// Bytes of the blocks that ops read.
uint64_t ggs_paging_sequence_touched(const struct ggs_paging_sequence * sequence);
