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
    if (lives->n == lives->capacity) {
        size_t        capacity = lives->capacity == 0 ? 16 : 2 * lives->capacity;
        struct life * bigger   = realloc(lives->list, capacity * sizeof(*bigger));
        if (bigger == NULL) return NULL;
        lives->list     = bigger;
        lives->capacity = capacity;
    }
    lives->list[lives->n] = (struct life){.context = context, .memory = memory};
    return &lives->list[lives->n++];
}

static bool survey_decode(struct ggs_sealing * sealing, struct lives * lives,
                          const struct ggs_journal_decode * decode) {
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

static bool survey_record(struct ggs_sealing * sealing, struct lives * lives,
                          const struct ggs_journal_record * record) {
    const void * body   = record + 1;
    size_t       length = record->bytes - sizeof(*record);
    switch (record->type) {
        case GGS_JOURNAL_PROCESS: {
            const struct ggs_journal_process * process = body;
            if (length < sizeof(*process)) break;
            sealing->clock.tick_is_ns = process->tick_is_ns != 0;
            ggs_clock_anchor(&sealing->clock, process->ticks, process->monotonic_ns);
            break;
        }
        case GGS_JOURNAL_RUN: {
            const struct ggs_journal_run * run = body;
            if (length >= sizeof(*run)) ggs_clock_anchor(&sealing->clock, run->ticks, run->monotonic_ns);
            break;
        }
        case GGS_JOURNAL_RUN_END: {
            const struct ggs_journal_run_end * end = body;
            if (length >= sizeof(*end)) ggs_clock_anchor(&sealing->clock, end->ticks, end->monotonic_ns);
            break;
        }
        case GGS_JOURNAL_CONTEXT: {
            const struct ggs_journal_number * number = body;
            if (length >= sizeof(*number)) return add_life(lives, number->value[0], number->value[2]) != NULL;
            break;
        }
        case GGS_JOURNAL_CLEAR: {
            const struct ggs_journal_number * number = body;
            for (size_t i = 0; length >= sizeof(*number) && i < lives->n; i++)
                if (lives->list[i].memory == number->value[0] && lives->list[i].decodes > 0)
                    lives->list[i].cleared = true;
            break;
        }
        case GGS_JOURNAL_LOSS: {
            const struct ggs_journal_number * number = body;
            if (length >= sizeof(*number) && number->value[2] > 0 && number->value[3] == 0) sealing->lossy = true;
            break;
        }
        case GGS_JOURNAL_DECODE: {
            const struct ggs_journal_decode * decode = body;
            if (length >= sizeof(*decode)) return survey_decode(sealing, lives, decode);
            break;
        }
        default:
            break;
    }
    return true;
}

int ggs_sealing_pass_1(struct ggs_sealing * sealing, struct ggs_error * error) {
    struct lives                      lives = {0};
    const struct ggs_journal_record * record;
    bool                              good = true;
    ggs_clock_init(&sealing->clock);
    while (good && (record = ggs_spool_stream_record(&sealing->spool.journal)) != NULL)
        good = survey_record(sealing, &lives, record);
    ggs_spool_stream_rewind(&sealing->spool.journal);
    free(lives.list);
    ggs_clock_finish(&sealing->clock, sealing->options->start_monotonic_ns);
    return good ? 0 : ggs_fail_memory(error);
}
