// ggscope paging DIR: what would less memory than the model cost?
#include "cli/cmd-paging.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/error.h"
#include "base/number.h"
#include "base/progress.h"
#include "cli/commands.h"
#include "cli/verb.h"

enum { KEY_MEMORY = 256, KEY_POLICY, KEY_PAGE, KEY_READAHEAD, KEY_COLD, KEY_TOKEN, KEY_SUGGEST, KEY_JSON, KEY_CSV };
enum { LEAST_PAGE = 4 << 10, MOST_PAGE = 2 << 20, MOST_READAHEAD = 1 << 30 };

struct arguments {
    const char *              directory;
    struct ggs_paging_options options;
    bool                      readahead_given, suggest, json, csv;
};

// Goes through "A,B,C": copies the next part and returns where the rest begins; NULL at the end. A part that is too long is cut, and
// then no longer what anybody asked for.
static const char * next_part(const char * list, char * part, size_t size) {
    if (list == NULL || *list == '\0') return NULL;
    size_t length = strcspn(list, ",");
    snprintf(part, size, "%.*s", (int) (length < 1000 ? length : 1000), list);
    return list[length] == ',' ? list + length + 1 : list + length;
}

static void parse_memory(struct arguments * arguments, const char * list, struct argp_state * state) {
    char         part[64];
    const char * rest           = list;
    arguments->options.n_memory = 0;
    while ((rest = next_part(rest, part, sizeof(part))) != NULL) {
        uint64_t bytes;
        if (!ggs_parse_bytes(part, &bytes) || bytes < LEAST_PAGE)
            argp_error(state, "--memory takes sizes of at least 4K, such as 64M or 512M,1.5G, not '%s'", list);
        if (arguments->options.n_memory == GGS_PAGING_BUDGETS)
            argp_error(state, "--memory takes at most %d sizes", GGS_PAGING_BUDGETS);
        arguments->options.memory[arguments->options.n_memory++] = bytes;
    }
    if (arguments->options.n_memory == 0) argp_error(state, "--memory takes sizes such as 64M,128M");
}

static void parse_policies(struct arguments * arguments, const char * list, struct argp_state * state) {
    char         part[64];
    const char * rest = list;
    memset(arguments->options.policies, 0, sizeof(arguments->options.policies));
    while ((rest = next_part(rest, part, sizeof(part))) != NULL) {
        unsigned i = 0;
        while (i < GGS_PAGING_POLICIES && strcmp(part, ggs_paging_policy_names[i]) != 0) i++;
        if (i < GGS_PAGING_POLICIES) {
            arguments->options.policies[i] = true;
        } else {
            argp_error(state, "--policy takes lru, linux, pin-hot and opt, not '%s'", part);
        }
    }
    if (*list == '\0') argp_error(state, "--policy takes one or more of lru, linux, pin-hot and opt");
}

static void check(const struct arguments * arguments, struct argp_state * state) {
    if (arguments->json + arguments->csv + arguments->suggest > 1)
        argp_error(state, "one of --json, --csv and --suggest at a time, please");
}

static error_t parse_option(int key, char * argument, struct argp_state * state) {
    struct arguments *          arguments = state->input;
    struct ggs_paging_options * options   = &arguments->options;
    switch (key) {
        case KEY_MEMORY:
            parse_memory(arguments, argument, state);
            return 0;
        case KEY_POLICY:
            parse_policies(arguments, argument, state);
            return 0;
        case KEY_PAGE:
            if (!ggs_parse_bytes(argument, &options->page) || options->page < LEAST_PAGE || options->page > MOST_PAGE ||
                (options->page & (options->page - 1)) != 0)
                argp_error(state, "--page takes a power of two from 4K to 2M, not '%s'", argument);
            return 0;
        case KEY_READAHEAD:
            if (!ggs_parse_bytes(argument, &options->readahead) || options->readahead > MOST_READAHEAD)
                argp_error(state, "--readahead takes a size of at most 1G, such as 128K, or 0, not '%s'", argument);
            arguments->readahead_given = true;
            return 0;
        case KEY_TOKEN:
            if (!ggs_parse_tokens(argument, &options->first_step, &options->last_step))
                argp_error(state, "--token takes a token or a range such as 3, 3..5 or 3.., not '%s'", argument);
            return 0;
        case KEY_COLD:
            options->cold = true;
            return 0;
        case KEY_SUGGEST:
            arguments->suggest = true;
            return 0;
        case KEY_JSON:
            arguments->json = true;
            return 0;
        case KEY_CSV:
            arguments->csv = true;
            return 0;
        case ARGP_KEY_END:
            check(arguments, state);
            return ggs_verb_parse_directory(key, argument, state, &arguments->directory);
        default:
            return ggs_verb_parse_directory(key, argument, state, &arguments->directory);
    }
}

