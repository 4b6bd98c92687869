// Which pages of the model are read in which order: what every paging policy is fed with.
//
//     ggs_paging_sequence_init(&sequence, 4096, file_sizes, n_files, &error);
//     ggs_paging_sequence_read(&sequence, file, begin, end, GGS_READ_GENERATE, &error);      // bytes, in the order of the ops
//     ggs_paging_sequence_finish(&sequence, true, &error);
//
// Pages of all files are numbered through. Reads come as long ranges, and most pages are always
// read together with their neighbours, so finishing cuts the pages into blocks: the longest runs
// that no read begins or ends inside of. A page belongs to one block, a read is a run of whole
// blocks. A dense model has a few blocks per tensor, whatever its size. Memory: 8 bytes per read,
// one bit per page.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_error;

// What a read belongs to. LOAD is the pass over the whole files that the engine makes before the
// first token.
enum ggs_read_class { GGS_READ_LOAD, GGS_READ_PROMPT, GGS_READ_GENERATE, GGS_READ_CLASSES };

// While it is fed: pages [first, first + n). Once finished: blocks.
struct ggs_page_read {
    uint32_t first, n;
};

// Consecutive reads of one class: those behind the span before, up to `end`.
struct ggs_read_span {
    uint64_t            end;
    enum ggs_read_class class_;
};

struct ggs_paging_sequence {
    uint64_t               page;       // bytes of one
    uint32_t *             first_page; // by file, and one more: the file's first page
    uint64_t               n_files;
    uint32_t               n_pages;
    struct ggs_page_read * reads;
    uint64_t               n_reads, capacity;
    struct ggs_read_span * spans;
    uint64_t               n_spans, spans_capacity;
    uint64_t *             cuts;  // while it is fed: a bit per page where a block begins
    uint32_t *             begin; // by block, and one more: its first page
    uint32_t               n_blocks;
    bool *                 touched; // by block: read by an op, not only by the load
};

enum { GGS_PAGING_PAGES_MOST = 1 << 26 }; // 256 GiB in pages of 4 KiB
enum {
    GGS_PAGING_BLOCKS_MOST = 1 << 27
}; // reads of blocks, all reads together: a thousand tokens of a large model are a hundredth

// Sizes are those of the files; a file of no bytes has no pages.
int  ggs_paging_sequence_init(struct ggs_paging_sequence * sequence, uint64_t page, const uint64_t * sizes,
                              uint64_t n_files, struct ggs_error * error);
void ggs_paging_sequence_release(struct ggs_paging_sequence * sequence); // a zeroed struct is fine

// Bytes [begin, end) of a file (from 0). What lies behind the file's end is left out.
int ggs_paging_sequence_read(struct ggs_paging_sequence * sequence, uint64_t file, uint64_t begin, uint64_t end,
                             enum ggs_read_class class_, struct ggs_error * error);
// No more reads: cuts into blocks. With `load` a read of everything, class LOAD, comes before all
// others. Refuses more reads than can be simulated: a damaged file of some kilobytes can claim any
// number of them.
int ggs_paging_sequence_finish(struct ggs_paging_sequence * sequence, bool load, struct ggs_error * error);

static inline uint32_t ggs_block_pages(const struct ggs_paging_sequence * sequence, uint32_t block) {
    return sequence->begin[block + 1] - sequence->begin[block];
}
// How many times blocks are read, all reads together.
uint64_t ggs_paging_sequence_accesses(const struct ggs_paging_sequence * sequence);
// Bytes of the blocks that ops read.
uint64_t ggs_paging_sequence_touched(const struct ggs_paging_sequence * sequence);
