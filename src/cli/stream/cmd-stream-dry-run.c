// ggscope stream --dry-run.
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/paging/forecast.h"
#include "analyze/paging/paging.h"
#include "base/error.h"
#include "base/number.h"
#include "base/system/disk-speed.h"
#include "cli/stream/cmd-stream.h"
#include "gguf/gguf-split.h"
#include "record/recording.h"

enum { ROWS = 5, CONTEXT = 4096 };

// ---- input ----

// Chooses the requested amount, and shares of the model for comparison.
static void choose_memory(uint64_t rows[ROWS], uint64_t memory, uint64_t model) {
    rows[0] = memory;
    for (unsigned i = 1; i < ROWS; i++) rows[i] = model / 4 * i;
}

static uint64_t memory_left(void) {
    FILE *             file = fopen("/proc/meminfo", "re");
    char               line[128];
    unsigned long long kib = 0;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL && sscanf(line, "MemAvailable: %llu", &kib) != 1) {}
    if (file != NULL) fclose(file);
    return kib << 10;
}

// The speed measured by an earlier stream; zeros if there is none.
static struct ggs_speed disk_of(const char * model) {
    struct ggs_speed speed = {0}, found;
    char             identity[2048], path[PATH_MAX];
    int              fd = open(model, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return speed;
    ggs_speed_identity(fd, "/proc", "/sys", identity, sizeof(identity));
    if (ggs_speed_path(identity, path) && ggs_speed_read(path, identity, &found)) speed = found;
    close(fd);
    return speed;
}

// ---- rows ----

static void print_head(void) {
    printf("%12s  %12s  %12s  %10s\n", "memory", "weights held", "read / token", "tokens/s");
}

// `seconds`: minimum time of a token; 0: unknown. `why`: the reason if nothing is streamed, else
// NULL.
static void print_row(uint64_t memory, uint64_t uses, uint64_t reads, double seconds, const char * why) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], rate[32] = "not known";
    if (why != NULL) {
        printf("%12s  %s: nothing is streamed\n", ggs_format_bytes(a, memory), why);
        return;
    }
    if (seconds > 0) snprintf(rate, sizeof(rate), "<= %.*f", seconds > 0.1 ? 1 : 0, 1 / seconds);
    printf("%12s  %10.0f %%  %12s  %10s\n", ggs_format_bytes(a, memory),
           uses == 0 || reads > uses ? 0 : 100 * (double) (uses - reads) / (double) uses, ggs_format_bytes(b, reads),
           rate);
}

static void print_disk(const struct ggs_speed * speed) {
    if (speed->random > 0) {
        printf("The disk reads %.1f GB/s. What the engine computes is not counted.\n", (double) speed->random / 1e9);
    } else {
        puts("The speed of the disk is not known: it is measured when something is streamed from it.");
    }
}

// ---- from the model ----

static int forecast_model(const char * path, uint64_t memory, uint64_t context, struct ggs_error * error) {
    struct ggs_model * model;
    int                status = ggs_model_open(&model, path, error);
    if (status != 0) return status;
    struct ggs_speed           speed = disk_of(path);
    struct ggs_stream_forecast f;
    uint64_t                   rows[ROWS];
    char                       a[4][GGS_NUMBER_LENGTH];
    choose_memory(rows, memory, model->size);
    for (unsigned i = 0; i < ROWS && status == 0; i++) {
        if (!ggs_stream_forecast(&f, model, rows[i], context)) {
            status = ggs_fail_memory(error);
        } else if (i == 0) {
            printf("%s: %s, of which a token uses %s. The engine takes about %s (%" PRIu64 " tokens of context).\n",
                   path, ggs_format_bytes(a[0], model->size), ggs_format_bytes(a[1], f.token_bytes),
                   ggs_format_bytes(a[2], f.engine), context);
            if (!f.fits && !f.too_little)
                printf("In %s: kept %s, slots of experts %s, ring %s.\n", ggs_format_bytes(a[0], memory),
                       ggs_format_bytes(a[1], f.kept), ggs_format_bytes(a[2], f.slots), ggs_format_bytes(a[3], f.ring));
            print_disk(&speed);
            print_head();
        }
        if (status == 0)
            print_row(rows[i], f.token_bytes, f.token_reads,
                      speed.random == 0 ? 0 : (double) f.token_reads / (double) speed.random,
                      f.fits         ? "it fits"
                      : f.too_little ? "too little"
                                     : NULL);
    }
    ggs_model_free(model);
    return status;
}

