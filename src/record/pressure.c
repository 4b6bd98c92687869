#include "record/pressure.h"

#include <errno.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/number.h"
#include "gguf/gguf-split.h"
#include "trace/spool.h"

// ---- before ----

static void warn_of_copies(const struct ggs_pressure * pressure) {
    const struct ggs_copies * copies = &pressure->copies;
    char                      copied[GGS_NUMBER_LENGTH], limit[GGS_NUMBER_LENGTH];
    if (copies->bytes == 0 || copies->model_bytes <= pressure->memory) return;
    fprintf(
        stderr,
        "ggscope: the engine copies up to %s of weights into memory of its own (%s), and has %s: the limit %s end it; %s\n",
        ggs_format_bytes(copied, copies->bytes), copies->no_mmap ? "--no-mmap" : "it repacks them",
        ggs_format_bytes(limit, pressure->memory), copies->bytes >= pressure->memory ? "will" : "may",
        copies->no_mmap ? "leave --no-mmap out" : "--no-repack leaves them where they are");
}

static int look_at_model(struct ggs_pressure * pressure, struct ggs_error * error) {
    struct ggs_model * model;
    struct ggs_error   reason;
    if (ggs_model_open(&model, pressure->model, &reason) != 0)
        return ggs_fail(error, GGS_USAGE, "--%s needs the model: %s; name it with --cold=FILE",
                        pressure->memory > 0 ? "memory" : "cold", reason.text);
    ggs_copies_find(&pressure->copies, model, pressure->command);
    ggs_model_free(model);
    return 0;
}

int ggs_pressure_check(struct ggs_pressure * pressure, struct ggs_error * error) {
    int status = 0;
    if (!pressure->cold && pressure->memory == 0) return 0;
    if (pressure->model == NULL && pressure->cold)
        return ggs_fail(
            error, GGS_USAGE,
            "--cold needs to know the model, and the command names none with -m FILE: name it with --cold=FILE");
    if (pressure->model != NULL) status = look_at_model(pressure, error);
    if (status == 0) status = ggs_limit_make(&pressure->limit, pressure->memory, error);
    if (status != 0 || pressure->memory == 0) return status;
    if (pressure->model != NULL) {
        warn_of_copies(pressure);
    } else {
        fprintf(
            stderr,
            "ggscope: what is in the page cache already does not count against the limit, and the command names no model with "
            "-m FILE that could be dropped from it: name it with --cold=FILE\n");
    }
    return 0;
}

static void tell_what_stayed(const struct ggs_pressure * pressure) {
    const struct ggs_cold * found = &pressure->found;
    char                    bytes[GGS_NUMBER_LENGTH];
    const char *            so = pressure->memory > 0 ? "; that does not count against the limit" : "";
    if (found->unknown)
        fprintf(stderr,
                "ggscope: the model is neither yours nor writable: how much of it left the page cache is not known\n");
    if (found->after == 0) return;
    fprintf(stderr, "ggscope: %s of the model stayed in the page cache", ggs_format_bytes(bytes, found->after));
    if (found->holder > 0) fprintf(stderr, ": process %d (%s) has it mapped", (int) found->holder, found->command);
    fprintf(stderr, "%s\n", so);
}

static unsigned segments_ahead(const struct ggs_pressure * pressure, const char * spool, uint64_t max_bytes) {
    return pressure->memory > 0 ? ggs_ahead_segments(max_bytes) : ggs_ahead_idle_segments(spool, max_bytes);
}

uint64_t ggs_pressure_reserve(const struct ggs_pressure * pressure, const char * spool, uint64_t max_bytes) {
    return (uint64_t) segments_ahead(pressure, spool, max_bytes) * GGS_SPOOL_SEGMENT;
}

