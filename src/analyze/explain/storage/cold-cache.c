// The model came from the disk: the page cache did not have it.
#include <stdio.h>

#include "analyze/explain/findings.h"
#include "base/number.h"

// The engine's libraries may come from the disk too, and the model not.
static const uint64_t LIBRARIES = 32ull << 20;

bool ggs_find_cold_cache(const struct ggs_explain_facts * f, struct ggs_reason * out) {
    char     lock[96];
    char     read[GGS_NUMBER_LENGTH], load[GGS_NUMBER_LENGTH], model[GGS_NUMBER_LENGTH];
    uint64_t bytes = f->conditions.read_bytes, first = f->faults_in_load.stalled_ns;
    uint64_t asked = f->loading.ns;
    // Streaming reads what memory cannot keep: a second run reads it again.
    if (f->streamed.uses > 0) return false;
    uint64_t least = f->model_bytes / 4 + (f->conditions.cold ? 0 : LIBRARIES);
    if (f->model_bytes == 0 || bytes < least || bytes > 2 * f->model_bytes) return false;
    // Reading delays calls that request bytes, and faults on mapped pages.
    uint64_t waited = asked + first;
    out->part       = GGS_PART_LOAD;
    out->timed      = true;
    out->gain_ns    = waited < f->load_ns ? waited : f->load_ns;
    out->figure     = (double) bytes;
    out->figure_of  = "bytes read from disk";
    ggs_reason_title(out, "the model came from the disk: the page cache was cold");
    ggs_reason_evidence(out, "%s of %s read from disk; the load took %s", ggs_format_bytes(read, bytes),
                        ggs_format_bytes(model, f->model_bytes), ggs_format_nanoseconds(load, f->load_ns));
    ggs_reason_words(lock, f, GGS_KNOB_MLOCK, "");
    ggs_reason_advise(out, "run it again: the second load is warm; to keep it so: %s%scat MODEL >/dev/null at start",
                      lock, lock[0] == '\0' ? "" : ", or ");
    out->measure = "ggscope sweep -o study --cold yes,no";
    snprintf(out->query, sizeof(out->query), "ggscope sql DIR \"select read_bytes from experiment\"");
    return true;
}
