// All findings. A new one is a row here and a file with its function: the condition, the bound, the
// evidence and the remedy. tests/unit has a case with it, one without and one at the border;
// tests/diagnosis a planted problem.
#pragma once

#include "analyze/explain/facts.h"

// Fills the finding and returns true if the recording has it. The caller sets the name and the
// part's time.
#define GGS_REASONS(ROW)                        \
    ROW("other-programs", other_programs)       \
    ROW("steal", steal)                         \
    ROW("cpu-quota", cpu_quota)                 \
    ROW("distorted-times", distorted_times)     \
    ROW("threads-above-cores", threads_above)   \
    ROW("too-few-threads", too_few_threads)     \
    ROW("uneven-work", uneven_work)             \
    ROW("page-waits", page_waits)               \
    ROW("cold-cache", cold_cache)               \
    ROW("no-mmap", no_mmap)                     \
    ROW("small-batches", small_batches)         \
    ROW("prompt-recomputed", prompt_recomputed) \
    ROW("one-slot", one_slot)                   \
    ROW("drafts-cost", drafts_cost)             \
    ROW("prompt-outputs", prompt_outputs)       \
    ROW("context-unused", context_unused)       \
    ROW("cpu-library", cpu_library)             \
    ROW("weights-not-repacked", not_repacked)   \
    ROW("flash-attention-off", flash_off)       \
    ROW("kv-reads", kv_reads)                   \
    ROW("wide-weights", wide_weights)           \
    ROW("output-layer", output_layer)           \
    ROW("between-decodes", between_decodes)     \
    ROW("eval-callback", eval_callback)         \
    ROW("decode-overhead", decode_overhead)     \
    ROW("no-device", no_device)                 \
    ROW("software-device", software_device)     \
    ROW("device-splits", device_splits)         \
    ROW("first-use", first_use)

#define ROW(name_, function_) bool ggs_find_##function_(const struct ggs_explain_facts * f, struct ggs_reason * out);
GGS_REASONS(ROW)
#undef ROW

// ---- helpers of findings ----

__attribute__((format(printf, 2, 3))) void ggs_reason_title(struct ggs_reason * out, const char * format, ...);
__attribute__((format(printf, 2, 3))) void ggs_reason_evidence(struct ggs_reason * out, const char * format, ...);
__attribute__((format(printf, 2, 3))) void ggs_reason_advise(struct ggs_reason * out, const char * format, ...);
// Adds an option that helps.
void ggs_reason_set(struct ggs_reason * out, enum ggs_knob knob, const char * value);
void ggs_reason_set_number(struct ggs_reason * out, enum ggs_knob knob, uint64_t value);

// Applies all rules to these facts, sorted by gain.
void ggs_reasons_apply(struct ggs_explanation * explanation, const struct ggs_explain_facts * facts);
