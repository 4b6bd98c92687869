// Pass 1 over the journal: what pass 2 must know before it begins. Anchors of the clock, decodes that are warm-ups or whose embeddings
// were taken, contexts that draft for others (which only later records tell), whether something was lost; and the facts for experiment.json.
#include <stdlib.h>
#include <string.h>

#include "trace/seal/sealing.h"
#include "trace/seal/windows.h"

// A context: from the last clearing of its memory, or its making.
//
// A single decode with at most one output, then the memory is cleared and the context decodes on: that one was to warm up, if nothing
// but warm-ups came before. Later than first it must be as short as a probe is: servers try what a context can do, programs that score text
// clear the memory between its pieces.
struct life {
    uint64_t context, memory;
    uint64_t newest;     // decode
    uint64_t decodes;    // llama_decode calls since the clearing
    uint64_t records[4]; // of all calls, llama_encode included
    uint64_t n_records;
    uint64_t tokens, outputs;
    bool     cleared;
    bool     first; // nothing but warm-ups came before
    bool     over;  // something else was computed
};

struct survey {
    struct life *        list;
    size_t               n, capacity;
    struct ggs_sequences sequences; // contexts by their addresses
};

enum { PROBE_TOKENS = 2 };

static struct life * find_life(struct survey * survey, uint64_t context) {
    for (size_t i = survey->n; i-- > 0;)
        if (survey->list[i].context == context) return &survey->list[i];
    return NULL;
}

static struct life * add_life(struct survey * survey, uint64_t context, uint64_t memory) {
    struct life life = {.context = context, .memory = memory, .first = true};
    return ggs_array_push(survey->list, survey->n, survey->capacity, life) ? &survey->list[survey->n - 1] : NULL;
}

static bool end_life(struct ggs_sealing * sealing, struct life * life) {
    bool warm =
        !life->over && life->decodes == 1 && life->outputs <= 1 && (life->first || life->tokens <= PROBE_TOKENS);
    for (uint64_t i = 0; warm && i < life->n_records; i++) {
        uint64_t * mark = ggs_map_put(&sealing->steps.warmups, ggs_map_key_number(life->records[i]));
        if (mark == NULL) return false;
        *mark = 1;
    }
    bool over = life->over || (life->decodes > 0 && !warm);
    *life     = (struct life){.context = life->context, .memory = life->memory, .newest = life->newest, .over = over};
    return true;
}

static bool see_decode(struct ggs_sealing * sealing, struct survey * survey, const struct ggs_record * record) {
    struct ggs_journal_decode decode;
    struct ggs_seal_batch     batch;
    int                       status = ggs_seal_batch_read(&batch, &decode, record->body, record->length);
    if (status == GGS_FORMAT) return true; // pass 2 counts it
    struct life *  life = status < 0 ? NULL : find_life(survey, decode.context);
    enum ggs_phase phase;
    if (status == 0 && life == NULL) life = add_life(survey, decode.context, 0);
    bool good = life != NULL;
    if (good && life->cleared) good = end_life(sealing, life);
    if (good) {
        ggs_seal_batch_complete(&batch, &survey->sequences, decode.context);
        struct ggs_sequence_batch fed = ggs_seal_batch_fed(&batch);
        good                          = ggs_sequences_batch(&survey->sequences, decode.context, &fed, &phase);
        life->newest                  = decode.decode;
        life->tokens += batch.n;
        for (uint64_t i = 0; i < batch.n; i++) life->outputs += batch.output[i];
        if (!decode.encode) life->decodes++;
        if (life->n_records < sizeof(life->records) / sizeof(life->records[0]))
            life->records[life->n_records++] = decode.decode;
        else
            life->over = true;
    }
    ggs_seal_batch_release(&batch);
    return good;
}

static bool see_change(struct survey * survey, uint64_t object, struct ggs_memory_change change) {
    bool all = change.kind == GGS_MEMORY_CLEAR || (change.kind == GGS_MEMORY_REMOVE && change.sequence < 0);
    for (size_t i = survey->n; object != 0 && i-- > 0;) {
        struct life * life = &survey->list[i];
        if (life->memory != object && life->context != object) continue;
        if (all && life->decodes > 0) life->cleared = true;
        change.context = life->context;
        return ggs_sequences_change(&survey->sequences, &change);
    }
    return true;
}

static bool see_memory(struct survey * survey, const struct ggs_journal_memory * memory) {
    return see_change(survey, memory->object,
                      (struct ggs_memory_change){.kind     = memory->kind,
                                                 .sequence = memory->sequence,
                                                 .other    = memory->other,
                                                 .from     = memory->from,
                                                 .to       = memory->to,
                                                 .delta    = memory->delta});
}

