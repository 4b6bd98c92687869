// Pass 1 over the journal: what pass 2 needs to know in advance. Anchors of the clock, later
// information about decodes (survey.h), losses; and the facts for experiment.json.
#include <string.h>

#include "trace/seal/seal-state.h"
#include "trace/seal/windows.h"

void ggs_seal_read_anchor(struct ggs_seal_state * sealing, const struct ggs_record * record) {
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

bool ggs_seal_leaves_out(struct ggs_seal_state * sealing, const struct ggs_record * record) {
    const struct ggs_journal_decode * decode = record->body;
    const struct ggs_journal_run *    run    = record->body;
    const uint64_t *                  value  = ((const struct ggs_journal_number *) record->body)->value;
    switch (record->type) {
        case GGS_JOURNAL_DECODE:
            return sealing->out = ggs_windows_leave_out(&sealing->spool, decode->decode);
        case GGS_JOURNAL_RUN:
            return run->decode == 0 ? sealing->out : ggs_windows_leave_out(&sealing->spool, run->decode);
        case GGS_JOURNAL_SCHEDULE:
            return value[2] == 0 ? sealing->out : ggs_windows_leave_out(&sealing->spool, value[2]);
        case GGS_JOURNAL_OUTPUT_READ:
        case GGS_JOURNAL_EMBEDDINGS:
        case GGS_JOURNAL_MEMORY:
        case GGS_JOURNAL_CLEAR:
            return sealing->out;
        default:
            return false; // unknown objects change nothing
    }
}

static bool survey_record(struct ggs_seal_state * sealing, const struct ggs_record * record) {
    const struct ggs_journal_loss * loss = record->body;
    if (!ggs_spool_facts_add(&sealing->facts, record)) return false;
    ggs_seal_read_anchor(sealing, record);
    switch (record->type) {
        case GGS_JOURNAL_GRAPH:
            sealing->tokens |= memmem(record->body, record->length, "inp_tokens", 10) != NULL ||
                               memmem(record->body, record->length, "token_embd.weight", 17) != NULL;
            break;
        case GGS_JOURNAL_CONTEXT:
        case GGS_JOURNAL_DECODE:
            sealing->tokens = true;
            break;
        case GGS_JOURNAL_LOSS:
            if (loss->count > 0 && loss->run == 0) sealing->lossy = true;
            break;
        default:
            break;
    }
    return ggs_seal_leaves_out(sealing, record) || ggs_survey_add(&sealing->steps.survey, record);
}

int ggs_seal_pass_1(struct ggs_seal_state * sealing, struct ggs_error * error) {
    struct ggs_record record;
    bool              good               = true;
    sealing->steps.survey.sequences.gaps = ggs_windows_have_gaps(&sealing->spool);
    ggs_clock_init(&sealing->clock);
    while (good && ggs_spool_stream_record(&sealing->spool.journal, &record)) good = survey_record(sealing, &record);
    ggs_spool_stream_rewind(&sealing->spool.journal);
    sealing->out = false;
    sealing->facts.losses[GGS_LOSS_RING] += ggs_spool_dropped(&sealing->spool);
    if (good) good = ggs_survey_finish(&sealing->steps.survey);
    return good ? 0 : ggs_fail_memory(error);
}
