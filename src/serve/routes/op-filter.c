// Parameters that limit an answer to some ops, shared by all routes that accept them.
#include "analyze/walk/op-filter.h"

#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "serve/routes/routes.h"

static int read_region(struct ggs_query * query, struct ggs_op_filter * filter, struct ggs_error * error) {
    const char * text = ggs_query_text(query, "region");
    char         copy[96];
    if (text == NULL) return 0;
    if (strlen(text) < sizeof(copy)) {
        memcpy(copy, text, strlen(text) + 1);
        char *colon = strchr(copy, ':'), *dots = colon == NULL ? NULL : strstr(colon, "..");
        if (dots != NULL) {
            *colon = *dots = '\0';
            if (ggs_parse_u64(copy, 1, UINT32_MAX, &filter->range_file) &&
                ggs_parse_u64(colon + 1, 0, INT64_MAX, &filter->range_begin) &&
                ggs_parse_u64(dots + 2, 1, INT64_MAX, &filter->range_end) && filter->range_begin < filter->range_end)
                return 0;
        }
    }
    return ggs_fail(error, GGS_USAGE,
                    "region must be a file and a range of its bytes such as 1:4096..8192, not '%.40s'", text);
}

static int read_words(struct ggs_query * query, struct ggs_op_filter * filter, struct ggs_error * error) {
    const char *layer = ggs_query_text(query, "layer"), *source = ggs_query_text(query, "source");
    uint64_t    number;
    if (layer != NULL && strcmp(layer, "none") == 0)
        filter->layer = -1;
    else if (layer != NULL && ggs_parse_u64(layer, 0, INT32_MAX, &number))
        filter->layer = (int) number;
    else if (layer != NULL)
        return ggs_fail(error, GGS_USAGE, "layer must be the number of a layer or none, not '%.40s'", layer);
    if (source != NULL && strcmp(source, "DISK") == 0)
        filter->source = GGS_SOURCE_DISK;
    else if (source != NULL && strcmp(source, "BUFFER") == 0)
        filter->source = GGS_SOURCE_BUFFER;
    else if (source != NULL && strcmp(source, "VRAM") == 0)
        filter->source = GGS_SOURCE_VRAM;
    else if (source != NULL)
        return ggs_fail(error, GGS_USAGE, "source must be DISK, BUFFER or VRAM, not '%.40s'", source);
    filter->op     = ggs_query_text(query, "op");
    filter->tensor = ggs_query_text(query, "tensor");
    return 0;
}

// A lane of the summary is a thread of a slot.
static int read_lane(struct ggs_question * request, struct ggs_op_filter * filter, struct ggs_error * error) {
    const struct ggs_overview * overview;
    uint64_t                    lane   = UINT64_MAX;
    int                         status = ggs_query_u64(&request->query, "lane", 0, UINT32_MAX, &lane, error);
    if (status < 0 || lane == UINT64_MAX) return status;
    status = ggs_snapshot_overview(request->snapshot, &overview, error);
    if (status < 0) return status;
    if (lane >= overview->n_lanes) return ggs_fail(error, GGS_ABSENT, "there is no lane %u", (unsigned) lane);
    filter->slot = overview->lanes[lane].slot;
    if (filter->slot >= 0) filter->thread = (int64_t) overview->lanes[lane].thread;
    return 0;
}

int ggs_query_ops(struct ggs_question * request, struct ggs_op_filter * filter, struct ggs_error * error) {
    const int64_t      far    = INT64_MAX / 4;
    struct ggs_query * query  = &request->query;
    int                status = read_words(query, filter, error);
    if (status == 0) status = read_region(query, filter, error);
    if (status == 0) status = ggs_query_u64(query, "buffer", 1, UINT32_MAX, &filter->buffer, error);
    if (status == 0) status = ggs_query_i64(query, "thread", 0, UINT16_MAX, &filter->thread, error);
    if (status == 0) status = read_lane(request, filter, error);
    if (status == 0) status = ggs_query_i64(query, "expert", 0, UINT16_MAX, &filter->expert, error);
    if (status == 0) status = ggs_query_i64(query, "since", -far, far, &filter->since_ns, error);
    if (status == 0) status = ggs_query_i64(query, "until", -far, far, &filter->until_ns, error);
    return status;
}
