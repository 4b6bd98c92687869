#include "analyze/paging/sequence.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/search.h"

int ggs_paging_sequence_init(struct ggs_paging_sequence * sequence, uint64_t page, const uint64_t * sizes,
                             uint64_t n_files, struct ggs_error * error) {
    *sequence            = (struct ggs_paging_sequence){.page = page, .n_files = n_files};
    sequence->first_page = calloc(n_files + 1, sizeof(*sequence->first_page));
    if (sequence->first_page == NULL) return ggs_fail_memory(error);
    uint64_t pages = 0;
    for (uint64_t i = 0; i < n_files; i++) {
        uint64_t more = sizes[i] / page + (sizes[i] % page != 0);
        if (!ggs_add(pages, more, &pages) || pages > GGS_PAGING_PAGES_MOST) {
            ggs_paging_sequence_release(sequence);
            return ggs_fail(error, GGS_UNSUPPORTED,
                            "the model has more than %d pages of this size; choose larger ones with --page",
                            GGS_PAGING_PAGES_MOST);
        }
        sequence->first_page[i + 1] = (uint32_t) pages;
    }
    sequence->n_pages = (uint32_t) pages;
    sequence->cuts    = calloc(pages / 64 + 2, sizeof(*sequence->cuts));
    if (sequence->cuts == NULL) {
        ggs_paging_sequence_release(sequence);
        return ggs_fail_memory(error);
    }
    return 0;
}

void ggs_paging_sequence_release(struct ggs_paging_sequence * sequence) {
    free(sequence->first_page);
    free(sequence->reads);
    free(sequence->spans);
    free(sequence->cuts);
    free(sequence->begin);
    free(sequence->touched);
    *sequence = (struct ggs_paging_sequence){0};
}

static void cut(struct ggs_paging_sequence * sequence, uint32_t page) {
    sequence->cuts[page / 64] |= 1ull << (page % 64);
}

static bool is_cut(const struct ggs_paging_sequence * sequence, uint32_t page) {
    return (sequence->cuts[page / 64] >> (page % 64) & 1) != 0;
}

static int add_span(struct ggs_paging_sequence * sequence, enum ggs_read_class class_, struct ggs_error * error) {
    struct ggs_read_span span = {sequence->n_reads, class_};
    bool                 ok   = ggs_array_push(sequence->spans, sequence->n_spans, sequence->spans_capacity, span);
    return ok ? 0 : ggs_fail_memory(error);
}

static int add_read(struct ggs_paging_sequence * sequence, uint32_t first, uint32_t n, enum ggs_read_class class_,
                    struct ggs_error * error) {
    if (sequence->n_spans == 0 || sequence->spans[sequence->n_spans - 1].class_ != class_) {
        int status = add_span(sequence, class_, error);
        if (status < 0) return status;
    }
    if (sequence->n_reads > GGS_PAGING_BLOCKS_MOST)
        return ggs_fail(error, GGS_UNSUPPORTED,
                        "the recording claims more than %d reads of the model; choose tokens with --token",
                        GGS_PAGING_BLOCKS_MOST);
    if (!ggs_array_push(sequence->reads, sequence->n_reads, sequence->capacity, (struct ggs_page_read){first, n}))
        return ggs_fail_memory(error);
    sequence->spans[sequence->n_spans - 1].end = sequence->n_reads;
    return 0;
}

int ggs_paging_sequence_read(struct ggs_paging_sequence * sequence, uint64_t file, uint64_t begin, uint64_t end,
                             enum ggs_read_class class_, struct ggs_error * error) {
    if (file >= sequence->n_files || begin >= end) return 0;
    uint32_t base = sequence->first_page[file], pages = sequence->first_page[file + 1] - base;
    uint64_t first = begin / sequence->page, last = (end - 1) / sequence->page;
    if (first >= pages) return 0;
    if (last >= pages) last = pages - 1;
    cut(sequence, base + (uint32_t) first);
    cut(sequence, base + (uint32_t) last + 1);
    return add_read(sequence, base + (uint32_t) first, (uint32_t) (last - first + 1), class_, error);
}