static bool see_embeddings(struct ggs_sealing * sealing, struct survey * survey, uint64_t context) {
    struct life * life = find_life(survey, context);
    if (life == NULL || life->newest == 0) return true;
    uint64_t * mark = ggs_map_put(&sealing->steps.embeddings, ggs_map_key_number(life->newest));
    if (mark == NULL) return false;
    *mark = 1;
    return true;
}

// An address that is used again is a new context.
static bool see_context(struct survey * survey, uint64_t context, uint64_t memory) {
    struct ggs_memory_change cleared = {.context = context, .kind = GGS_MEMORY_CLEAR};
    return add_life(survey, context, memory) != NULL && ggs_sequences_change(&survey->sequences, &cleared);
}

void ggs_sealing_anchor(struct ggs_sealing * sealing, const struct ggs_record * record) {
    const struct ggs_journal_process * process = record->body;
    const struct ggs_journal_run *     run     = record->body;
    const struct ggs_journal_run_end * end     = record->body;
    if (record->type == GGS_JOURNAL_PROCESS) {
        sealing->clock.tick_is_ns = process->tick_is_ns != 0;
        ggs_clock_anchor(&sealing->clock, process->ticks, process->monotonic_ns);
    } else if (record->type == GGS_JOURNAL_RUN) {
        ggs_clock_anchor(&sealing->clock, run->ticks, run->monotonic_ns);
    } else if (record->type == GGS_JOURNAL_RUN_END) {
        ggs_clock_anchor(&sealing->clock, end->ticks, end->monotonic_ns);
    }
}

static bool see(struct ggs_sealing * sealing, struct survey * survey, const struct ggs_record * record) {
    const struct ggs_journal_number * number = record->body;
    const struct ggs_journal_loss *   loss   = record->body;
    if (!ggs_spool_facts_take(&sealing->facts, record)) return false;
    ggs_sealing_anchor(sealing, record);
    switch (record->type) {
        case GGS_JOURNAL_GRAPH:
            sealing->tokens |= memmem(record->body, record->length, "inp_tokens", 10) != NULL ||
                               memmem(record->body, record->length, "token_embd.weight", 17) != NULL;
            return true;
        case GGS_JOURNAL_CONTEXT:
            sealing->tokens = true;
            return see_context(survey, number->value[0], number->value[2]);
        case GGS_JOURNAL_CLEAR:
            return see_change(survey, number->value[0], (struct ggs_memory_change){.kind = GGS_MEMORY_CLEAR});
        case GGS_JOURNAL_MEMORY:
            return see_memory(survey, record->body);
        case GGS_JOURNAL_EMBEDDINGS:
            return see_embeddings(sealing, survey, number->value[0]);
        case GGS_JOURNAL_LOSS:
            if (loss->count > 0 && loss->run == 0) sealing->lossy = true;
            return true;
        case GGS_JOURNAL_DECODE:
            sealing->tokens = true;
            return see_decode(sealing, survey, record);
        default:
            return true;
    }
}

// A context that did nothing but a probe.
static bool end_probes(struct ggs_sealing * sealing, struct survey * survey) {
    bool good = true;
    for (size_t i = 0; good && i < survey->n; i++) {
        struct life * life = &survey->list[i];
        if (life->cleared && life->tokens <= PROBE_TOKENS) good = end_life(sealing, life);
    }
    return good;
}

static bool take_drafts(struct ggs_sealing * sealing, const struct ggs_sequences * sequences) {
    struct ggs_steps * steps = &sealing->steps;
    for (size_t i = 0; i < sequences->n_contexts; i++) {
        struct ggs_draft draft = {sequences->contexts[i]->number, sequences->contexts[i]->found - 1};
        if (sequences->contexts[i]->found != 0 &&
            !ggs_array_push(steps->drafts, steps->n_drafts, steps->drafts_capacity, draft))
            return false;
    }
    return true;
}

int ggs_sealing_pass_1(struct ggs_sealing * sealing, struct ggs_error * error) {
    struct survey     survey = {.sequences = {.gaps = ggs_windows_have_gaps(&sealing->spool)}};
    struct ggs_record record;
    bool              good = true;
    ggs_clock_init(&sealing->clock);
    while (good && ggs_spool_stream_record(&sealing->spool.journal, &record)) good = see(sealing, &survey, &record);
    ggs_spool_stream_rewind(&sealing->spool.journal);
    sealing->facts.losses[GGS_LOSS_RING] += ggs_spool_dropped(&sealing->spool);
    if (good) good = end_probes(sealing, &survey);
    if (good) good = take_drafts(sealing, &survey.sequences);
    ggs_sequences_release(&survey.sequences);
    free(survey.list);
    return good ? 0 : ggs_fail_memory(error);
}
