#include "analyze/paging/linux.h"

#include <stdbool.h>
#include <stdlib.h>

#include "analyze/paging/folios.h"
#include "base/error.h"

enum {
    NONE           = GGS_NO_PAGE,
    SCAN_BATCH     = 32, // pages that a reclaim frees at least, and scans at once
    FIRST_PRIORITY = 12, // of a reclaim: a 2^12th of a list is scanned, then a 2^11th, and so on
    DEMAND_TRIES   = 16,
    MOST_TIMES     = 4,  // times the requested pages: beyond that not every page of it is needed
    MOST_ASKED     = 32, // requested pages, as a power of two: 16 TiB in pages of 4 KiB
};

enum flags {
    ACTIVE     = GGS_FOLIO_ACTIVE,
    REFERENCED = 2,  // touched at the last scan
    YOUNG      = 4,  // touched since: the bit in the page table
    MARKED     = 8,  // touching it starts the next readahead
    WORKINGSET = 16, // was active once
    FRESH      = 32, // being read: not reclaimable
};
enum { INACTIVE, ACTIVES }; // the lists

// Statistics that the kernel uses, updated only every two seconds.
struct statistics {
    uint64_t active, inactive, refaults;
};

struct readahead {
    uint32_t start, size, ahead,
        order; // pages relative to the file; `ahead`: distance of the mark from the window's end
};

struct cache {
    const struct ggs_paging_sequence * sequence;
    uint64_t                           limit; // pages
    struct ggs_folios                  folios;
    uint32_t *        shadow; // by page, of evicted ones: the age then, two bits up; bit 1: was active once; bit 0: set
    uint32_t          age;    // evictions and activations in pages; wraps
    uint64_t          refaults;             // activations of refaults
    struct statistics seen;                 // as reclaim sees them
    uint64_t          stale;                // pages read between updates
    uint64_t          seen_at;              // pages read at the last update
    uint64_t          last_refaults;        // seen by the last reclaim
    uint32_t          window;               // readahead in pages
    uint32_t          most_order;           // of a folio
    uint64_t          file;                 // currently being read
    uint32_t          file_begin, file_end; // its pages
    struct readahead * readahead;           // by file
    uint64_t           reads;               // pages read from the disk
    uint64_t           served;              // requested pages
    uint64_t           most_reads;          // then enough has been simulated
};

// ---- reclaim ----

// Evicts the folios of a run one by one; each one ages the cache.
static void evict(struct cache * c, uint32_t run) {
    const struct ggs_folio_run r     = c->folios.run[run];
    const uint32_t             pages = 1u << r.order, age = c->age, bits = (r.flags & WORKINGSET) != 0 ? 3 : 1;
    uint32_t *                 shadow = c->shadow + run;
    for (uint32_t i = 0; r.order == 0 && i < r.n; i++) shadow[i] = (age + i + 1) << 2 | bits;
    for (uint32_t i = 0; r.order != 0 && i < r.n; i++, shadow += pages) {
        const uint32_t value = (age + (i + 1) * pages) << 2 | bits;
        for (uint32_t k = 0; k < pages; k++) shadow[k] = value;
    }
    c->age += r.n * pages;
    ggs_folios_drop(&c->folios, run);
}

// Scans the oldest `scan` pages of the inactive list; returns the number of evicted pages.
static uint64_t shrink_inactive(struct cache * c, uint64_t scan) {
    uint64_t evicted = 0, seen = 0;
    while (seen < scan) {
        uint32_t run = ggs_folios_remove_oldest(&c->folios, INACTIVE, scan - seen);
        if (run == NONE) break;
        uint8_t  flags = c->folios.run[run].flags;
        uint32_t pages = ggs_folios_end(&c->folios, run) - run;
        seen += pages;
        if ((flags & FRESH) != 0) {
            ggs_folios_put(&c->folios, run, flags);
        } else if ((flags & YOUNG) == 0) {
            evict(c, run);
            evicted += pages;
        } else if ((flags & REFERENCED) == 0) {
            ggs_folios_put(&c->folios, run, (uint8_t) ((flags & ~YOUNG) | REFERENCED));
        } else {
            c->age += pages;
            ggs_folios_put(&c->folios, run, (uint8_t) ((flags & ~YOUNG) | ACTIVE));
        }
    }
    return evicted;
}