// The readahead of the device that the model lies on; false where the file is not here, or the device does not tell.
static bool find_readahead(struct ggs_trace * trace, uint64_t * bytes) {
    for (uint64_t i = 0; i < trace->n_files; i++) {
        struct stat status;
        char        path[128];
        unsigned    kib = 0;
        if (trace->files[i].gguf == 0) continue;
        if (stat(ggs_reader_string(trace->reader, trace->files[i].path), &status) != 0) continue;
        snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u/read_ahead_kb", major(status.st_dev), minor(status.st_dev));
        FILE * file = fopen(path, "re");
        if (file == NULL) continue;
        bool found = fscanf(file, "%9u", &kib) == 1 && kib <= MOST_READAHEAD / 1024;
        fclose(file);
        if (!found) continue;
        *bytes = (uint64_t) kib * 1024;
        return true;
    }
    return false;
}

static const char * choose_readahead(struct arguments * arguments, struct ggs_trace * trace) {
    if (arguments->readahead_given) return "as given";
    if (find_readahead(trace, &arguments->options.readahead)) return "as the model's disk is set here";
    arguments->options.readahead = 128 << 10;
    return "the usual setting";
}

static void show_progress(void * context, uint64_t done, uint64_t total) {
    struct ggs_progress * progress = context;
    if (done == 0) ggs_progress_start(progress, "paging", total);
    ggs_progress_update(progress, done);
}

static int show(const struct arguments * arguments, const struct paging_report * report, struct ggs_error * error) {
    if (report->paging->sequence.n_reads == 0)
        return ggs_fail(error, GGS_ABSENT,
                        "no op of these token steps reads bytes of a model file: there is nothing to page");
    int status = 0;
    if (arguments->suggest) {
        status = paging_suggest(report, error);
    } else if (arguments->json) {
        status = paging_json(report);
    } else {
        status = arguments->csv ? paging_csv(report) : paging_text(report);
    }
    if (error->text[0] == '\0' && (status < 0 || fflush(stdout) != 0 || ferror(stdout)))
        status = ggs_fail_errno(error, "could not write the answer");
    return status;
}

int cmd_paging(int argc, char ** argv) {
    static const struct argp_option options[] = {
        {"memory", KEY_MEMORY, "SIZE,...", 0, "With this much memory (default: some sizes up to what was touched)", 1},
        {"policy", KEY_POLICY, "NAME,...", 0, "Only these: lru, linux, pin-hot, opt (default: all)", 1},
        {"page", KEY_PAGE, "SIZE", 0, "Count in pages of this size (4K)", 1},
        {"readahead", KEY_READAHEAD, "SIZE", 0, "The disk's readahead (default: as the model's disk is set here)", 1},
        {"cold", KEY_COLD, NULL, 0, "Begin with nothing in memory, not with what the load of the model left there", 1},
        {"token", KEY_TOKEN, "A..B", 0, "Only these token steps", 1},
        {"suggest", KEY_SUGGEST, NULL, 0, "Lines to paste: tensors to place, ranges to lock", 2},
        {"json", KEY_JSON, NULL, 0, "As JSON", 2},
        {"csv", KEY_CSV, NULL, 0, "As CSV", 2},
        {0},
    };
    static const struct argp argp = {
        options,
        parse_option,
        "DIR",
        "Show what it would cost to run with less memory than the model: bytes read from the disk per token, with the page cache of Linux, a least-recently-used cache, the best weights pinned, and at best.",
        NULL,
        NULL,
        NULL};
    struct arguments arguments = {
        .options = {.last_step = INT64_MAX, .page = 4096, .policies = {true, true, true, true}}};
    if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0) return 2;
    if (arguments.suggest) arguments.options.policies[GGS_PAGING_PIN_HOT] = true;

    struct ggs_error    error    = {0};
    struct ggs_progress progress = {0};
    struct ggs_trace    trace;
    if (ggs_verb_open(&trace, arguments.directory) < 0) return 1;
    struct ggs_paging *  paging = calloc(1, sizeof(*paging));
    struct paging_report report = {&trace, paging, &arguments.options, choose_readahead(&arguments, &trace)};
    arguments.options.progress  = show_progress;
    arguments.options.context   = &progress;
    int status =
        paging == NULL ? ggs_fail_memory(&error) : ggs_paging_compute(paging, &trace, &arguments.options, &error);
    ggs_progress_finish(&progress);
    if (status == 0) {
        status = show(&arguments, &report, &error);
        ggs_paging_release(paging);
    }
    if (status < 0) ggs_verb_complain(&error);
    free(paging);
    ggs_trace_close(&trace);
    return status < 0 ? 1 : 0;
}
