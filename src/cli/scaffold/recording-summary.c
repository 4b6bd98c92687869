#include "cli/scaffold/recording-summary.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/machine/conditions.h"
#include "analyze/machine/off-cpu.h"
#include "analyze/ops/totals.h"
#include "analyze/requests/requests.h"
#include "analyze/walk/times.h"
#include "answer/notes.h"
#include "base/error.h"
#include "base/json-read.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/text.h"
#include "cli/scaffold/explained.h"

enum { TOP = 5 };

// ---- subject ----

enum { PROMPT_COLUMNS = 40 };

// Reads a member of experiment.json as text for one line: no control characters, at most `size` - 1
// bytes.
static bool line_of(struct ggs_json_value value, char * line, size_t size) {
    struct ggs_text text  = {0};
    bool            there = ggs_json_append_to(value, &text) && text.length > 0;
    snprintf(line, size, "%s", there ? ggs_text_string(&text) : "");
    bool cut = there && text.length >= size;
    ggs_text_release(&text);
    for (char * c = line; *c != '\0'; c++)
        if ((unsigned char) *c < ' ' || *c == 0x7f) *c = ' ';
    size_t length = strlen(line);
    while (cut && length > 0 && ((unsigned char) line[length] & 0xc0) == 0x80) line[length--] = '\0';
    if (cut && length > 4) memcpy(line + length - 3, "...", 3);
    return there;
}

// Finds the word after -p of the command.
static bool prompt_of(struct ggs_json_value root, char * line, size_t size) {
    struct ggs_json_value command = ggs_json_member(root, "command"), word = {0};
    char                  option[16];
    while (ggs_json_next(command, &word)) {
        ggs_json_to_buffer(word, option, sizeof(option));
        if (strcmp(option, "-p") == 0 || strcmp(option, "--prompt") == 0)
            return ggs_json_next(command, &word) && line_of(word, line, size);
    }
    return false;
}

static void print_engine(FILE * out, struct ggs_json_value root, const struct ggs_totals * t) {
    char                  text[128], peak[GGS_NUMBER_LENGTH];
    struct ggs_json_value engine = ggs_json_member(root, "engine"), machine = ggs_json_member(root, "machine");
    uint64_t              bytes  = 0;
    const char *          before = "engine    ";
    if (line_of(ggs_json_member(engine, "llama_version"), text, sizeof(text)))
        fprintf(out, "%sllama.cpp %s", before, text), before = ", ";
    if (line_of(ggs_json_member(engine, "ggml_version"), text, sizeof(text)))
        fprintf(out, "%sggml %s", before, text), before = ", ";
    if (line_of(ggs_json_member(engine, "cpu_library"), text, sizeof(text)))
        fprintf(out, "%s%s", before, text), before = ", ";
    for (uint64_t i = 0; i < t->devices.n; i++) {
        const struct ggs_device_totals * d = &t->devices.device[i];
        if (d->row.type != GGS_DEVICE_CPU && d->runs > 0) fprintf(out, "%s%s", before, d->name), before = ", ";
    }
    if (before[0] == ',') fputc('\n', out);
    if (!ggs_json_to_u64(ggs_json_member(machine, "memory_peak"), &bytes))
        ggs_json_to_u64(ggs_json_member(machine, "resident_peak"), &bytes);
    if (bytes > 0) fprintf(out, "memory    %s at most\n", ggs_format_bytes(peak, bytes));
}

// Warns that ops read copies of the weights: work on storage has no effect on such a recording.
static void print_placement(FILE * out, struct ggs_json_value root, const struct ggs_weight_places * p) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    if (p->copied == 0) return;
    fprintf(out, "weights   %s of %s copied at load into %s: ops do not read\n", ggs_format_bytes(a, p->copied),
            ggs_format_bytes(b, p->copied + p->mapped), p->n > 0 && p->buffer[0][0] != '\0' ? p->buffer[0] : "memory");
    fprintf(out, "          these from the file");
    bool packed = false, plain = false;
    for (unsigned i = 0; i < p->n; i++) {
        packed |= strstr(p->buffer[i], "REPACK") != NULL || strcmp(p->buffer[i], "AMX") == 0;
        plain |= strcmp(p->buffer[i], "CPU") == 0;
    }
    char llama[64]; // other programs load models in other ways
    bool maps = line_of(ggs_json_member(ggs_json_member(root, "engine"), "llama_version"), llama, sizeof(llama));
    if (plain && maps)
        fprintf(out, "; loaded with mmap%s they stay mapped", packed ? " and --no-repack" : "");
    else if (packed && !plain)
        fprintf(out, "; --no-repack leaves them mapped");
    fputc('\n', out);
}

