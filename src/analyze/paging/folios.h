// The pages of files in memory, as folios in two lists by age, like Linux's page cache.
//
// Neighbouring folios arrive, are touched and leave together, so they are kept in runs: folios of
// one size that are adjacent in the file and in the list, oldest first, with equal flags. A run is
// identified by its first page. Operations on a whole run have constant cost; a bit per page says
// whether it is resident, another whether a run begins with it.
//
//     pages    . . 2 3 4 5 6 7 . .      in memory: 2..7
//     runs         |     |              {2: 3 folios of order 0}, {5: 1 folio of ...}
//
// Memory: 17 bytes per page; only those where runs begin are touched.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GGS_NO_PAGE = UINT32_MAX };
enum { GGS_FOLIO_ACTIVE = 1 }; // the only flag that matters here: the list

struct ggs_folio_run {
    uint32_t newer, older; // neighbours in the list, by first page
    uint32_t n;            // folios
    uint8_t  order, flags; // 2^order pages each
};

struct ggs_folio_list {
    uint32_t newest, oldest; // runs
    uint64_t pages;
};

struct ggs_folios {
    struct ggs_folio_run * run;      // by first page
    uint64_t *             resident; // a bit per page
    uint64_t *             begins;   // a bit per page: start of a run
    struct ggs_folio_list  list[2];  // inactive, active
    uint64_t               pages;    // in memory
};

bool ggs_folios_init(struct ggs_folios * folios, uint32_t n_pages);
void ggs_folios_release(struct ggs_folios * folios); // a zeroed struct is fine

// ---- pages ----

static inline bool ggs_folios_has(const struct ggs_folios * folios, uint32_t page) {
    return (folios->resident[page / 64] >> (page % 64) & 1) != 0;
}
// Returns the first page of [page, end) that is not resident, or that is; `end` if there is none.
uint32_t ggs_folios_missing(const struct ggs_folios * folios, uint32_t page, uint32_t end);
uint32_t ggs_folios_present(const struct ggs_folios * folios, uint32_t page, uint32_t end);

// ---- runs ----

// Returns the run of a resident page.
uint32_t ggs_folios_find(const struct ggs_folios * folios, uint32_t page);
// Returns the end of its pages.
static inline uint32_t ggs_folios_end(const struct ggs_folios * folios, uint32_t run) {
    return run + (folios->run[run].n << folios->run[run].order);
}
// Returns a run that begins with the folio of this page and has at most `n` folios, splitting a
// longer one if needed.
uint32_t ggs_folios_cut_out(struct ggs_folios * folios, uint32_t page, uint32_t n);
// Adds folios that are not resident, as the newest of their list.
void ggs_folios_add(struct ggs_folios * folios, uint32_t page, uint8_t order, uint32_t n, uint8_t flags);
// Removes the oldest folios of a list: of one run, with at most `pages` pages but at least one
// folio. GGS_NO_PAGE if empty. The caller must put or drop them.
uint32_t ggs_folios_remove_oldest(struct ggs_folios * folios, unsigned list, uint64_t pages);
void     ggs_folios_remove(struct ggs_folios * folios, uint32_t run); // a whole run, from any place
// Adds it as the newest of the list that its new flags select; it may extend an existing run.
void ggs_folios_put(struct ggs_folios * folios, uint32_t run, uint8_t flags);
// Evicts it.
void ggs_folios_drop(struct ggs_folios * folios, uint32_t run);
