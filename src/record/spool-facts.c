#include "record/spool-facts.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "trace/spool-reader.h"

const char * ggs_loss_name(unsigned reason) {
    static const char * const names[] = {
        [GGS_LOSS_SPACE]     = "space",
        [GGS_LOSS_SLOTS]     = "slots",
        [GGS_LOSS_UNMATCHED] = "unmatched",
        [GGS_LOSS_RING]      = "ring",
    };
    return reason < sizeof(names) / sizeof(names[0]) ? names[reason] : NULL;
}

// The text that follows `skip` bytes of a record's body.
static char * text_of(const struct ggs_journal_record * record, size_t skip) {
    const char * text   = (const char *) (record + 1) + skip;
    size_t       before = sizeof(*record) + skip;
    return strndup(record->bytes > before ? text : "", record->bytes > before ? record->bytes - before : 0);
}

static bool add_file(struct ggs_spool_facts * facts, char * path) {
    if (path == NULL) return false;
    for (size_t i = 0; i < facts->n_files; i++) {
        if (strcmp(facts->files[i], path) != 0) continue;
        free(path);
        return true;
    }
    char ** more = realloc(facts->files, (facts->n_files + 1) * sizeof(*more));
    if (more == NULL) {
        free(path);
        return false;
    }
    facts->files                   = more;
    facts->files[facts->n_files++] = path;
    return true;
}

static bool take_process(struct ggs_spool_facts * facts, const struct ggs_journal_record * record) {
    const struct ggs_journal_process * process = (const void *) (record + 1);
    if (facts->seen || record->bytes < sizeof(*record) + sizeof(*process)) return true;
    facts->seen         = true;
    facts->pid          = process->pid;
    facts->monotonic_ns = process->monotonic_ns;
    facts->realtime_ns  = process->realtime_ns;
    facts->executable   = text_of(record, sizeof(*process));
    return facts->executable != NULL;
}

static bool take(struct ggs_spool_facts * facts, const struct ggs_journal_record * record) {
    const struct ggs_journal_number * number = (const void *) (record + 1);
    bool                              whole  = record->bytes >= sizeof(*record) + sizeof(*number);
    switch (record->type) {
        case GGS_JOURNAL_PROCESS:
            return take_process(facts, record);
        case GGS_JOURNAL_ENGINE:
            free(facts->engine);
            facts->engine = text_of(record, 0);
            return facts->engine != NULL;
        case GGS_JOURNAL_FILE:
            return add_file(facts, text_of(record, 0));
        case GGS_JOURNAL_RUN_THREADS:
            if (whole && number->value[1] > facts->threads) facts->threads = number->value[1];
            return true;
        case GGS_JOURNAL_LOSS:
            if (whole && number->value[0] < GGS_FACTS_LOSSES) facts->losses[number->value[0]] += number->value[2];
            return true;
        case GGS_JOURNAL_RUN:
            facts->runs++;
            return true;
        case GGS_JOURNAL_RESIDENT:
            if (record->bytes < sizeof(*record) + sizeof(struct ggs_journal_resident)) return true;
            facts->resident = true;
            if (((const struct ggs_journal_resident *) (record + 1))->method == GGS_RESIDENT_IN_PROCESS)
                facts->resident_in_process = true;
            return true;
        case GGS_JOURNAL_END:
            facts->ended = true;
            return true;
        default:
            return true;
    }
}

// A lane whose segments have gaps was recorded as a ring: what was in them was dropped on purpose. All segments but the last
// are full.
static uint64_t count_dropped(const struct ggs_spool * spool) {
    uint64_t dropped = 0;
    for (size_t i = 0; i < spool->n_lanes; i++) {
        const struct ggs_spool_stream * lane = &spool->lanes[i];
        if (lane->n_segments == 0) continue;
        uint64_t written = (uint64_t) lane->segments[lane->n_segments - 1].sequence + 1;
        if (written > lane->n_segments) dropped += written - lane->n_segments;
    }
    return dropped * ((GGS_SPOOL_SEGMENT - sizeof(struct ggs_spool_header)) / GGS_SPOOL_UNIT);
}

int ggs_spool_facts_read(struct ggs_spool_facts * facts, const char * folder, struct ggs_error * error) {
    struct ggs_spool spool;
    *facts     = (struct ggs_spool_facts){0};
    int status = ggs_spool_open(&spool, folder, error);
    if (status == GGS_ABSENT) return 0;
    if (status != 0) return status;
    const struct ggs_journal_record * record;
    while (status == 0 && (record = ggs_spool_stream_record(&spool.journal)) != NULL) {
        if (!take(facts, record)) status = ggs_fail_memory(error);
    }
    if (facts->losses[GGS_LOSS_RING] == 0) facts->losses[GGS_LOSS_RING] = count_dropped(&spool);
    ggs_spool_release(&spool);
    if (status != 0) ggs_spool_facts_release(facts);
    return status;
}

void ggs_spool_facts_release(struct ggs_spool_facts * facts) {
    free(facts->executable);
    free(facts->engine);
    for (size_t i = 0; i < facts->n_files; i++) free(facts->files[i]);
    free(facts->files);
    *facts = (struct ggs_spool_facts){0};
}

const char * ggs_engine_line(const char * text, struct ggs_engine_line * line) {
    if (text == NULL || *text == '\0') return NULL;
    size_t length      = strcspn(text, "\n");
    size_t key         = strcspn(text, "=\n");
    line->key          = text;
    line->key_length   = key;
    line->value        = text + (key < length ? key + 1 : length);
    line->value_length = length - (size_t) (line->value - text);
    return text + length + (text[length] == '\n');
}