// Prints the machine's conditions for the program, and other load.
static void print_machine(FILE * out, struct ggs_json_value root) {
    struct ggs_json_value host  = ggs_json_member(root, "host");
    uint64_t              cores = 0, usable = 0, read = 0;
    char                  bytes[GGS_NUMBER_LENGTH];
    if (!ggs_json_to_u64(ggs_json_member(host, "cores"), &cores) ||
        !ggs_json_to_u64(ggs_json_member(host, "usable_cores"), &usable))
        return;
    fprintf(out, "machine   %" PRIu64 " of %" PRIu64 " cores usable", usable, cores);
    struct ggs_json_value machine = ggs_json_member(root, "machine");
    uint64_t              cpu_ns = 0, others_ns = 0;
    if (ggs_json_to_u64(ggs_json_member(machine, "cpu_ns"), &cpu_ns) && cpu_ns > 0 &&
        ggs_json_to_u64(ggs_json_member(machine, "others_cpu_ns"), &others_ns))
        fprintf(out, "; others used %.0f %% of all", 100 * (double) others_ns / (double) cpu_ns);
    if (ggs_json_to_u64(ggs_json_member(machine, "read_bytes"), &read))
        fprintf(out, "; %s read from disk", ggs_format_bytes(bytes, read));
    fputc('\n', out);
}

void ggs_summary_subject(const struct ggs_trace * trace, const struct ggs_totals * totals, FILE * out) {
    const char *          json = ggs_reader_experiment(trace->reader);
    struct ggs_json_value root = ggs_json_read(json, strlen(json));
    char                  model[256], prompt[PROMPT_COLUMNS + 1];
    if (line_of(ggs_json_member(root, "model"), model, sizeof(model))) {
        fprintf(out, "run       %s", ggs_file_name(model));
        if (prompt_of(root, prompt, sizeof(prompt))) fprintf(out, ", \"%s\"", prompt);
        fputc('\n', out);
    }
    print_engine(out, root, totals);
    print_machine(out, root);
    print_placement(out, root, &totals->places);
}

// ---- figures ----

// Prints the time between decodes if it exceeds a twentieth. It belongs to no op, but the user
// waits for it.
static void print_between(FILE * out, const struct ggs_totals * t) {
    char     number[GGS_NUMBER_LENGTH];
    uint64_t decodes = t->generate_ns + t->drafting_ns, all = t->generate_ns + t->between_ns;
    if (all <= decodes || all - decodes < all / 20 || t->decoded_tokens == 0) return;
    fprintf(out,
            "between   %s of that time lies between decodes (sampling, printing, waiting);\n"
            "          inside them %.1f tokens/s\n",
            ggs_format_percent(number, all - decodes, all), (double) t->decoded_tokens / ((double) decodes / 1e9));
}

// A step of one request yields a token; a step of a server yields as many as it has slots.
static void print_speed(FILE * out, const struct ggs_totals * t) {
    char   number[GGS_NUMBER_LENGTH], other[GGS_NUMBER_LENGTH];
    double seconds = (double) (t->generate_ns + t->between_ns) / 1e9, tokens = (double) t->decoded_tokens;
    bool   several = t->requests > 1;
    if (t->graph_steps > 0) {
        fprintf(out, "graphs    %" PRIu64 " run%s: %s%s\n", t->graph_steps, t->graph_steps == 1 ? "" : "s",
                ggs_format_nanoseconds(number, t->graph_ns / t->graph_steps), t->graph_steps > 1 ? " each" : "");
        return;
    }
    fprintf(out, "tokens    %" PRIu64 " step%s", t->steps, t->steps == 1 ? "" : "s");
    if (several) fprintf(out, " of %" PRIu64 " requests", t->requests);
    if (t->prompt_tokens > 0)
        fprintf(out, ": %s of %" PRIu64 " in %s", several ? "prompts" : "prompt", t->prompt_tokens,
                ggs_format_nanoseconds(number, t->prompt_ns));
    if (t->generate_steps > 0) {
        fprintf(out, "%s%s%s%s (%.1f tokens/s)", t->prompt_tokens > 0 ? ", then " : ": ", several ? "steps of " : "",
                ggs_format_nanoseconds(number, t->generate_ns / t->generate_steps),
                !several && t->generate_steps > 1 ? " each" : "", seconds > 0 ? tokens / seconds : 0.0);
    }
    fputs(t->warmup_steps > 0 ? "; warm-up apart\n" : "\n", out);
    print_between(out, t);
    if (several) fprintf(out, "          %" PRIu64 " generated; ggscope requests lists them\n", t->generated_tokens);
    if (t->accepted_tokens + t->rejected_tokens > 0)
        fprintf(out, "drafts    %s of %" PRIu64 " accepted; drafting took %s\n",
                ggs_format_count(number, t->accepted_tokens), t->accepted_tokens + t->rejected_tokens,
                ggs_format_nanoseconds(other, t->draft_ns));
}

