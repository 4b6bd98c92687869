// Unit tests of src/analyze/paging*.c: the policies on blocks against plain caches of single pages.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/paging/linux.h"
#include "analyze/paging/lru.h"
#include "analyze/paging/opt.h"
#include "analyze/paging/pin.h"
#include "base/error.h"
#include "page-cache-fixture.h"

enum { PAGE = 4096, PAGES = 60, MOST_READS = 80, MOST_TOUCHES = MOST_READS * PAGES + PAGES };

static uint32_t next_random(uint32_t * state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

// A sequence of reads, and the same as single pages in order.
struct history {
    struct ggs_paging_sequence sequence;
    uint32_t                   pages[MOST_TOUCHES];
    enum ggs_read_class        classes[MOST_TOUCHES];
    size_t                     n;
};

static void begin(struct history * h, const uint64_t * sizes, uint64_t n_files) {
    struct ggs_error error;
    h->n = 0;
    assert_int_equal(ggs_paging_sequence_init(&h->sequence, PAGE, sizes, n_files, &error), 0);
}

static void read_bytes(struct history * h, uint64_t file, uint64_t from, uint64_t to, enum ggs_read_class class_) {
    struct ggs_error error;
    assert_int_equal(ggs_paging_sequence_read(&h->sequence, file, from, to, class_, &error), 0);
    for (uint64_t page = from / PAGE; page * PAGE < to; page++) {
        h->pages[h->n]     = h->sequence.first_page[file] + (uint32_t) page;
        h->classes[h->n++] = class_;
    }
}

static void finish(struct history * h, bool load) {
    struct ggs_error error;
    assert_int_equal(ggs_paging_sequence_finish(&h->sequence, load, &error), 0);
    if (!load) return;
    memmove(h->pages + h->sequence.n_pages, h->pages, h->n * sizeof(*h->pages));
    memmove(h->classes + h->sequence.n_pages, h->classes, h->n * sizeof(*h->classes));
    for (uint32_t i = 0; i < h->sequence.n_pages; i++) h->pages[i] = i, h->classes[i] = GGS_READ_LOAD;
    h->n += h->sequence.n_pages;
}

// Random reads of two files; some are repeated, as those of a model are.
static void make_random(struct history * h, uint32_t * seed, bool load) {
    uint64_t sizes[] = {40 * PAGE - 100, 20 * PAGE};
    uint64_t places[10][3];
    begin(h, sizes, 2);
    for (int i = 0; i < 10; i++) {
        uint64_t file = next_random(seed) % 2, from = next_random(seed) % (sizes[file] - 1);
        uint64_t to  = from + 1 + next_random(seed) % (8 * PAGE);
        places[i][0] = file, places[i][1] = from, places[i][2] = to > sizes[file] ? sizes[file] : to;
    }
    unsigned n = 1 + next_random(seed) % MOST_READS;
    for (unsigned i = 0; i < n; i++) {
        const uint64_t * place = places[next_random(seed) % 10];
        read_bytes(h, place[0], place[1], place[2], i < n / 3 ? GGS_READ_PROMPT : GGS_READ_GENERATE);
    }
    finish(h, load);
}

// ---- plain caches ----

static struct ggs_paging_cost plain_lru(const struct history * h, uint64_t limit) {
    struct ggs_paging_cost cost        = {0};
    uint32_t               held[PAGES] = {0};
    uint64_t               n           = 0;
    for (size_t i = 0; i < h->n; i++) {
        uint64_t at = 0;
        while (at < n && held[at] != h->pages[i]) at++;
        if (at == n) {
            cost.bytes[h->classes[i]] += PAGE;
            if (n < limit) {
                n++;
            } else if (n > 0) {
                at = n - 1;
            } else {
                continue;
            }
        }
        memmove(held + 1, held, at * sizeof(*held)); // the most recent one is in front
        held[0] = h->pages[i];
    }
    return cost;
}

// The first use of a page in [from, end), `end` for none.
static size_t next_use(const struct history * h, size_t from, size_t end, uint32_t page) {
    while (from < end && h->pages[from] != page) from++;
    return from;
}

static void drop_last_needed(const struct history * h, size_t from, size_t end, uint32_t * held, uint64_t * n) {
    uint64_t last = 0;
    for (uint64_t k = 1; k < *n; k++) {
        if (next_use(h, from, end, held[k]) > next_use(h, from, end, held[last])) last = k;
    }
    held[last] = held[--*n];
}

// Each stretch of a class by itself, from the best contents.
static struct ggs_paging_cost plain_optimum(const struct history * h, uint64_t limit) {
    struct ggs_paging_cost cost = {0};
    for (size_t begin = 0, end; begin < h->n; begin = end) {
        uint32_t held[PAGES + 1] = {0};
        uint64_t n               = 0;
        for (end = begin; end < h->n && h->classes[end] == h->classes[begin];) end++;
        for (uint32_t page = 0; begin > 0 && page < h->sequence.n_pages; page++) held[n++] = page;
        while (n > limit) drop_last_needed(h, begin, end, held, &n);
        for (size_t i = begin; i < end; i++) {
            uint64_t at = 0;
            while (at < n && held[at] != h->pages[i]) at++;
            if (at == n) {
                cost.bytes[h->classes[i]] += PAGE;
                held[n++] = h->pages[i];
            }
            if (n > limit) drop_last_needed(h, i + 1, end, held, &n);
        }
    }
    return cost;
}

static void assert_costs_equal(const struct ggs_paging_cost * a, const struct ggs_paging_cost * b) {
    for (unsigned i = 0; i < GGS_READ_CLASSES; i++) assert_int_equal(a->bytes[i], b->bytes[i]);
}

static uint64_t sum(const struct ggs_paging_cost * cost) {
    uint64_t all = 0;
    for (unsigned i = 0; i < GGS_READ_CLASSES; i++) all += cost->bytes[i];
    return all;
}

// ---- tests ----

static void test_lru_is_exact_for_every_size(void ** state) {
    (void) state;
    uint32_t              seed = 1;
    struct history        h;
    struct ggs_paging_lru lru;
    struct ggs_error      error;
    for (int round = 0; round < 100; round++) {
        make_random(&h, &seed, round % 2 == 0);
        assert_int_equal(ggs_paging_lru_compute(&lru, &h.sequence, &error), 0);
        for (uint64_t limit = 0; limit <= PAGES; limit++) {
            struct ggs_paging_cost cost = ggs_paging_lru_cost(&lru, limit * PAGE), plain = plain_lru(&h, limit);
            assert_costs_equal(&cost, &plain);
        }
        ggs_paging_lru_release(&lru);
        ggs_paging_sequence_release(&h.sequence);
    }
}

static void test_optimum_is_exact(void ** state) {
    (void) state;
    uint32_t              seed = 7;
    struct history        h;
    struct ggs_paging_opt opt;
    struct ggs_error      error;
    for (int round = 0; round < 40; round++) {
        make_random(&h, &seed, round % 2 == 0);
        assert_int_equal(ggs_paging_opt_init(&opt, &h.sequence, &error), 0);
        for (uint64_t limit = 0; limit <= PAGES; limit += 3) {
            struct ggs_paging_cost cost, plain = plain_optimum(&h, limit);
            assert_int_equal(ggs_paging_opt_cost(&opt, &cost, limit * PAGE, &error), 0);
            assert_costs_equal(&cost, &plain);
        }
        ggs_paging_opt_release(&opt);
        ggs_paging_sequence_release(&h.sequence);
    }
}

static void test_nothing_reads_less_than_the_optimum(void ** state) {
    (void) state;
    uint32_t              seed = 3;
    struct history        h;
    struct ggs_paging_opt opt;
    struct ggs_error      error;
    for (int round = 0; round < 100; round++) {
        struct ggs_paging_linux_host host = {.readahead = (uint64_t) (round % 3) * 4 * PAGE, .stale = 100 * PAGE};
        struct ggs_paging_cost       best, cost;
        make_random(&h, &seed, false);
        assert_int_equal(ggs_paging_opt_init(&opt, &h.sequence, &error), 0);
        for (host.memory = 8 * PAGE; host.memory < (PAGES + 8) * PAGE; host.memory += 5 * PAGE) {
            assert_int_equal(ggs_paging_opt_cost(&opt, &best, host.memory, &error), 0);
            assert_int_equal(ggs_paging_linux(&cost, &h.sequence, &host, &error), 0);
            assert_true(sum(&cost) >= sum(&best));
        }
        ggs_paging_opt_release(&opt);
        ggs_paging_sequence_release(&h.sequence);
    }
}

// Weights that begin anywhere, some in the middle of a page or of a read; each touched block
// belongs to the one it begins in.
static uint64_t make_weights(const struct history * h, struct ggs_paging_weight * weight, uint32_t * seed) {
    const struct ggs_paging_sequence * s = &h->sequence;
    uint64_t                           n = 0, end = (uint64_t) s->n_pages * PAGE;
    uint32_t                           block = 0;
    for (uint64_t at = 0, size; at < end; at += size) {
        size                       = 1 + next_random(seed) % (6 * PAGE);
        struct ggs_paging_weight w = {.name = "", .expert = -1, .offset = at, .size = size};
        for (; block < s->n_blocks && (uint64_t) s->begin[block] * PAGE < at + size; block++) {
            if (!s->touched[block]) continue;
            if (w.n_blocks == 0) w.first_block = block;
            w.n_blocks = block + 1 - w.first_block;
            w.pages += ggs_block_pages(s, block);
        }
        if (w.n_blocks > 0) weight[n++] = w;
    }
    return n;
}

static void test_pins_read_no_less_than_the_optimum(void ** state) {
    (void) state;
    uint32_t                  seed = 21;
    struct history            h;
    struct ggs_paging_opt     opt;
    struct ggs_paging_lru     lru;
    struct ggs_error          error;
    struct ggs_paging_weight  weight[PAGES];
    struct ggs_paging_weights weights = {weight, 0};
    for (int round = 0; round < 200; round++) {
        struct ggs_paging_cost best, cost, none;
        struct ggs_paging_pins pins;
        make_random(&h, &seed, round % 2 == 0);
        weights.n = make_weights(&h, weight, &seed);
        assert_int_equal(ggs_paging_opt_init(&opt, &h.sequence, &error), 0);
        assert_int_equal(ggs_paging_lru_compute(&lru, &h.sequence, &error), 0);
        none = ggs_paging_lru_cost(&lru, 0);
        for (uint64_t memory = 0; memory < (PAGES + 2) * PAGE; memory += PAGE + PAGE / 3) {
            struct ggs_paging_cost plain = ggs_paging_lru_cost(&lru, memory);
            assert_int_equal(ggs_paging_opt_cost(&opt, &best, memory, &error), 0);
            assert_int_equal(ggs_paging_pin(&pins, &cost, &weights, &h.sequence, memory, &error), 0);
            for (unsigned c = 0; c < GGS_READ_CLASSES; c++) {
                assert_true(best.bytes[c] <= cost.bytes[c] && cost.bytes[c] <= none.bytes[c]);
                assert_true(best.bytes[c] <= plain.bytes[c] && plain.bytes[c] <= none.bytes[c]);
            }
            assert_true(pins.bytes + pins.stream == memory);
            ggs_paging_pins_release(&pins);
        }
        ggs_paging_lru_release(&lru);
        ggs_paging_opt_release(&opt);
        ggs_paging_sequence_release(&h.sequence);
    }
}

// A file that is read from end to end by every token.
static void make_scan(struct history * h, uint64_t pages, int tokens) {
    begin(h, (uint64_t[]){pages * PAGE}, 1);
    for (int i = 0; i < tokens; i++) {
        struct ggs_error error;
        assert_int_equal(ggs_paging_sequence_read(&h->sequence, 0, 0, pages * PAGE, GGS_READ_GENERATE, &error), 0);
    }
    h->n = 0;
    assert_int_equal(ggs_paging_sequence_finish(&h->sequence, true, NULL), 0);
}

static void test_cyclic_scan(void ** state) {
    (void) state;
    enum { MODEL = 8192, TOKENS = 10 };
    struct history         h;
    struct ggs_paging_lru  lru;
    struct ggs_paging_opt  opt;
    struct ggs_paging_cost cost;
    struct ggs_error       error;
    make_scan(&h, MODEL, TOKENS);
    assert_int_equal(h.sequence.n_blocks, 1);
    assert_int_equal(ggs_paging_lru_compute(&lru, &h.sequence, &error), 0);
    assert_int_equal(ggs_paging_opt_init(&opt, &h.sequence, &error), 0);
    cost = ggs_paging_lru_cost(&lru, (MODEL - 1) * PAGE); // one page too few: everything is gone when it is needed
    assert_int_equal(cost.bytes[GGS_READ_GENERATE], (uint64_t) TOKENS * MODEL * PAGE);
    cost = ggs_paging_lru_cost(&lru, MODEL * PAGE);
    assert_int_equal(cost.bytes[GGS_READ_GENERATE], 0);
    assert_int_equal(ggs_paging_opt_cost(&opt, &cost, MODEL / 4 * PAGE, &error), 0); // the optimum keeps a quarter
    assert_int_equal(cost.bytes[GGS_READ_GENERATE], (uint64_t) TOKENS * MODEL / 4 * 3 * PAGE);
    ggs_paging_opt_release(&opt);
    ggs_paging_lru_release(&lru);
    ggs_paging_sequence_release(&h.sequence);
}

static void test_linux_when_all_fits(void ** state) {
    (void) state;
    enum { MODEL = 8192 };
    struct history               h;
    struct ggs_error             error;
    struct ggs_paging_cost       cost;
    struct ggs_paging_linux_host host = {.memory = MODEL * PAGE, .readahead = 64 * PAGE, .stale = 1 << 20};
    make_scan(&h, MODEL, 5);
    assert_int_equal(ggs_paging_linux(&cost, &h.sequence, &host, &error), 0);
    assert_int_equal(cost.bytes[GGS_READ_LOAD], MODEL * PAGE); // once, however it is read ahead
    assert_int_equal(cost.bytes[GGS_READ_GENERATE], 0);
    ggs_paging_sequence_release(&h.sequence);
}

// One page in the middle: the window around it is read. Its marked page is touched: the next window
// too.
static void test_linux_reads_around_and_ahead(void ** state) {
    (void) state;
    enum { MODEL = 4096, AHEAD = 32 }; // windows of 64 pages: the engine's advice doubles
    struct ggs_error             error;
    struct history               h;
    struct ggs_paging_cost       cost;
    struct ggs_paging_linux_host host = {.memory = MODEL * PAGE, .readahead = AHEAD * PAGE, .stale = 1 << 20};
    begin(&h, (uint64_t[]){MODEL * PAGE}, 1);
    read_bytes(&h, 0, 1000 * PAGE, 1001 * PAGE, GGS_READ_PROMPT);
    read_bytes(&h, 0, 1016 * PAGE, 1017 * PAGE, GGS_READ_GENERATE); // 968 + 48
    finish(&h, false);
    assert_int_equal(ggs_paging_linux(&cost, &h.sequence, &host, &error), 0);
    assert_int_equal(cost.bytes[GGS_READ_PROMPT], 2 * AHEAD * PAGE);
    assert_int_equal(cost.bytes[GGS_READ_GENERATE], 2 * AHEAD * PAGE);
    host.readahead = 0;
    assert_int_equal(ggs_paging_linux(&cost, &h.sequence, &host, &error), 0);
    assert_int_equal(sum(&cost), 2 * PAGE);
    ggs_paging_sequence_release(&h.sequence);
}

// Three files, some read from end to end by every token and some in parts that differ.
static void make_model(struct ggs_paging_sequence * sequence, uint32_t * seed, uint64_t page) {
    struct ggs_error error;
    uint64_t         sizes[3];
    for (int i = 0; i < 3; i++) sizes[i] = 1 + next_random(seed) % ((i + 1) * 700 * page);
    assert_int_equal(ggs_paging_sequence_init(sequence, page, sizes, 3, &error), 0);
    uint32_t tokens = 1 + next_random(seed) % 12, kind = next_random(seed) % 3;
    for (uint32_t t = 0; t < tokens; t++) {
        enum ggs_read_class class_ = t == 0 ? GGS_READ_PROMPT : GGS_READ_GENERATE;
        for (uint32_t i = 0; i < 12; i++) {
            uint64_t file = kind == 0 ? i / 4 : next_random(seed) % 3, begin = sizes[file] / 4 * (i % 4);
            if (kind == 2) begin = next_random(seed) % sizes[file];
            uint64_t end = kind == 2 ? begin + 1 + next_random(seed) % (sizes[file] - begin) : begin + sizes[file] / 4;
            assert_int_equal(ggs_paging_sequence_read(sequence, file, begin, end, class_, &error), 0);
        }
    }
    assert_int_equal(ggs_paging_sequence_finish(sequence, next_random(seed) % 2 == 0, &error), 0);
}

static void test_linux_in_runs_is_linux_folio_by_folio(void ** state) {
    (void) state;
    static const uint64_t pages[] = {4096, 4096, 65536}, windows[] = {0, 1, 3, 8, 32, 100, 512, 2048};
    uint32_t              seed = 11;
    for (int round = 0; round < 250; round++) {
        struct ggs_paging_sequence   sequence;
        struct ggs_error             error;
        uint64_t                     page = pages[next_random(&seed) % 3];
        struct ggs_paging_linux_host host = {.readahead = windows[next_random(&seed) % 8] * page};
        make_model(&sequence, &seed, page);
        for (int i = 0; i < 4; i++) {
            struct ggs_paging_cost cost, plain;
            host.memory = next_random(&seed) % (sequence.n_pages + 100) * page >> (i == 3 ? 4 : 0);
            host.stale  = next_random(&seed) % (2 * sequence.n_pages) * page;
            plain       = plain_linux(&sequence, &host);
            assert_int_equal(ggs_paging_linux(&cost, &sequence, &host, &error), 0);
            assert_costs_equal(&cost, &plain);
        }
        ggs_paging_sequence_release(&sequence);
    }
}

static void test_linux_with_hardly_any_memory(void ** state) {
    (void) state;
    struct history               h;
    struct ggs_error             error;
    struct ggs_paging_cost       cost;
    struct ggs_paging_linux_host host = {.memory = 0, .readahead = 64 * PAGE, .stale = 0};
    make_scan(&h, 2000, 2);
    for (; host.memory < 40 * PAGE; host.memory += PAGE)
        assert_int_equal(ggs_paging_linux(&cost, &h.sequence, &host, &error), 0);
    ggs_paging_sequence_release(&h.sequence);
}

static void test_pins_what_saves_most(void ** state) {
    (void) state;
    struct history           h;
    struct ggs_error         error;
    struct ggs_paging_pins   pins;
    struct ggs_paging_cost   cost;
    struct ggs_paging_weight weight[3] = {
        {.name        = "often",
         .expert      = -1,
         .offset      = 20 * PAGE,
         .size        = 20 * PAGE,
         .first_block = 1,
         .n_blocks    = 1,
         .pages       = 20},
        {.name = "large", .expert = -1, .offset = 0, .size = 20 * PAGE, .first_block = 0, .n_blocks = 1, .pages = 20},
        {.name        = "once",
         .expert      = -1,
         .offset      = 40 * PAGE,
         .size        = 20 * PAGE,
         .first_block = 2,
         .n_blocks    = 1,
         .pages       = 20}};
    struct ggs_paging_weights weights = {weight, 3};
    begin(&h, (uint64_t[]){60 * PAGE}, 1);
    for (int i = 0; i < 4; i++) {
        read_bytes(&h, 0, 20 * PAGE, 40 * PAGE, GGS_READ_GENERATE);
        if (i % 2 == 0) read_bytes(&h, 0, 0, 20 * PAGE, GGS_READ_GENERATE);
        if (i == 0) read_bytes(&h, 0, 40 * PAGE, 60 * PAGE, GGS_READ_GENERATE);
    }
    finish(&h, false);
    assert_int_equal(h.sequence.n_blocks, 3);
    assert_int_equal(ggs_paging_pin(&pins, &cost, &weights, &h.sequence, 25 * PAGE, &error), 0);
    assert_int_equal(pins.n, 1);
    assert_int_equal(pins.weight[0], 0);
    assert_int_equal(pins.bytes, 20 * PAGE);
    assert_int_equal(pins.stream, 5 * PAGE);
    assert_int_equal(cost.bytes[GGS_READ_LOAD], 0); // there is none: pins are read when they are needed
    assert_int_equal(cost.bytes[GGS_READ_GENERATE],
                     4 * 20 * PAGE); // once what is pinned, twice the one, once the other
    ggs_paging_pins_release(&pins);
    ggs_paging_sequence_release(&h.sequence);
}

static void test_sequence_clips_and_refuses(void ** state) {
    (void) state;
    struct ggs_error           error;
    struct ggs_paging_sequence sequence;
    assert_int_equal(ggs_paging_sequence_init(&sequence, PAGE, (uint64_t[]){3 * PAGE}, 1, &error), 0);
    assert_int_equal(ggs_paging_sequence_read(&sequence, 0, 2 * PAGE, UINT64_MAX, GGS_READ_PROMPT, &error), 0);
    assert_int_equal(ggs_paging_sequence_read(&sequence, 0, 5 * PAGE, 6 * PAGE, GGS_READ_PROMPT, &error), 0);
    assert_int_equal(ggs_paging_sequence_read(&sequence, 1, 0, PAGE, GGS_READ_PROMPT, &error), 0);
    assert_int_equal(ggs_paging_sequence_read(&sequence, 0, 7, 7, GGS_READ_PROMPT, &error), 0);
    assert_int_equal(sequence.n_reads, 1);
    assert_int_equal(ggs_paging_sequence_finish(&sequence, true, &error), 0);
    assert_int_equal(sequence.n_reads, 2);
    assert_int_equal(sequence.n_blocks, 2);
    assert_int_equal(ggs_paging_sequence_touched(&sequence), PAGE);
    ggs_paging_sequence_release(&sequence);
    assert_true(ggs_paging_sequence_init(&sequence, PAGE, (uint64_t[]){UINT64_MAX, UINT64_MAX}, 2, &error) < 0);
    assert_non_null(strstr(error.text, "--page"));
}

// A few bytes of a trace can claim more reads than anybody could wait for.
static void test_claims_of_too_much_are_refused(void ** state) {
    (void) state;
    enum { MODEL = 8192 };
    struct ggs_error             error;
    struct ggs_paging_sequence   sequence;
    struct ggs_paging_cost       cost;
    struct ggs_paging_linux_host host = {.memory = 100 * PAGE};
    assert_int_equal(ggs_paging_sequence_init(&sequence, PAGE, (uint64_t[]){MODEL * PAGE}, 1, &error), 0);
    for (uint64_t i = 0; i < MODEL; i++)
        ggs_paging_sequence_read(&sequence, 0, i * PAGE, (i + 1) * PAGE, GGS_READ_PROMPT, &error);
    for (uint64_t i = 0; i < GGS_PAGING_BLOCKS_MOST / MODEL; i++)
        ggs_paging_sequence_read(&sequence, 0, 0, MODEL * PAGE, GGS_READ_PROMPT, &error);
    assert_true(ggs_paging_sequence_finish(&sequence, true, &error) < 0);
    assert_non_null(strstr(error.text, "134225920 reads"));
    ggs_paging_sequence_release(&sequence);
    assert_int_equal(ggs_paging_sequence_init(&sequence, PAGE, (uint64_t[]){(uint64_t) PAGE << 24}, 1, &error), 0);
    for (uint64_t i = 0; i < 256; i++)
        ggs_paging_sequence_read(&sequence, 0, 0, (uint64_t) PAGE << 24, GGS_READ_GENERATE, &error);
    assert_int_equal(ggs_paging_sequence_finish(&sequence, false, &error), 0);
    assert_true(ggs_paging_linux(&cost, &sequence, &host, &error) < 0);
    assert_non_null(strstr(error.text, "4294967296 pages"));
    ggs_paging_sequence_release(&sequence);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lru_is_exact_for_every_size),
        cmocka_unit_test(test_optimum_is_exact),
        cmocka_unit_test(test_nothing_reads_less_than_the_optimum),
        cmocka_unit_test(test_pins_read_no_less_than_the_optimum),
        cmocka_unit_test(test_cyclic_scan),
        cmocka_unit_test(test_linux_when_all_fits),
        cmocka_unit_test(test_linux_reads_around_and_ahead),
        cmocka_unit_test(test_linux_in_runs_is_linux_folio_by_folio),
        cmocka_unit_test(test_linux_with_hardly_any_memory),
        cmocka_unit_test(test_pins_what_saves_most),
        cmocka_unit_test(test_sequence_clips_and_refuses),
        cmocka_unit_test(test_claims_of_too_much_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
