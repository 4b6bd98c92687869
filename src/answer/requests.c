#include "answer/requests.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/walk/words.h"
#include "answer/answer.h"

// ---- requests ----

#define ROW(member, ...)   GGS_FIELD(struct ggs_request, member, #member, __VA_ARGS__)
#define NULL_(member, ...) GGS_FIELD_OR_NULL(struct ggs_request, member, #member, __VA_ARGS__)

static const struct ggs_field cost_fields[] = {
    ROW(op_ns), ROW(bytes_read), ROW(bytes_written), ROW(bytes_disk), {0},
};
static const struct ggs_object costs = {.fields = cost_fields};

GGS_GET(bool, has_costs, struct ggs_request, it->has_costs)

static const struct ggs_field request_fields[] = {
    ROW(request, "number, from 1, in order of begin"),
    ROW(context, "number of its context"),
    ROW(sequence, "number of its sequence; servers call it a slot"),
    GGS_FIELD_WORD(struct ggs_request, kind, "kind", ggs_request_kind_name,
                   "completion: it generated tokens; prompt: it gave no output; embedding: embeddings were read; "
                   "scoring: outputs of many tokens, none generated; draft: of a context that drafts for another"),
    ROW(begin_ns, "begin of its first decode"),
    ROW(end_ns, "end of its last decode"),
    ROW(begun_before, "true: it was under way when recording began"),
    ROW(paused, "true: it went on while recording was paused; its tokens and times are those that were recorded"),
    NULL_(first_output_ns,
          "end of the decode that gave its first output; null if it gave none, or begun_before, or if its first token "
          "comes from another sequence's output"),
    ROW(duration_ns, "begin to end", .from_0 = true),
    NULL_(time_to_first_ns,
          "begin to first output; null if it gave none, or if its first token comes from another sequence's output"),
    NULL_(ns_per_token, "time per generated token after the first; null for fewer than two"),
    ROW(compute_ns, "of the decodes that it took part in"),
    ROW(wait_ns, "between these decodes"),
    NULL_(prompt_tokens, "prompt tokens that were computed; null if begun_before, like the next"),
    NULL_(cached_tokens, "prompt tokens that were in memory already"),
    ROW(generated_tokens, "tokens sampled from its outputs"),
    NULL_(decoded_tokens, "generated tokens that were fed back: mostly one less; null in a context that drafts"),
    NULL_(unused_tokens, "decoded tokens whose output the program never read; null if reading was not seen"),
    ROW(accepted_tokens, "drafted tokens that were kept"),
    ROW(rejected_tokens, "drafted tokens that were removed"),
    ROW(unsettled_tokens, "drafted tokens whose fate was not seen"),
    ROW(steps, "token steps that it took part in"),
    ROW(decodes),
    NULL_(cells_peak, "the most cells of the context's memory that it had at once; null if begun_before"),
    ROW(changes_seen, "false: positions went back and no call that changes sequences was seen"),
    GGS_OBJECT_OF("estimated", &costs, "its share of the batches, by tokens (--costs)", .asked = has_costs),
    {0},
};
static const struct ggs_object request = {.name = "Request", .fields = request_fields, .lines = true};

// ---- contexts ----

#define CONTEXT(member, ...)      GGS_FIELD(struct ggs_request_context, member, #member, __VA_ARGS__)
#define CONTEXT_NULL(member, ...) GGS_FIELD_OR_NULL(struct ggs_request_context, member, #member, __VA_ARGS__)

static const struct ggs_field context_fields[] = {
    CONTEXT(context),
    CONTEXT_NULL(target, "context that it drafts tokens for; null for none"),
    CONTEXT(requests, "requests, without warm-up"),
    CONTEXT(begun_before, "of these, under way when recording began"),
    CONTEXT(paused, "of these, went on while recording was paused"),
    CONTEXT(prompt_tokens, "of the requests that began later"),
    CONTEXT(cached_tokens, "likewise"),
    CONTEXT(generated_tokens, "generated tokens; in a context that drafts, drafted tokens"),
    CONTEXT_NULL(decoded_tokens, "generated tokens that were fed back; null if it drafts"),
    CONTEXT_NULL(unused_tokens, "decoded tokens whose output the program never read; null if reading was not seen"),
    CONTEXT(accepted_tokens),
    CONTEXT(rejected_tokens),
    CONTEXT_NULL(acceptance, "share of drafted tokens that were accepted; null if there were none"),
    CONTEXT(steps),
    CONTEXT(compute_ns, "time of its decodes"),
    CONTEXT(changes_seen),
    CONTEXT(removed, "calls that removed cells of sequences"),
    CONTEXT(copied, "calls that copied cells"),
    CONTEXT(moved, "calls that moved positions"),
    CONTEXT(cleared, "calls that dropped everything"),
    CONTEXT_NULL(removed_cells,
                 "cells that were removed, counted for each sequence; null if parts of the run were not recorded"),
    CONTEXT_NULL(copied_cells, "cells that sequences got from others; likewise"),
    CONTEXT_NULL(moved_cells, "cells whose positions were moved; likewise"),
    CONTEXT_NULL(cleared_cells, "cells in use when everything was dropped; likewise"),
    CONTEXT_NULL(cells_peak, "the most cells in use at once; a shared cell counts once; likewise"),
    CONTEXT_NULL(cells_peak_ns, "when"),
    CONTEXT_NULL(sequences_peak, "the most sequences with cells at once; likewise"),
    CONTEXT_NULL(ns_per_drafted_token,
                 "estimated time of a generated token in batches that check drafts, drafting included; batches with "
                 "prompts are left out"),
    CONTEXT_NULL(ns_per_plain_token, "the same in batches without drafts"),
    {0},
};
static const struct ggs_object context = {.name = "Context", .fields = context_fields};

