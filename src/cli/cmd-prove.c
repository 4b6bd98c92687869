// ggscope prove DIR: compares the bytes in the trace with the pages that the machine touched.
#include <inttypes.h>
#include <stdio.h>

#include "answer/answer.h"
#include "base/error.h"
#include "base/number.h"
#include "base/table.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"
#include "record/inspect/libraries.h"

enum { MOST_SHOWN = 20, NAME_COLUMNS = 28 };

static const char * file_path(const struct ggs_trace * trace, uint64_t file) {
    return file == 0 || file > trace->n_files ? "" : ggs_reader_string(trace->reader, trace->files[file - 1].path);
}

// Shows 100 % only if nothing is missing.
static void percent_cell(struct ggs_table * table, uint64_t part, uint64_t whole) {
    if (whole == 0) {
        ggs_table_cell(table, "-");
    } else if (part == whole) {
        ggs_table_cell(table, "100 %%");
    } else {
        double percent = 100.0 * (double) part / (double) whole;
        ggs_table_cell(table, "%.2f %%", percent > 99.99 ? 99.99 : percent);
    }
}

static void add_row(struct ggs_table * table, const char * name, const struct ggs_proof_sum * sum) {
    char number[GGS_NUMBER_LENGTH];
    ggs_table_cell(table, "%s", name);
    ggs_table_cell(table, "%s", ggs_format_count(number, sum->ops));
    ggs_table_cell(table, "%s", ggs_format_count(number, sum->predicted));
    ggs_table_cell(table, "%s", ggs_format_count(number, sum->touched));
    ggs_table_cell(table, "%s", ggs_format_count(number, sum->touched - sum->both));
    percent_cell(table, sum->both, sum->touched);
    percent_cell(table, sum->both, sum->predicted);
}

static int print_table(const struct ggs_proof * proof) {
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, "op|>ops|>predicted|>touched|>missed|>recall|>precision");
    for (uint64_t i = 0; i < proof->n_by_op; i++) add_row(table, proof->by_op[i].op, &proof->by_op[i]);
    ggs_table_rule(table);
    add_row(table, "all", &proof->total);
    return ggs_table_end(table, stdout, 0);
}

static void print_surprises(const struct ggs_proof * proof, const struct ggs_trace * trace) {
    char name[128];
    if (proof->n_surprises == 0) {
        printf("\nEvery page of the mapped model that was touched had been predicted%s\n",
               proof->n_copies == 0 ? "." : "; copies in buffers were not looked at:");
        return;
    }
    printf("\ntouched, but not predicted: %" PRIu64 " pages\n", proof->surprise_pages);
    for (uint64_t i = 0; i < proof->n_surprises && i < MOST_SHOWN && i < GGS_PROOF_SURPRISES; i++) {
        const struct ggs_surprise * s = &proof->surprises[i];
        printf("  token %-4" PRId64 " run %-5" PRIu64 " node %-5" PRIu64 " %-14s %-*s page %" PRIu64 "%s%" PRIu64
               " of %s\n",
               s->token, s->run, s->node, s->op[0] == '\0' ? "(no op)" : s->op, NAME_COLUMNS,
               ggs_verb_fit(name, sizeof(name), s->tensor, NAME_COLUMNS), s->page, s->pages > 1 ? " +" : " x", s->pages,
               ggs_file_name(file_path(trace, s->file)));
    }
    if (proof->n_surprises > MOST_SHOWN)
        printf("  ... and %" PRIu64 " more; --json lists them\n", proof->n_surprises - MOST_SHOWN);
}

static void print_copies(const struct ggs_proof * proof) {
    char count[GGS_NUMBER_LENGTH], bytes[GGS_NUMBER_LENGTH];
    for (uint64_t i = 0; i < proof->n_copies; i++) {
        const struct ggs_proof_copies * c = &proof->copies[i];
        printf("  %s %s op%s read%s %s of weights in %s\n", ggs_format_count(count, c->ops), c->op,
               c->ops == 1 ? "" : "s", c->ops == 1 ? "s" : "", ggs_format_bytes(bytes, c->bytes),
               c->buffer_type[0] == '\0' ? "memory that no buffer owns" : c->buffer_type);
    }
    if (proof->n_copies > 0)
        puts("record with --no-repack, and without --no-mmap and -ngl, to have them in the mapped file");
}

static int print_text(const struct ggs_proof * proof, const struct ggs_trace * trace) {
    char page[GGS_NUMBER_LENGTH];
    printf("pages of %s in %" PRIu64 " graph run%s: what the trace says, and what the hardware saw\n\n",
           ggs_format_bytes(page, proof->page_size), proof->runs, proof->runs == 1 ? "" : "s");
    int status = print_table(proof);
    print_surprises(proof, trace);
    print_copies(proof);
    if (proof->incomplete > 0)
        printf(
            "%" PRIu64
            " ops touched more scattered pages than vm.max_map_count allows to record; raise it for a complete proof\n",
            proof->incomplete);
    if (proof->lost > 0) printf("the pages of %" PRIu64 " ops were lost\n", proof->lost);
    return status;
}

static int prove(void * arguments, struct ggs_trace * traces, struct ggs_error * error) {
    const struct ggs_input * input = arguments;
    struct ggs_proof         proof;
    int                      status = ggs_proof_compute(&proof, traces, error);
    if (status < 0) return status;
    if (input->json) {
        ggs_answer_write(input->out, &ggs_proof_object, &proof, traces);
    } else {
        status = print_text(&proof, traces);
    }
    bool good = proof.n_surprises == 0 && proof.incomplete == 0 && proof.lost == 0;
    ggs_proof_release(&proof);
    return status != 0 ? -1 : good ? 0 : 1;
}

int cmd_prove(int argc, char ** argv) {
    static const struct ggs_option options[] = {GGS_OPTION_JSON(1), GGS_OPTION_DAMAGED(1), {0}};
    static const struct ggs_verb   verb      = {
               GGS_OPENS_ONE, .options = options, .run = prove,
               .text = "Compare the pages that each op touched with those that the trace predicts, in a recording made "
                              "with --prove. Exit 1 if an op touched a page that was not predicted."};
    struct ggs_input input = {0};
    return ggs_verb_run(&verb, argc, argv, &input);
}