void ggs_summary_drafts(const struct ggs_request_context * c, const char * indent, FILE * out) {
    char number[GGS_NUMBER_LENGTH];
    if (c->target >= 0) fprintf(out, "%sdrafts tokens for context %" PRId64 "\n", indent, c->target);
    if (!isnan(c->acceptance))
        fprintf(out, "%s%" PRIu64 " of %" PRIu64 " drafted tokens accepted (%.0f %%), each of which saved a step\n",
                indent, c->accepted_tokens, c->accepted_tokens + c->rejected_tokens, 100 * c->acceptance);
    if (c->ns_per_drafted_token < 0) return;
    fprintf(out, "%sa token took %s with drafts, what the draft took included, and ", indent,
            ggs_format_nanoseconds(number, (uint64_t) c->ns_per_drafted_token));
    if (c->ns_per_plain_token >= 0)
        fprintf(out, "%s without (estimated)\n", ggs_format_nanoseconds(number, (uint64_t) c->ns_per_plain_token));
    else
        fputs("was not seen without\n", out);
}

// True if all ops belong to token steps, which shares of ops then refer to.
static bool has_steps(const struct ggs_totals * t) {
    return t->warmup_steps == 0 && t->graph_steps == 0 && t->draft_steps == 0 && t->prompt_ns + t->generate_ns > 0;
}
static uint64_t whole_time(const struct ggs_totals * t) {
    return has_steps(t) ? t->prompt_ns + t->generate_ns : t->run_ns;
}

static void print_top(FILE * out, const struct ggs_totals * t) {
    char     time[GGS_NUMBER_LENGTH], share[GGS_NUMBER_LENGTH];
    uint64_t ops = 0, whole = whole_time(t);
    for (uint64_t i = 0; i < t->n_by_op; i++) ops += t->by_op[i].wall_ns;
    if (whole < ops) whole = ops;
    for (uint64_t i = 0; i < t->n_by_op && i < TOP; i++) {
        fprintf(out, "            %-18s %10s %8s\n", t->by_op[i].name,
                ggs_format_nanoseconds(time, t->by_op[i].wall_ns),
                ggs_format_percent(share, t->by_op[i].wall_ns, whole));
    }
    if (whole - ops > whole / 100)
        fprintf(out, "            %-18s %10s %8s\n", "outside of ops", ggs_format_nanoseconds(time, whole - ops),
                ggs_format_percent(share, whole - ops, whole));
    if (whole > 0)
        fprintf(out, "            of %s in %s\n", ggs_format_nanoseconds(time, whole),
                has_steps(t) ? "token steps" : "graph runs");
}

static void print_ops(FILE * out, const struct ggs_totals * t) {
    char     ops[GGS_NUMBER_LENGTH], runs[GGS_NUMBER_LENGTH];
    uint64_t queues = 0;
    for (uint64_t i = 0; i < t->devices.n; i++) queues += t->devices.device[i].queues;
    fprintf(out, "ops       %s ops as %s op runs", ggs_format_count(ops, t->ops), ggs_format_count(runs, t->op_runs));
    if (t->threads > 0 || queues == 0) fprintf(out, " on %" PRIu64 " thread%s", t->threads, t->threads == 1 ? "" : "s");
    if (queues > 0)
        fprintf(out, "%s in %" PRIu64 " queue%s", t->threads > 0 ? " and" : "", queues, queues == 1 ? "" : "s");
    fputc('\n', out);
}