static const struct ggs_field context_list_fields[] = {
    GGS_ROWS(struct ggs_requests, context, n_contexts, "contexts", &context),
    {0},
};
const struct ggs_object ggs_request_contexts = {.fields = context_list_fields};

// ---- memory ----

#define USE(member, ...)       GGS_FIELD(struct ggs_cell_use, member, #member, __VA_ARGS__)
#define USE_NULL(member, ...)  GGS_FIELD_OR_NULL(struct ggs_cell_use, member, #member, __VA_ARGS__)
#define HELD(member, ...)      GGS_FIELD(struct ggs_sequence_use, member, #member, __VA_ARGS__)
#define HELD_NULL(member, ...) GGS_FIELD_OR_NULL(struct ggs_sequence_use, member, #member, __VA_ARGS__)

static const struct ggs_field sequence_fields[] = {
    HELD(sequence),
    HELD(cells, "cells that it has, shared ones included"),
    HELD_NULL(first_cell, "the engine's number of the lowest; null if it was not seen which cells it has"),
    HELD_NULL(last_cell, "the highest"),
    HELD_NULL(pieces, "runs of adjacent cells", .least = 1),
    {0},
};
static const struct ggs_object sequence_use = {.fields = sequence_fields};

static const struct ggs_field use_fields[] = {
    USE(time_ns, "end of the decode after which it holds"),
    USE_NULL(token, "null for warm-up"),
    USE(context),
    USE(cells, "cells of all sequences; a shared cell counts once"),
    USE(sequences, "sequences that have cells"),
    USE_NULL(up_to, "cells up to the last one in use, over all streams; null if it was not seen which are"),
    USE_NULL(holes, "of these, cells not in use"),
    USE_NULL(attended, "cells that attention went over: up to the last one in use, rounded up by the engine",
             .least = 1),
    USE_NULL(attended_in_use,
             "of these, in use; where each sequence has cells of its own, those of the batch's sequences"),
    GGS_ROWS(struct ggs_cell_use, by_sequence, n_sequences, "by_sequence", &sequence_use, "sequences that have cells"),
    {0},
};
static const struct ggs_object use = {.name = "CellUse", .fields = use_fields, .lines = true};

#define PEAK_NULL(member, key, ...) GGS_FIELD_OR_NULL(struct ggs_cell_peak, member, key, __VA_ARGS__)

static const struct ggs_field peak_fields[] = {
    GGS_FIELD(struct ggs_cell_peak, context, "context"),
    PEAK_NULL(capacity, "capacity", "cells that it has; null if that was not seen", .least = 1),
    PEAK_NULL(streams, "streams", "1: sequences share its cells; more: each sequence has as many of its own",
              .least = 1),
    GGS_FIELD(struct ggs_cell_peak, cells, "cells_peak", "most cells in use at once"),
    PEAK_NULL(up_to, "up_to_peak", "most cells up to the last one in use; null if it was not seen which are in use"),
    PEAK_NULL(holes, "holes_peak", "most of these that were not in use"),
    PEAK_NULL(holes_ns, "holes_peak_ns", "when"),
    {0},
};
static const struct ggs_object peak = {.fields = peak_fields};

#define CHANGE(member, ...)      GGS_FIELD(struct ggs_cell_change, member, #member, __VA_ARGS__)
#define CHANGE_NULL(member, ...) GGS_FIELD_OR_NULL(struct ggs_cell_change, member, #member, __VA_ARGS__)

// Setting a sampler changes no cells and is in no row.
static const char * word_cell_change(uint64_t kind) {
    return kind == GGS_MEMORY_SAMPLER ? "" : ggs_word_memory_change(kind);
}

