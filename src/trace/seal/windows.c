#include "trace/seal/windows.h"

#include <string.h>

static int64_t since_start(const struct ggs_clock * clock, uint64_t monotonic_ns) {
    return monotonic_ns <= clock->start_ns ? 0 : (int64_t) ((monotonic_ns - clock->start_ns) & INT64_MAX);
}

bool ggs_windows_have_gaps(const struct ggs_spool * spool) {
    const struct ggs_control_entry * entry = ggs_spool_control_entry(spool, 0);
    if (entry != NULL && entry->kind == GGS_WINDOW_RECORDED && entry->reserved == 0) return true;
    for (uint32_t i = 0; (entry = ggs_spool_control_entry(spool, i)) != NULL; i++)
        if (entry->kind == GGS_WINDOW_RECORDED && entry->end_ns != 0) return true;
    return false;
}

static bool is_cut(const struct ggs_control_entry * entry) {
    return entry->kind == GGS_WINDOW_RECORDED && entry->late.cut != 0;
}

bool ggs_windows_leave_out(const struct ggs_spool * spool, uint64_t decode) {
    const struct ggs_control_entry * entry;
    for (uint32_t i = 0; decode != 0 && (entry = ggs_spool_control_entry(spool, i)) != NULL; i++)
        if (is_cut(entry) && decode > entry->late.last && (entry->late.newest == 0 || decode <= entry->late.newest))
            return true;
    return false;
}

bool ggs_windows_end_with(const struct ggs_spool * spool, uint64_t decode) {
    const struct ggs_control_entry * entry;
    for (uint32_t i = 0; (entry = ggs_spool_control_entry(spool, i)) != NULL; i++)
        if (is_cut(entry) && decode == entry->late.last) return true;
    return false;
}

void ggs_windows_write(const struct ggs_spool * spool, const struct ggs_clock * clock, const struct ggs_map * ends,
                       struct ggs_writer * writer) {
    const struct ggs_control_entry * entry = ggs_spool_control_entry(spool, 0);
    bool whole = entry != NULL && entry->kind == GGS_WINDOW_RECORDED && entry->reserved != 0 && entry->end_ns == 0;
    if (whole && ggs_spool_control_entry(spool, 1) == NULL) return;
    for (uint32_t i = 0; (entry = ggs_spool_control_entry(spool, i)) != NULL; i++) {
        if (entry->kind == 0 || entry->kind >= GGS_WINDOW_COUNT) continue;
        if (entry->end_ns != 0 && entry->end_ns < clock->start_ns) continue; // before its begin
        struct ggs_window row = {
            .window   = i + 1,
            .kind     = entry->kind,
            .begin_ns = entry->reserved != 0 ? 0 : since_start(clock, entry->begin_ns),
            .end_ns   = entry->end_ns == 0 ? -1 : since_start(clock, entry->end_ns),
            .text     = entry->kind != GGS_WINDOW_MARK
                            ? 0
                            : ggs_writer_string(writer, entry->text, strnlen(entry->text, sizeof(entry->text)))};
        uint64_t end = is_cut(entry) ? ggs_map_get(ends, ggs_map_key_number(entry->late.last)) : 0;
        if (end != 0) row.end_ns = (int64_t) end;
        if (row.end_ns >= 0 && row.end_ns < row.begin_ns) row.end_ns = row.begin_ns;
        ggs_writer_append(writer, GGS_TABLE_WINDOWS, &row);
    }
}
