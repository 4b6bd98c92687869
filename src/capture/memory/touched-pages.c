#include "capture/memory/touched-pages.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/system/maps.h"
#include "base/system/ticks.h"
#include "capture/capture.h"
#include "capture/journal.h"
#include "capture/losses.h"
#include "capture/memory/fault-context.h"
#include "capture/memory/opened-files.h"
#include "capture/sandbox.h"
#include "trace/spool.h"

enum { MOST_AREAS = 256, MOST_PAGES = 4096, WORD = 64, BLOCK = 64 };

// A mapping of a model file. `touched` has a bit per page, `blocks` a bit per word of `touched`
// that is not zero.
struct area {
    uintptr_t          start, end;
    int                protection; // as the engine made it
    _Atomic uint64_t * touched;
    _Atomic uint64_t * blocks;
    size_t             n_blocks, words; // `words`: capacity of `touched`
};

bool                   ggs_touched_pages_wanted;
GGS_WITH_EVERY_OP bool ggs_touched_pages_active_;

static struct {
    pthread_mutex_t  one_run;
    struct area      area[MOST_AREAS];
    unsigned         n_areas;
    _Atomic bool     any;      // a page was touched since the last collection
    _Atomic bool     overflow; // the kernel has no more map entries: an area stays open
    uintptr_t        page;     // size
    struct sigaction theirs;   // the program's own handler while ours is installed
    bool             installed;
    bool             reported_unmapped; // the user was told that nothing can be proved
    _Atomic uint64_t generation;        // two per closing of pages; odd meanwhile
} prove = {.one_run = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local bool leads;

// ---- the signal ----

static _Thread_local struct ggs_fault_last last_fault;

// True if the access would fail without us: the program's own mistake.
static bool is_forbidden(const struct area * area, uintptr_t page, const void * context) {
    if ((area->protection & PROT_WRITE) == 0 && ggs_fault_access(context) == GGS_ACCESS_WRITE) return true;
    return ggs_fault_repeated(&last_fault, page, atomic_load(&prove.generation));
}

static void mark_touched(struct area * area, uintptr_t page) {
    size_t   index = (page - area->start) / prove.page;
    size_t   word  = index / WORD;
    uint64_t bit   = 1ull << index % WORD;
    if ((atomic_fetch_or_explicit(&area->touched[word], bit, memory_order_relaxed) & bit) != 0) return;
    atomic_fetch_or_explicit(&area->blocks[word / BLOCK], 1ull << word % BLOCK, memory_order_relaxed);
    atomic_store_explicit(&prove.any, true, memory_order_relaxed);
}

// Marks and opens the page if it is protected, and returns true.
static bool handle_touch(const siginfo_t * info, const void * context) {
    uintptr_t address = (uintptr_t) info->si_addr, page = address & ~(prove.page - 1);
    for (unsigned i = 0; i < prove.n_areas; i++) {
        struct area * area = &prove.area[i];
        if (address < area->start || address >= area->end) continue;
        if (info->si_code != SEGV_ACCERR || is_forbidden(area, page, context)) return false;
        mark_touched(area, page);
        if (mprotect((void *) page, prove.page, area->protection) == 0) return true;
        // Scattered pages cost two map entries each, and their number is limited. The program must
        // go on.
        atomic_store_explicit(&prove.overflow, true, memory_order_relaxed);
        return mprotect((void *) area->start, area->end - area->start, area->protection) == 0;
    }
    return false;
}

typedef int (*sigaction_function)(int, const struct sigaction *, struct sigaction *);

static sigaction_function real_sigaction(void) {
    static sigaction_function function;
    if (function == NULL) function = (sigaction_function) dlsym(RTLD_NEXT, "sigaction");
    return function;
}

static void pass_on(int number, siginfo_t * info, void * context) {
    if ((prove.theirs.sa_flags & SA_SIGINFO) != 0) {
        prove.theirs.sa_sigaction(number, info, context);
    } else if (prove.theirs.sa_handler == SIG_DFL || prove.theirs.sa_handler == SIG_IGN) {
        // With the default handler the access is repeated and ends the program as it would without
        // us.
        real_sigaction()(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        if (info->si_code <= 0) raise(number); // sent by kill: there is no access to repeat
    } else {
        prove.theirs.sa_handler(number);
    }
}

static void on_touch(int number, siginfo_t * info, void * context) {
    int  before = errno;
    bool taken  = handle_touch(info, context);
    errno       = before;
    if (!taken) pass_on(number, info, context);
}

// A program that sets its SIGSEGV handler during a proved run sets the one behind ours.
__attribute__((visibility("default"))) int sigaction(int number, const struct sigaction * action,
                                                     struct sigaction * before) {
    sigaction_function real = real_sigaction();
    if (real == NULL) {
        errno = ENOSYS;
        return -1;
    }
    bool ours = action != NULL && (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == on_touch;
    if (number != SIGSEGV || ours || !__atomic_load_n(&prove.installed, __ATOMIC_ACQUIRE))
        return real(number, action, before);
    struct sigaction theirs = prove.theirs;
    if (action != NULL) prove.theirs = *action;
    if (before != NULL) *before = theirs;
    return 0;
}

static void install(void) {
    struct sigaction ours = {.sa_sigaction = on_touch, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&ours.sa_mask);
    if (real_sigaction()(SIGSEGV, &ours, &prove.theirs) == 0)
        __atomic_store_n(&prove.installed, true, __ATOMIC_RELEASE);
}

static void uninstall(void) {
    __atomic_store_n(&prove.installed, false, __ATOMIC_RELEASE);
    real_sigaction()(SIGSEGV, &prove.theirs, NULL);
}

void ggs_touched_pages_thread(void) {
    static _Thread_local bool ready;
    if (ready) return;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    ready = true;
}

// ---- areas ----

// True for a mapping of a file that the program opened as a model, or with the name of one.
static bool is_model(const struct ggs_maps_entry * entry) {
    size_t length = strlen(entry->path);
    return ggs_files_find_inode(entry->device, entry->inode) >= 0 ||
           (length > 5 && strcmp(entry->path + length - 5, ".gguf") == 0);
}

static bool provide_bits(struct area * area) {
    size_t words   = ((area->end - area->start) / prove.page + WORD - 1) / WORD;
    area->n_blocks = (words + BLOCK - 1) / BLOCK;
    if (words <= area->words) return true; // all zero: writing the last op cleared them
    free((void *) area->touched);
    free((void *) area->blocks);
    area->touched = calloc(words, sizeof(*area->touched));
    area->blocks  = calloc(area->n_blocks, sizeof(*area->blocks));
    area->words   = area->touched == NULL || area->blocks == NULL ? 0 : words;
    return area->words > 0;
}

static void add_area(const struct ggs_maps_entry * entry) {
    if (!entry->readable || entry->executable || !is_model(entry)) return;
    int           protection = PROT_READ | (entry->writable ? PROT_WRITE : 0);
    struct area * last       = prove.n_areas == 0 ? NULL : &prove.area[prove.n_areas - 1];
    if (last != NULL && last->end == entry->start && last->protection == protection) { // split
        last->end = entry->end;
    } else if (prove.n_areas < MOST_AREAS) {
        struct area * area = &prove.area[prove.n_areas++];
        area->start        = entry->start;
        area->end          = entry->end;
        area->protection   = protection;
    }
}

static void find_areas(void) {
    struct ggs_maps       maps;
    struct ggs_maps_entry entry;
    prove.n_areas = 0;
    if (!ggs_maps_open(&maps, "self")) return;
    while (ggs_maps_next(&maps, &entry)) add_area(&entry);
    ggs_maps_close(&maps);
    unsigned kept = 0;
    for (unsigned i = 0; i < prove.n_areas; i++) {
        if (!provide_bits(&prove.area[i])) continue;
        struct area swap   = prove.area[kept];
        prove.area[kept++] = prove.area[i];
        prove.area[i]      = swap;
    }
    prove.n_areas = kept;
}

static void protect(const struct area * area, int protection) {
    atomic_fetch_add(&prove.generation, 1);
    mprotect((void *) area->start, area->end - area->start, protection);
    atomic_fetch_add(&prove.generation, 1);
}

// ---- runs ----

void ggs_touched_pages_enter(void) {
    pthread_mutex_lock(&prove.one_run);
}

void ggs_touched_pages_leave(void) {
    pthread_mutex_unlock(&prove.one_run);
}

bool ggs_touched_pages_begin(void) {
    if (leads || ggs_sandboxed()) return false; // nested run, or mprotect may be forbidden
    prove.page = (uintptr_t) sysconf(_SC_PAGESIZE);
    find_areas();
    if (prove.n_areas == 0) {
        if (!prove.reported_unmapped)
            ggs_capture_warn(
                "no model file is mapped into memory, so there are no pages to prove; with mmap and --no-repack "
                "there would be");
        prove.reported_unmapped = true;
        return false;
    }
    leads = true;
    install();
    ggs_touched_pages_thread();
    for (unsigned i = 0; i < prove.n_areas; i++) protect(&prove.area[i], PROT_NONE);
    __atomic_store_n(&ggs_touched_pages_active_, true, __ATOMIC_RELEASE);
    return true;
}

static void clear(void);

void ggs_touched_pages_end(void) {
    __atomic_store_n(&ggs_touched_pages_active_, false, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < prove.n_areas; i++) protect(&prove.area[i], prove.area[i].protection);
    clear();
    uninstall();
    leads = false;
}

void ggs_touched_pages_forget(void) {
    ggs_touched_pages_wanted = false;
    __atomic_store_n(&ggs_touched_pages_active_, false, __ATOMIC_RELAXED);
}

void ggs_touched_pages_refuse(void) {
    ggs_touched_pages_wanted = false;
    ggs_losses_count(GGS_LOSS_PAGES, 1);
    ggs_capture_warn(
        "this engine's ggml_barrier is not called where it could be seen, so pages can be proved only with one "
        "thread (-t 1)");
}

// ---- writing the pages of an op to the journal ----

struct pages {
    struct ggs_journal_pages head;
    struct ggs_journal_area  areas[MOST_PAGES];
};

static void flush(struct pages * pages) {
    struct ggs_piece pieces[] = {{&pages->head, sizeof(pages->head)},
                                 {pages->areas, pages->head.count * sizeof(pages->areas[0])}};
    if (ggs_journal_append(GGS_JOURNAL_PAGES, pieces, 2) != 0) ggs_losses_count(GGS_LOSS_PAGES, 1);
    pages->head.count = 0;
}

static void add_pages(struct pages * pages, uintptr_t start, uint64_t bytes) {
    struct ggs_journal_area * last = pages->head.count == 0 ? NULL : &pages->areas[pages->head.count - 1];
    if (last != NULL && last->start + last->bytes == start) {
        last->bytes += bytes;
        return;
    }
    if (pages->head.count == MOST_PAGES) flush(pages);
    pages->areas[pages->head.count++] = (struct ggs_journal_area){start, bytes};
}

static void collect_word(struct pages * pages, const struct area * area, size_t word) {
    uint64_t bits = atomic_exchange_explicit(&area->touched[word], 0, memory_order_relaxed);
    while (pages != NULL && bits != 0) {
        unsigned first = (unsigned) __builtin_ctzll(bits);
        uint64_t rest  = ~(bits >> first);
        unsigned count = rest == 0 ? WORD : (unsigned) __builtin_ctzll(rest);
        if (count > WORD - first) count = WORD - first;
        add_pages(pages, area->start + (word * WORD + first) * prove.page, count * prove.page);
        bits = first + count >= WORD ? 0 : bits & (~0ull << (first + count));
    }
}

// Clears all bits of the area and adds their pages to `pages`, which may be NULL. True if there
// were any.
static bool collect_bits(struct pages * pages, const struct area * area) {
    bool any = false;
    for (size_t block = 0; block < area->n_blocks; block++) {
        uint64_t words = atomic_exchange_explicit(&area->blocks[block], 0, memory_order_relaxed);
        any |= words != 0;
        for (; words != 0; words &= words - 1)
            collect_word(pages, area, block * BLOCK + (size_t) __builtin_ctzll(words));
    }
    return any;
}

static void clear(void) {
    for (unsigned i = 0; i < prove.n_areas; i++) collect_bits(NULL, &prove.area[i]);
    atomic_store_explicit(&prove.any, false, memory_order_relaxed);
    atomic_store_explicit(&prove.overflow, false, memory_order_relaxed);
}

void ggs_touched_pages_emit(uint32_t run, uint32_t node) {
    static struct pages pages; // of the one proved run
    if (!leads || !atomic_load_explicit(&prove.any, memory_order_relaxed)) return;
    bool overflow = atomic_exchange_explicit(&prove.overflow, false, memory_order_relaxed);
    pages.head    = (struct ggs_journal_pages){.run = run, .node = node, .flags = overflow ? 1 : 0};
    atomic_store_explicit(&prove.any, false, memory_order_relaxed);
    for (unsigned i = 0; i < prove.n_areas; i++) {
        if (collect_bits(run == 0 ? NULL : &pages, &prove.area[i])) protect(&prove.area[i], PROT_NONE);
    }
    if (run == 0) {
        ggs_losses_count(GGS_LOSS_PAGES, 1);
    } else {
        flush(&pages);
    }
}
