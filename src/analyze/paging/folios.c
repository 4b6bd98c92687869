#include "analyze/paging/folios.h"

#include <stdlib.h>

enum { MOST_PAGES = 1024 }; // of a growing run: finding a page's run goes backwards by words of bits

bool ggs_folios_init(struct ggs_folios * folios, uint32_t n_pages) {
    size_t words = n_pages / 64 + (size_t) 1;
    *folios      = (struct ggs_folios){.run      = calloc(n_pages + (size_t) 1, sizeof(*folios->run)),
                                       .resident = calloc(words, sizeof(*folios->resident)),
                                       .begins   = calloc(words, sizeof(*folios->begins)),
                                       .list     = {{GGS_NO_PAGE, GGS_NO_PAGE, 0}, {GGS_NO_PAGE, GGS_NO_PAGE, 0}}};
    if (folios->run != NULL && folios->resident != NULL && folios->begins != NULL) return true;
    ggs_folios_release(folios);
    return false;
}

void ggs_folios_release(struct ggs_folios * folios) {
    free(folios->run);
    free(folios->resident);
    free(folios->begins);
    *folios = (struct ggs_folios){0};
}

// ---- pages ----

// Returns the first bit of [bit, end) that is set after inverting with `flip`.
static uint32_t find_bit(const uint64_t * bits, uint32_t bit, uint32_t end, uint64_t flip) {
    if (bit >= end) return end;
    uint32_t at   = bit / 64;
    uint64_t word = (bits[at] ^ flip) & UINT64_MAX << (bit % 64);
    while (word == 0 && (at + 1) * (uint64_t) 64 < end) word = bits[++at] ^ flip;
    if (word == 0) return end;
    uint32_t found = at * 64 + (uint32_t) __builtin_ctzll(word);
    return found < end ? found : end;
}

uint32_t ggs_folios_missing(const struct ggs_folios * folios, uint32_t page, uint32_t end) {
    return find_bit(folios->resident, page, end, UINT64_MAX);
}

uint32_t ggs_folios_present(const struct ggs_folios * folios, uint32_t page, uint32_t end) {
    return find_bit(folios->resident, page, end, 0);
}

// Inverts the bits [begin, end), at least one.
static void flip_bits(uint64_t * bits, uint32_t begin, uint32_t end) {
    uint32_t at = begin / 64, last = (end - 1) / 64;
    uint64_t from = UINT64_MAX << (begin % 64), to = UINT64_MAX >> (63 - (end - 1) % 64);
    if (at == last) {
        bits[at] ^= from & to;
        return;
    }
    bits[at] ^= from;
    while (++at < last) bits[at] = ~bits[at];
    bits[last] ^= to;
}

static void flip_begin(struct ggs_folios * folios, uint32_t page) {
    folios->begins[page / 64] ^= 1ull << (page % 64);
}

// ---- runs ----

uint32_t ggs_folios_find(const struct ggs_folios * folios, uint32_t page) {
    uint32_t at   = page / 64;
    uint64_t word = folios->begins[at] & UINT64_MAX >> (63 - page % 64);
    while (word == 0) word = folios->begins[--at];
    return at * 64 + 63 - (uint32_t) __builtin_clzll(word);
}

static struct ggs_folio_list * list_of(struct ggs_folios * folios, uint32_t run) {
    return &folios->list[folios->run[run].flags & GGS_FOLIO_ACTIVE];
}

static uint64_t pages_of(const struct ggs_folios * folios, uint32_t run) {
    return (uint64_t) folios->run[run].n << folios->run[run].order;
}

// Splits a run after its first `n` folios; the rest becomes the next run in the list.
static void cut(struct ggs_folios * folios, uint32_t run, uint32_t n) {
    struct ggs_folio_run * r    = &folios->run[run];
    uint32_t               rest = run + (n << r->order);
    folios->run[rest]           = (struct ggs_folio_run){r->newer, run, r->n - n, r->order, r->flags};
    if (r->newer == GGS_NO_PAGE) {
        list_of(folios, run)->newest = rest;
    } else {
        folios->run[r->newer].older = rest;
    }
    r->newer = rest;
    r->n     = n;
    flip_begin(folios, rest);
}

