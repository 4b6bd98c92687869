// Which pages of files are in memory, as folios in two lists by age: what Linux's page cache is
// made of.
//
// Folios come in, are touched and leave together with their neighbours, so runs of them are kept:
// folios of one size that lie next to each other in the file and in the list, the first one oldest,
// with the same flags. A run is known by its first page. What is done to a whole run costs the same
// whatever its length; a bit per page says whether it is there, another one whether a run begins
// with it.
//
//     pages    . . 2 3 4 5 6 7 . .      in memory: 2..7
//     runs         |     |              {2: 3 folios of order 0}, {5: 1 folio of ...}
//
// Memory: 17 bytes per page, of which those are touched that runs begin with.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GGS_NO_PAGE = UINT32_MAX };
enum { GGS_FOLIO_ACTIVE = 1 }; // the one flag that matters here: which list

struct ggs_folio_run {
    uint32_t newer, older; // neighbours in the list: their first pages
    uint32_t n;            // folios
    uint8_t  order, flags; // of each: 2^order pages
};

struct ggs_folio_list {
    uint32_t newest, oldest; // runs
    uint64_t pages;
};

struct ggs_folios {
    struct ggs_folio_run * run;      // by first page
    uint64_t *             resident; // a bit per page
    uint64_t *             begins;   // a bit per page: a run begins here
    struct ggs_folio_list  list[2];  // inactive, active
    uint64_t               pages;    // in memory
};

bool ggs_folios_init(struct ggs_folios * folios, uint32_t n_pages);
void ggs_folios_release(struct ggs_folios * folios); // a zeroed struct is fine

// ---- pages ----

static inline bool ggs_folios_has(const struct ggs_folios * folios, uint32_t page) {
    return (folios->resident[page / 64] >> (page % 64) & 1) != 0;
}
// The first page of [page, end) that is not in memory, or that is; `end` if there is none.
uint32_t ggs_folios_missing(const struct ggs_folios * folios, uint32_t page, uint32_t end);
uint32_t ggs_folios_present(const struct ggs_folios * folios, uint32_t page, uint32_t end);

// ---- runs ----

// The run that a page in memory belongs to.
uint32_t ggs_folios_find(const struct ggs_folios * folios, uint32_t page);
// Its pages end here.
static inline uint32_t ggs_folios_end(const struct ggs_folios * folios, uint32_t run) {
    return run + (folios->run[run].n << folios->run[run].order);
}
// The run that begins with the folio of this page and has at most `n` folios, cut out of a longer
// one if need be.
uint32_t ggs_folios_cut_out(struct ggs_folios * folios, uint32_t page, uint32_t n);
// Adds folios that are not in memory, as the newest of their list.
void ggs_folios_add(struct ggs_folios * folios, uint32_t page, uint8_t order, uint32_t n, uint8_t flags);
// Takes the oldest folios of a list out of it, those of one run with at most so many pages, but at
// least one. GGS_NO_PAGE if it is empty. They are then to be put somewhere or dropped.
uint32_t ggs_folios_remove_oldest(struct ggs_folios * folios, unsigned list, uint64_t pages);
void     ggs_folios_remove(struct ggs_folios * folios, uint32_t run); // a whole run, from wherever it is
// As the newest of the list that its new flags name; it may become the end of a longer run.
void ggs_folios_put(struct ggs_folios * folios, uint32_t run, uint8_t flags);
// Out of memory.
void ggs_folios_drop(struct ggs_folios * folios, uint32_t run);
