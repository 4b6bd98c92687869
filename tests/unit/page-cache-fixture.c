// The page cache of Linux, folio by folio and page by page: slow and plain, to compare
// src/analyze/paging/linux.c with.
#include "page-cache-fixture.h"

#include <stdbool.h>
#include <stdlib.h>

enum {
    NONE           = UINT32_MAX, // no page
    SCAN_BATCH     = 32,         // pages that a reclaim frees at least, and looks at in one go
    FIRST_PRIORITY = 12,         // of a reclaim: a 2^12th of a list is looked at, then a 2^11th, and so on
    DEMAND_TRIES   = 16,
    MOST_TIMES     = 4, // as much as is asked for: beyond that not every page of it is needed
};

enum flags {
    ACTIVE     = 1,
    REFERENCED = 2,  // touched when it was last looked at
    YOUNG      = 4,  // touched since: the bit in the page table
    MARKED     = 8,  // touching it starts the next readahead
    WORKINGSET = 16, // was active once
    FRESH      = 32, // being read: cannot be reclaimed
};

struct list {
    uint32_t newest, oldest;
    uint64_t pages;
};

// What the kernel decides by, and brings up to date only every two seconds.
struct statistics {
    uint64_t active, inactive, refaults;
};

struct readahead {
    uint32_t start, size, ahead,
        order; // pages from the file's first; `ahead`: how many before the window's end the mark is
};

// A folio is known by its first page, which has its place in a list, its order and its flags.
struct page {
    uint32_t folio;        // that it is in, NONE if it is not resident
    uint32_t newer, older; // neighbours in the list
    uint32_t shadow;       // of a page that was evicted: the age then, two bits up; bit 1: was active once; bit 0: set
    uint8_t  order, flags;
};

struct cache {
    const struct ggs_paging_sequence * sequence;
    uint64_t                           limit, resident; // pages
    struct page *                      page;
    struct list                        inactive, active;
    uint32_t                           age;                  // evictions and activations, in pages; wraps
    uint64_t                           refaults;             // activations of refaults
    struct statistics                  seen;                 // as reclaim sees them
    uint64_t                           stale;                // pages that are read until they are brought up to date
    uint64_t                           seen_at;              // pages read when they were brought up to date
    uint64_t                           last_refaults;        // that reclaim saw the last time
    uint32_t                           window;               // readahead in pages
    uint32_t                           most_order;           // of a folio
    uint64_t                           file;                 // that is being read
    uint32_t                           file_begin, file_end; // its pages
    struct readahead *                 readahead;            // by file
    uint64_t                           reads;                // pages read from the disk
    uint64_t                           served;               // pages that were asked for
    uint64_t                           most_reads;           // enough has been seen then
};

static uint32_t folio_pages(const struct cache * c, uint32_t folio) {
    return 1u << c->page[folio].order;
}

// ---- lists ----

static void unlink_folio(struct cache * c, uint32_t folio) {
    struct list * list = (c->page[folio].flags & ACTIVE) != 0 ? &c->active : &c->inactive;
    if (c->page[folio].newer == NONE) {
        list->newest = c->page[folio].older;
    } else {
        c->page[c->page[folio].newer].older = c->page[folio].older;
    }
    if (c->page[folio].older == NONE) {
        list->oldest = c->page[folio].newer;
    } else {
        c->page[c->page[folio].older].newer = c->page[folio].newer;
    }
    list->pages -= folio_pages(c, folio);
}

// At the new end of the list that its flags name.
static void link_folio(struct cache * c, uint32_t folio) {
    struct list * list   = (c->page[folio].flags & ACTIVE) != 0 ? &c->active : &c->inactive;
    c->page[folio].newer = NONE;
    c->page[folio].older = list->newest;
    if (list->newest == NONE) {
        list->oldest = folio;
    } else {
        c->page[list->newest].newer = folio;
    }
    list->newest = folio;
    list->pages += folio_pages(c, folio);
}

static void activate(struct cache * c, uint32_t folio) {
    unlink_folio(c, folio);
    c->page[folio].flags |= ACTIVE;
    c->age += folio_pages(c, folio);
    link_folio(c, folio);
}

static void evict(struct cache * c, uint32_t folio) {
    uint32_t n = folio_pages(c, folio);
    unlink_folio(c, folio);
    c->age += n;
    uint32_t shadow = (c->age << 2) | ((c->page[folio].flags & WORKINGSET) != 0 ? 3 : 1);
    for (uint32_t i = 0; i < n; i++) {
        c->page[folio + i].folio  = NONE;
        c->page[folio + i].shadow = shadow;
    }
    c->resident -= n;
}