// "to it 8.16 MiB in 38 transfers at 0.71 GB/s"
static void print_moved(FILE * out, const char * way, const struct ggs_device_moved * moved, const char * end) {
    char bytes[GGS_NUMBER_LENGTH], count[GGS_NUMBER_LENGTH];
    fprintf(out, "          %s it %s in %s transfer%s", way, ggs_format_bytes(bytes, moved->bytes),
            ggs_format_count(count, moved->count), moved->count == 1 ? "" : "s");
    if (moved->ns > 0) fprintf(out, " at %.2f GB/s", (double) moved->timed_bytes / (double) moved->ns);
    fputs(end, out);
}

// Prints the cost of recording every op, if some runs were recorded so and some were not.
static void print_price(FILE * out, const struct ggs_device_totals * d) {
    char                 a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    struct ggs_quartiles with = ggs_spread_quartiles(&d->timed_run), without = ggs_spread_quartiles(&d->whole_run);
    if (with.n == 0 || without.n == 0 || without.median <= 0) return;
    fprintf(out, "          a run of a token takes %s with op times, %s without: they cost %.0f %%\n",
            ggs_format_nanoseconds(a, (uint64_t) with.median), ggs_format_nanoseconds(b, (uint64_t) without.median),
            100 * (with.median / without.median - 1));
}

// Prints how busy devices were, and the share of their time with known ops. Nothing if only the CPU
// computed.
static void print_devices(FILE * out, const struct ggs_totals * t) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    if (!ggs_device_list_has_other(&t->devices)) return;
    for (uint64_t i = 0; i < t->devices.n; i++) {
        const struct ggs_device_totals * d    = &t->devices.device[i];
        double                           busy = ggs_device_busy(&t->devices, d);
        if (d->row.type == GGS_DEVICE_CPU) continue;
        fprintf(out, "device    %s: ", d->name);
        if (d->runs == 0)
            fputs("has memory, computed nothing", out);
        else if (d->peer_runs == d->runs) {
            fprintf(out, "its %s graph runs are those of a server", ggs_format_count(a, d->runs));
        } else if (busy >= 0)
            fprintf(out, "busy %.1f %% of %s", 100 * busy,
                    ggs_format_nanoseconds(a, ggs_time_between(t->devices.begin_ns, t->devices.end_ns)));
        else
            fprintf(out, "op times of %s of its time: %s", ggs_format_percent(a, d->timed_ns, d->run_ns),
                    ggs_format_count(b, d->timed_runs));
        if (d->runs > d->peer_runs && busy < 0) fprintf(out, " of %s graph runs", ggs_format_count(a, d->runs));
        fputs(d->runs > d->peer_runs && busy >= 0 ? ", op times of all its graph runs\n" : "\n", out);
        print_price(out, d);
        if (d->in.count + d->out.count == 0) continue;
        print_moved(out, "to", &d->in, "\n");
        print_moved(out, "from", &d->out, "");
        uint64_t ns = d->in.ns + d->out.ns;
        if (ns > 0 && d->peer_runs == 0 && ggs_device_is_timed(d))
            fprintf(out, ";\n          it computed in %s of their time",
                    ggs_format_percent(a, d->in.overlap_ns + d->out.overlap_ns, ns));
        fputc('\n', out);
    }
}

static void print_bytes(FILE * out, const struct ggs_totals * t) {
    char touched[GGS_NUMBER_LENGTH], model[GGS_NUMBER_LENGTH], share[GGS_NUMBER_LENGTH], disk[GGS_NUMBER_LENGTH],
        buffer[GGS_NUMBER_LENGTH];
    if (t->model_bytes > 0) {
        if (t->unsized)
            fprintf(out, "model     %s touched; its size is not known: the file was removed or replaced\n",
                    ggs_format_bytes(touched, t->touched_bytes));
        else
            fprintf(out, "model     %s of %s touched (%s)\n", ggs_format_bytes(touched, t->touched_bytes),
                    ggs_format_bytes(model, t->model_bytes),
                    ggs_format_percent(share, t->touched_bytes, t->model_bytes));
        if (t->unknown_bytes > 0)
            fprintf(out, "          and rows or experts of %s that were not recorded\n",
                    ggs_format_bytes(touched, t->unknown_bytes));
    }
    if (t->stray.n > 0)
        fprintf(out, "origin    of %s weights (%s) unknown: they do not count as touched, hot or paged\n",
                ggs_format_count(model, t->stray.n), ggs_format_bytes(touched, t->stray.bytes));
    fprintf(out, "bytes     %s from mapped files, %s in %s", ggs_format_bytes(disk, t->disk),
            ggs_format_bytes(buffer, t->buffer), t->buffers > 0 ? "buffers" : "memory; no buffers were seen");
    if (t->vram > 0) fprintf(out, ", %s in device memory", ggs_format_bytes(disk, t->vram));
    fputc('\n', out);
}

