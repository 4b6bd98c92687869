#include "analyze/paging/paging.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/paging/opt.h"
#include "analyze/paging/stream-simulation.h"
#include "base/error.h"
#include "base/number.h"
#include "base/system/readahead.h"

const char * const ggs_paging_policy_names[GGS_PAGING_POLICIES] = {"lru", "linux", "pin-hot", "opt", "stream"};
const char * const ggs_paging_policy_texts[GGS_PAGING_POLICIES] = {
    "a cache that drops what was used least recently", "the kernel's two lists, with readahead",
    "the weights that are read most stay in memory", "the optimal cache, which knows all future reads",
    "what ggscope stream does; only on request"};

void ggs_paging_release(struct ggs_paging * paging) {
    for (unsigned i = 0; i < paging->n_budgets; i++) ggs_paging_pins_release(&paging->budget[i].pins);
    ggs_paging_lru_release(&paging->lru);
    ggs_paging_weights_release(&paging->weights);
    ggs_paging_sequence_release(&paging->sequence);
    paging->n_budgets = 0;
}

enum ggs_read_class ggs_paging_class(const struct ggs_paging * paging) {
    return paging->facts.steps[GGS_READ_GENERATE] > 0 ? GGS_READ_GENERATE : GGS_READ_PROMPT;
}

uint64_t ggs_paging_share(const struct ggs_paging * paging, uint64_t bytes) {
    uint64_t steps = paging->facts.steps[ggs_paging_class(paging)];
    return steps == 0 ? 0 : bytes / steps;
}

uint64_t ggs_paging_per_token(const struct ggs_paging * paging, const struct ggs_paging_cost * cost) {
    return ggs_paging_share(paging, cost->bytes[ggs_paging_class(paging)]);
}

uint64_t ggs_paging_demand(const struct ggs_paging * paging) {
    return ggs_paging_share(paging, paging->lru.all[ggs_paging_class(paging)] * paging->page);
}

// ---- budgets ----

static int by_size(const void * a, const void * b) {
    uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;
    return x < y ? -1 : x > y;
}

static void choose_budgets(struct ggs_paging * paging, const struct ggs_paging_options * options) {
    static const unsigned percent[] = {5, 12, 25, 40, 55, 75, 95, 110};
    uint64_t              memory[GGS_PAGING_BUDGETS];
    unsigned              n = options->n_memory;
    if (n > 0) {
        memcpy(memory, options->memory, n * sizeof(*memory));
    } else {
        uint64_t unit = paging->touched_bytes > 64ull << 20 ? 1 << 20 : paging->page;
        for (; n < sizeof(percent) / sizeof(percent[0]); n++) {
            memory[n] = paging->touched_bytes / 100 * percent[n] / unit * unit;
            if (memory[n] < paging->page) memory[n] = paging->page;
        }
    }
    qsort(memory, n, sizeof(*memory), by_size);
    for (unsigned i = 0; i < n; i++) {
        if (i > 0 && memory[i] == memory[i - 1]) continue;
        paging->budget[paging->n_budgets++] = (struct ggs_paging_budget){.memory = memory[i]};
    }
}

// ---- policies ----

enum { LINUX_RUNS = 5, MOST_THREADS = 4 };

// Each policy at each size is one part, and linux several; threads take one after the other.
struct parts {
    struct ggs_paging *               paging;
    const struct ggs_paging_options * options;
    struct ggs_paging_opt             opt;
    struct ggs_paging_cost            linux_cost[GGS_PAGING_BUDGETS][LINUX_RUNS];
    struct part {
        unsigned               budget;
        enum ggs_paging_policy policy;
        unsigned               run; // of linux
    } part[GGS_PAGING_BUDGETS * (LINUX_RUNS + GGS_PAGING_POLICIES)];
    unsigned         n;
    _Atomic unsigned next, done;
    _Atomic bool     failed;
    pthread_mutex_t  lock; // protects the following two
    int              status;
    struct ggs_error error;
};

static void list_parts(struct parts * parts) {
    static const enum ggs_paging_policy others[] = {GGS_PAGING_PIN_HOT, GGS_PAGING_OPT, GGS_PAGING_STREAM};
    const bool *                        wanted   = parts->options->policies;
    for (unsigned budget = 0; budget < parts->paging->n_budgets; budget++) {
        for (unsigned run = 0; wanted[GGS_PAGING_LINUX] && run < LINUX_RUNS; run++)
            parts->part[parts->n++] = (struct part){budget, GGS_PAGING_LINUX, run};
        for (unsigned i = 0; i < 3; i++) {
            if (wanted[others[i]]) parts->part[parts->n++] = (struct part){budget, others[i], 0};
        }
    }
}

