// ggscope paging DIR: predicts the cost of less memory than the model.
#include "cli/paging/cmd-paging.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/walk/words.h"
#include "answer/paging.h"
#include "base/error.h"
#include "base/number.h"
#include "base/system/progress.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"

enum { LEAST_PAGE = 4 << 10, MOST_PAGE = 2 << 20 };

struct arguments {
    struct ggs_input          input;
    struct ggs_paging_options options;
    bool                      suggest, csv;
};
#define AT(member) offsetof(struct arguments, member)

// Splits "A,B,C": copies the next part and returns the rest; NULL at the end. A part that is too
// long is truncated and thus invalid.
static const char * next_part(const char * list, char * part, size_t size) {
    if (list == NULL || *list == '\0') return NULL;
    size_t length = strcspn(list, ",");
    snprintf(part, size, "%.*s", (int) (length < 1000 ? length : 1000), list);
    return list[length] == ',' ? list + length + 1 : list + length;
}

static bool set_memory(void * member, const char * list) {
    struct ggs_paging_options * options = member;
    char                        part[64];
    const char *                rest = list;
    options->n_memory                = 0;
    while ((rest = next_part(rest, part, sizeof(part))) != NULL) {
        uint64_t bytes;
        if (!ggs_parse_bytes(part, &bytes) || bytes < LEAST_PAGE || options->n_memory == GGS_PAGING_BUDGETS)
            return false;
        options->memory[options->n_memory++] = bytes;
    }
    return options->n_memory > 0;
}

static struct ggs_word policy_words(unsigned i) {
    if (i == GGS_PAGING_POLICIES) return (struct ggs_word){NULL, NULL};
    return (struct ggs_word){ggs_paging_policy_names[i], ggs_paging_policy_texts[i]};
}

static bool set_policies(void * member, const char * list) {
    bool *       policies = member;
    char         part[64];
    const char * rest = list;
    memset(policies, 0, GGS_PAGING_POLICIES * sizeof(*policies));
    while ((rest = next_part(rest, part, sizeof(part))) != NULL) {
        unsigned i = 0;
        while (i < GGS_PAGING_POLICIES && strcmp(part, ggs_paging_policy_names[i]) != 0) i++;
        if (i == GGS_PAGING_POLICIES) return false;
        policies[i] = true;
    }
    return *list != '\0';
}

static bool set_page(void * member, const char * text) {
    uint64_t page;
    if (!ggs_parse_bytes(text, &page) || page < LEAST_PAGE || page > MOST_PAGE || (page & (page - 1)) != 0)
        return false;
    *(uint64_t *) member = page;
    return true;
}

static bool set_readahead(void * member, const char * text) {
    return ggs_parse_bytes(text, member) && *(uint64_t *) member <= GGS_READAHEAD_MOST;
}

static void check(const void * input, struct argp_state * state) {
    const struct arguments * arguments = input;
    if (arguments->input.json + arguments->csv + arguments->suggest > 1)
        argp_error(state, "--json, --csv and --suggest exclude each other");
}

static void show_progress(void * context, uint64_t done, uint64_t total) {
    struct ggs_progress * progress = context;
    if (done == 0) ggs_progress_start(progress, "paging", total);
    ggs_progress_update(progress, done);
}

static int print(const struct arguments * arguments, const struct paging_report * report, struct ggs_error * error) {
    if (report->paging->sequence.n_reads == 0)
        return ggs_fail(error, GGS_ABSENT, "no op of these %ss reads bytes of a file: there is nothing to page",
                        ggs_word_step(report->trace));
    if (arguments->suggest) return paging_suggest(report, error);
    if (arguments->input.json) {
        ggs_paging_write(arguments->input.out, report->trace, report->paging, report->options);
        return 0;
    }
    return arguments->csv ? paging_csv(report) : paging_text(report);
}

static int show(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    struct arguments *   arguments = input;
    struct ggs_progress  progress  = {0};
    struct ggs_paging *  paging    = calloc(1, sizeof(*paging));
    struct paging_report report    = {traces, paging, &arguments->options};
    if (paging == NULL) return ggs_fail_memory(error);
    if (arguments->suggest)
        arguments->options.policies[GGS_PAGING_PIN_HOT] = arguments->options.policies[GGS_PAGING_STREAM] = true;
    arguments->options.progress = show_progress;
    arguments->options.context  = &progress;

    int status = ggs_trace_check_steps(traces, arguments->options.first_step, arguments->options.last_step, error);
    if (status == 0) status = ggs_paging_compute(paging, traces, &arguments->options, error);
    ggs_progress_finish(&progress);
    if (status == 0) {
        status = print(arguments, &report, error);
        ggs_paging_release(paging);
    }
    free(paging);
    return status;
}

int cmd_paging(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_OPTION("memory", 0, "SIZE,...", "Memory sizes (default: several, up to the bytes touched)", 1, AT(options),
                   set_memory, "at most 64 sizes of at least 4K, such as 64M or 512M,1.5G"),
        GGS_OPTION_OF("policy", 0, "NAME,...", "Only these policies (default: the first four)", 1, AT(options.policies),
                      set_policies, policy_words),
        GGS_OPTION("page", 0, "SIZE", "Page size (that of the recorded machine)", 1, AT(options.page), set_page,
                   "a power of two from 4K to 2M"),
        GGS_OPTION("readahead", 0, "SIZE", "The disk's readahead (default: the setting of the model's disk)", 1,
                   AT(options.readahead), set_readahead, "a size of at most 1G, such as 128K, or 0"),
        GGS_SWITCH("cold", 0, "Begin with empty memory instead of what loading the model leaves", 1, AT(options.cold)),
        GGS_OPTION("token", 0, "A..B", "Only these token steps", 1, AT(options.first_step), ggs_set_tokens,
                   GGS_EXPECTS_TOKENS),
        GGS_SWITCH("suggest", 0, "Print lines to paste: tensors to place, ranges to lock", 2, AT(suggest)),
        GGS_OPTION_JSON(2),
        GGS_OPTION_DAMAGED(2),
        GGS_SWITCH("csv", 0, "As CSV", 2, AT(csv)),
        {0},
    };
    static const struct ggs_verb verb = {
        GGS_OPENS_ONE, .options = options, .check = check, .run = show,
        .text =
            "Show what it would cost to run with less memory than the model: bytes read from the disk per token, with "
            "the page cache of Linux, a least-recently-used cache, the best weights pinned, and the optimum."};
    struct arguments arguments = {
        .options = {.last_step = INT64_MAX, .readahead = GGS_READAHEAD_CHOSEN, .policies = {true, true, true, true}}};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