static void print_doubts(FILE * out, const struct ggs_totals * t) {
    char number[GGS_NUMBER_LENGTH], other[GGS_NUMBER_LENGTH];
    if (t->proved) fputs("prove     recorded with --prove: all times are distorted\n", out);
    if (t->dropped > 0) fprintf(out, "lost      %s records could not be kept\n", ggs_format_count(number, t->dropped));
    if (t->unseen > 0) fprintf(out, "unseen    %s nodes that no hook saw\n", ggs_format_count(number, t->unseen));
    if (t->opaque > 0)
        fprintf(out, "opaque    %s nodes ran on a backend that is seen as a whole only\n",
                ggs_format_count(number, t->opaque));
    uint64_t hidden = t->runs_without_waits - t->runs_of_first_thread;
    if (t->runs_of_first_thread > 0)
        fprintf(out,
                "threads   only the first was seen in %s of %s graph runs: this engine's functions are not found;\n"
                "          an op lasts from the end of the one before it, and waits are not seen\n",
                ggs_format_count(number, t->runs_of_first_thread), ggs_format_count(other, t->runs));
    if (hidden > 0)
        fprintf(out,
                "waits     not seen in %s of %s graph runs: this engine's barrier is inside its compute loop; ends of\n"
                "          ops on threads other than the first are bounds\n",
                ggs_format_count(number, hidden), ggs_format_count(other, t->runs));
    if (t->interrupted_runs > 0)
        fprintf(out, "cut off   %s graph runs had no end\n", ggs_format_count(number, t->interrupted_runs));
    if (t->partial)
        fputs("lost      unknown: the trace is incomplete, and every figure covers the intact part\n", out);
    else if (t->dropped + t->unseen + t->interrupted_runs == 0)
        fputs("lost      nothing\n", out);
}

void ggs_summary_totals(const struct ggs_totals * totals, FILE * out) {
    print_speed(out, totals);
    print_ops(out, totals);
    print_bytes(out, totals);
    print_devices(out, totals);
    print_doubts(out, totals);
}

void ggs_summary_conditions(const struct ggs_conditions * c, FILE * out) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH];
    if (c->memory_limit > 0) {
        fprintf(out, "limit     %s of memory (%s), reached %s times\n", ggs_format_bytes(a, c->memory_limit),
                c->mechanism, ggs_format_count(b, c->limit_hits));
        fprintf(out, "          %s at most, %s of it the program's own%s\n", ggs_format_bytes(a, c->memory_peak),
                ggs_format_bytes(b, c->memory_anonymous), c->oom_kills > 0 ? "; that ended it" : "");
    }
    if (c->cold) {
        fprintf(out, "cold      %s dropped from the page cache first", ggs_format_bytes(a, c->cold_bytes));
        if (c->resident_after > 0) fprintf(out, ", %s of it stayed", ggs_format_bytes(b, c->resident_after));
        fputc('\n', out);
    }
    if (c->forked_unrecorded > 0)
        fprintf(out, "children  %s forked process%s computed graphs, not recorded: --follow\n",
                ggs_format_count(a, c->forked_unrecorded), c->forked_unrecorded == 1 ? "" : "es");
    if (c->started_unrecorded > 0)
        fprintf(out, "children  %s program%s that it started ran engines, not recorded: --follow\n",
                ggs_format_count(a, c->started_unrecorded), c->started_unrecorded == 1 ? "" : "s");
    if ((c->memory_limit > 0 || c->cold) && c->read_bytes > 0)
        fprintf(out, "storage   %s read by the program, by its own count\n", ggs_format_bytes(a, c->read_bytes));
}

// Prints the time lost to other load, if context switches were recorded.
static void print_lost(const struct ggs_off_cpu_totals * off, uint64_t lost_ns, const char * why, FILE * out) {
    char a[GGS_NUMBER_LENGTH], b[GGS_NUMBER_LENGTH], c[GGS_NUMBER_LENGTH];
    if (!off->recorded || off->run_ns == 0)
        fputs(" times say little\n", out);
    else
        fprintf(out, "\n          a thread that was waited for had no CPU%s in %s of %s (%s)\n", why,
                ggs_format_nanoseconds(a, lost_ns), ggs_format_nanoseconds(b, off->run_ns),
                ggs_format_percent(c, lost_ns, off->run_ns));
}