// A cyclic scan can settle in several states by chance: the kernel updates its statistics every two
// seconds, which is a tenth of a token on one machine and ten tokens on another.
static int run_linux(struct parts * parts, const struct part * part, struct ggs_error * error) {
    static const int             permille[LINUX_RUNS] = {0, -10, 10, -20, 20};
    static const uint64_t        stale[LINUX_RUNS]    = {1ull << 30, 256 << 20, 4ull << 30, 512 << 20, 2ull << 30};
    const struct ggs_paging *    paging               = parts->paging;
    struct ggs_paging_linux_host host                 = {.memory = paging->budget[part->budget].memory / 1000 *
                                                                   (uint64_t) (1000 + permille[part->run]),
                                                         .readahead = paging->readahead,
                                                         .stale     = stale[part->run]};
    return ggs_paging_linux(&parts->linux_cost[part->budget][part->run], &paging->sequence, &host, error);
}

static int run_part(struct parts * parts, const struct part * part, struct ggs_error * error) {
    struct ggs_paging *        paging = parts->paging;
    struct ggs_paging_budget * budget = &paging->budget[part->budget];
    if (part->policy == GGS_PAGING_LINUX) return run_linux(parts, part, error);
    if (part->policy == GGS_PAGING_OPT)
        return ggs_paging_opt_cost(&parts->opt, &budget->cost[GGS_PAGING_OPT], budget->memory, error);
    if (part->policy == GGS_PAGING_STREAM)
        return ggs_paging_stream(&budget->cost[GGS_PAGING_STREAM], &budget->streams, &paging->weights,
                                 &paging->sequence, budget->memory, error);
    return ggs_paging_pin(&budget->pins, &budget->cost[GGS_PAGING_PIN_HOT], &paging->weights, &paging->sequence,
                          budget->memory, error);
}

static void run_parts(struct parts * parts, bool reports) {
    for (unsigned i; (i = atomic_fetch_add(&parts->next, 1)) < parts->n && !atomic_load(&parts->failed);) {
        struct ggs_error error;
        if (reports && parts->options->progress != NULL)
            parts->options->progress(parts->options->context, atomic_load(&parts->done), parts->n);
        int status = run_part(parts, &parts->part[i], &error);
        if (status < 0) {
            pthread_mutex_lock(&parts->lock);
            parts->status = status;
            parts->error  = error;
            pthread_mutex_unlock(&parts->lock);
            atomic_store(&parts->failed, true);
        }
        atomic_fetch_add(&parts->done, 1);
    }
}

static void * help(void * context) {
    run_parts(context, false);
    return NULL;
}

// The calling thread takes part, and does everything if no thread can be started.
static void run_in_threads(struct parts * parts) {
    pthread_t helpers[MOST_THREADS - 1];
    long      processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned  n          = 0;
    while (n < MOST_THREADS - 1 && n + 1 < parts->n && (long) n + 1 < processors &&
           pthread_create(&helpers[n], NULL, help, parts) == 0)
        n++;
    run_parts(parts, true);
    while (n > 0) pthread_join(helpers[--n], NULL);
}

static void sum_up_linux(struct ggs_paging * paging, struct ggs_paging_budget * budget,
                         struct ggs_paging_cost * costs) {
    enum ggs_read_class class_ = ggs_paging_class(paging);
    for (unsigned i = 1; i < LINUX_RUNS; i++) {
        for (unsigned k = i; k > 0 && costs[k].bytes[class_] < costs[k - 1].bytes[class_]; k--) {
            struct ggs_paging_cost swap = costs[k];
            costs[k] = costs[k - 1], costs[k - 1] = swap;
        }
    }
    budget->cost[GGS_PAGING_LINUX] = costs[LINUX_RUNS / 2];
    budget->linux_least            = costs[0].bytes[class_];
    budget->linux_most             = costs[LINUX_RUNS - 1].bytes[class_];
    // With few reads, or little more memory than a readahead window, runs differ by more than
    // everything requested.
    uint64_t asked = paging->lru.all[class_] * paging->page;
    budget->linux_known =
        budget->linux_most / 4 <= budget->linux_least || budget->linux_most - budget->linux_least <= asked;
}

