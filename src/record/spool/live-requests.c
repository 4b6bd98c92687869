#include "record/spool/live-requests.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/system/clock.h"
#include "trace/seal/survey.h"

enum { IDLE_NS = 1000000000, DECODES_WITHOUT = 16 };

struct request {
    uint64_t number, context; // as in the survey
    int64_t  sequence;
    uint64_t first, last;    // decodes
    uint64_t seen_ns;        // when the last one was read
    uint64_t decodes_before; // of all contexts, up to the last one
};

struct ggs_live_requests {
    char              folder[PATH_MAX];
    struct ggs_survey survey;
    uint32_t          journal; // position: segment and offset
    uint64_t          position;
    struct request *  list;
    size_t            n, capacity, from; // `from`: where counting begins
    uint64_t          begun, ended;      // decodes
    uint64_t          newest;
    bool              program_ended, failed;
};

int ggs_live_requests_open(struct ggs_live_requests ** out, const char * folder, struct ggs_error * error) {
    struct ggs_live_requests * requests = calloc(1, sizeof(*requests));
    *out                                = requests;
    if (requests == NULL) return ggs_fail_memory(error);
    snprintf(requests->folder, sizeof(requests->folder), "%s", folder);
    return 0;
}

void ggs_live_requests_close(struct ggs_live_requests * requests) {
    if (requests == NULL) return;
    ggs_survey_release(&requests->survey);
    free(requests->list);
    free(requests);
}

// ---- reading ----

static struct request * find(struct ggs_live_requests * requests, uint64_t number) {
    for (size_t i = requests->n; i-- > 0;)
        if (requests->list[i].number == number) return &requests->list[i];
    return NULL;
}

static bool read_part(struct ggs_live_requests * requests, const struct ggs_sequence_part * part, uint64_t decode) {
    struct request fresh = {
        .number = part->request, .context = part->context, .sequence = part->sequence, .first = decode};
    if (part->begins && !ggs_array_push(requests->list, requests->n, requests->capacity, fresh)) return false;
    struct request * request = find(requests, part->request);
    if (request == NULL) return true;
    request->last           = decode;
    request->seen_ns        = ggs_clock_now();
    request->decodes_before = requests->begun;
    return true;
}

// Applies the newest decode, which is part of the sequences, to requests.
static bool read_parts(struct ggs_live_requests * requests) {
    const struct ggs_sequences * sequences = &requests->survey.sequences;
    for (size_t i = 0; i < sequences->n_parts; i++)
        if (!read_part(requests, &sequences->parts[i], requests->survey.decode)) return false;
    return true;
}

// Applies a request that fed nothing, once.
static bool read_sample(struct ggs_live_requests * requests) {
    const struct ggs_sequence_part * sample = &requests->survey.sequences.sample;
    if (sample->request == 0 || find(requests, sample->request) != NULL) return true;
    return read_part(requests, sample, sample->computed);
}

static bool add_record(struct ggs_live_requests * requests, const struct ggs_record * record) {
    if (record->type == GGS_JOURNAL_DECODE) {
        requests->begun++;
        requests->newest = ((const struct ggs_journal_decode *) record->body)->decode;
    }
    if (record->type == GGS_JOURNAL_DECODE_END) requests->ended++;
    if (!ggs_survey_add(&requests->survey, record)) return false;
    return (requests->survey.decode == 0 || read_parts(requests)) && read_sample(requests);
}

void ggs_live_requests_read(struct ggs_live_requests * requests, bool ended) {
    struct ggs_spool  spool;
    struct ggs_record record;
    requests->program_ended |= ended;
    if (requests->failed || ggs_spool_open(&spool, requests->folder, NULL) != 0) return; // nothing yet
    if (requests->position > 0) ggs_spool_stream_seek(&spool.journal, requests->journal, requests->position);
    while (!requests->failed && ggs_spool_stream_record(&spool.journal, &record)) {
        requests->failed   = !add_record(requests, &record);
        requests->position = ggs_spool_stream_tell(&spool.journal, &requests->journal);
    }
    ggs_spool_release(&spool);
}

// ---- counting ----

void ggs_live_requests_begin(struct ggs_live_requests * requests) {
    requests->from = requests->n;
}

uint64_t ggs_live_requests_newest(const struct ggs_live_requests * requests) {
    return requests->newest;
}

static const struct ggs_sequence_context * context_of(const struct ggs_live_requests * requests, uint64_t address) {
    const struct ggs_sequences * s     = &requests->survey.sequences;
    uint64_t                     index = ggs_map_get(&s->numbers, ggs_map_key_number(address));
    return index == 0 ? NULL : s->contexts[index - 1];
}

// Warm-ups, possible warm-ups and drafts do not count.
static bool counts(const struct ggs_live_requests * requests, const struct request * request) {
    const struct ggs_sequence_context * context = context_of(requests, request->context);
    if (context == NULL || context->found != 0) return false;
    if (ggs_map_get(&requests->survey.warmups, ggs_map_key_number(request->first)) != 0) return false;
    return requests->program_ended || !ggs_survey_is_warm(&requests->survey, request->context);
}

static bool has_ended(const struct ggs_live_requests * requests, const struct request * request) {
    const struct ggs_sequence_context * context = context_of(requests, request->context);
    uint64_t index                = ggs_map_get(&context->numbers, ggs_map_key_number((uint64_t) request->sequence));
    const struct ggs_sequence * q = index == 0 ? NULL : &context->sequences[index - 1];
    if (requests->program_ended || q == NULL || q->request != request->number || q->fresh) return true;
    if (requests->begun - request->decodes_before >= DECODES_WITHOUT) return true;
    return requests->begun == requests->ended && ggs_clock_now() - request->seen_ns >= IDLE_NS;
}

bool ggs_live_requests_have_ended(const struct ggs_live_requests * requests, uint64_t n, uint64_t * last) {
    uint64_t found = 0, newest = 0;
    bool     all = true;
    for (size_t i = requests->from; found < n && i < requests->n; i++) {
        const struct request * request = &requests->list[i];
        if (!counts(requests, request)) continue;
        found++;
        all &= has_ended(requests, request);
        if (request->last > newest) newest = request->last;
    }
    *last = found == n ? newest : 0;
    return all && found == n;
}