static void print_others(const struct ggs_conditions * c, const struct ggs_off_cpu_totals * off, FILE * out) {
    if (c->steal_share >= 0.005)
        fprintf(out,
                "busy      the hypervisor gave %.0f %% of the CPUs to other machines (steal), other\n"
                "          programs used %.0f %%:",
                100 * c->steal_share, 100 * c->others_cpu_share);
    else
        fprintf(out, "busy      other programs used %.0f %% of the CPUs meanwhile:", 100 * c->others_cpu_share);
    print_lost(off, off->foreign_ns, " because of them", out);
}

static bool do_threads_wait(const struct ggs_totals * totals, uint64_t * busy, uint64_t * wait) {
    *busy = *wait = 0;
    for (uint64_t i = 0; i < totals->n_by_op; i++) {
        *busy += totals->by_op[i].busy_ns;
        *wait += totals->by_op[i].wait_ns;
    }
    return *wait > 0 && *wait / 19 >= *busy;
}

void ggs_summary_busy(const struct ggs_conditions * conditions, const struct ggs_totals * totals,
                      const struct ggs_off_cpu_totals * off, FILE * out) {
    uint64_t busy, wait;
    char     number[GGS_NUMBER_LENGTH];
    if (ggs_conditions_are_busy(conditions)) print_others(conditions, off, out);
    if (!do_threads_wait(totals, &busy, &wait)) return;
    fprintf(out,
            "busy      threads waited for each other %s of their time: more threads than\n"
            "          free CPUs, or other programs in their way:",
            ggs_format_percent(number, wait, busy + wait));
    print_lost(off, off->lost_ns, "", out);
}

// The same, computing the lost time first.
static int print_busy(struct ggs_trace * trace, const struct ggs_conditions * conditions,
                      const struct ggs_totals * totals, FILE * out, struct ggs_error * error) {
    struct ggs_off_cpu_totals off = {0};
    uint64_t                  busy, wait;
    if (!ggs_conditions_are_busy(conditions) && !do_threads_wait(totals, &busy, &wait)) return 0;
    int status = ggs_off_cpu_totals_compute(&off, trace, &ggs_totals_all, error);
    if (status == 0) ggs_summary_busy(conditions, totals, &off, out);
    ggs_off_cpu_totals_release(&off);
    return status;
}

static void print_notes(FILE * out, const char * directory) {
    struct ggs_notes notes;
    if (ggs_notes_read(&notes, directory, NULL) < 0) return;
    ggs_notes_disarm(&notes);
    for (uint64_t i = 0; i < notes.n; i++)
        fprintf(out, "note      %s%s%s\n", notes.note[i].when, notes.note[i].when[0] == '\0' ? "" : "  ",
                notes.note[i].text);
    ggs_notes_release(&notes);
}

int ggs_summary_show(const char * directory, FILE * out, struct ggs_error * error) {
    struct ggs_trace      trace;
    struct ggs_totals     totals;
    struct ggs_conditions conditions;
    int                   status = ggs_trace_open(&trace, directory, error);
    if (status == 0) {
        if (ggs_trace_missing(&trace) != NULL) fprintf(stderr, "ggscope: %s\n", ggs_trace_missing(&trace));
        status = ggs_totals_compute(&totals, &trace, &ggs_totals_all, error);
        if (status == 0) {
            ggs_summary_subject(&trace, &totals, out);
            print_speed(out, &totals);
            print_ops(out, &totals);
            print_top(out, &totals);
            print_bytes(out, &totals);
            print_devices(out, &totals);
            print_doubts(out, &totals);
            ggs_conditions_read(&conditions, &trace);
            status = print_busy(&trace, &conditions, &totals, out, error);
            ggs_summary_conditions(&conditions, out);
            ggs_explained_summary(&trace, &totals, directory, out);
            print_notes(out, directory);
            char bytes[GGS_NUMBER_LENGTH];
            fprintf(out, "trace     %s/trace.ggs, %s\n", directory,
                    ggs_format_bytes(bytes, ggs_reader_size(trace.reader)));
            fprintf(out, "next      ggscope stats %s\n", directory);
            ggs_totals_release(&totals);
        }
        ggs_trace_close(&trace);
    }
    return status;
}

void ggs_summary_print(const char * directory, FILE * out) {
    struct ggs_error error;
    if (ggs_summary_show(directory, out, &error) < 0) fprintf(out, "ggscope: %s\n", error.text);
}