// ---- reclaim ----

// Looks at the oldest `scan` pages of the inactive list; returns how many were evicted.
static uint64_t shrink_inactive(struct cache * c, uint64_t scan) {
    uint64_t evicted = 0, seen = 0;
    while (seen < scan && c->inactive.oldest != NONE) {
        uint32_t folio = c->inactive.oldest, n = folio_pages(c, folio);
        uint8_t  flags = c->page[folio].flags;
        seen += n;
        if ((flags & FRESH) != 0) {
            unlink_folio(c, folio);
            link_folio(c, folio);
            continue;
        }
        c->page[folio].flags &= (uint8_t) ~(YOUNG | REFERENCED);
        if ((flags & YOUNG) == 0) {
            evict(c, folio);
            evicted += n;
            continue;
        }
        c->page[folio].flags |= REFERENCED;
        if ((flags & REFERENCED) != 0) {
            activate(c, folio);
        } else {
            unlink_folio(c, folio);
            link_folio(c, folio);
        }
    }
    return evicted;
}

static void shrink_active(struct cache * c, uint64_t scan) {
    for (uint64_t seen = 0; seen < scan && c->active.oldest != NONE;) {
        uint32_t folio = c->active.oldest;
        seen += folio_pages(c, folio);
        unlink_folio(c, folio);
        c->page[folio].flags = (uint8_t) ((c->page[folio].flags & ~(ACTIVE | YOUNG)) | WORKINGSET);
        link_folio(c, folio);
    }
}

// Is the inactive list the shorter one, as it must not be? Above a GiB the active list may be the
// longer one.
static bool inactive_is_low(const struct cache * c) {
    uint64_t gib = (c->seen.inactive + c->seen.active) * c->sequence->page >> 30, ratio = 1;
    if (gib > 0) {
        while ((ratio + 1) * (ratio + 1) <= 10 * gib) ratio++;
    }
    return c->seen.inactive * ratio < c->seen.active;
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static uint64_t shrink(struct cache * c, unsigned priority, uint64_t wanted, bool force) {
    bool     deactivate = force || c->seen.refaults != c->last_refaults || inactive_is_low(c);
    uint64_t inactive = c->inactive.pages >> priority, active = c->active.pages >> priority, evicted = 0;
    while ((inactive > 0 || active > 0) && evicted < wanted) {
        uint64_t scan = smaller(inactive, SCAN_BATCH);
        inactive -= scan;
        if (scan > 0) evicted += shrink_inactive(c, scan);
        scan = smaller(active, SCAN_BATCH);
        active -= scan;
        if (scan > 0 && deactivate) shrink_active(c, scan);
    }
    return evicted;
}

static void bring_up_to_date(struct cache * c) {
    if (c->reads - c->seen_at < c->stale) return;
    c->seen    = (struct statistics){c->active.pages, c->inactive.pages, c->refaults};
    c->seen_at = c->reads;
}

static uint64_t reclaim(struct cache * c, uint64_t pages) {
    uint64_t wanted = pages > SCAN_BATCH ? pages : SCAN_BATCH, evicted = 0;
    bring_up_to_date(c);
    for (int force = 0; force < 2 && evicted == 0; force++) {
        for (unsigned priority = FIRST_PRIORITY + 1; priority-- > 0 && evicted < wanted;)
            evicted += shrink(c, priority, wanted - evicted, force != 0);
    }
    c->last_refaults = c->seen.refaults;
    return evicted;
}

// ---- reading ----

// Was it evicted so recently that it would have stayed, had the active list been so much shorter?
static void refault(struct cache * c, uint32_t folio, uint32_t shadow) {
    uint32_t distance = (c->age - (shadow >> 2)) & (UINT32_MAX >> 2);
    if (shadow == 0 || distance > c->seen.active) return;
    c->page[folio].flags |= (uint8_t) (ACTIVE | ((shadow & 2) != 0 ? WORKINGSET : 0));
    c->age += folio_pages(c, folio);
    c->refaults++;
}

// Reads a folio. False if one of its pages is there already, or if no room can be made.
static bool add_folio(struct cache * c, uint32_t page, uint32_t order, uint8_t flags, unsigned tries) {
    uint32_t n = 1u << order, shadow = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (c->page[page + i].folio != NONE) return false;
        if (c->page[page + i].shadow != 0) shadow = c->page[page + i].shadow;
    }
    while (c->resident + n > c->limit) {
        if (tries-- == 0) return false;
        reclaim(c, n);
    }
    for (uint32_t i = 0; i < n; i++) {
        c->page[page + i].folio  = page;
        c->page[page + i].shadow = 0;
    }
    c->page[page].order = (uint8_t) order;
    c->page[page].flags = flags;
    refault(c, page, shadow);
    link_folio(c, page);
    c->resident += n;
    c->reads += n;
    return true;
}