static int run_budgets(struct ggs_paging * paging, const struct ggs_paging_options * options,
                       struct ggs_error * error) {
    struct parts * parts = calloc(1, sizeof(*parts));
    if (parts == NULL) return ggs_fail_memory(error);
    parts->paging  = paging;
    parts->options = options;
    pthread_mutex_init(&parts->lock, NULL);
    int status = options->policies[GGS_PAGING_OPT] ? ggs_paging_opt_init(&parts->opt, &paging->sequence, error) : 0;
    if (status == 0) {
        list_parts(parts);
        run_in_threads(parts);
        status = parts->status;
        if (status < 0 && error != NULL) *error = parts->error;
    }
    for (unsigned i = 0; status == 0 && i < paging->n_budgets; i++) {
        paging->budget[i].cost[GGS_PAGING_LRU] = ggs_paging_lru_cost(&paging->lru, paging->budget[i].memory);
        if (!paging->budget[i].streams)
            paging->budget[i].cost[GGS_PAGING_STREAM] = paging->budget[i].cost[GGS_PAGING_LRU];
        if (options->policies[GGS_PAGING_LINUX]) sum_up_linux(paging, &paging->budget[i], parts->linux_cost[i]);
    }
    ggs_paging_opt_release(&parts->opt);
    pthread_mutex_destroy(&parts->lock);
    free(parts);
    return status;
}

// Uses the setting of the model's device, or Linux's default if the file is on another machine or
// the device does not state it.
static void choose_readahead(struct ggs_paging * paging, const struct ggs_trace * trace) {
    for (uint64_t i = 0; i < trace->n_files; i++) {
        if (trace->files[i].gguf == 0) continue;
        if (!ggs_file_readahead(ggs_reader_string(trace->reader, trace->files[i].path), &paging->readahead)) continue;
        paging->readahead_from = GGS_READAHEAD_OF_DISK;
        if (paging->readahead <= GGS_READAHEAD_MOST) return;
    }
    paging->readahead      = 128 << 10;
    paging->readahead_from = GGS_READAHEAD_USUAL;
}

// Without more than a tenth of the weights, the curve would be misleading.
static int refuse_unknown(const struct ggs_paging * paging, struct ggs_error * error) {
    const struct ggs_stray_weights * stray = &paging->facts.stray;
    char                             bytes[GGS_NUMBER_LENGTH], touched[GGS_NUMBER_LENGTH];
    if (stray->n == 0 || stray->bytes <= paging->touched_bytes / 10) return 0;
    return ggs_fail(error, GGS_ABSENT,
                    "the origin of %llu weights (%s) was not seen, and the other %s say too little of the model: "
                    "there is no estimate",
                    (unsigned long long) stray->n, ggs_format_bytes(bytes, stray->bytes),
                    ggs_format_bytes(touched, paging->touched_bytes));
}

int ggs_paging_compute(struct ggs_paging * paging, struct ggs_trace * trace, const struct ggs_paging_options * options,
                       struct ggs_error * error) {
    uint64_t page = options->page > 0 ? options->page : ggs_trace_page_size(trace);
    *paging       = (struct ggs_paging){.page = page, .readahead = options->readahead, .cold = options->cold};
    if (options->readahead == GGS_READAHEAD_CHOSEN) choose_readahead(paging, trace);
    int status          = ggs_paging_gather(&paging->sequence, &paging->facts, trace, page, options->first_step,
                                            options->last_step, error);
    paging->facts.stray = ggs_trace_stray_weights(trace);
    if (status == 0 && paging->sequence.n_reads > 0) {
        status = ggs_paging_sequence_finish(&paging->sequence, !options->cold, error);
        if (status == 0) status = ggs_paging_lru_compute(&paging->lru, &paging->sequence, error);
        if (status == 0) status = ggs_paging_weights_list(&paging->weights, trace, &paging->sequence, true, error);
    }
    if (status == 0 && paging->sequence.n_reads > 0) {
        for (uint64_t i = 0; i < trace->n_files; i++)
            paging->model_bytes += trace->models[i] ? trace->files[i].size : 0;
        paging->touched_bytes = ggs_paging_sequence_touched(&paging->sequence);
    }
    if (status == 0) status = refuse_unknown(paging, error);
    if (status == 0 && paging->sequence.n_reads > 0) {
        choose_budgets(paging, options);
        if (status == 0)
            status = ggs_paging_speed_find(&paging->speed, trace, options->first_step, options->last_step, error);
    }
    if (status == 0 && paging->sequence.n_reads > 0) {
        status = run_budgets(paging, options, error);
    }
    if (status < 0) ggs_paging_release(paging);
    return status;
}