// ---- blocks ----

static int find_blocks(struct ggs_paging_sequence * sequence, struct ggs_error * error) {
    uint32_t n = 0;
    for (uint64_t i = 0; i <= sequence->n_files; i++) cut(sequence, sequence->first_page[i]);
    for (uint32_t page = 0; page < sequence->n_pages; page++) n += is_cut(sequence, page);
    sequence->begin   = malloc((n + (size_t) 1) * sizeof(*sequence->begin));
    sequence->touched = calloc(n + (size_t) 1, sizeof(*sequence->touched));
    if (sequence->begin == NULL || sequence->touched == NULL) return ggs_fail_memory(error);
    for (uint32_t page = 0; page < sequence->n_pages; page++) {
        if (is_cut(sequence, page)) sequence->begin[sequence->n_blocks++] = page;
    }
    sequence->begin[n] = sequence->n_pages;
    return 0;
}

// Returns the block that begins with this page.
static uint32_t find_block(const struct ggs_paging_sequence * sequence, uint32_t page) {
    return (uint32_t) ggs_search(sequence->n_blocks, at, sequence->begin[at] < page);
}

static int check_work(const struct ggs_paging_sequence * sequence, struct ggs_error * error) {
    uint64_t blocks = ggs_paging_sequence_accesses(sequence);
    if (blocks <= GGS_PAGING_BLOCKS_MOST) return 0;
    return ggs_fail(
        error, GGS_UNSUPPORTED,
        "the recording claims %llu reads of blocks of the model, more than can be followed (%d); choose tokens with --token, or larger pages with --page",
        (unsigned long long) blocks, GGS_PAGING_BLOCKS_MOST);
}

int ggs_paging_sequence_finish(struct ggs_paging_sequence * sequence, bool load, struct ggs_error * error) {
    int status = find_blocks(sequence, error);
    if (status < 0) return status;
    for (uint64_t i = 0; i < sequence->n_reads; i++) {
        struct ggs_page_read * read = &sequence->reads[i];
        uint32_t               end  = find_block(sequence, read->first + read->n);
        read->first                 = find_block(sequence, read->first);
        read->n                     = end - read->first;
        memset(sequence->touched + read->first, true, read->n * sizeof(*sequence->touched));
    }
    free(sequence->cuts);
    sequence->cuts = NULL;
    status         = check_work(sequence, error);
    if (status < 0) return status;
    if (!load || sequence->n_blocks == 0) return 0;
    status = add_read(sequence, 0, 0, GGS_READ_LOAD, error); // makes room for one more read and one more span
    if (status < 0) return status;
    memmove(sequence->reads + 1, sequence->reads, (sequence->n_reads - 1) * sizeof(*sequence->reads));
    memmove(sequence->spans + 1, sequence->spans, (sequence->n_spans - 1) * sizeof(*sequence->spans));
    for (uint64_t i = 1; i < sequence->n_spans; i++) sequence->spans[i].end++;
    sequence->reads[0] = (struct ggs_page_read){0, sequence->n_blocks};
    sequence->spans[0] = (struct ggs_read_span){1, GGS_READ_LOAD};
    return 0;
}

uint64_t ggs_paging_sequence_accesses(const struct ggs_paging_sequence * sequence) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < sequence->n_reads; i++) sum += sequence->reads[i].n;
    return sum;
}

uint64_t ggs_paging_sequence_touched(const struct ggs_paging_sequence * sequence) {
    uint64_t pages = 0;
    for (uint32_t i = 0; i < sequence->n_blocks; i++) {
        if (sequence->touched[i]) pages += ggs_block_pages(sequence, i);
    }
    return pages * sequence->page;
}
