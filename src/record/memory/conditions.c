#include "record/memory/conditions.h"

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

// ---- preparation ----

static void warn_of_copies(const struct ggs_memory_conditions * conditions) {
    const struct ggs_copies * copies = &conditions->copies;
    char                      copied[GGS_NUMBER_LENGTH], limit[GGS_NUMBER_LENGTH];
    if (copies->bytes == 0 || copies->model_bytes <= conditions->memory) return;
    fprintf(
        stderr,
        "ggscope: the engine copies up to %s of weights into memory of its own (%s), and has %s: the limit %s end it; %s\n",
        ggs_format_bytes(copied, copies->bytes), copies->no_mmap ? "--no-mmap" : "it repacks them",
        ggs_format_bytes(limit, conditions->memory), copies->bytes >= conditions->memory ? "will" : "may",
        copies->no_mmap ? "leave --no-mmap out" : "--no-repack leaves them where they are");
}

static int check_model(struct ggs_memory_conditions * conditions, struct ggs_error * error) {
    struct ggs_model * model;
    struct ggs_error   reason;
    if (ggs_model_open(&model, conditions->model, &reason) != 0)
        return ggs_fail(error, GGS_USAGE, "--%s needs the model: %s; name it with --cold=FILE",
                        conditions->memory > 0 ? "memory" : "cold", reason.text);
    struct ggs_cpu_layouts layouts = ggs_cpu_layouts_here();
    if (conditions->engine_known) ggs_cpu_layouts_ask(&layouts, conditions->engine);
    ggs_copies_find(&conditions->copies, model, conditions->command, &layouts);
    ggs_model_free(model);
    return 0;
}

int ggs_memory_conditions_check(struct ggs_memory_conditions * conditions, struct ggs_error * error) {
    int status = 0;
    if (!conditions->cold && conditions->memory == 0) return 0;
    if (conditions->model == NULL && conditions->cold)
        return ggs_fail(
            error, GGS_USAGE,
            "--cold needs to know the model, and the command names none with -m FILE: name it with --cold=FILE");
    if (conditions->model != NULL) status = check_model(conditions, error);
    if (status == 0) status = ggs_limit_make(&conditions->limit, conditions->memory, error);
    if (status != 0 || conditions->memory == 0) return status;
    if (conditions->model != NULL) {
        warn_of_copies(conditions);
    } else {
        fprintf(
            stderr,
            "ggscope: what is in the page cache already does not count against the limit, and the command names no model with "
            "-m FILE that could be dropped from it: name it with --cold=FILE\n");
    }
    return 0;
}

static void report_what_stayed(const struct ggs_memory_conditions * conditions) {
    const struct ggs_cold * found = &conditions->found;
    char                    bytes[GGS_NUMBER_LENGTH];
    const char *            so = conditions->memory > 0 ? "; that does not count against the limit" : "";
    if (found->unknown)
        fprintf(stderr,
                "ggscope: the model is neither yours nor writable: how much of it left the page cache is not known\n");
    if (found->after == 0) return;
    fprintf(stderr, "ggscope: %s of the model stayed in the page cache", ggs_format_bytes(bytes, found->after));
    if (found->holder > 0) fprintf(stderr, ": process %d (%s) has it mapped", (int) found->holder, found->command);
    fprintf(stderr, "%s\n", so);
}

static unsigned segments_ahead(const struct ggs_memory_conditions * conditions, const char * spool,
                               uint64_t max_bytes) {
    return conditions->memory > 0 ? ggs_ahead_segments(max_bytes) : ggs_ahead_idle_segments(spool, max_bytes);
}

uint64_t ggs_memory_conditions_reserve(const struct ggs_memory_conditions * conditions, const char * spool,
                                       uint64_t max_bytes) {
    return (uint64_t) segments_ahead(conditions, spool, max_bytes) * GGS_SPOOL_SEGMENT;
}

int ggs_memory_conditions_apply(struct ggs_memory_conditions * conditions, const char * spool, uint64_t max_bytes,
                                struct ggs_error * error) {
    int status = ggs_ahead_start(&conditions->ahead, spool, segments_ahead(conditions, spool, max_bytes),
                                 conditions->memory == 0, error);
    if (conditions->memory == 0) status = 0; // the library makes its own
    // The kernel charges a page to the group that touches it first: cached pages would cost the
    // program nothing.
    if (status == 0 && conditions->model != NULL && (conditions->cold || conditions->memory > 0)) {
        status              = ggs_cold_drop(&conditions->found, conditions->model, error);
        conditions->dropped = status == 0;
        if (conditions->dropped) report_what_stayed(conditions);
    }
    getrusage(RUSAGE_CHILDREN, &conditions->children);
    return status;
}