static void settle(struct cache * c, uint32_t begin, uint32_t end) {
    for (uint32_t page = begin; page < end;) {
        uint32_t folio = c->page[page].folio;
        if (folio == NONE) {
            page++;
            continue;
        }
        c->page[folio].flags &= (uint8_t) ~FRESH;
        page = folio + folio_pages(c, folio);
    }
}

// Reads what is missing of the window, in folios as large as alignment and its order allow; single
// pages from where one is there already.
static void read_window(struct cache * c, struct readahead * ra) {
    uint32_t begin = c->file_begin + ra->start, end = begin + ra->size, mark = end - ra->ahead;
    if (end > c->file_end) end = c->file_end;
    uint32_t order = ra->order < c->most_order ? ra->order : c->most_order, page = begin;
    while (order > 0 && 1u << order > ra->size) order--;
    ra->order = order;
    while (page < end) {
        uint32_t fit = order, index = page - c->file_begin;
        if (index != 0 && (index & ((1u << order) - 1)) != 0) fit = (uint32_t) __builtin_ctz(index);
        while (fit > 0 && page + (1u << fit) > end) fit--;
        uint8_t marked = (mark & ~((1u << fit) - 1)) == page || mark == page ? MARKED : 0;
        if (!add_folio(c, page, fit, FRESH | marked, 1)) break;
        page += 1u << fit;
    }
    for (; page < end; page++) {
        if (c->page[page].folio == NONE && !add_folio(c, page, 0, FRESH | (page == mark ? MARKED : 0), 1)) break;
    }
    settle(c, begin, end);
}

static void read_around(struct cache * c, uint32_t page) {
    struct readahead * ra    = &c->readahead[c->file];
    uint32_t           index = page - c->file_begin;
    ra->start                = index > c->window / 2 ? index - c->window / 2 : 0;
    ra->size                 = c->window;
    ra->ahead                = c->window / 4;
    ra->order                = 0;
    read_window(c, ra);
}

static uint32_t next_missing(const struct cache * c, uint32_t page, uint32_t most) {
    uint32_t end = c->file_end - page > most ? page + most : c->file_end;
    while (page < end && c->page[page].folio != NONE) page++;
    return page;
}

// A marked folio was touched: the next window. Where the mark is not the one of the last window, it
// begins with the next page that is missing.
static void read_ahead(struct cache * c, uint32_t page, uint32_t folio) {
    struct readahead * ra    = &c->readahead[c->file];
    uint32_t           index = page - c->file_begin;
    if (index == ((ra->start + ra->size - ra->ahead) & ~(folio_pages(c, folio) - 1))) {
        ra->start += ra->size;
    } else {
        uint32_t missing = next_missing(c, page + 1, c->window) - c->file_begin;
        if (missing - index > c->window) return;
        ra->start = missing;
    }
    if (ra->start >= c->file_end - c->file_begin) return;
    ra->order += 2;
    ra->size       = c->window;
    uint32_t align = 1u << (ra->order < c->most_order ? ra->order : c->most_order);
    uint32_t end = ra->start + ra->size, aligned = end & ~(align - 1);
    if (aligned > ra->start) ra->size = aligned - ra->start;
    ra->ahead = ra->size;
    read_window(c, ra);
}

// ---- touching ----

static void touch(struct cache * c, uint32_t page) {
    if (c->page[page].folio == NONE) {
        if (c->window > 0) read_around(c, page);
        if (c->page[page].folio == NONE) add_folio(c, page, 0, 0, DEMAND_TRIES);
        if (c->page[page].folio == NONE) return; // less memory than a single reclaim needs
    }
    uint32_t folio = c->page[page].folio;
    c->page[folio].flags |= YOUNG;
    if ((c->page[folio].flags & MARKED) == 0) return;
    c->page[folio].flags = (uint8_t) ((c->page[folio].flags & ~MARKED) | FRESH);
    read_ahead(c, page, folio);
    c->page[folio].flags &= (uint8_t) ~FRESH;
}

// The engine lets the kernel map its files at once, which notes an access for every entry of the
// page table: folios of several pages are active after that, but for those that take one entry as a
// whole.
static void populate(struct cache * c, uint32_t folio) {
    uint32_t pages = folio_pages(c, folio);
    if (pages > 1 && c->page[folio].order < c->most_order && (c->page[folio].flags & ACTIVE) == 0) activate(c, folio);
    c->page[folio].flags |= REFERENCED;
}