// ---- from a recording ----

static void print_recording(const struct ggs_paging * p) {
    char     a[2][GGS_NUMBER_LENGTH];
    uint64_t uses = ggs_paging_demand(p);
    printf("The model has %s, of which ops read %s per token. Memory that the engine needs is not included.\n",
           ggs_format_bytes(a[0], p->model_bytes), ggs_format_bytes(a[1], uses));
    if (isnan(p->speed.disk_bytes_per_second)) puts("The speed of the disk was not recorded (record with --io).");
    print_head();
    for (unsigned i = 0; i < p->n_budgets; i++) {
        uint64_t reads   = ggs_paging_per_token(p, &p->budget[i].cost[GGS_PAGING_STREAM]);
        double   compute = p->speed.compute_ns < 0 ? 0 : (double) p->speed.compute_ns / 1e9;
        double   disk    = isnan(p->speed.disk_bytes_per_second) ? 0 : (double) reads / p->speed.disk_bytes_per_second;
        bool     fits    = p->budget[i].memory > p->touched_bytes;
        print_row(p->budget[i].memory, uses, reads,
                  disk == 0        ? 0
                  : compute > disk ? compute
                                   : disk,
                  p->budget[i].streams ? NULL
                  : fits               ? "it fits"
                                       : "too little");
    }
}

static int forecast_recording(const char * path, uint64_t memory, struct ggs_error * error) {
    struct ggs_trace  trace;
    struct ggs_paging paging;
    int               status = ggs_trace_open(&trace, path, error);
    if (status != 0) return status;
    struct ggs_paging_options options   = {.first_step = INT64_MIN,
                                           .last_step  = INT64_MAX,
                                           .readahead  = GGS_READAHEAD_CHOSEN,
                                           .cold       = true,
                                           .n_memory   = 1,
                                           .memory     = {memory}};
    options.policies[GGS_PAGING_STREAM] = true;
    status                              = ggs_paging_compute(&paging, &trace, &options, error);
    if (status == 0) {
        uint64_t model = paging.model_bytes;
        ggs_paging_release(&paging);
        options.n_memory = ROWS;
        choose_memory(options.memory, memory, model);
        status = ggs_paging_compute(&paging, &trace, &options, error);
    }
    if (status == 0) {
        print_recording(&paging);
        ggs_paging_release(&paging);
    }
    ggs_trace_close(&trace);
    return status;
}

// The context size on a llama.cpp command line.
static uint64_t context_of(char * const * words) {
    int64_t n;
    for (; words[0] != NULL && words[1] != NULL; words++) {
        bool asks =
            strcmp(words[0], "-c") == 0 || strcmp(words[0], "--ctx-size") == 0 || strcmp(words[0], "--ctx") == 0;
        if (asks && ggs_parse_i64(words[1], 1, INT32_MAX, &n)) return (uint64_t) n;
    }
    return CONTEXT;
}

const char * ggs_stream_dry_run_model(char * const * words) {
    size_t length = strlen(words[0]);
    return length > 5 && strcmp(words[0] + length - 5, ".gguf") == 0 ? words[0] : ggs_recording_find_model(words);
}

int ggs_stream_dry_run(char * const * words, uint64_t memory, struct ggs_error * error) {
    struct stat  status;
    const char * model = ggs_stream_dry_run_model(words);
    if (memory == 0) memory = memory_left();
    if (model != NULL) return forecast_model(model, memory, context_of(words), error);
    if (stat(words[0], &status) == 0 && S_ISDIR(status.st_mode)) return forecast_recording(words[0], memory, error);
    return ggs_fail(error, GGS_USAGE,
                    "--dry-run needs a GGUF file, a recording, or a program with -m MODEL: %s is none of these",
                    words[0]);
}
