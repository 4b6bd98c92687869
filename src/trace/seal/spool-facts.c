#include "trace/seal/spool-facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "trace/spool-reader.h"

void ggs_spool_facts_release(struct ggs_spool_facts * facts) {
    free(facts->executable);
    free(facts->engine);
    for (size_t i = 0; i < facts->n_files; i++) free(facts->files[i]);
    free(facts->files);
    *facts = (struct ggs_spool_facts){0};
}

// Replaces *text by the record's.
static bool read_text(char ** text, const struct ggs_record * record) {
    free(*text);
    *text = strndup(record->text, record->text_length);
    return *text != NULL;
}

static bool read_process(struct ggs_spool_facts * facts, const struct ggs_record * record) {
    const struct ggs_journal_process * process = record->body;
    if (facts->seen) return true;
    facts->seen         = true;
    facts->pid          = process->pid;
    facts->monotonic_ns = process->monotonic_ns;
    facts->realtime_ns  = process->realtime_ns;
    return read_text(&facts->executable, record);
}

static bool read_file(struct ggs_spool_facts * facts, const struct ggs_record * record) {
    char * path = NULL;
    if (!read_text(&path, record)) return false;
    bool known = false;
    for (size_t i = 0; i < facts->n_files; i++) known |= strcmp(facts->files[i], path) == 0;
    if (!known && ggs_array_push(facts->files, facts->n_files, facts->files_capacity, path)) return true;
    free(path);
    return known;
}

static void read_buffer(struct ggs_spool_facts * facts, const struct ggs_record * record) {
    const char * end    = memchr(record->text, '\n', record->text_length);
    int          length = (int) (end == NULL ? record->text_length : (size_t) (end - record->text));
    char         type[sizeof(facts->layout)];
    snprintf(type, sizeof(type), "%.*s", length, record->text);
    if (facts->layout[0] == '\0' && (strcmp(type, "AMX") == 0 || strstr(type, "REPACK") != NULL))
        memcpy(facts->layout, type, sizeof(type));
}

bool ggs_spool_facts_add(struct ggs_spool_facts * facts, const struct ggs_record * record) {
    const struct ggs_journal_number *   number   = record->body;
    const struct ggs_journal_loss *     loss     = record->body;
    const struct ggs_journal_resident * resident = record->body;
    switch (record->type) {
        case GGS_JOURNAL_PROCESS:
            return read_process(facts, record);
        case GGS_JOURNAL_ENGINE:
            return read_text(&facts->engine, record);
        case GGS_JOURNAL_FILE:
            return read_file(facts, record);
        case GGS_JOURNAL_BUFFER:
            read_buffer(facts, record);
            return true;
        case GGS_JOURNAL_RUN_THREADS:
            if (number->value[1] > facts->threads) facts->threads = number->value[1];
            return true;
        case GGS_JOURNAL_LOSS:
            if (loss->reason < GGS_LOSS_COUNT) facts->losses[loss->reason] += loss->count;
            return true;
        case GGS_JOURNAL_RUN:
            facts->runs++;
            return true;
        case GGS_JOURNAL_RESIDENT:
            facts->resident = true;
            if (resident->method == GGS_RESIDENT_IN_PROCESS) facts->resident_in_process = true;
            return true;
        case GGS_JOURNAL_END:
            facts->ended = true;
            return true;
        default:
            return true;
    }
}