static void find_file(struct cache * c, uint32_t page) {
    const uint32_t * first = c->sequence->first_page;
    while (page < first[c->file]) c->file--;
    while (page >= first[c->file + 1]) c->file++;
    c->file_begin = first[c->file];
    c->file_end   = first[c->file + 1];
}

static void serve(struct cache * c, const struct ggs_page_read * read, bool load) {
    uint32_t end = c->sequence->begin[read->first + read->n];
    for (uint32_t page = c->sequence->begin[read->first]; page < end;) {
        if (c->reads > c->most_reads) return;
        if (page < c->file_begin || page >= c->file_end) find_file(c, page);
        touch(c, page);
        uint32_t folio = c->page[page].folio, next = folio == NONE ? page + 1 : folio + folio_pages(c, folio);
        if (folio != NONE && load) populate(c, folio);
        c->served += (next < end ? next : end) - page;
        page = next;
    }
}

// ---- the whole ----

static void make_cache(struct cache * c, const struct ggs_paging_sequence * sequence,
                       const struct ggs_paging_linux_host * host) {
    size_t n = sequence->n_pages + (size_t) 1;
    *c       = (struct cache){.sequence  = sequence,
                              .limit     = host->memory / sequence->page,
                              .stale     = host->stale / sequence->page,
                              .page      = calloc(n, sizeof(*c->page)),
                              .inactive  = {NONE, NONE, 0},
                              .active    = {NONE, NONE, 0},
                              .readahead = calloc(sequence->n_files + 1, sizeof(*c->readahead))};
    if (c->page == NULL || c->readahead == NULL) abort();
    for (size_t i = 0; i < n; i++) c->page[i].folio = NONE;
    uint64_t window = 2 * (host->readahead / sequence->page);
    c->window       = window > sequence->n_pages ? sequence->n_pages : (uint32_t) window;
    while ((2ull << c->most_order) * sequence->page <= 2 << 20) c->most_order++;
    find_file(c, 0);
}

static void release_cache(struct cache * c) {
    free(c->page);
    free(c->readahead);
}

// With less memory than a few readahead windows every page that is asked for costs a whole window,
// and the simulation as much time: it ends early then, and what is left of each class is taken to
// cost as much per page as what was seen.
static void extrapolate(struct ggs_paging_cost * cost, const uint64_t * asked, const uint64_t * served) {
    uint64_t all_read = 0, all_served = 0;
    for (unsigned i = 0; i < GGS_READ_CLASSES; i++) all_read += cost->bytes[i], all_served += served[i];
    double mean = all_served == 0 ? 0 : (double) all_read / (double) all_served;
    for (unsigned i = 0; i < GGS_READ_CLASSES; i++) {
        double each = served[i] == 0 ? mean : (double) cost->bytes[i] / (double) served[i];
        cost->bytes[i] += (uint64_t) (each * (double) (asked[i] - served[i]));
    }
}

static void count_asked(const struct ggs_paging_sequence * sequence, uint64_t * asked) {
    uint64_t next = 0;
    for (uint64_t s = 0; s < sequence->n_spans; s++) {
        for (; next < sequence->spans[s].end; next++) {
            const struct ggs_page_read * read = &sequence->reads[next];
            asked[sequence->spans[s].class_] += sequence->begin[read->first + read->n] - sequence->begin[read->first];
        }
    }
}

struct ggs_paging_cost plain_linux(const struct ggs_paging_sequence *   sequence,
                                   const struct ggs_paging_linux_host * host) {
    struct cache           c;
    struct ggs_paging_cost cost = {0};
    uint64_t               next = 0, asked[GGS_READ_CLASSES] = {0}, served[GGS_READ_CLASSES] = {0};
    if (sequence->n_pages == 0) return cost;
    make_cache(&c, sequence, host);
    count_asked(sequence, asked);
    for (unsigned i = 0; i < GGS_READ_CLASSES; i++) c.most_reads += MOST_TIMES * asked[i];
    for (uint64_t s = 0; s < sequence->n_spans; s++) {
        const struct ggs_read_span * span   = &sequence->spans[s];
        uint64_t                     before = c.reads, served_before = c.served;
        for (; next < span->end; next++) serve(&c, &sequence->reads[next], span->class_ == GGS_READ_LOAD);
        cost.bytes[span->class_] += (c.reads - before) * sequence->page;
        served[span->class_] += c.served - served_before;
    }
    release_cache(&c);
    extrapolate(&cost, asked, served);
    return cost;
}
