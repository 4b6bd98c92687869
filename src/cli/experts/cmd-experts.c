// ggscope experts DIR...: which experts were chosen, how evenly, their reuse and lead time; for
// several recordings, how their choices differ.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "answer/answer.h"
#include "answer/domains.h"
#include "base/error.h"
#include "base/number.h"
#include "base/system/terminal.h"
#include "base/table.h"
#include "cli/commands.h"
#include "cli/experts/cmd-experts.h"
#include "cli/scaffold/verb.h"

struct arguments {
    struct ggs_input           input;
    struct ggs_experts_options options;
};
#define AT(member) offsetof(struct arguments, member)

static bool set_window(void * member, const char * text) {
    return ggs_parse_u64(text, 1, 65536, member);
}

static uint64_t favourite(const struct ggs_experts_layer * l) {
    uint64_t best = 0;
    for (uint64_t i = 1; i < l->experts; i++) {
        if (l->counts[i] > l->counts[best]) best = i;
    }
    return best;
}

// ---- text ----

static void print_summary(const struct ggs_experts * e, const struct ggs_experts_sums * s) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], c[GGS_NUMBER_LENGTH];
    printf("experts   %" PRIu64 " in %" PRIu64 " layers, %" PRIu64 " chosen per token and layer; %s token%s\n",
           s->experts, e->n_layers, s->used, ggs_format_count(a, e->tokens), e->tokens == 1 ? "" : "s");
    printf("used      %s of them (%s), %s of %s\n", ggs_format_count(a, s->distinct),
           ggs_format_percent(b, s->distinct, s->experts), ggs_format_bytes(c, s->distinct_bytes),
           ggs_format_bytes((char[GGS_NUMBER_LENGTH]){0}, s->bytes));
    if (e->unknown > 0)
        printf("unknown   %s expert ops whose choice was not recorded\n", ggs_format_count(a, e->unknown));
    if (s->follows > 0) {
        printf("reuse     %s of a token's experts were chosen by the token before (%.1f %% by\n          chance)\n",
               ggs_format_percent(a, s->reused, s->chosen), 100 * s->chance);
        printf("predict   the token before names all experts of a layer in %s of cases,\n          none in %s\n",
               ggs_format_percent(a, s->all_predicted, s->follows),
               ggs_format_percent(b, s->none_predicted, s->follows));
    } else {
        puts("reuse     not known: no token follows another");
    }
    if (s->prefetch.n > 0)
        printf(
            "prefetch  %s on average from the router's result to the first byte of an\n          expert, %s at least\n",
            ggs_format_nanoseconds(a, ggs_experts_mean(&s->prefetch)), ggs_format_nanoseconds(b, s->prefetch.least_ns));
}

static void print_matrices(const struct ggs_experts * e) {
    char               number[GGS_NUMBER_LENGTH];
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, "router to|>ops|>least|>mean|>most|>read");
    for (unsigned i = 0; i < e->n_matrices; i++) {
        const struct ggs_experts_matrix * m = &e->matrices[i];
        ggs_table_cell(table, "%.*s", m->component_length, m->component);
        ggs_table_cell(table, "%s", ggs_format_count(number, m->prefetch.n));
        ggs_table_cell(table, "%s", ggs_format_nanoseconds(number, m->prefetch.least_ns));
        ggs_table_cell(table, "%s", ggs_format_nanoseconds(number, ggs_experts_mean(&m->prefetch)));
        ggs_table_cell(table, "%s", ggs_format_nanoseconds(number, m->prefetch.most_ns));
        ggs_table_cell(table, "%s", ggs_format_bytes(number, m->bytes));
    }
    putchar('\n');
    ggs_table_end(table, stdout, ggs_terminal_limit(stdout));
}

static void print_sets(const struct ggs_experts * e, const struct ggs_experts_sums * s) {
    char               number[GGS_NUMBER_LENGTH], bar[3 * 16 + 1];
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, ">tokens in a row|>need experts|>at most|>bytes|>at most|of all experts");
    for (unsigned i = 0; i < e->n_sets; i++) {
        const struct ggs_experts_set * set = &e->sets[i];
        if (set->samples == 0) continue;
        ggs_table_cell(table, "%" PRIu64, set->window);
        ggs_table_cell(table, "%.1f", (double) set->sum_experts / (double) set->samples);
        ggs_table_cell(table, "%" PRIu64, set->most_experts);
        ggs_table_cell(table, "%s", ggs_format_bytes(number, set->sum_bytes / set->samples));
        ggs_table_cell(table, "%s", ggs_format_bytes(number, set->most_bytes));
        double share = (double) set->sum_experts / (double) set->samples / (double) s->experts;
        ggs_terminal_bar(bar, sizeof(bar), 10, share);
        ggs_table_cell(table, "%s %4.1f %%", bar, 100 * share);
    }
    putchar('\n');
    ggs_table_end(table, stdout, ggs_terminal_limit(stdout));
}

static void print_layers(const struct ggs_experts * e) {
    char               number[GGS_NUMBER_LENGTH];
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, ">layer|>tokens|>used|>most used|>times|>of mean|>reuse|>all known|>prefetch");
    for (uint64_t i = 0; i < e->n_layers; i++) {
        const struct ggs_experts_layer * l = &e->layers[i];
        ggs_table_cell(table, "%d", l->layer);
        ggs_table_cell(table, "%s", ggs_format_count(number, l->tokens));
        ggs_table_cell(table, "%" PRIu64 "/%" PRIu64, l->distinct, l->experts);
        ggs_table_cell(table, "%" PRIu64, favourite(l));
        ggs_table_cell(table, "%s", ggs_format_count(number, l->most));
        ggs_table_cell(table, "%.1fx", ggs_experts_imbalance(l));
        ggs_table_cell(table, "%s", ggs_format_percent(number, l->reused, l->chosen));
        ggs_table_cell(table, "%s", ggs_format_percent(number, l->all_predicted, l->follows));
        ggs_table_cell(table, "%s",
                       l->prefetch.n == 0 ? "-" : ggs_format_nanoseconds(number, ggs_experts_mean(&l->prefetch)));
    }
    putchar('\n');
    ggs_table_end(table, stdout, ggs_terminal_limit(stdout));
}