uint32_t ggs_folios_cut_out(struct ggs_folios * folios, uint32_t page, uint32_t n) {
    uint32_t run = ggs_folios_find(folios, page), before = (page - run) >> folios->run[run].order;
    if (before > 0) {
        cut(folios, run, before);
        run = ggs_folios_end(folios, run);
    }
    if (folios->run[run].n > n) cut(folios, run, n);
    return run;
}

void ggs_folios_put(struct ggs_folios * folios, uint32_t run, uint8_t flags) {
    struct ggs_folio_run *  r      = &folios->run[run];
    struct ggs_folio_list * list   = &folios->list[flags & GGS_FOLIO_ACTIVE];
    uint32_t                newest = list->newest;
    r->flags                       = flags;
    list->pages += pages_of(folios, run);
    if (newest != GGS_NO_PAGE) {
        struct ggs_folio_run * last = &folios->run[newest];
        if (ggs_folios_end(folios, newest) == run && last->order == r->order && last->flags == flags &&
            pages_of(folios, newest) + pages_of(folios, run) <= MOST_PAGES) {
            last->n += r->n;
            flip_begin(folios, run);
            return;
        }
        last->newer = run;
    } else {
        list->oldest = run;
    }
    r->newer     = GGS_NO_PAGE;
    r->older     = newest;
    list->newest = run;
}

void ggs_folios_remove(struct ggs_folios * folios, uint32_t run) {
    const struct ggs_folio_run * r    = &folios->run[run];
    struct ggs_folio_list *      list = list_of(folios, run);
    if (r->newer == GGS_NO_PAGE) {
        list->newest = r->older;
    } else {
        folios->run[r->newer].older = r->older;
    }
    if (r->older == GGS_NO_PAGE) {
        list->oldest = r->newer;
    } else {
        folios->run[r->older].newer = r->newer;
    }
    list->pages -= pages_of(folios, run);
}

uint32_t ggs_folios_remove_oldest(struct ggs_folios * folios, unsigned list, uint64_t pages) {
    struct ggs_folio_list * l   = &folios->list[list];
    uint32_t                run = l->oldest;
    if (run == GGS_NO_PAGE) return run;
    struct ggs_folio_run * r   = &folios->run[run];
    uint64_t               n   = (pages + (1u << r->order) - 1) >> r->order;
    uint32_t               old = r->newer;
    if (n < r->n) {
        old              = run + ((uint32_t) n << r->order);
        folios->run[old] = (struct ggs_folio_run){r->newer, GGS_NO_PAGE, r->n - (uint32_t) n, r->order, r->flags};
        flip_begin(folios, old);
        if (r->newer != GGS_NO_PAGE) folios->run[r->newer].older = old;
        if (r->newer == GGS_NO_PAGE) l->newest = old;
        r->n = (uint32_t) n;
    } else if (old != GGS_NO_PAGE) {
        folios->run[old].older = GGS_NO_PAGE;
    } else {
        l->newest = GGS_NO_PAGE;
    }
    l->oldest = old;
    l->pages -= pages_of(folios, run);
    return run;
}

void ggs_folios_add(struct ggs_folios * folios, uint32_t page, uint8_t order, uint32_t n, uint8_t flags) {
    folios->run[page] = (struct ggs_folio_run){.n = n, .order = order};
    folios->pages += pages_of(folios, page);
    flip_bits(folios->resident, page, ggs_folios_end(folios, page));
    flip_begin(folios, page);
    ggs_folios_put(folios, page, flags);
}

void ggs_folios_drop(struct ggs_folios * folios, uint32_t run) {
    flip_bits(folios->resident, run, ggs_folios_end(folios, run));
    flip_begin(folios, run);
    folios->pages -= pages_of(folios, run);
}
