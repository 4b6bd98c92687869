#include "analyze/diff/several.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ops/totals.h"
#include "base/error.h"
#include "base/json-read.h"
#include "base/number.h"
#include "base/text.h"

// ---- conditions ----

// Their paths in experiment.json. Incidental facts of the machine (load, free memory) do not count.
static const struct {
    const char *name, *path;
    bool        bytes;
} known[] = {
    {"command", "command", false},
    {"models", "model_files", false},
    {"memory limit", "machine.memory_limit", true},
    {"cold start", "machine.cold.bytes", true},
    {"threads", "threads", false},
    {"llama.cpp", "engine.llama_version", false},
    {"ggml", "engine.ggml_version", false},
    {"ggml commit", "engine.ggml_commit", false},
    {"CPU library", "engine.cpu_library", false},
    {"readahead", "conditions.storage.readahead_bytes", true},
    {"file system", "conditions.storage.file_system", false},
    {"mount options", "conditions.storage.mount_options", false},
    {"disk", "conditions.storage.disk", false},
    {"disk model", "conditions.storage.disk_model", false},
    {"I/O scheduler", "conditions.storage.scheduler", false},
    {"swappiness", "conditions.memory.swappiness", false},
    {"swap", "conditions.memory.swap_bytes", true},
    {"huge pages", "conditions.memory.huge_pages", false},
    {"NUMA nodes", "conditions.cpu.numa_nodes", false},
    {"NUMA balancing", "conditions.memory.numa_balancing", false},
    {"governor", "conditions.cpu.governor", false},
    {"CPU flags", "conditions.cpu.flags", false},
    {"CPU", "host.cpu", false},
    {"cores", "host.cores", false},
    {"kernel", "host.kernel", false},
};
enum { KNOWN = sizeof(known) / sizeof(known[0]) };

static struct ggs_json_value find(const struct ggs_trace * trace, const char * path) {
    const char *          text = ggs_reader_experiment(trace->reader);
    struct ggs_json_value at   = ggs_json_read(text, strlen(text));
    char                  key[64];
    while (*path != '\0') {
        size_t length = strcspn(path, ".");
        snprintf(key, sizeof(key), "%.*s", (int) length, path);
        at = ggs_json_member(at, key);
        path += length;
        path += *path == '.';
    }
    return at;
}

// Appends the words of a list; for model files, their names and digests.
static void append(struct ggs_text * text, struct ggs_json_value value, bool bytes) {
    char                  number[GGS_NUMBER_LENGTH];
    uint64_t              amount;
    struct ggs_json_value item = {0};
    if (!ggs_json_is_there(value)) {
        return;
    } else if (bytes && ggs_json_to_u64(value, &amount)) {
        ggs_text_puts(text, ggs_format_bytes(number, amount));
    } else if (*value.at == '[') {
        while (ggs_json_next(value, &item)) {
            if (text->length > 0) ggs_text_putc(text, ' ');
            if (*item.at != '{') {
                ggs_json_append_to(item, text);
                continue;
            }
            struct ggs_text path = {0};
            ggs_json_append_to(ggs_json_member(item, "path"), &path);
            const char * slash = path.length == 0 ? NULL : strrchr(path.data, '/');
            ggs_text_puts(text, slash == NULL ? ggs_text_string(&path) : slash + 1);
            ggs_text_release(&path);
            ggs_text_putc(text, ':');
            ggs_json_append_to(ggs_json_member(item, "metadata_xxh3"), text);
        }
    } else if (!ggs_json_append_to(value, text)) { // a number
        ggs_text_append(text, value.at, (size_t) (value.end - value.at));
    }
}

// Returns the length of the common beginning of commands, which is left out.
static size_t common_begin(const struct ggs_text * texts, unsigned n) {
    size_t same = 0, word = 0;
    for (;; same++) {
        char c = ggs_text_string(&texts[0])[same];
        for (unsigned i = 1; i < n; i++) {
            if (ggs_text_string(&texts[i])[same] != c) return word;
        }
        if (c == '\0') return word;
        if (c == ' ') word = same + 1;
    }
}

static void keep(struct ggs_several_condition * condition, unsigned which, const struct ggs_text * texts, unsigned n) {
    size_t       skipped = strcmp(known[which].path, "command") == 0 ? common_begin(texts, n) : 0;
    const char * none    = strncmp(known[which].path, "machine.", 8) == 0 ? "none" : "not recorded";
    condition->name      = known[which].name;
    condition->n         = n;
    for (unsigned i = 0; i < n; i++) {
        const char * text = ggs_text_string(&texts[i]);
        if (texts[i].length == 0)
            snprintf(condition->values[i], GGS_SEVERAL_TEXT, "%s", none);
        else
            snprintf(condition->values[i], GGS_SEVERAL_TEXT, "%s%s", skipped > 0 ? "... " : "", text + skipped);
    }
}