static const struct ggs_field change_fields[] = {
    CHANGE(begin_ns, "of the first call"),
    CHANGE(end_ns, "of the last call"),
    CHANGE(context),
    GGS_FIELD_WORD(struct ggs_cell_change, kind, "kind", word_cell_change,
                   "clear: everything is dropped; remove, copy: cells of the sequence; keep: all but the sequence are "
                   "dropped; add, divide: positions are moved; load: a state was loaded into the sequence"),
    CHANGE_NULL(sequence, "null for all, and where calls differ"),
    CHANGE_NULL(other, "sequence that gets the copy"),
    CHANGE(calls, "", .least = 1),
    CHANGE(cells, "cells that were dropped, copied or moved, counted for each sequence"),
    {0},
};
static const struct ggs_object change = {.fields = change_fields};

// ---- batches ----

#define BATCH(member, ...) GGS_FIELD(struct ggs_composition, member, #member, __VA_ARGS__)

static const struct ggs_field batch_fields[] = {
    BATCH(begin_ns),
    BATCH(end_ns),
    BATCH(token, "the first of its token steps", .from_0 = true),
    BATCH(context),
    BATCH(decodes, "decodes that the row stands for"),
    BATCH(prompt_tokens, "tokens of prompts"),
    BATCH(generate_tokens, "generated tokens, fed one at a time"),
    BATCH(verify_tokens, "drafted tokens, fed to check them"),
    BATCH(requests, "most requests in one decode"),
    {0},
};
static const struct ggs_object batch = {.fields = batch_fields};

// ---- the answer ----

GGS_GET(bool, wants_cells, struct ggs_requests_answer, it->options.cells)
GGS_GET(bool, has_window, struct ggs_requests_answer, it->options.count > 0)
GGS_GET(bool, wants_batches, struct ggs_requests_answer, it->options.batches)

#define ANSWER(list, member, count, key, object, ...) \
    GGS_ROWS(struct ggs_requests_answer, list.member, list.count, key, object, __VA_ARGS__)

static const struct ggs_field answer_fields[] = {
    GGS_ABOUT,
    ANSWER(list, request, n, "requests", &request),
    GGS_FIELD(struct ggs_requests_answer, total, "total", "requests of the recording, in the requested window or not",
              .asked = has_window),
    GGS_MEMBERS(struct ggs_requests_answer, list, &ggs_request_contexts),
    ANSWER(cells, peak, n_peaks, "memories", &peak, "the memory of each context in the whole recording (--cells)",
           .asked = wants_cells),
    ANSWER(cells, change, n_changes, "changes", &change,
           "what the program did to sequences; calls of one kind that are close in time may share a row (--cells)",
           .asked = wants_cells),
    ANSWER(cells, use, n, "cells", &use,
           "the memory of each context over time, at most 512 moments; of neighbours, the one with most cells "
           "(--cells)",
           .asked = wants_cells),
    ANSWER(batches, batch, n, "batches", &batch,
           "what decodes are made of over time, at most 512 rows; neighbours share a row (--batches)",
           .asked = wants_batches),
    {0},
};
const struct ggs_object ggs_requests_object = {
    .name   = "Requests",
    .text   = "What each sequence of each context computed, from its first prompt token to its last generated token.",
    .fields = answer_fields,
    .lines  = true,
};

void ggs_requests_answer_write(struct ggs_json * json, const struct ggs_requests_answer * answer) {
    ggs_object_write(json, NULL, &ggs_requests_object, answer, answer->trace);
}

// ---- computing ----

// Keeps only request `number`.
static void keep_one(struct ggs_requests * list, uint64_t number) {
    bool is_there = number <= list->n;
    if (is_there) list->request[0] = list->request[number - 1];
    list->n = is_there;
}

struct sorted {
    int64_t  key;
    uint64_t at;
};

