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
    ROW("small-ops", small_ops)                 \
    ROW("one-node", one_node)                   \
    ROW("page-waits", page_waits)               \
    ROW("cold-cache", cold_cache)               \
    ROW("small-readahead", small_readahead)     \
    ROW("swapped-out", swapped_out)             \
    ROW("small-pages", small_pages)             \
    ROW("no-mmap", no_mmap)                     \
    ROW("repack-costs", repack_costs)           \
    ROW("small-batches", small_batches)         \
    ROW("prompt-recomputed", prompt_recomputed) \
    ROW("one-slot", one_slot)                   \
    ROW("drafts-cost", drafts_cost)             \
    ROW("prompt-outputs", prompt_outputs)       \
    ROW("context-unused", context_unused)       \
    ROW("context-shifts", context_shifts)       \
    ROW("cpu-library", cpu_library)             \
    ROW("engine-build", engine_build)           \
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
    ROW("ops-fell-back", ops_fell_back)         \
    ROW("slow-device", slow_device)             \
    ROW("device-waits", device_waits)           \
    ROW("narrow-link", narrow_link)             \
    ROW("first-use", first_use)

#define ROW(name_, function_) bool ggs_find_##function_(const struct ggs_explain_facts * f, struct ggs_reason * out);
GGS_REASONS(ROW)
#undef ROW

// ---- helpers of findings ----

__attribute__((format(printf, 2, 3))) void ggs_reason_title(struct ggs_reason * out, const char * format, ...);
__attribute__((format(printf, 2, 3))) void ggs_reason_evidence(struct ggs_reason * out, const char * format, ...);
__attribute__((format(printf, 2, 3))) void ggs_reason_advise(struct ggs_reason * out, const char * format, ...);
// Writes how this program sets a knob; "" if its command line has no option for it.
const char * ggs_reason_words(char text[96], const struct ggs_explain_facts * f, enum ggs_knob knob,
                              const char * value);
// True if llama.cpp's options apply: to its own programs.
bool ggs_reason_is_llama(const struct ggs_explain_facts * f);
// Adds an option that helps.
void ggs_reason_set(struct ggs_reason * out, enum ggs_knob knob, const char * value);
void ggs_reason_set_number(struct ggs_reason * out, enum ggs_knob knob, uint64_t value);

// Applies all rules to these facts, sorted by gain.
void ggs_reasons_apply(struct ggs_explanation * explanation, const struct ggs_explain_facts * facts);
// Fills the knobs.
void ggs_explain_knobs(struct ggs_explanation * explanation, const struct ggs_explain_facts * facts);
// Fills the sentence about the rest.
void ggs_explain_rest(struct ggs_explanation * explanation, const struct ggs_explain_facts * facts);
