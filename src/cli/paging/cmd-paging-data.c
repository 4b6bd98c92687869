// ggscope paging as JSON and as CSV.
#include <inttypes.h>
#include <stdio.h>

#include "answer/paging.h"
#include "cli/paging/cmd-paging.h"

static void print_row(const struct ggs_paging * paging, const char * policy, uint64_t memory,
                      const struct ggs_paging_cost * cost) {
    printf("%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6f\n", policy, memory,
           cost->bytes[GGS_READ_LOAD], cost->bytes[GGS_READ_PROMPT], cost->bytes[GGS_READ_GENERATE],
           ggs_paging_per_token(paging, cost), ggs_paging_miss_ratio(paging, cost));
}

int paging_csv(const struct paging_report * report) {
    const struct ggs_paging * p     = report->paging;
    struct ggs_paging_curve   curve = {0};
    puts("policy,memory_bytes,load_bytes,prompt_bytes,generate_bytes,bytes_per_token,miss_ratio");
    for (unsigned i = 0; i < GGS_PAGING_POLICIES; i++) {
        for (unsigned k = 0; report->options->policies[i] && k < p->n_budgets; k++)
            print_row(p, ggs_paging_policy_names[i], p->budget[k].memory, &p->budget[k].cost[i]);
    }
    while (report->options->policies[GGS_PAGING_LRU] && ggs_paging_curve_next(&curve, p))
        print_row(p, "lru-curve", curve.memory, &curve.cost);
    return ferror(stdout) ? -1 : 0;
}