// A row per layer, a character per expert or per several neighbours.
static void print_map(const struct ggs_experts * e) {
    static const char * const shades[] = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    uint64_t                  experts = 0, most = 0, width = ggs_terminal_width(stdout);
    for (uint64_t i = 0; i < e->n_layers; i++) {
        if (e->layers[i].experts > experts) experts = e->layers[i].experts;
    }
    uint64_t room = width > 24 ? width - 8 : 16, share = (experts + room - 1) / room;
    for (uint64_t i = 0; i < e->n_layers; i++) {
        for (uint64_t x = 0, sum = 0; x < e->layers[i].experts; x++) {
            sum = x % share == 0 ? e->layers[i].counts[x] : sum + e->layers[i].counts[x];
            if (sum > most) most = sum;
        }
    }
    printf("\nhow often each expert was chosen");
    if (share > 1) printf(" (%" PRIu64 " to a column)", share);
    printf(": · never, █ %s", most == 1 ? "once" : "");
    if (most != 1) printf("%" PRIu64 " times", most);
    printf("\n  layer expert 0 to %" PRIu64 "\n", experts - 1);
    for (uint64_t i = 0; i < e->n_layers; i++) {
        const struct ggs_experts_layer * l = &e->layers[i];
        printf("%7d ", l->layer);
        for (uint64_t x = 0; x < l->experts; x += share) {
            uint64_t sum = 0;
            for (uint64_t k = x; k < x + share && k < l->experts; k++) sum += l->counts[k];
            fputs(shades[most == 0 ? 0 : (sum * 8 + most - 1) / most], stdout);
        }
        putchar('\n');
    }
}

static void print_pairs(const struct ggs_experts * e) {
    enum { SHOWN = 10 };
    char               number[GGS_NUMBER_LENGTH];
    struct ggs_table * table = ggs_table_new();
    if (e->n_pairs == 0) {
        ggs_table_free(table);
        return;
    }
    ggs_table_columns(table, ">layer|chosen together|>times|>by chance");
    for (unsigned i = 0; i < e->n_pairs && i < SHOWN; i++) {
        const struct ggs_experts_pair * p = &e->pairs[i];
        ggs_table_cell(table, "%d", p->layer);
        ggs_table_cell(table, "%" PRIu32 " and %" PRIu32, p->a, p->b);
        ggs_table_cell(table, "%s", ggs_format_count(number, p->times));
        ggs_table_cell(table, "%.1f", p->expected);
    }
    putchar('\n');
    ggs_table_end(table, stdout, ggs_terminal_limit(stdout));
}

static void print_text(const struct ggs_experts * e) {
    struct ggs_experts_sums s = ggs_experts_sum(e);
    if (e->n_layers == 0) {
        puts("this model has experts, but which of them were chosen was not recorded");
        return;
    }
    print_summary(e, &s);
    print_matrices(e);
    print_sets(e, &s);
    print_layers(e);
    print_map(e);
    print_pairs(e);
}

static int show_domains(const struct arguments * arguments, struct ggs_trace * traces, struct ggs_error * error) {
    const struct ggs_input * input = &arguments->input;
    struct ggs_domains       domains;
    int                      status = ggs_domains_compute(&domains, traces, input->n, &arguments->options, error);
    if (status < 0) return status;
    if (input->json) {
        struct ggs_domains_answer answer = {&domains, input->paths, traces};
        ggs_object_write(input->out, NULL, &ggs_domains_object, &answer, NULL);
    } else {
        ggs_experts_domains_text(&domains, input->paths);
    }
    ggs_domains_release(&domains);
    return 0;
}

static int show(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments * arguments = input;
    if (arguments->input.n > 1) return show_domains(arguments, traces, error);
    struct ggs_experts experts;
    int                status = ggs_experts_compute(&experts, traces, &arguments->options, error);
    if (status < 0) return status;
    if (arguments->input.json) {
        ggs_answer_write(arguments->input.out, &ggs_experts_object, &experts, traces);
    } else if (!experts.any) {
        puts("no experts in this model");
    } else {
        print_text(&experts);
    }
    ggs_experts_release(&experts);
    return status;
}

int cmd_experts(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_OPTION("token", 0, "A..B", "Token steps A to B only; 0 is the prompt", 1, AT(options.first_token),
                   ggs_set_tokens, GGS_EXPECTS_TOKENS),
        GGS_OPTION("window", 0, "N", "Show the working set of N consecutive tokens only", 1, AT(options.window),
                   set_window, "a number of tokens from 1 to 65536"),
        GGS_OPTION_JSON(2),
        GGS_OPTION_DAMAGED(2),
        {0}};
    static const struct ggs_verb verb = {
        .operands = "[DIR...]",
        .most     = GGS_DOMAINS_MOST,
        .opens    = true,
        .options  = options,
        .run      = show,
        .text =
            "Show which experts were chosen in each layer: how evenly, how often the next token chooses them "
            "again, which ones together, how many a run of tokens needs, and how early the choice is known. Several recordings of one model, such as prompts of several domains, are "
            "compared: entropy, overlap, specialists, and shares by expert."};
    struct arguments arguments = {.options = {.first_token = 0, .last_token = INT64_MAX}};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