// ---- the run and its end ----

void ggs_memory_conditions_join(struct ggs_memory_conditions * conditions, pid_t program) {
    struct ggs_error error;
    if (ggs_limit_join(&conditions->limit, program, &error) == 0) return;
    fprintf(stderr, "ggscope: %s\n", error.text);
    kill(program, SIGKILL);
}

void ggs_memory_conditions_end(struct ggs_memory_conditions * conditions) {
    ggs_ahead_stop(&conditions->ahead);
    ggs_limit_end(&conditions->limit);
}

static void add(struct json_object * machine, const char * key, uint64_t value) {
    json_object_object_add(machine, key, json_object_new_uint64(value));
}

void ggs_memory_conditions_annotate_begin(const struct ggs_memory_conditions * conditions,
                                          struct json_object *                 machine) {
    const struct ggs_cold * found = &conditions->found;
    if (conditions->limit.bytes > 0) {
        add(machine, "memory_limit", conditions->limit.bytes);
        json_object_object_add(machine, "mechanism", json_object_new_string(conditions->limit.mechanism));
    }
    if (!conditions->dropped) return;
    struct json_object * cold = json_object_new_object();
    add(cold, "files", found->files);
    add(cold, "bytes", found->bytes);
    json_object_object_add(cold, "resident_before", found->unknown ? NULL : json_object_new_uint64(found->before));
    json_object_object_add(cold, "resident_after", found->unknown ? NULL : json_object_new_uint64(found->after));
    json_object_object_add(machine, "cold", cold);
}

void ggs_memory_conditions_annotate_end(const struct ggs_memory_conditions * conditions, struct json_object * machine) {
    const struct ggs_limit_use * use = &conditions->limit.use;
    struct rusage                children;
    if (conditions->limit.bytes > 0) {
        add(machine, "memory_peak", use->peak);
        add(machine, "memory_anonymous", use->anonymous);
        add(machine, "memory_shared", use->shared);
        add(machine, "limit_hits", use->hits);
        add(machine, "oom_kills", use->kills);
    }
    if (getrusage(RUSAGE_CHILDREN, &children) == 0 && children.ru_maxrss > 0)
        add(machine, "resident_peak", (uint64_t) children.ru_maxrss * 1024);
    if (getrusage(RUSAGE_CHILDREN, &children) == 0 && children.ru_inblock >= conditions->children.ru_inblock)
        add(machine, "read_bytes", (uint64_t) (children.ru_inblock - conditions->children.ru_inblock) * 512);
}

// Estimates what the program needs: the predicted copies, or twice the limit.
static uint64_t suggest(const struct ggs_memory_conditions * conditions) {
    const uint64_t step   = 64ull << 20;
    uint64_t       copied = conditions->copies.bytes, need = 2 * conditions->memory;
    if (copied > conditions->limit.use.anonymous) need = copied + (256ull << 20);
    return (need + step - 1) / step * step;
}

bool ggs_memory_conditions_explain(const struct ggs_memory_conditions * conditions, int wait_status) {
    const struct ggs_limit_use * use = &conditions->limit.use;
    char                         limit[GGS_NUMBER_LENGTH], own[GGS_NUMBER_LENGTH];
    if (conditions->limit.bytes == 0 || use->kills == 0) return false;
    if (!WIFSIGNALED(wait_status)) {
        fprintf(stderr, "ggscope: the kernel ended %llu of the program's processes for want of memory\n",
                (unsigned long long) use->kills);
        return false;
    }
    fprintf(
        stderr,
        "ggscope: the program was ended by the kernel: it needs more than the %s of --memory (%s were memory of its own, which cannot "
        "be dropped); try --memory %lluM%s\n",
        ggs_format_bytes(limit, conditions->limit.bytes), ggs_format_bytes(own, use->anonymous),
        (unsigned long long) (suggest(conditions) >> 20),
        conditions->copies.bytes > 0 && !conditions->copies.no_mmap ? ", or --no-repack" : "");
    return true;
}