static void shrink_active(struct cache * c, uint64_t scan) {
    for (uint64_t seen = 0; seen < scan;) {
        uint32_t run = ggs_folios_remove_oldest(&c->folios, ACTIVES, scan - seen);
        if (run == NONE) break;
        seen += ggs_folios_end(&c->folios, run) - run;
        ggs_folios_put(&c->folios, run, (uint8_t) ((c->folios.run[run].flags & ~(ACTIVE | YOUNG)) | WORKINGSET));
    }
}

// True if the inactive list is too short. Above a GiB the active list may be longer.
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

static uint64_t shrink(struct cache * c, unsigned priority, uint64_t wanted, bool deactivate) {
    uint64_t inactive = c->folios.list[INACTIVE].pages >> priority, evicted = 0;
    uint64_t active = c->folios.list[ACTIVES].pages >> priority;
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

// Walks the old end of a list without changing it.
struct front {
    uint32_t run, left; // pages of the run not yet scanned
    uint32_t size;      // of its folios, in pages
    uint64_t pages;     // of the list, not yet scanned
    uint64_t seen;
};

static void step_to(const struct cache * c, struct front * front, uint32_t run) {
    front->run  = run;
    front->left = run == NONE ? 0 : ggs_folios_end(&c->folios, run) - run;
    front->size = run == NONE ? 1 : 1u << c->folios.run[run].order;
}

static struct front front_of(const struct cache * c, unsigned list) {
    struct front front = {.pages = c->folios.list[list].pages};
    step_to(c, &front, c->folios.list[list].oldest);
    return front;
}

// Scans `scan` pages in whole folios. False if there are not enough, or if runs behind the first
// have any of the flags `without`.
static inline bool scan_pages(const struct cache * c, struct front * front, uint64_t scan, unsigned without) {
    for (;;) {
        uint64_t pages = smaller((scan + front->size - 1) & ~(uint64_t) (front->size - 1), front->left);
        front->left -= (uint32_t) pages;
        front->pages -= pages;
        front->seen += pages;
        if (pages >= scan) return true;
        scan -= pages;
        if (front->run == NONE) return false;
        step_to(c, front, c->folios.run[front->run].newer);
        if (front->run == NONE || (c->folios.run[front->run].flags & without) != 0) return false;
    }
}

// The result of step-by-step shrinking if everything scanned is evicted: the order of steps is then
// irrelevant, and it is done at once. Returns 0 without changes if this does not hold.
static uint64_t shrink_at_once(struct cache * c, uint64_t wanted, bool deactivate) {
    struct front inactive = front_of(c, INACTIVE), active = front_of(c, ACTIVES);
    if (inactive.run == NONE || (c->folios.run[inactive.run].flags & (YOUNG | FRESH)) != 0) return 0;
    for (unsigned priority = FIRST_PRIORITY + 1; priority-- > 0 && inactive.seen < wanted;) {
        uint64_t left = inactive.pages >> priority, left_active = active.pages >> priority;
        while ((left > 0 || left_active > 0) && inactive.seen < wanted) {
            uint64_t scan = smaller(left, SCAN_BATCH), scan_active = smaller(left_active, SCAN_BATCH);
            uint64_t before = active.seen;
            if (!scan_pages(c, &inactive, scan, YOUNG | FRESH)) return 0;
            if (deactivate && !scan_pages(c, &active, scan_active, 0)) return 0;
            inactive.pages += active.seen - before;
            left -= scan;
            left_active -= scan_active;
        }
    }
    if (inactive.seen < wanted) return 0;
    shrink_inactive(c, inactive.seen);
    shrink_active(c, active.seen);
    return inactive.seen;
}

static void bring_up_to_date(struct cache * c) {
    if (c->reads - c->seen_at < c->stale) return;
    c->seen    = (struct statistics){c->folios.list[ACTIVES].pages, c->folios.list[INACTIVE].pages, c->refaults};
    c->seen_at = c->reads;
}

static void reclaim(struct cache * c, uint64_t pages) {
    bring_up_to_date(c);
    uint64_t wanted     = pages > SCAN_BATCH ? pages : SCAN_BATCH;
    bool     deactivate = c->seen.refaults != c->last_refaults || inactive_is_low(c);
    uint64_t evicted    = shrink_at_once(c, wanted, deactivate);
    for (int force = 0; force < 2 && evicted == 0; force++) {
        for (unsigned priority = FIRST_PRIORITY + 1; priority-- > 0 && evicted < wanted;)
            evicted += shrink(c, priority, wanted - evicted, deactivate || force != 0);
    }
    c->last_refaults = c->seen.refaults;
}

// ---- reading ----

// True (all bits set) if the page was evicted so recently that it would have stayed with a shorter
// active list.
static uint32_t refaults(uint32_t shadow, uint32_t age, uint32_t active) {
    uint32_t distance = (age - (shadow >> 2)) & (UINT32_MAX >> 2);
    uint32_t near     = 0u - ((int32_t) distance <= (int32_t) active); // signed: has vector instructions
    return shadow == 0 ? 0 : near;
}

static uint32_t shadow_of(const struct cache * c, uint32_t page, uint32_t order) {
    uint32_t shadow = 0;
    for (uint32_t i = 1u << order; i > 0 && shadow == 0; i--) shadow = c->shadow[page + i - 1];
    return shadow;
}

// Of `most` folios, counts those with the same fate as the first. Refaulting ones age the cache one
// by one.
static uint32_t count_alike(const struct cache * c, uint32_t page, uint32_t order, uint32_t most) {
    enum { STRIDE = 64 };
    const uint32_t   age = c->age, active = (uint32_t) c->seen.active;
    const uint32_t * shadows = c->shadow + page;
    const uint32_t   first = shadow_of(c, page, order), back = refaults(first, age, active);
    const uint32_t   step = (1u << order) & back, mask = 2 & back;
    uint32_t         i = 0;
    for (uint32_t other = 0; order == 0 && i < most && other == 0;) {
        const uint32_t end = most - i < STRIDE ? most : i + STRIDE;
        for (uint32_t k = i; k < end; k++)
            other |= (refaults(shadows[k], age + k * step, active) ^ back) | ((shadows[k] ^ first) & mask);
        if (other == 0) i = end;
    }
    for (; i < most; i++) {
        uint32_t shadow = shadow_of(c, page + (i << order), order);
        if (refaults(shadow, age + i * step, active) != back || ((shadow ^ first) & mask) != 0) break;
    }
    return i;
}

// Reads at most `most` folios; returns the number read at once. 0 if a page of the first is
// resident, or if no room can be made.
static uint32_t add_folios(struct cache * c, uint32_t page, uint32_t order, uint32_t most, uint8_t flags,
                           unsigned tries) {
    uint32_t size = 1u << order;
    if (ggs_folios_present(&c->folios, page, page + size) < page + size) return 0;
    while (c->folios.pages + size > c->limit) {
        if (tries-- == 0) return 0;
        reclaim(c, size);
    }
    uint64_t room   = (c->limit - c->folios.pages) >> order;
    uint32_t n      = room < most ? (uint32_t) room : most;
    n               = (ggs_folios_present(&c->folios, page, page + (n << order)) - page) >> order;
    n               = count_alike(c, page, order, n);
    uint32_t shadow = shadow_of(c, page, order);
    if (refaults(shadow, c->age, (uint32_t) c->seen.active) != 0) {
        flags |= (uint8_t) (ACTIVE | ((shadow & 2) != 0 ? WORKINGSET : 0));
        c->age += n << order;
        c->refaults += n;
    }
    ggs_folios_add(&c->folios, page, (uint8_t) order, n, flags);
    c->reads += n << order;
    return n;
}

// Reads the folios of the window from `page` to `end`, including the marked one; returns the first
// page that it could not read.
static uint32_t add_window(struct cache * c, uint32_t page, uint32_t order, uint32_t end, uint32_t mark) {
    uint32_t marked = mark & ~((1u << order) - 1);
    while (page < end) {
        uint32_t most = (end - page) >> order;
        uint8_t  flag = marked == page || mark == page ? MARKED : 0;
        if (marked > page && (marked - page) >> order < most) most = (marked - page) >> order;
        if (mark > page && (mark - page) >> order < most) most = (mark - page) >> order;
        uint32_t n = add_folios(c, page, order, most == 0 || flag != 0 ? 1 : most, FRESH | flag, 1);
        if (n == 0) break;
        page += n << order;
    }
    return page;
}

static void settle(struct cache * c, uint32_t begin, uint32_t end) {
    for (uint32_t page = begin; (page = ggs_folios_present(&c->folios, page, end)) < end;) {
        uint32_t run = ggs_folios_find(&c->folios, page);
        c->folios.run[run].flags &= (uint8_t) ~FRESH;
        page = ggs_folios_end(&c->folios, run);
    }
}

// Reads the missing part of the window in folios as large as alignment and its order allow, and in
// single pages after a resident page.
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
        uint32_t stop = fit == order ? page + ((end - page) >> order << order) : page + (1u << fit);
        page          = add_window(c, page, fit, stop, mark);
        if (page < stop) break;
    }
    while ((page = ggs_folios_missing(&c->folios, page, end)) < end) {
        uint32_t stop = ggs_folios_present(&c->folios, page, end);
        page          = add_window(c, page, 0, stop, mark);
        if (page < stop) break;
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

// A marked folio was touched: reads the next window. If the mark is not from the last window, it
// starts at the next missing page.
static void read_ahead(struct cache * c, uint32_t page, unsigned order) {
    struct readahead * ra    = &c->readahead[c->file];
    uint32_t           index = page - c->file_begin;
    if (index == ((ra->start + ra->size - ra->ahead) & ~((1u << order) - 1))) {
        ra->start += ra->size;
    } else {
        uint32_t end     = c->file_end - (page + 1) > c->window ? page + 1 + c->window : c->file_end;
        uint32_t missing = ggs_folios_missing(&c->folios, page + 1, end) - c->file_begin;
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

static void set_flags(struct cache * c, uint32_t run, unsigned without, unsigned with) {
    c->folios.run[run].flags = (uint8_t) ((c->folios.run[run].flags & ~without) | with);
}

static void touch_marked(struct cache * c, uint32_t page) {
    uint32_t run = ggs_folios_cut_out(&c->folios, page, 1);
    set_flags(c, run, MARKED, YOUNG | FRESH);
    read_ahead(c, page, c->folios.run[run].order);
    set_flags(c, ggs_folios_cut_out(&c->folios, page, 1), FRESH, 0);
}

// The engine maps its files with MAP_POPULATE, which marks an access per page table entry: folios
// of several pages are active after that, except those with a single entry.
static void populate(struct cache * c, uint32_t run) {
    const struct ggs_folio_run * r = &c->folios.run[run];
    if (r->order == 0 || r->order >= c->most_order || (r->flags & ACTIVE) != 0) {
        set_flags(c, run, 0, REFERENCED);
    } else {
        c->age += ggs_folios_end(&c->folios, run) - run;
        ggs_folios_remove(&c->folios, run);
        ggs_folios_put(&c->folios, run, r->flags | ACTIVE | REFERENCED);
    }
}

// Touches the pages [page, end) as far as one run of folios has them, or first reads what is
// missing. Returns the first page behind those folios.
static uint32_t touch(struct cache * c, uint32_t page, uint32_t end, bool load) {
    if (!ggs_folios_has(&c->folios, page)) {
        if (c->window > 0) read_around(c, page);
        if (!ggs_folios_has(&c->folios, page)) add_folios(c, page, 0, 1, 0, DEMAND_TRIES);
        if (!ggs_folios_has(&c->folios, page)) return page + 1; // less memory than a single reclaim needs
    }
    uint32_t                     run = ggs_folios_find(&c->folios, page), n = 1;
    const struct ggs_folio_run * r     = &c->folios.run[run];
    uint32_t                     folio = run + ((page - run) >> r->order << r->order);
    if ((r->flags & MARKED) != 0) {
        touch_marked(c, page);
    } else {
        if (c->reads <= c->most_reads) n = ((end - 1 - folio) >> r->order) + 1;
        if ((r->flags & YOUNG) == 0) set_flags(c, ggs_folios_cut_out(&c->folios, page, n), 0, YOUNG);
    }
    run           = load ? ggs_folios_cut_out(&c->folios, page, n) : ggs_folios_find(&c->folios, page);
    uint32_t last = ggs_folios_end(&c->folios, run), most = folio + (n << c->folios.run[run].order);
    if (load) populate(c, run);
    return last < most ? last : most;
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
        uint32_t next = touch(c, page, end, load);
        c->served += (next < end ? next : end) - page;
        page = next;
    }
}

// ---- interface ----

static int make_cache(struct cache * c, const struct ggs_paging_sequence * sequence,
                      const struct ggs_paging_linux_host * host, struct ggs_error * error) {
    *c = (struct cache){.sequence  = sequence,
                        .limit     = host->memory / sequence->page,
                        .stale     = host->stale / sequence->page,
                        .shadow    = calloc(sequence->n_pages + (size_t) 1, sizeof(*c->shadow)),
                        .readahead = calloc(sequence->n_files + 1, sizeof(*c->readahead))};
    if (c->shadow == NULL || c->readahead == NULL || !ggs_folios_init(&c->folios, sequence->n_pages))
        return ggs_fail_memory(error);
    uint64_t window = 2 * (host->readahead / sequence->page);
    c->window       = window > sequence->n_pages ? sequence->n_pages : (uint32_t) window;
    while ((2ull << c->most_order) * sequence->page <= 2 << 20) c->most_order++;
    find_file(c, 0);
    return 0;
}

static void release_cache(struct cache * c) {
    ggs_folios_release(&c->folios);
    free(c->shadow);
    free(c->readahead);
}

// With less memory than a few readahead windows, every requested page costs a whole window, and the
// simulation as much time. It then ends early, and the rest of each class is assumed to cost as
// much per page.
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

int ggs_paging_linux(struct ggs_paging_cost * cost, const struct ggs_paging_sequence * sequence,
                     const struct ggs_paging_linux_host * host, struct ggs_error * error) {
    struct cache c;
    uint64_t     next = 0, asked[GGS_READ_CLASSES] = {0}, served[GGS_READ_CLASSES] = {0};
    *cost = (struct ggs_paging_cost){0};
    if (sequence->n_pages == 0) return 0;
    count_asked(sequence, asked);
    uint64_t all = asked[GGS_READ_LOAD] + asked[GGS_READ_PROMPT] + asked[GGS_READ_GENERATE];
    if (all >> MOST_ASKED != 0)
        return ggs_fail(
            error, GGS_UNSUPPORTED,
            "the recording claims reads of %llu pages, more than can be simulated for linux; choose tokens with --token, larger pages with --page, or other policies with --policy",
            (unsigned long long) all);
    int status   = make_cache(&c, sequence, host, error);
    c.most_reads = MOST_TIMES * all;
    for (uint64_t s = 0; status == 0 && s < sequence->n_spans; s++) {
        const struct ggs_read_span * span   = &sequence->spans[s];
        uint64_t                     before = c.reads, served_before = c.served;
        for (; next < span->end; next++) serve(&c, &sequence->reads[next], span->class_ == GGS_READ_LOAD);
        cost->bytes[span->class_] += (c.reads - before) * sequence->page;
        served[span->class_] += c.served - served_before;
    }
    release_cache(&c);
    if (status == 0) extrapolate(cost, asked, served);
    return status;
}