int ggs_pressure_apply(struct ggs_pressure * pressure, const char * spool, uint64_t max_bytes,
                       struct ggs_error * error) {
    int status = ggs_ahead_start(&pressure->ahead, spool, segments_ahead(pressure, spool, max_bytes),
                                 pressure->memory == 0, error);
    if (pressure->memory == 0) status = 0; // then the library makes its own
    // A page counts for the first who touched it: what is in memory already would be free for the program.
    if (status == 0 && pressure->model != NULL && (pressure->cold || pressure->memory > 0)) {
        status            = ggs_cold_drop(&pressure->found, pressure->model, error);
        pressure->dropped = status == 0;
        if (pressure->dropped) tell_what_stayed(pressure);
    }
    getrusage(RUSAGE_CHILDREN, &pressure->children);
    return status;
}

// ---- while it runs, and after ----

void ggs_pressure_join(struct ggs_pressure * pressure, pid_t program) {
    struct ggs_error error;
    if (ggs_limit_join(&pressure->limit, program, &error) == 0) return;
    fprintf(stderr, "ggscope: %s\n", error.text);
    kill(program, SIGKILL);
}

void ggs_pressure_end(struct ggs_pressure * pressure) {
    ggs_ahead_stop(&pressure->ahead);
    ggs_limit_end(&pressure->limit);
}

static void add(struct json_object * machine, const char * key, uint64_t value) {
    json_object_object_add(machine, key, json_object_new_uint64(value));
}

void ggs_pressure_note_begin(const struct ggs_pressure * pressure, struct json_object * machine) {
    const struct ggs_cold * found = &pressure->found;
    if (pressure->limit.bytes > 0) {
        add(machine, "memory_limit", pressure->limit.bytes);
        json_object_object_add(machine, "mechanism", json_object_new_string(pressure->limit.mechanism));
    }
    if (!pressure->dropped) return;
    struct json_object * cold = json_object_new_object();
    add(cold, "files", found->files);
    add(cold, "bytes", found->bytes);
    json_object_object_add(cold, "resident_before", found->unknown ? NULL : json_object_new_uint64(found->before));
    json_object_object_add(cold, "resident_after", found->unknown ? NULL : json_object_new_uint64(found->after));
    json_object_object_add(machine, "cold", cold);
}

void ggs_pressure_note_end(const struct ggs_pressure * pressure, struct json_object * machine) {
    const struct ggs_limit_use * use = &pressure->limit.use;
    struct rusage                children;
    if (pressure->limit.bytes > 0) {
        add(machine, "memory_peak", use->peak);
        add(machine, "memory_anonymous", use->anonymous);
        add(machine, "memory_shared", use->shared);
        add(machine, "limit_hits", use->hits);
        add(machine, "oom_kills", use->kills);
    }
    if (getrusage(RUSAGE_CHILDREN, &children) == 0 && children.ru_inblock >= pressure->children.ru_inblock)
        add(machine, "read_bytes", (uint64_t) (children.ru_inblock - pressure->children.ru_inblock) * 512);
}

// What it would take, as far as that can be guessed: the copies that were foreseen, or twice as much.
static uint64_t suggest(const struct ggs_pressure * pressure) {
    const uint64_t step   = 64ull << 20;
    uint64_t       copied = pressure->copies.bytes, need = 2 * pressure->memory;
    if (copied > pressure->limit.use.anonymous) need = copied + (256ull << 20);
    return (need + step - 1) / step * step;
}

bool ggs_pressure_explain(const struct ggs_pressure * pressure, int wait_status) {
    const struct ggs_limit_use * use = &pressure->limit.use;
    char                         limit[GGS_NUMBER_LENGTH], own[GGS_NUMBER_LENGTH];
    if (pressure->limit.bytes == 0 || use->kills == 0) return false;
    if (!WIFSIGNALED(wait_status)) {
        fprintf(stderr, "ggscope: the kernel ended %llu of the program's processes for want of memory\n",
                (unsigned long long) use->kills);
        return false;
    }
    fprintf(
        stderr,
        "ggscope: the program was ended by the kernel: it needs more than the %s of --memory (%s were memory of its own, which cannot "
        "be dropped); try --memory %lluM%s\n",
        ggs_format_bytes(limit, pressure->limit.bytes), ggs_format_bytes(own, use->anonymous),
        (unsigned long long) (suggest(pressure) >> 20),
        pressure->copies.bytes > 0 && !pressure->copies.no_mmap ? ", or --no-repack" : "");
    return true;
}
