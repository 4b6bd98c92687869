// The counters as one line of JSON in a file.
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "stream/host/library.h"

static void report_failure(struct ggs_stream_library * l, const char * reason) {
    (void) l;
    dprintf(2, "ggscope: cannot write the report to %s: %s\n", l->report, reason);
}

static void write_numbers(FILE * file, const struct ggs_stream_facts * facts) {
    const struct ggs_stream_counts * c = &facts->counts;
    const struct ggs_stream_sizes *  z = &facts->sizes;
    const struct {
        const char * name;
        uint64_t     value;
    } numbers[] = {
        {"dense", z->dense},
        {"experts", z->experts},
        {"kept", z->kept},
        {"slots", z->slots},
        {"spare", z->spare},
        {"ring", z->ring},
        {"limit", z->limit},
        {"engine", z->engine},
        {"mapped", z->mapped},
        {"disk_sequential", facts->speed.sequential},
        {"disk_random", facts->speed.random},
        {"disk_depth", facts->speed.depth},
        {"disk_piece", facts->speed.piece},
        {"disk_in_place", facts->speed.in_place},
        {"runs", c->runs},
        {"uses", c->uses},
        {"bytes_streamed", c->bytes_streamed},
        {"bytes_kept", c->bytes_kept},
        {"bytes_experts", c->bytes_experts},
        {"bytes_predicted", c->bytes_predicted},
        {"bytes_filled", c->bytes_filled},
        {"hits", c->hits},
        {"misses", c->misses},
        {"predicted", c->predicted},
        {"predicted_used", c->predicted_used},
        {"waits", c->waits},
        {"wait_ns", c->wait_ns},
        {"run_ns", c->run_ns},
        {"tokens", c->tokens},
        {"tokens_ns", c->tokens_ns},
        {"batch_tokens", c->batch_tokens},
        {"batch_ns", c->batch_ns},
        {"mapped_uses", c->mapped},
        {"bytes_given", c->bytes_given},
        {"looks", c->looks},
        {"failed", c->failed},
        {"verified", c->verified},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        fprintf(file, ",\"%s\":%llu", numbers[i].name, (unsigned long long) numbers[i].value);
}

// True if the report was written by a program that this one started. A wrapper that never computed
// must not overwrite it.
static bool is_taken(const char * path) {
    struct stat status;
    return stat(path, &status) == 0 && status.st_size > 0;
}

void ggs_stream_library_report(struct ggs_stream_library * l) {
    static const char * const states[] = {"off", "unused", "fits", "streamed"};
    enum ggs_stream_state     state    = ggs_stream_now(l->stream);
    if (l->report[0] == '\0' || (state == GGS_STREAM_ASLEEP && is_taken(l->report))) return;
    struct ggs_stream_facts facts = ggs_stream_facts(l->stream);
    FILE *                  file  = fopen(l->report, "we");
    if (file == NULL) {
        report_failure(l, strerror(errno));
        return;
    }
    fprintf(file, "{\"state\":\"%s\"", facts.sizes.too_little ? "too little" : states[state]);
    write_numbers(file, &facts);
    fprintf(file, "}\n");
    if (fclose(file) != 0) report_failure(l, strerror(errno));
}