static int find_conditions(struct ggs_several * several, const struct ggs_trace * traces,
                           struct ggs_text keys[GGS_SEVERAL_MOST], struct ggs_error * error) {
    several->conditions = calloc(KNOWN, sizeof(*several->conditions));
    if (several->conditions == NULL) return ggs_fail_memory(error);
    for (unsigned c = 0; c < KNOWN; c++) {
        struct ggs_text texts[GGS_SEVERAL_MOST] = {{0}};
        bool            differs                 = false;
        for (unsigned i = 0; i < several->n; i++) {
            append(&texts[i], find(&traces[i], known[c].path), known[c].bytes);
            differs |= strcmp(ggs_text_string(&texts[i]), ggs_text_string(&texts[0])) != 0;
            ggs_text_printf(&keys[i], "%s\n", ggs_text_string(&texts[i]));
        }
        if (differs) keep(&several->conditions[several->n_conditions++], c, texts, several->n);
        for (unsigned i = 0; i < several->n; i++) ggs_text_release(&texts[i]);
    }
    return 0;
}

// A group has the number of its first recording.
static void find_groups(struct ggs_several * several, const struct ggs_text * keys) {
    for (unsigned i = 0; i < several->n; i++) {
        unsigned k = 0;
        while (strcmp(ggs_text_string(&keys[k]), ggs_text_string(&keys[i])) != 0) k++;
        several->group[i] = k;
        several->n_groups += k == i;
    }
}

// ---- figures ----

// The values of a group's recordings.
struct spread {
    unsigned n;
    double   least, most, mean;
};

static struct spread spread_of(const struct ggs_several * several, const double * values, unsigned group) {
    struct spread spread = {.least = INFINITY, .most = -INFINITY};
    for (unsigned i = 0; i < several->n; i++) {
        if (several->group[i] != group || isnan(values[i])) continue;
        spread.least = fmin(spread.least, values[i]), spread.most = fmax(spread.most, values[i]);
        spread.mean += values[i];
        spread.n++;
    }
    if (spread.n > 0) spread.mean /= spread.n;
    return spread;
}

// True if the means of groups are further apart than repeats within any of them.
static void judge(const struct ggs_several * several, struct ggs_several_figure * figure) {
    double least = INFINITY, most = -INFINITY, within = NAN;
    figure->noise = NAN;
    for (unsigned i = 0; i < several->n; i++) {
        struct spread spread = spread_of(several, figure->values, i);
        if (spread.n == 0) continue;
        least = fmin(least, spread.mean), most = fmax(most, spread.mean);
        if (spread.n < 2) continue;
        double width  = spread.most - spread.least;
        within        = fmax(within, width);
        figure->noise = fmax(figure->noise, spread.mean == 0 ? 0 : width / fabs(spread.mean));
    }
    bool exact      = !figure->figure->noisy && within > 0; // repeats that should be equal are not
    figure->differs = exact || (isnan(within) ? !figure->figure->noisy && most > least : most - least > within);
}

int ggs_several_compute(struct ggs_several * several, struct ggs_trace * traces, unsigned n, struct ggs_error * error) {
    struct ggs_text keys[GGS_SEVERAL_MOST] = {{0}};
    *several                               = (struct ggs_several){.n = n};
    if (n > GGS_SEVERAL_MOST)
        return ggs_fail(error, GGS_USAGE, "at most %d recordings can be compared: name fewer", GGS_SEVERAL_MOST);
    int status = find_conditions(several, traces, keys, error);
    for (unsigned i = 0; i < n; i++) {
        if (keys[i].failed && status == 0) status = ggs_fail_memory(error);
    }
    if (status == 0) find_groups(several, keys);
    for (unsigned i = 0; i < n; i++) ggs_text_release(&keys[i]);
    several->n_figures = (unsigned) ggs_n_figures;
    for (unsigned i = 0; i < n && status == 0; i++) {
        struct ggs_totals totals;
        status = ggs_totals_compute(&totals, &traces[i], &ggs_totals_all, error);
        if (status < 0) break;
        for (unsigned k = 0; k < several->n_figures; k++) several->figures[k].values[i] = ggs_figures[k].of(&totals);
        ggs_totals_release(&totals);
    }
    for (unsigned k = 0; k < several->n_figures && status == 0; k++) {
        several->figures[k].figure = &ggs_figures[k];
        several->figures[k].n      = n;
        judge(several, &several->figures[k]);
    }
    if (status < 0) ggs_several_release(several);
    return status < 0 ? status : 0;
}

void ggs_several_release(struct ggs_several * several) {
    free(several->conditions);
    several->conditions   = NULL;
    several->n_conditions = 0;
}
