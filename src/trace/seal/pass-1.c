// Pass 1 over the journal: what pass 2 must know before it begins. Anchors of the clock, decodes that are warm-ups (which only
// later records tell), whether something was lost; and the facts for experiment.json.
#include <stdlib.h>
#include <string.h>

#include "trace/seal/sealing.h"

// A context's first life: from its making to the first clearing of its memory.
struct life {
    uint64_t context, memory;
    uint64_t decodes;    // llama_decode calls in it
    uint64_t records[4]; // of all calls, llama_encode included
    uint64_t n_records;
    bool     cleared, over;
};

struct lives {
    struct life * list;
    size_t        n, capacity;
};

static struct life * find_life(struct lives * lives, uint64_t context) {
    for (size_t i = lives->n; i-- > 0;)
        if (lives->list[i].context == context) return &lives->list[i];
    return NULL;
}

static struct life * add_life(struct lives * lives, uint64_t context, uint64_t memory) {
    if (!ggs_array_push(lives->list, lives->n, lives->capacity, (struct life){.context = context, .memory = memory}))
        return NULL;
    return &lives->list[lives->n - 1];
}

static bool see_decode(struct ggs_sealing * sealing, struct lives * lives, const struct ggs_journal_decode * decode) {
    struct life * life = find_life(lives, decode->context);
    if (life == NULL) life = add_life(lives, decode->context, 0);
    if (life == NULL) return false;
    // Cleared after a single decode, and now decoding again: that one was to warm up.
    if (life->cleared && !life->over && life->decodes == 1) {
        for (uint64_t i = 0; i < life->n_records; i++) {
            uint64_t * mark = ggs_map_put(&sealing->steps.warmups, ggs_map_key_number(life->records[i]));
            if (mark == NULL) return false;
            *mark = 1;
        }
    }
    if (life->cleared) life->over = true;
    if (!decode->encode) life->decodes++;
    if (life->n_records < sizeof(life->records) / sizeof(life->records[0]))
        life->records[life->n_records++] = decode->decode;
    else
        life->over = true;
    return true;
}

static bool see(struct ggs_sealing * sealing, struct lives * lives, const struct ggs_record * record) {
    const struct ggs_journal_process * process = record->body;
    const struct ggs_journal_run *     run     = record->body;
    const struct ggs_journal_run_end * end     = record->body;
    const struct ggs_journal_number *  number  = record->body;
    const struct ggs_journal_loss *    loss    = record->body;
    if (!ggs_spool_facts_take(&sealing->facts, record)) return false;
    switch (record->type) {
        case GGS_JOURNAL_PROCESS:
            sealing->clock.tick_is_ns = process->tick_is_ns != 0;
            ggs_clock_anchor(&sealing->clock, process->ticks, process->monotonic_ns);
            return true;
        case GGS_JOURNAL_RUN:
            ggs_clock_anchor(&sealing->clock, run->ticks, run->monotonic_ns);
            return true;
        case GGS_JOURNAL_RUN_END:
            ggs_clock_anchor(&sealing->clock, end->ticks, end->monotonic_ns);
            return true;
        case GGS_JOURNAL_GRAPH:
            sealing->tokens |= memmem(record->body, record->length, "inp_tokens", 10) != NULL ||
                               memmem(record->body, record->length, "token_embd.weight", 17) != NULL;
            return true;
        case GGS_JOURNAL_CONTEXT:
            sealing->tokens = true;
            return add_life(lives, number->value[0], number->value[2]) != NULL;
        case GGS_JOURNAL_CLEAR:
            for (size_t i = 0; i < lives->n; i++)
                if (lives->list[i].memory == number->value[0] && lives->list[i].decodes > 0)
                    lives->list[i].cleared = true;
            return true;
        case GGS_JOURNAL_LOSS:
            if (loss->count > 0 && loss->run == 0) sealing->lossy = true;
            return true;
        case GGS_JOURNAL_DECODE:
            sealing->tokens = true;
            return see_decode(sealing, lives, record->body);
        default:
            return true;
    }
}

int ggs_sealing_pass_1(struct ggs_sealing * sealing, struct ggs_error * error) {
    struct lives      lives = {0};
    struct ggs_record record;
    bool              good = true;
    ggs_clock_init(&sealing->clock);
    while (good && ggs_spool_stream_record(&sealing->spool.journal, &record)) good = see(sealing, &lives, &record);
    ggs_spool_stream_rewind(&sealing->spool.journal);
    sealing->facts.losses[GGS_LOSS_RING] += ggs_spool_dropped(&sealing->spool);
    free(lives.list);
    return good ? 0 : ggs_fail_memory(error);
}
