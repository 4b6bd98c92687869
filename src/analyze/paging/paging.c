#include "analyze/paging/paging.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/paging/opt.h"
#include "base/error.h"

const char * const ggs_paging_policy_names[GGS_PAGING_POLICIES] = {"lru", "linux", "pin-hot", "opt"};

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

// A cyclic scan can settle in more than one state, and which one is a matter of chance: what the kernel goes by is brought up to date
// every two seconds, which are a tenth of a token on one machine and ten tokens on another.
static int run_linux(struct ggs_paging * paging, struct ggs_paging_budget * budget, struct ggs_error * error) {
    enum { RUNS = 5 };
    static const int             permille[RUNS] = {0, -10, 10, -20, 20};
    static const uint64_t        stale[RUNS]    = {1ull << 30, 256 << 20, 4ull << 30, 512 << 20, 2ull << 30};
    struct ggs_paging_cost       costs[RUNS];
    enum ggs_read_class          class_ = ggs_paging_class(paging);
    struct ggs_paging_linux_host host   = {.readahead = paging->readahead};
    for (unsigned i = 0; i < RUNS; i++) {
        host.memory = budget->memory / 1000 * (uint64_t) (1000 + permille[i]);
        host.stale  = stale[i];
        int status  = ggs_paging_linux(&costs[i], &paging->sequence, &host, error);
        if (status < 0) return status;
        for (unsigned k = i; k > 0 && costs[k].bytes[class_] < costs[k - 1].bytes[class_]; k--) {
            struct ggs_paging_cost swap = costs[k];
            costs[k] = costs[k - 1], costs[k - 1] = swap;
        }
    }
    budget->cost[GGS_PAGING_LINUX] = costs[RUNS / 2];
    budget->linux_least            = costs[0].bytes[class_];
    budget->linux_most             = costs[RUNS - 1].bytes[class_];
    return 0;
}

static int run_budget(struct ggs_paging * paging, const struct ggs_paging_options * options,
                      const struct ggs_paging_opt * opt, struct ggs_paging_budget * budget, struct ggs_error * error) {
    int status                   = 0;
    budget->cost[GGS_PAGING_LRU] = ggs_paging_lru_cost(&paging->lru, budget->memory);
    if (options->policies[GGS_PAGING_LINUX]) status = run_linux(paging, budget, error);
    if (status == 0 && options->policies[GGS_PAGING_PIN_HOT])
        status = ggs_paging_pin(&budget->pins, &budget->cost[GGS_PAGING_PIN_HOT], &paging->weights, &paging->sequence,
                                budget->memory, error);
    if (status == 0 && options->policies[GGS_PAGING_OPT])
        status = ggs_paging_opt_cost(opt, &budget->cost[GGS_PAGING_OPT], budget->memory, error);
    return status;
}

static int run_budgets(struct ggs_paging * paging, const struct ggs_paging_options * options,
                       struct ggs_error * error) {
    struct ggs_paging_opt opt    = {0};
    int                   status = 0;
    if (options->policies[GGS_PAGING_OPT]) status = ggs_paging_opt_init(&opt, &paging->sequence, error);
    for (unsigned i = 0; status == 0 && i < paging->n_budgets; i++) {
        if (options->progress != NULL) options->progress(options->context, i, paging->n_budgets);
        status = run_budget(paging, options, &opt, &paging->budget[i], error);
    }
    ggs_paging_opt_release(&opt);
    return status;
}

int ggs_paging_compute(struct ggs_paging * paging, struct ggs_trace * trace, const struct ggs_paging_options * options,
                       struct ggs_error * error) {
    *paging    = (struct ggs_paging){.page = options->page, .readahead = options->readahead, .cold = options->cold};
    int status = ggs_paging_gather(&paging->sequence, &paging->facts, trace, options->page, options->first_step,
                                   options->last_step, error);
    if (status == 0 && paging->sequence.n_reads > 0) {
        status = ggs_paging_sequence_finish(&paging->sequence, !options->cold, error);
        if (status == 0) status = ggs_paging_lru_compute(&paging->lru, &paging->sequence, error);
        if (status == 0) status = ggs_paging_weights_list(&paging->weights, trace, &paging->sequence, true, error);
    }
    if (status == 0 && paging->sequence.n_reads > 0) {
        for (uint64_t i = 0; i < trace->n_files; i++)
            paging->model_bytes += trace->models[i] ? trace->files[i].size : 0;
        paging->touched_bytes = ggs_paging_sequence_touched(&paging->sequence);
        choose_budgets(paging, options);
        status = run_budgets(paging, options, error);
    }
    if (status < 0) ggs_paging_release(paging);
    return status;
}