static int by_key(const void * a, const void * b) {
    const struct sorted *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

// The numbers of a request are int64_t or uint64_t; -1 for none comes first.
static int find_key(const char * name, size_t * offset, struct ggs_error * error) {
    for (const struct ggs_field * field = request_fields; !ggs_field_ends(field); field++) {
        *offset        = field->offset;
        bool is_number = field->type == GGS_FIELD_U64 || field->type == GGS_FIELD_I64;
        if (is_number && strcmp(field->key, name) == 0) return 0;
    }
    return ggs_fail(error, GGS_USAGE, "there is no column '%.40s' to sort by", name);
}

// Keeps the window that was asked for, in its order.
static int keep_window(struct ggs_requests * list, const struct ggs_requests_options * options,
                       struct ggs_error * error) {
    size_t offset;
    int    status = find_key(options->sort ? options->sort : "request", &offset, error);
    if (status < 0 || list->n == 0) return status;
    uint64_t             from = options->from < list->n ? options->from : list->n, rest = list->n - from;
    uint64_t             n     = options->count < rest ? options->count : rest;
    struct sorted *      order = calloc(list->n, sizeof(*order));
    struct ggs_request * kept  = calloc(n + 1, sizeof(*kept));
    if (order == NULL || kept == NULL) status = ggs_fail_memory(error);
    for (uint64_t i = 0; status == 0 && i < list->n; i++) {
        memcpy(&order[i].key, (const char *) &list->request[i] + offset, sizeof(order[i].key));
        order[i].at = i;
    }
    if (status == 0) qsort(order, list->n, sizeof(*order), by_key);
    for (uint64_t i = 0; status == 0 && i < n; i++)
        kept[i] = list->request[order[options->descending ? list->n - 1 - from - i : from + i].at];
    if (status == 0) {
        memcpy(list->request, kept, n * sizeof(*kept));
        list->n = n;
    }
    free(order);
    free(kept);
    return status;
}

int ggs_requests_answer_compute(struct ggs_requests_answer * answer, struct ggs_trace * trace,
                                const struct ggs_requests_options * options, struct ggs_error * error) {
    *answer    = (struct ggs_requests_answer){.trace = trace, .options = *options};
    int status = ggs_requests_list(&answer->list, trace, options->costs, error);
    if (status == 0 && options->cells) status = ggs_cell_uses_compute(&answer->cells, trace, options->most, error);
    if (status == 0 && options->batches)
        status = ggs_compositions_compute(&answer->batches, trace, options->most, error);
    answer->total = answer->list.n;
    if (status == 0 && options->request > 0)
        keep_one(&answer->list, options->request);
    else if (status == 0 && options->count > 0)
        status = keep_window(&answer->list, options, error);
    if (status < 0) ggs_requests_answer_release(answer);
    return status;
}

void ggs_requests_answer_release(struct ggs_requests_answer * answer) {
    ggs_requests_release(&answer->list);
    ggs_cell_uses_release(&answer->cells);
    ggs_compositions_release(&answer->batches);
}

// ---- slots ----

static const struct ggs_field slot_fields[] = {
    GGS_FIELD(struct ggs_request_slot, context, "context"),
    GGS_FIELD(struct ggs_request_slot, sequence, "sequence"),
    {0},
};
static const struct ggs_object slot = {.fields = slot_fields};

#define PIECE(member, ...) GGS_FIELD(struct ggs_slot_piece, member, #member, __VA_ARGS__)

static const struct ggs_field piece_fields[] = {
    PIECE(slot, "slots[]"),
    PIECE(begin_ns, "of its first decode"),
    PIECE(end_ns, "of its last decode"),
    PIECE(prompt_ns, "in decodes of prompts"),
    PIECE(tokens_ns, "in decodes of generated tokens"),
    PIECE(request, "the first one"),
    PIECE(requests, "more than 1 if requests share a pixel"),
    PIECE(others, "most other requests in one of its decodes"),
    {0},
};
static const struct ggs_object piece = {.fields = piece_fields};

#define OF_REQUEST(member, ...)         GGS_FIELD(struct ggs_slot_request, request.member, #member, __VA_ARGS__)
#define OF_REQUEST_OR_NULL(member, ...) GGS_FIELD_OR_NULL(struct ggs_slot_request, request.member, #member, __VA_ARGS__)
#define SLOT_REQUEST(member, ...)       GGS_FIELD(struct ggs_slot_request, member, #member, __VA_ARGS__)

static const struct ggs_field slot_request_fields[] = {
    OF_REQUEST(request),
    OF_REQUEST(begin_ns),
    OF_REQUEST(end_ns),
    OF_REQUEST_OR_NULL(first_output_ns),
    OF_REQUEST_OR_NULL(time_to_first_ns),
    OF_REQUEST(wait_ns, "between its decodes"),
    OF_REQUEST_OR_NULL(prompt_tokens),
    OF_REQUEST(generated_tokens),
    SLOT_REQUEST(prompt_ns, "in decodes of its prompt"),
    SLOT_REQUEST(tokens_ns, "in decodes of its generated tokens"),
    SLOT_REQUEST(others, "most other requests in one of its decodes"),
    {0},
};
static const struct ggs_object slot_request = {.fields = slot_request_fields};

static const struct ggs_field slots_fields[] = {
    GGS_ROWS(struct ggs_slots, slot, n, "slots", &slot,
             "by context and sequence, at most 8; none if there is a single request", .inside = true),
    GGS_FIELD(struct ggs_slots, more, "more", "slots that are left out"),
    GGS_COLUMNS(struct ggs_slots, piece, n_pieces, "pieces", &piece,
                "decodes of each slot in order; those that begin in the same pixel are one piece"),
    GGS_COLUMNS(struct ggs_slots, request, n_requests, "requests", &slot_request,
                "requests that have a piece of their own; sums include decodes outside of the window"),
    {0},
};
const struct ggs_object ggs_slots_object = {
    .name = "Slots", .text = "What each slot of a server does in a window of time.", .fields = slots_fields};
