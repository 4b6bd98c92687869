// Unit tests of src/analyze/explain: each rule on figures that have its cause, that have not, and
// at the border; how programs are told; figures gathered from a recording made by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/explain/facts.h"
#include "analyze/explain/findings.h"
#include "recording-fixture.h"

static struct ggs_error error;

enum { MS = 1000000, MIB = 1 << 20 };

// A run that is fine: 2 threads on 2 cores, a prompt of 512 tokens in one graph run, 100 tokens of
// 20 ms.
static struct ggs_explain_facts healthy(void) {
    struct ggs_explain_facts f = {
        .cores = 2, .usable_cores = 2, .threads = 2, .ns_per_drafted = -1, .ns_per_plain = -1};
    f.conditions   = (struct ggs_conditions){.others_cpu_share = 0.01, .steal_share = 0};
    f.memory_bytes = f.available_bytes = f.available_end = 16ull << 30;
    f.load_ns                                            = 500ull * MS;
    f.model_bytes = f.weight_bytes = 600ull * MIB;
    f.weight_bits                  = 4.8;
    f.repacked                     = true;
    strcpy(f.type, "q4_K");
    strcpy(f.output_type, "q6_K");
    strcpy(f.flags, "fpu sse4_2 avx avx2 fma");
    strcpy(f.cpu_library, "libggml-cpu-haswell.so");
    f.prompt     = (struct ggs_phase_facts){.steps        = 1,
                                            .tokens       = 512,
                                            .outputs      = 1,
                                            .runs         = 1,
                                            .decodes      = 1,
                                            .ns           = 2000ull * MS,
                                            .step_ns      = 2000ull * MS,
                                            .wall_ns      = 1990ull * MS,
                                            .busy_ns      = 3960ull * MS,
                                            .attention_ns = 20ull * MS,
                                            .flash_ns     = 20ull * MS,
                                            .output_ns    = 3ull * MS,
                                            .read         = 700ull * MIB,
                                            .weights_read = 600ull * MIB};
    f.generate   = (struct ggs_phase_facts){.steps        = 100,
                                            .tokens       = 100,
                                            .outputs      = 100,
                                            .runs         = 100,
                                            .decodes      = 100,
                                            .ns           = 2000ull * MS,
                                            .step_ns      = 20 * MS,
                                            .outside_ns   = MS / 5,
                                            .before_ns    = MS / 10,
                                            .wall_ns      = 1960ull * MS,
                                            .busy_ns      = 3900ull * MS,
                                            .attention_ns = 40ull * MS,
                                            .flash_ns     = 40ull * MS,
                                            .output_ns    = 200ull * MS,
                                            .output_bytes = 5000ull * MIB,
                                            .read         = 60000ull * MIB,
                                            .weights_read = 59000ull * MIB,
                                            .kv_read      = 500ull * MIB};
    f.between_ns = 10ull * MS;
    f.kv_bytes   = 100ull * MIB;
    f.kv_cells   = 1024;
    f.positions = f.positions_each = 612;
    f.requests = f.sequences = 1;
    return f;
}

static struct ggs_explanation found;

static const struct ggs_reason * find(const struct ggs_explain_facts * f, const char * name) {
    ggs_explanation_release(&found);
    ggs_reasons_apply(&found, f);
    for (unsigned i = 0; i < found.n; i++)
        if (strcmp(found.finding[i].name, name) == 0) return &found.finding[i];
    return NULL;
}

static void use_program(struct ggs_explain_facts * f, const char * command) {
    ggs_invocation_release(&f->program);
    ggs_invocation_read(&f->program, ggs_json_read(command, strlen(command)), (struct ggs_json_value){0});
}

// ---- the rules ----

// Each changes a healthy run so that it has the cause, just has it, or just has not.
struct rule {
    const char * name;
    void (*has)(struct ggs_explain_facts * f);
    void (*just_has)(struct ggs_explain_facts * f);
    void (*just_not)(struct ggs_explain_facts * f);
};

#define CHANGE(name_, ...)                            \
    static void name_(struct ggs_explain_facts * f) { \
        __VA_ARGS__;                                  \
    }

CHANGE(others, f->conditions.others_cpu_share = 0.5)
CHANGE(others_just, f->conditions.others_cpu_share = 0.15)
CHANGE(others_not, f->conditions.others_cpu_share = 0.149)
CHANGE(steal, f->conditions.steal_share = 0.4)
CHANGE(steal_just, f->conditions.steal_share = 0.05)
CHANGE(steal_not, f->conditions.steal_share = 0.049)
CHANGE(quota, f->quota = 1, f->periods = 20, f->throttled_periods = 18, f->throttled_ns = 2000ull * MS)
CHANGE(quota_just, f->quota = 1, f->periods = 20, f->throttled_periods = 1, f->throttled_ns = 900ull * MS)
CHANGE(quota_not, f->quota = 1, f->periods = 20, f->throttled_periods = 0)
CHANGE(proved, f->proved = true)
CHANGE(not_proved, f->proved = false)
CHANGE(threads_8, f->threads = 8, f->wait_ns = 20000ull * MS, f->generate.wall_ns = f->generate.ns = 12000ull * MS)
CHANGE(threads_3, f->threads = 3, f->wait_ns = 3000ull * MS)
CHANGE(threads_2, f->threads = 2, f->wait_ns = 3000ull * MS)
CHANGE(cores_8, f->cores = f->usable_cores = 8)
CHANGE(cores_3, f->cores = f->usable_cores = 3)
CHANGE(cores_smt, f->cores = f->usable_cores = 4, f->threads_per_core = 2)
CHANGE(uneven, f->generate.uneven_ns = 2000ull * MS)
CHANGE(uneven_just, f->generate.uneven_ns = 900ull * MS)
CHANGE(uneven_not, f->generate.uneven_ns = 800ull * MS)
CHANGE(stalls, f->faults_in_ops = ((struct ggs_fault_sum){.major = 500, .stalled_ns = 3000ull * MS}))
CHANGE(stalls_just, f->faults_in_ops = ((struct ggs_fault_sum){.major = 20, .stalled_ns = 400ull * MS}))
CHANGE(stalls_not, f->faults_in_ops = ((struct ggs_fault_sum){.major = 19, .stalled_ns = 400ull * MS}))
CHANGE(cold, f->conditions.read_bytes = 600ull * MIB, f->loading.ns = 400ull * MS)
CHANGE(cold_just, f->conditions.read_bytes = 182ull * MIB, f->loading.ns = 30ull * MS)
CHANGE(cold_not, f->conditions.read_bytes = 182ull * MIB - 1, f->loading.ns = 30ull * MS)
static void read_model(struct ggs_explain_facts * f, uint64_t bytes, uint64_t ns) {
    f->loading.by_kind[GGS_READ_FILE] = (struct ggs_loading_kind){.reads = 1, .bytes = bytes, .ns = ns};
}
CHANGE(no_mmap, read_model(f, 600ull * MIB, 300ull * MS))
CHANGE(no_mmap_just, read_model(f, 300ull * MIB, 25ull * MS))
CHANGE(no_mmap_not, read_model(f, 299ull * MIB, 300ull * MS))
CHANGE(pieces_8, f->prompt.runs = 64)
CHANGE(pieces_63, f->prompt.tokens = 504, f->prompt.runs = 8)
CHANGE(pieces_64, f->prompt.runs = 8)
CHANGE(again, f->requests_again = 3, f->prompt_again = 400, f->prompt_of = 450)
CHANGE(again_just, f->requests_again = 1, f->prompt_again = 33, f->prompt_of = 40)
CHANGE(again_not, f->requests_again = 0, f->prompt_again = 0)
CHANGE(slot, f->requests = 5, f->back_to_back = 4)
CHANGE(slot_just, f->requests = 4, f->back_to_back = 2)
CHANGE(slot_not, f->requests = 4, f->back_to_back = 1)
CHANGE(drafts, f->accepted = 10, f->rejected = 90, f->drafting_ns = 800ull * MS)
CHANGE(drafts_just, f->accepted = 39, f->rejected = 61, f->drafting_ns = 800ull * MS)
CHANGE(drafts_not, f->accepted = 40, f->rejected = 60, f->drafting_ns = 800ull * MS)
CHANGE(outputs, f->prompt.outputs = 512, f->prompt.output_ns = 700ull * MS)
CHANGE(outputs_just, f->prompt.outputs = 256, f->prompt.output_ns = 110ull * MS)
CHANGE(outputs_not, f->prompt.outputs = 255, f->prompt.output_ns = 700ull * MS)
CHANGE(context, f->kv_bytes = 1400ull * MIB, f->kv_cells = 65536)
CHANGE(context_just, f->kv_bytes = 256ull * MIB, f->kv_cells = 4 * 612)
CHANGE(context_not, f->kv_bytes = 256ull * MIB, f->kv_cells = 4 * 612 - 1)
CHANGE(library, strcpy(f->cpu_library, "libggml-cpu-x64.so"))
CHANGE(library_just, strcpy(f->cpu_library, "libggml-cpu-ivybridge.so"))
CHANGE(library_not, strcat(f->flags, " avx512bw avx512_vnni"))
CHANGE(no_repack, f->repacked = false)
CHANGE(no_repack_just, f->repacked = false, f->prompt.tokens = 32)
CHANGE(no_repack_not, f->repacked = false, f->prompt.tokens = 31)
static void no_flash(struct ggs_explain_facts * f, uint64_t attention) {
    f->prompt.flash_ns = f->generate.flash_ns = 0;
    f->prompt.softmax_ns                      = 1;
    f->prompt.attention_ns                    = attention;
    f->generate.attention_ns                  = 0;
}
CHANGE(flash, no_flash(f, 1500ull * MS))
CHANGE(flash_just, no_flash(f, 420ull * MS))
CHANGE(flash_not, no_flash(f, 390ull * MS))
CHANGE(kv, f->generate.kv_read = 42000ull * MIB, f->generate.flash_busy_ns = 2800ull * MS)
CHANGE(kv_just, f->generate.kv_read = 18000ull * MIB, f->generate.flash_busy_ns = 790ull * MS)
CHANGE(kv_not, f->generate.kv_read = 17990ull * MIB, f->generate.flash_busy_ns = 790ull * MS)
CHANGE(wide, f->wide_bytes = f->weight_bytes, f->weight_bits = 16, strcpy(f->type, "f16"))
CHANGE(wide_just, f->wide_bytes = f->weight_bytes / 2, f->weight_bits = 10)
CHANGE(wide_not, f->wide_bytes = f->weight_bytes / 2 - 1, f->weight_bits = 10)
CHANGE(output, f->generate.output_busy_ns = 2000ull * MS, strcpy(f->output_type, "q8_0"))
CHANGE(output_just, f->generate.output_busy_ns = 1560ull * MS, strcpy(f->output_type, "q8_0"))
CHANGE(output_not, f->generate.output_busy_ns = 1559ull * MS, strcpy(f->output_type, "q8_0"))
CHANGE(between, f->generate.before_ns = 60 * MS, f->between_ns = 6000ull * MS)
CHANGE(between_just, f->generate.before_ns = 9 * MS, f->generate.step_ns = 81 * MS, f->between_ns = 900ull * MS)
CHANGE(between_not, f->generate.before_ns = 8 * MS, f->generate.step_ns = 81 * MS, f->between_ns = 800ull * MS)
CHANGE(callback, f->generate.runs = 68800, f->generate.busy_ns = 1000ull * MS)
CHANGE(callback_just, f->generate.runs = 2000, f->generate.busy_ns = 3000ull * MS)
CHANGE(callback_not, f->generate.runs = 1999, f->generate.busy_ns = 3000ull * MS)
CHANGE(overhead, f->generate.outside_ns = 10 * MS)
CHANGE(overhead_just, f->generate.outside_ns = 3 * MS)
CHANGE(overhead_not, f->generate.outside_ns = 3 * MS - 1)
CHANGE(no_device, f->wants_device = true)
static void device(struct ggs_explain_facts * f, bool software) {
    f->devices    = 1;
    f->device     = (struct ggs_device_facts){.name          = "Vulkan0",
                                              .description   = "llvmpipe (LLVM 15.0.6, 256 bits)",
                                              .software      = software,
                                              .runs          = 100,
                                              .run_ns        = 3000ull * MS,
                                              .median_run_ns = 10 * MS};
    f->cpu_run_ns = 1000ull * MS;
}
CHANGE(software, device(f, true))
CHANGE(hardware, device(f, false))
CHANGE(splits, device(f, false), f->generate.runs = 5000)
CHANGE(splits_just, device(f, false), f->generate.runs = 400)
CHANGE(splits_not, device(f, false), f->generate.runs = 399)
static void shaders_of(struct ggs_explain_facts * f, uint64_t tokens, uint64_t ns) {
    device(f, false);
    f->prompt.tokens       = tokens;
    f->device.first_run_ns = ns;
}
CHANGE(shaders, shaders_of(f, 2, 1900ull * MS))
CHANGE(shaders_just, shaders_of(f, 20, 200ull * MS))
CHANGE(shaders_not, shaders_of(f, 21, 209ull * MS)) // computing 21 tokens may take as long

CHANGE(barriers, f->generate.barrier_ns = 4000ull * MS, f->prompt.barrier_ns = 3000ull * MS,
       f->generate.busy_ns = 500ull * MS, f->prompt.busy_ns = 1000ull * MS)
CHANGE(barriers_just, f->generate.barrier_ns = 2620ull * MS)
CHANGE(barriers_not, f->generate.barrier_ns = 2619ull * MS)
static void nodes(struct ggs_explain_facts * f, uint64_t first, uint64_t second) {
    f->cores = f->usable_cores = f->threads = 16;
    f->pages = (struct ggs_pages_facts){.recorded = true, .nodes = 2, .node = {first * MIB, second * MIB}};
}
CHANGE(node, nodes(f, 590, 10))
CHANGE(node_just, nodes(f, 450, 150))
CHANGE(node_not, nodes(f, 449, 151))
static void read_ahead(struct ggs_explain_facts * f, uint64_t bytes, uint64_t major) {
    f->readahead             = bytes;
    f->disk_sequential       = 1000000000;
    f->conditions.read_bytes = 1500ull * MIB;
    f->faults_in_ops         = (struct ggs_fault_sum){.major = major, .stalled_ns = 3000ull * MS};
}
CHANGE(readahead, read_ahead(f, 128 << 10, 5000))
CHANGE(readahead_just, read_ahead(f, 511 << 10, 100))
CHANGE(readahead_not, read_ahead(f, 512 << 10, 100))
static void swap(struct ggs_explain_facts * f, uint64_t swapped) {
    f->pages = (struct ggs_pages_facts){.recorded = true, .resident = 1216ull * MIB, .swapped = swapped};
    f->faults_in_ops.stalled_ns = 1000ull * MS;
}
CHANGE(swapped, swap(f, 300ull * MIB))
CHANGE(swapped_just, swap(f, 64ull * MIB))
CHANGE(swapped_not, swap(f, 64ull * MIB - 1))
static void small_pages(struct ggs_explain_facts * f, uint64_t small) {
    f->pages              = (struct ggs_pages_facts){.recorded = true, .copied = 600ull * MIB};
    f->pages.copied_small = small;
    f->generate.wall_ns = f->generate.ns = 20000ull * MS;
    strcpy(f->pages.huge_pages, "madvise");
}
CHANGE(pages_small, small_pages(f, 600ull * MIB))
CHANGE(pages_small_just, small_pages(f, 128ull * MIB), f->weight_bytes = 130ull * MIB)
CHANGE(pages_small_not, small_pages(f, 128ull * MIB - 1), f->weight_bytes = 130ull * MIB)
static void repack(struct ggs_explain_facts * f, uint64_t ns) {
    f->prompt.tokens = 2, f->prompt.wall_ns = 30ull * MS, f->prompt.ns = 30ull * MS;
    f->generate.ns = 100ull * MS, f->generate.steps = 4, f->between_ns = 0;
    f->repack_ns = ns, f->repack_bytes = 500ull * MIB;
}
CHANGE(repacking, repack(f, 400ull * MS))
CHANGE(repacking_just, repack(f, 200ull * MS))
CHANGE(repacking_not, repack(f, 200ull * MS - 1))
CHANGE(shifts, f->shifts = 100, f->shift_ns = 500ull * MS)
CHANGE(shifts_just, f->shifts = 1, f->shift_ns = 101ull * MS)
CHANGE(shifts_not, f->shifts = 1, f->shift_ns = 99ull * MS)
CHANGE(unoptimised, f->unoptimised = true)
CHANGE(sanitized, strcpy(f->sanitizer, "address"))
static void fall_back(struct ggs_explain_facts * f, uint64_t ns) {
    device(f, false);
    f->generate.device_read  = 59000ull * MIB;
    f->generate.weights_read = 0;
    f->generate.plain_ns     = ns;
    f->generate.plain_op_ns  = ns / 2;
    strcpy(f->generate.plain_op, "FLASH_ATTN_EXT");
}
CHANGE(fallen, fall_back(f, 800ull * MS))
CHANGE(fallen_just, fall_back(f, 101ull * MS))
CHANGE(fallen_not, fall_back(f, 99ull * MS))
static void device_reads(struct ggs_explain_facts * f, uint64_t ns) {
    device(f, false);
    f->generate.device_ns   = ns;
    f->generate.device_read = f->generate.read;
}
CHANGE(slower, device_reads(f, 2 * 1960ull * MS))
CHANGE(slower_just, device_reads(f, 1960ull * MS * 6 / 5 + 1))
CHANGE(slower_not, device_reads(f, 1960ull * MS * 6 / 5 - MS))
static void gaps(struct ggs_explain_facts * f, uint64_t op_ns) {
    device(f, false);
    f->device.timed_runs   = 2;
    f->device.ops          = 1000;
    f->device.op_ns        = op_ns;
    f->device.whole_run_ns = 10 * MS;
}
CHANGE(gap, gaps(f, 4 * MS))
CHANGE(gap_just, gaps(f, 15 * MS))
CHANGE(gap_not, gaps(f, 15 * MS + 4))
static void link_of(struct ggs_explain_facts * f, uint64_t lanes, uint64_t ns) {
    device(f, false);
    f->device.lanes = lanes, f->device.most_lanes = 16;
    f->device.bytes = 600ull * MIB, f->device.transfer_ns = ns;
}
CHANGE(link_narrow, link_of(f, 4, 300ull * MS))
CHANGE(link_just, link_of(f, 8, 51ull * MS))
CHANGE(link_not, link_of(f, 8, 49ull * MS))

static const struct rule rules[] = {
    {"other-programs", others, others_just, others_not},
    {"steal", steal, steal_just, steal_not},
    {"cpu-quota", quota, quota_just, quota_not},
    {"distorted-times", proved, proved, not_proved},
    {"threads-above-cores", threads_8, threads_3, threads_2},
    {"too-few-threads", cores_8, cores_3, cores_smt},
    {"uneven-work", uneven, uneven_just, uneven_not},
    {"small-ops", barriers, barriers_just, barriers_not},
    {"one-node", node, node_just, node_not},
    {"page-waits", stalls, stalls_just, stalls_not},
    {"cold-cache", cold, cold_just, cold_not},
    {"small-readahead", readahead, readahead_just, readahead_not},
    {"swapped-out", swapped, swapped_just, swapped_not},
    {"small-pages", pages_small, pages_small_just, pages_small_not},
    {"no-mmap", no_mmap, no_mmap_just, no_mmap_not},
    {"repack-costs", repacking, repacking_just, repacking_not},
    {"small-batches", pieces_8, pieces_63, pieces_64},
    {"prompt-recomputed", again, again_just, again_not},
    {"one-slot", slot, slot_just, slot_not},
    {"drafts-cost", drafts, drafts_just, drafts_not},
    {"prompt-outputs", outputs, outputs_just, outputs_not},
    {"context-unused", context, context_just, context_not},
    {"context-shifts", shifts, shifts_just, shifts_not},
    {"cpu-library", library, library_just, library_not},
    {"engine-build", unoptimised, sanitized, not_proved},
    {"weights-not-repacked", no_repack, no_repack_just, no_repack_not},
    {"flash-attention-off", flash, flash_just, flash_not},
    {"kv-reads", kv, kv_just, kv_not},
    {"wide-weights", wide, wide_just, wide_not},
    {"output-layer", output, output_just, output_not},
    {"between-decodes", between, between_just, between_not},
    {"eval-callback", callback, callback_just, callback_not},
    {"decode-overhead", overhead, overhead_just, overhead_not},
    {"no-device", no_device, no_device, hardware},
    {"software-device", software, software, hardware},
    {"device-splits", splits, splits_just, splits_not},
    {"ops-fell-back", fallen, fallen_just, fallen_not},
    {"slow-device", slower, slower_just, slower_not},
    {"device-waits", gap, gap_just, gap_not},
    {"narrow-link", link_narrow, link_just, link_not},
    {"first-use", shaders, shaders_just, shaders_not},
};

// Advice has no option that the program lacks.
static void test_advice_in_the_words_of_the_program(void ** state) {
    static char * word = "program";
    static const struct {
        enum ggs_invocation_kind kind;
        const char *             said;
    } kinds[]                  = {{GGS_PROGRAM_LLAMA, "to keep it so: --mlock, or cat MODEL"},
                                  {GGS_PROGRAM_ENGINE, "to keep it so: cat MODEL"},
                                  {GGS_PROGRAM_PYTHON, "to keep it so: Llama(use_mlock=True), or cat MODEL"}};
    struct ggs_explain_facts f = healthy();
    (void) state;
    cold(&f);
    f.conditions.read_bytes = 150ull * MIB;
    assert_null(find(&f, "cold-cache")); // some of it may be libraries
    f.conditions.cold = true;
    assert_non_null(find(&f, "cold-cache"));
    f.program.words = &word, f.program.n = 1;
    for (unsigned i = 0; i < 3; i++) {
        f.program.kind = kinds[i].kind;
        assert_non_null(strstr(find(&f, "cold-cache")->remedy, kinds[i].said));
    }
}

// Beside other programs that fill the CPUs, a short time between decodes is a wait for a CPU.
static void test_waits_for_a_cpu_are_not_between_decodes(void ** state) {
    struct ggs_explain_facts f = healthy();
    (void) state;
    f.generate.before_ns = 4 * MS - 1, f.generate.step_ns = 4 * MS, f.between_ns = 400ull * MS;
    assert_non_null(find(&f, "between-decodes"));
    others(&f);
    assert_null(find(&f, "between-decodes"));
    f.generate.before_ns = 4 * MS;
    assert_non_null(find(&f, "between-decodes"));
    f.load = 10; // five programs for each core
    assert_null(find(&f, "between-decodes"));
    f.generate.before_ns = 20 * MS;
    assert_non_null(find(&f, "between-decodes"));
}

// What other programs cost is what was lost to them, if that was recorded.
static void test_measured_loss(void ** state) {
    (void) state;
    struct ggs_explain_facts f    = healthy();
    f.conditions.others_cpu_share = 0.85;
    assert_true(find(&f, "other-programs")->gain > 0.5); // as many CPUs as were left
    f.off_cpu = (struct ggs_off_cpu_facts){
        .recorded = true, .run_ns = 8000ull * MS, .lost_ns = 500ull * MS, .foreign_ns = 400ull * MS};
    const struct ggs_reason * reason = find(&f, "other-programs");
    assert_int_equal(reason->gain_ns, 400ull * MS);
    assert_non_null(strstr(reason->evidence, "who ran instead was not seen"));
    f.off_cpu.others_seen = true;
    strcpy(f.off_cpu.who, "cc1 80 %");
    reason = find(&f, "other-programs");
    assert_non_null(strstr(reason->evidence, "the CPU went first to cc1 80 %"));
    assert_null(strstr(reason->evidence, "not seen"));
}

// Nothing was lost to other programs: that is known.
static void test_nothing_lost(void ** state) {
    (void) state;
    struct ggs_explain_facts f = healthy();
    char                     text[64];
    others(&f);
    f.off_cpu = (struct ggs_off_cpu_facts){.recorded = true, .run_ns = 8000ull * MS};
    assert_string_equal(ggs_reason_gain(text, find(&f, "other-programs")), "less than 1 % of the token time");
    f.off_cpu.lost_ns = 4000ull * MS, f.off_cpu.foreign_ns = 10 * MS;
    assert_non_null(strstr(find(&f, "other-programs")->evidence, "for 10.0 ms of that because of"));
    f.off_cpu.run_ns = 0;
    assert_string_equal(find(&f, "other-programs")->evidence,
                        "they used 50 % of all CPU time; this program has 2 threads");
}

// Beside other programs, times of short ops say little: bytes decide.
static void test_bytes_decide(void ** state) {
    (void) state;
    struct ggs_explain_facts f = healthy();
    f.generate.kv_read         = 42000ull * MIB;
    f.generate.flash_busy_ns   = 100ull * MS;
    assert_null(find(&f, "kv-reads"));
    f.conditions.others_cpu_share = 0.8;
    assert_non_null(find(&f, "kv-reads"));
}

// Weights on the device, ops on the CPU: more layers on the device are no remedy.
static void test_splits_of_ops_that_fell_back(void ** state) {
    (void) state;
    struct ggs_explain_facts f = healthy();
    fallen(&f);
    f.generate.runs = 5000;
    assert_non_null(find(&f, "ops-fell-back"));
    assert_null(find(&f, "device-splits"));
    f.generate.weights_read = f.generate.device_read; // half of the weights are in host memory
    assert_non_null(find(&f, "device-splits"));
}

// Huge pages pay in long runs, and where the program can ask for them.
static void test_small_pages_that_cost_little(void ** state) {
    (void) state;
    struct ggs_explain_facts f = healthy();
    pages_small(&f);
    f.generate.wall_ns = f.generate.ns = 12500ull * MS;
    assert_null(find(&f, "small-pages")); // 2 ns for each byte are 1.26 s
    f.generate.wall_ns = f.generate.ns = 12600ull * MS;
    assert_non_null(find(&f, "small-pages"));
    assert_string_equal(find(&f, "small-pages")->remedy,
                        "run it under env GLIBC_TUNABLES=glibc.malloc.hugetlb=1; it takes glibc 2.35 or newer, and "
                        "loading takes longer");
    strcpy(f.pages.huge_pages, "never");
    assert_null(find(&f, "small-pages"));
    strcpy(f.pages.huge_pages, "always");
    assert_null(find(&f, "small-pages"));
}

// A recording that ends with its prompt has no later runs to compare the first with.
static void test_first_use_alone(void ** state) {
    (void) state;
    struct ggs_explain_facts f = healthy();
    shaders(&f);
    const struct ggs_reason * reason = find(&f, "first-use");
    assert_non_null(reason);
    assert_string_equal(reason->evidence,
                        "later graph runs take 10.0 ms; the driver keeps what it compiled for the next program");
    assert_false(reason->estimated);
    f.device.median_run_ns = 0;
    reason                 = find(&f, "first-use");
    assert_non_null(reason);
    assert_string_equal(reason->title, "the first use of Vulkan0 takes 1.90 s: it may compile shaders");
    assert_string_equal(reason->evidence,
                        "later graph runs are not seen; the driver keeps what it compiled for the next program");
    assert_true(reason->estimated);
}

static void stream_it(struct ggs_explain_facts * f) {
    f->under_stream = true;
    f->streamed     = (struct ggs_streamed_totals){.uses = 400, .bytes_read = 900ull * MIB};
}

// What is in use already is not advised, and figures are those of streaming.
static void test_streamed(void ** state) {
    (void) state;
    struct ggs_explain_facts f    = healthy();
    f.conditions.memory_limit     = 102ull * MIB;
    f.conditions.read_bytes       = 700ull * MIB;
    f.faults_in_ops               = (struct ggs_fault_sum){.major = 913, .minor = 82, .stalled_ns = 500ull * MS};
    const struct ggs_reason * got = find(&f, "page-waits");
    assert_non_null(strstr(got->remedy, "ggscope stream"));
    // Under ggscope stream, which found too little memory to stream with.
    f.under_stream = true;
    got            = find(&f, "page-waits");
    assert_null(strstr(got->remedy, "ggscope stream"));
    assert_non_null(strstr(got->evidence, "streamed nothing"));
    stream_it(&f);
    f.streamed.waits = 49, f.streamed.wait_ns = 700ull * MS;
    got = find(&f, "page-waits");
    assert_string_equal(got->title, "ops wait for weights that ggscope stream reads: a limit of 102 MiB");
    assert_string_equal(got->evidence,
                        "waited 700 ms for 49 weights, stalled 500 ms in 995 page faults; 700 MiB read from disk");
    assert_null(strstr(got->remedy, "stream"));
    assert_int_equal(got->gain_ns, 1200ull * MS);
    f.faults_in_ops = (struct ggs_fault_sum){0}; // waits alone are enough
    assert_int_equal(find(&f, "page-waits")->gain_ns, 700ull * MS);
    f.streamed.wait_ns = 197ull * MS;
    assert_null(find(&f, "page-waits"));
    // Streaming reads from the disk each time, ahead by itself, and repacks nothing.
    static const struct {
        const char * name;
        void (*has)(struct ggs_explain_facts * f);
    } others_too[] = {{"cold-cache", cold}, {"small-readahead", readahead}, {"weights-not-repacked", no_repack}};
    for (size_t i = 0; i < sizeof(others_too) / sizeof(others_too[0]); i++) {
        f = healthy();
        others_too[i].has(&f);
        assert_non_null(find(&f, others_too[i].name));
        stream_it(&f);
        assert_null(find(&f, others_too[i].name));
    }
    f = healthy();
    uneven(&f);
    stream_it(&f);
    assert_non_null(find(&f, "uneven-work"));
    f.streamed.wait_ns = 1000ull * MS;
    assert_null(find(&f, "uneven-work"));
}

// Cores that other programs use are not free: threads on them would only take turns.
static void test_free_cores(void ** state) {
    (void) state;
    struct ggs_explain_facts f = healthy();
    cores_8(&f);
    f.conditions.others_cpu_share = 0.75;
    assert_null(find(&f, "too-few-threads"));
    f.conditions.others_cpu_share    = 0.5;
    const struct ggs_reason * reason = find(&f, "too-few-threads");
    assert_non_null(reason);
    assert_string_equal(reason->evidence, "2.0 cores have nothing to compute; other programs used 4.0");
    assert_string_equal(reason->settings[0].value, "4");
    assert_true(reason->timed);
    // Two contexts at a time, with two threads each.
    f.conditions.others_cpu_share = 0, f.at_once = 2;
    reason = find(&f, "too-few-threads");
    assert_string_equal(reason->evidence, "4.0 cores have nothing to compute; other programs used 0.0");
    assert_string_equal(reason->settings[0].value, "4");
    f.threads = 4;
    assert_null(find(&f, "too-few-threads"));
    f.at_once = 1;
    f.cores = f.usable_cores = 2, f.threads = 1;
    f.conditions.others_cpu_share = 0.26;
    assert_null(find(&f, "too-few-threads"));
    f.conditions.others_cpu_share = 0.25;
    reason                        = find(&f, "too-few-threads");
    assert_non_null(reason);
    assert_string_equal(reason->settings[0].value, "2");
}

static void test_healthy(void ** state) {
    (void) state;
    struct ggs_explain_facts f = healthy();
    assert_null(find(&f, ""));
    if (found.n > 0) fail_msg("a healthy run has %s", found.finding[0].name);
}

static void test_rules(void ** state) {
    (void) state;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        struct ggs_explain_facts has = healthy(), just = healthy(), not = healthy();
        rules[i].has(&has);
        rules[i].just_has(&just);
        rules[i].just_not(&not );
        const struct ggs_reason * reason = find(&has, rules[i].name);
        if (reason == NULL) fail_msg("%s is not found", rules[i].name);
        assert_string_not_equal(reason->title, "");
        assert_string_not_equal(reason->evidence, "");
        assert_string_not_equal(reason->query, "");
        assert_string_not_equal(reason->figure_of, "");
        assert_non_null(reason->remedy);
        assert_true(reason->gain >= 0 && reason->gain <= 1);
        assert_true(reason->figure == reason->figure); // no finding without a number
        if (find(&just, rules[i].name) == NULL) fail_msg("%s is not found at the border", rules[i].name);
        if (find(&not, rules[i].name) != NULL) fail_msg("%s is found below the border", rules[i].name);
    }
}

// Every row of the table has a case here.
static void test_all_rules(void ** state) {
    (void) state;
    static const char * const names[] = {
#define ROW(name_, function_) name_,
        GGS_REASONS(ROW)
#undef ROW
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        bool there = false;
        for (size_t k = 0; k < sizeof(rules) / sizeof(rules[0]); k++) there |= strcmp(rules[k].name, names[i]) == 0;
        if (!there) fail_msg("%s has no case", names[i]);
    }
}

static void test_order(void ** state) {
    (void) state;
    struct ggs_explain_facts f = healthy();
    pieces_8(&f);
    threads_8(&f);
    others(&f);
    context(&f);
    find(&f, "");
    assert_true(found.n >= 4);
    assert_string_equal(found.finding[0].name, "other-programs");
    assert_true(found.distorted);
    for (unsigned i = 2; i < found.n; i++) assert_true(found.finding[i - 1].gain_ns >= found.finding[i].gain_ns);
    assert_string_equal(found.finding[found.n - 1].name, "context-unused");
    assert_true(ggs_explanation_most(&found) > 0.5);
}

// A recording that ends before its first token has no time that a gain is a share of.
static void test_unseen(void ** state) {
    (void) state;
    struct ggs_explain_facts f = healthy();
    char                     text[64];
    others(&f);
    assert_string_equal(ggs_reason_gain(text, find(&f, "other-programs")), "up to 50 % of the token time");
    f.prompt = f.generate = (struct ggs_phase_facts){0};
    f.between_ns          = 0;
    cold(&f);
    for (unsigned i = 0; i < 2; i++) {
        f.off_cpu = (struct ggs_off_cpu_facts){.recorded = i == 1, .foreign_ns = 5 * MS};
        assert_string_equal(ggs_reason_gain(text, find(&f, "other-programs")), "the token time is not seen");
        assert_string_equal(ggs_reason_gain(text, find(&f, "cold-cache")), "up to 80 % of the load");
        ggs_explain_rest(&found, &f);
        assert_non_null(strstr(found.rest, "not known"));
        for (unsigned k = 0; k < found.n; k++) assert_null(strstr(ggs_reason_gain(text, &found.finding[k]), " 0 %"));
    }
    f = healthy();
    proved(&f);
    assert_string_equal(ggs_reason_gain(text, find(&f, "distorted-times")), "gain not known");
    f = healthy();
    others(&f);
    f.off_cpu = (struct ggs_off_cpu_facts){.recorded = true, .others_seen = true, .foreign_ns = MS};
    assert_string_equal(ggs_reason_gain(text, find(&f, "other-programs")), "less than 1 % of the token time");
}

// A program without tokens has graph runs, and no options of llama.cpp.
static void test_graphs(void ** state) {
    (void) state;
    struct ggs_explain_facts f = healthy();
    char                     text[64];
    f.graphs                       = true;
    f.prompt                       = (struct ggs_phase_facts){0};
    f.generate.decodes             = 0;
    static const char * const no[] = {"kv-reads", "output-layer", "eval-callback", "decode-overhead"};
    kv(&f);
    f.generate.output_busy_ns = 2000ull * MS, f.generate.runs = 68800, f.generate.outside_ns = 10 * MS;
    for (unsigned i = 0; i < sizeof(no) / sizeof(no[0]); i++) assert_null(find(&f, no[i]));
    use_program(&f, "[\"whisper-cli\", \"-t\", \"8\"]");
    f.program.kind = GGS_PROGRAM_GRAPHS;
    threads_8(&f);
    wide(&f);
    between(&f);
    const struct ggs_reason * reason = find(&f, "threads-above-cores");
    assert_int_equal(reason->part, GGS_PART_GRAPHS);
    assert_non_null(strstr(ggs_reason_gain(text, reason), "% of the graph runs"));
    assert_string_equal(reason->remedy, "2 threads");
    assert_non_null(strstr(find(&f, "wide-weights")->remedy, "a model with fewer bits"));
    assert_null(strstr(find(&f, "wide-weights")->remedy, "quantize"));
    assert_string_equal(find(&f, "between-decodes")->title, "the program is slow between graph runs");
    ggs_invocation_release(&f.program);
}

// What other programs used may be unknown: nothing is said of it, or of waits for them.
static void test_unknown_load(void ** state) {
    (void) state;
    struct ggs_explain_facts f = healthy();
    uneven(&f);
    f.conditions.others_cpu_share = -1;
    f.load                        = 1;
    assert_null(find(&f, "uneven-work"));
    f = healthy();
    cores_8(&f);
    f.conditions.others_cpu_share    = -1;
    const struct ggs_reason * reason = find(&f, "too-few-threads");
    assert_true(reason->estimated);
    assert_string_equal(reason->evidence, "6.0 cores have nothing to compute here; what other programs used is not "
                                          "recorded, the load was 0.0");
    f.load = 8;
    assert_null(find(&f, "too-few-threads"));
    ggs_explain_rest(&found, &f);
    assert_non_null(strstr(found.rest, "; what other programs used is not recorded: the load was 8.0"));
}

// Short prompts: one that is cut, and several that are short by themselves.
static void test_short_prompts(void ** state) {
    (void) state;
    struct ggs_explain_facts f = healthy();
    f.prompt.tokens = 32, f.prompt.runs = 4;
    assert_non_null(find(&f, "small-batches"));
    f.prompt.tokens = 31;
    assert_null(find(&f, "small-batches"));
    f.prompt.tokens = 126, f.prompt.runs = f.prompt.decodes = 2, f.requests = 2;
    assert_null(find(&f, "small-batches"));
    f.prompt.tokens = 128, f.prompt.runs = 16;
    assert_non_null(find(&f, "small-batches"));
}

// ---- programs ----

static void assert_said(const char * command, enum ggs_knob knob, const char * value, const char * wanted) {
    struct ggs_invocation   program;
    struct ggs_knob_setting setting = {.knob = knob};
    struct ggs_text         text    = {0};
    strcpy(setting.value, value);
    ggs_invocation_read(&program, ggs_json_read(command, strlen(command)), (struct ggs_json_value){0});
    ggs_invocation_say(&program, &setting, &text);
    assert_string_equal(ggs_text_string(&text), wanted);
    ggs_text_release(&text);
    ggs_invocation_release(&program);
}

static void test_words(void ** state) {
    (void) state;
    assert_said("[\"/usr/bin/llama-cli\", \"-t\", \"8\"]", GGS_KNOB_THREADS, "2", "-t 2");
    assert_said("[\"llama-server\"]", GGS_KNOB_KV_TYPE, "q8_0", "-ctk q8_0 -ctv q8_0");
    assert_said("[\"llama-bench\"]", GGS_KNOB_FLASH_ATTENTION, "1", "-fa 1");
    assert_said("[\"ggscope-engine\", \"run\"]", GGS_KNOB_UBATCH, "512", "--ubatch 512");
    assert_said("[\"ggscope-engine\", \"run\", \"--no-mmap\"]", GGS_KNOB_MMAP, "", "without --no-mmap");
    assert_said("[\"node\", \"chat.mjs\"]", GGS_KNOB_THREADS, "4", "createContext({threads: 4})");
    assert_said("[\"python3.11\", \"chat.py\"]", GGS_KNOB_UBATCH, "512", "Llama(n_ubatch=512)");
    assert_said("[\"./mine\"]", GGS_KNOB_THREADS, "4", "llama_context_params.n_threads = 4");
}

static void assert_command(const char * command, const struct ggs_knob_setting * settings, unsigned n,
                           const char * wanted) {
    struct ggs_invocation program;
    struct ggs_text       text = {0};
    ggs_invocation_read(&program, ggs_json_read(command, strlen(command)), (struct ggs_json_value){0});
    ggs_invocation_command(&program, settings, n, &text);
    assert_string_equal(ggs_text_string(&text), wanted);
    ggs_text_release(&text);
    ggs_invocation_release(&program);
}

static void test_commands(void ** state) {
    (void) state;
    const struct ggs_knob_setting threads = {GGS_KNOB_THREADS, "2"}, mmap = {GGS_KNOB_MMAP, ""},
                                  stream = {GGS_KNOB_STREAM, ""};
    const struct ggs_knob_setting both[] = {threads, mmap, {GGS_KNOB_NONE, ""}};
    assert_command("[\"llama-cli\", \"-t\", \"8\", \"-p\", \"it's -t\"]", &threads, 1,
                   "llama-cli -p 'it'\\''s -t' -t 2");
    assert_command("[\"llama-cli\", \"--threads=8\", \"--no-mmap\", \"-n\", \"3\"]", both, 3, "llama-cli -n 3 -t 2");
    assert_command("[\"ggscope-engine\", \"run\"]", &stream, 1, "ggscope stream -- ggscope-engine run");
    assert_command("[\"llama-cli\", \"\"]", NULL, 0, "llama-cli ''");
}

// Options that a program of another kind has, by name.
static void test_own_options(void ** state) {
    (void) state;
    static const struct ggs_own_option own[]     = {{"threads", "--n-threads", false}, {"batch", "-b", true}};
    const struct ggs_knob_setting      both[]    = {{GGS_KNOBS, "4"}, {(enum ggs_knob)(GGS_KNOBS + 1), "a b"}};
    static const char                  command[] = "[\"python3\", \"a.py\", \"--n-threads\", \"8\", \"-b=1\"]";
    struct ggs_invocation              program;
    struct ggs_text                    text = {0};
    ggs_invocation_read(&program, ggs_json_read(command, strlen(command)), (struct ggs_json_value){0});
    program.own   = own;
    program.n_own = 2;
    assert_true(ggs_invocation_takes(&program, both, 2));
    assert_string_equal(ggs_invocation_value(&program, both[0].knob), "8");
    assert_string_equal(ggs_invocation_value(&program, both[1].knob), "1");
    ggs_invocation_command(&program, both, 2, &text);
    assert_string_equal(ggs_text_string(&text), "python3 a.py --n-threads 4 -b='a b'");
    ggs_text_release(&text);
    ggs_invocation_release(&program);
}

// Programs that start others have options of their own.
static void test_started_by_others(void ** state) {
    static const struct {
        const char *             command, *executable;
        enum ggs_invocation_kind kind;
        unsigned                 at;
    } cases[] = {
        {"[\"taskset\", \"-c\", \"0\", \"llama-cli\", \"-c\", \"99\"]", "\"/opt/llama-cli\"", GGS_PROGRAM_LLAMA, 3},
        {"[\"env\", \"A=b\", \"python3\", \"a.py\"]", "\"/usr/bin/python3.11\"", GGS_PROGRAM_PYTHON, 2},
        {"[\"nice\", \"-n\", \"3\", \"./ggscope-engine\", \"run\"]", "\"/x/ggscope-engine\"", GGS_PROGRAM_ENGINE, 3},
        {"[\"./mine\", \"-m\", \"llama-7b.gguf\"]", "\"/x/mine\"", GGS_PROGRAM_OTHER, 0},
        {"[\"./start.sh\"]", "\"/opt/llama-cli\"", GGS_PROGRAM_OTHER, 0},
    };
    const struct ggs_knob_setting context = {GGS_KNOB_CONTEXT, "512"};
    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ggs_invocation program;
        ggs_invocation_read(&program, ggs_json_read(cases[i].command, strlen(cases[i].command)),
                            ggs_json_read(cases[i].executable, strlen(cases[i].executable)));
        assert_int_equal(program.kind, cases[i].kind);
        assert_int_equal(program.at, cases[i].at);
        if (i == 0) {
            struct ggs_text text = {0};
            assert_string_equal(ggs_invocation_value(&program, GGS_KNOB_CONTEXT), "99");
            ggs_invocation_command(&program, &context, 1, &text);
            assert_string_equal(ggs_text_string(&text), "taskset -c 0 llama-cli -c 512");
            ggs_text_release(&text);
        }
        ggs_invocation_release(&program);
    }
}

// What to try is what the program has not, and what makes a difference.
static void test_remedies_that_the_program_needs(void ** state) {
    struct ggs_explain_facts f = healthy();
    (void) state;
    threads_8(&f);
    use_program(&f, "[\"llama-cli\", \"-t\", \"2\", \"-tb\", \"8\"]");
    assert_string_equal(find(&f, "threads-above-cores")->remedy, "-tb 2");
    use_program(&f, "[\"llama-cli\", \"-t\", \"8\", \"-tb\", \"8\"]");
    assert_string_equal(find(&f, "threads-above-cores")->remedy, "-t 2 -tb 2");
    no_repack(&f);
    assert_non_null(strstr(find(&f, "weights-not-repacked")->remedy, "an engine whose CPU library repacks q4_K"));
    kv(&f);
    strcpy(f.kv_type, "f16");
    assert_non_null(strstr(find(&f, "kv-reads")->remedy, "-ctk q8_0 -ctv q8_0; "));
    strcpy(f.kv_type, "q8_0");
    assert_non_null(strstr(find(&f, "kv-reads")->remedy, "-ctk q4_0 -ctv q4_0; "));
    strcpy(f.kv_type, "q4_0");
    assert_null(find(&f, "kv-reads"));
    no_mmap(&f);
    assert_string_equal(find(&f, "no-mmap")->remedy,
                        "no option or variable that turns mmap off: --direct-io, LLAMA_ARG_NO_MMAP");
    use_program(&f, "[\"llama-cli\", \"--no-mmap\"]");
    assert_string_equal(find(&f, "no-mmap")->remedy, "without --no-mmap");
    drafts(&f);
    assert_null(strstr(find(&f, "drafts-cost")->remedy, "-md"));
    flash(&f);
    assert_string_equal(find(&f, "flash-attention-off")->remedy, "-fa on");
    f.old = true;
    assert_non_null(strstr(find(&f, "flash-attention-off")->remedy, "-fa: a switch in this release"));
    pieces_8(&f);
    f.prompt.decodes = 64;
    use_program(&f, "[\"node\", \"a.mjs\"]");
    assert_string_equal(find(&f, "small-batches")->remedy, "createContext({batchSize: 512})");
    slot(&f);
    assert_non_null(find(&f, "one-slot"));
    use_program(&f, "[\"llama-bench\"]");
    assert_null(find(&f, "one-slot"));
    outputs(&f);
    assert_non_null(find(&f, "prompt-outputs"));
    f.outputs_needed = 512; // perplexity, embeddings
    assert_null(find(&f, "prompt-outputs"));
    ggs_invocation_release(&f.program);
}

// A context that is divided between slots has to be large enough for the longest request in each.
static void test_context_of_slots(void ** state) {
    struct ggs_explain_facts f = healthy();
    (void) state;
    context(&f);
    f.positions = 2000, f.positions_each = 500, f.kv_streams = 4;
    const struct ggs_reason * reason = find(&f, "context-unused");
    assert_string_equal(reason->settings[0].value, "4096");
    assert_int_equal((int) reason->figure, 2000);
    f.kv_streams = 1; // shared by all
    assert_string_equal(find(&f, "context-unused")->settings[0].value, "4096");
    f.positions = 500;
    assert_string_equal(find(&f, "context-unused")->settings[0].value, "1024");
}

// What the command line sets is what to change.
static void test_remedies_for_what_was_asked(void ** state) {
    (void) state;
    struct ggs_explain_facts f = healthy();
    splits(&f);
    f.generate.expert_ns = f.generate.wall_ns / 2;
    use_program(&f, "[\"llama-cli\", \"-m\", \"a.gguf\", \"-ncmoe\", \"24\"]");
    const struct ggs_reason * reason = find(&f, "device-splits");
    assert_string_equal(reason->remedy, "-ncmoe 12; or fewer: as device memory allows");
    assert_non_null(strstr(reason->verify, "-- llama-cli -m a.gguf -ncmoe 12"));
    use_program(&f, "[\"llama-cli\", \"-m\", \"a.gguf\"]");
    assert_non_null(strstr(find(&f, "device-splits")->remedy, "fewer layers of experts on the CPU (-ncmoe N)"));
    ggs_invocation_release(&f.program);
    f = healthy();
    library(&f);
    use_program(&f, "[\"ggscope-engine\", \"run\", \"--engine\", \"x\", \"-m\", \"a.gguf\"]");
    reason = find(&f, "cpu-library");
    assert_memory_equal(reason->remedy, "without --engine; an engine folder", 33);
    assert_string_equal(reason->verify, "ggscope bench -b 'ggscope-engine run --engine x -m a.gguf' -- "
                                        "ggscope-engine run -m a.gguf");
    use_program(&f, "[\"ggscope-engine\", \"run\", \"-m\", \"a.gguf\"]");
    assert_memory_equal(find(&f, "cpu-library")->remedy, "an engine folder", 16);
    // The built-in runner has no such option.
    kv(&f);
    assert_non_null(strstr(find(&f, "kv-reads")->remedy, "in llama.cpp's programs -ctk q8_0 -ctv q8_0"));
    ggs_invocation_release(&f.program);
}

static void test_verify(void ** state) {
    (void) state;
    struct ggs_explain_facts f = healthy();
    use_program(&f, "[\"llama-cli\", \"-m\", \"a.gguf\", \"-t\", \"8\"]");
    threads_8(&f);
    assert_string_equal(find(&f, "threads-above-cores")->verify,
                        "ggscope bench -b 'llama-cli -m a.gguf -t 8' -- llama-cli -m a.gguf -t 2");
    f.conditions.memory_limit = 1000;
    assert_string_equal(find(&f, "threads-above-cores")->verify,
                        "ggscope bench --memory 1000 -b 'llama-cli -m a.gguf -t 8' -- llama-cli -m a.gguf -t 2");
    f.conditions.cold = true;
    assert_string_equal(find(&f, "threads-above-cores")->verify,
                        "ggscope bench --memory 1000 --cold -b 'llama-cli -m a.gguf -t 8' -- llama-cli -m a.gguf -t 2");
    f.conditions.memory_limit = 0, f.conditions.cold = false;
    use_program(&f, "[\"python3\", \"a.py\"]");
    assert_string_equal(find(&f, "threads-above-cores")->verify,
                        "ggscope bench -b 'python3 a.py' -- python3 a.py   # a copy with the change");
    assert_string_equal(find(&f, "threads-above-cores")->remedy, "Llama(n_threads=2)");
    // A server does not end: bench would wait for it.
    use_program(&f, "[\"llama-server\", \"-m\", \"a.gguf\", \"-t\", \"8\"]");
    assert_string_equal(find(&f, "threads-above-cores")->verify,
                        "ggscope tune --for server -- llama-server -m a.gguf -t 8");
    use_program(&f, "[\"llama-cli\", \"--hf-token\", \"(hidden)\", \"-t\", \"8\"]");
    assert_non_null(strstr(find(&f, "threads-above-cores")->verify, "   # with the hidden words put back"));
    // What no option mends is measured by another command.
    ggs_invocation_release(&f.program);
    f = healthy();
    use_program(&f, "[\"llama-cli\", \"-m\", \"a.gguf\"]");
    cold(&f);
    assert_string_equal(find(&f, "cold-cache")->verify, "ggscope sweep -o study --cold yes,no -- llama-cli -m a.gguf");
    // What lies outside of the program shows in another recording.
    others(&f);
    assert_string_equal(find(&f, "other-programs")->verify,
                        "ggscope record -o once-more -- llama-cli -m a.gguf && ggscope explain once-more");
    use_program(&f, "[\"llama-server\", \"-m\", \"a.gguf\"]");
    assert_string_equal(find(&f, "cold-cache")->verify,
                        "ggscope record -o once-more -- llama-server -m a.gguf && ggscope explain once-more");
    ggs_invocation_release(&f.program);
}

static void test_each_finding_has_a_command_that_verifies_it(void ** state) {
    (void) state;
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        struct ggs_explain_facts f = healthy();
        rules[i].has(&f);
        assert_null(find(&f, rules[i].name)->verify); // the command line is not known
        use_program(&f, "[\"llama-cli\", \"-m\", \"m.gguf\"]");
        const char * verify = find(&f, rules[i].name)->verify;
        if (verify == NULL || strncmp(verify, "ggscope ", 8) != 0 || strstr(verify, "llama-cli -m ") == NULL)
            fail_msg("%s is verified by %s", rules[i].name, verify);
        ggs_invocation_release(&f.program);
    }
}

// ---- figures of a recording ----

struct gathered {
    struct ggs_trace         trace;
    struct ggs_totals        totals;
    struct ggs_explain_facts facts;
};

// Ends the recording and gathers its figures, which live until `release`.
static const struct ggs_explain_facts * gather(struct gathered * g, struct recording * r) {
    recording_done(r, &g->trace);
    assert_int_equal(ggs_totals_compute(&g->totals, &g->trace, &ggs_totals_all, &error), 0);
    assert_int_equal(ggs_explain_facts_gather(&g->facts, &g->trace, &g->totals, &error), 0);
    return &g->facts;
}

static void release(struct gathered * g, struct recording * r) {
    ggs_explain_facts_release(&g->facts);
    ggs_totals_release(&g->totals);
    recording_close(r, &g->trace);
}

static void test_gather(void ** state) {
    (void) state;
    struct recording r;
    struct gathered  g;
    small_recording(&r);
    for (int i = 0; i < 3; i++)
        recording_row(&r, GGS_TABLE_TOKENS,
                      &(struct ggs_token){.step = i / 2, .index = i % 2, .token = 3, .position = i, .output = i > 0});
    const struct ggs_explain_facts * f = gather(&g, &r);
    assert_int_equal(f->threads, 2);
    assert_int_equal(f->prompt.steps, 1);
    assert_int_equal(f->prompt.tokens, 2);
    assert_int_equal(f->prompt.outputs, 1);
    assert_int_equal(f->generate.steps, 1);
    assert_int_equal(f->generate.step_ns, SMALL_RUN_NS);
    assert_int_equal(f->generate.before_ns, SMALL_APART - SMALL_RUN_NS);
    assert_int_equal(f->prompt.wall_ns, 4 * 65);
    assert_int_equal(f->positions, 3);
    assert_string_equal(f->type, "f32");
    assert_int_equal(f->wide_bytes, f->weight_bytes);
    release(&g, &r);
}

// What other programs take of the time between decodes is not the program's.
static void test_preempted_between_decodes(void ** state) {
    (void) state;
    struct recording r;
    struct gathered  g;
    small_recording(&r);
    struct ggs_off_cpu span = {.begin_ns    = SMALL_BEGIN + SMALL_RUN_NS + 10,
                               .duration_ns = 100,
                               .kind        = GGS_OFF_CPU_PREEMPTED,
                               .other       = GGS_OTHER_PROGRAM};
    recording_row(&r, GGS_TABLE_OFF_CPU, &span);
    span.begin_ns += 200, span.other = GGS_OTHER_OWN; // its own threads
    recording_row(&r, GGS_TABLE_OFF_CPU, &span);
    span.begin_ns += 100, span.kind = GGS_OFF_CPU_BLOCKED; // it sleeps
    recording_row(&r, GGS_TABLE_OFF_CPU, &span);
    const struct ggs_explain_facts * f = gather(&g, &r);
    assert_int_equal(f->generate.before_ns, SMALL_APART - SMALL_RUN_NS - 100);
    release(&g, &r);
}

// The same prompt twice in one sequence, but for its first token.
static void test_again(void ** state) {
    (void) state;
    struct recording r;
    struct gathered  g;
    small_recording(&r);
    recording_step(&r, 2, GGS_PHASE_PROMPT, 2, 5000, 6000, 40);
    recording_step(&r, 3, GGS_PHASE_PROMPT, 2, 7000, 8000, 40);
    for (int step = 2; step < 4; step++)
        for (int i = 0; i < 40; i++)
            recording_row(&r, GGS_TABLE_TOKENS,
                          &(struct ggs_token){
                              .step = step, .index = (uint64_t) i, .token = i == 0 ? 100 + step : i, .position = i});
    const struct ggs_explain_facts * f = gather(&g, &r);
    assert_int_equal(f->requests_again, 1);
    assert_int_equal(f->prompt_again, 39);
    assert_int_equal(f->prompt_of, 40);
    assert_int_equal(f->first_difference, 0);
    release(&g, &r);
}

// Weights beside other memory in one mapping, a mapped model on two nodes, lanes of two links, and
// a repacked copy.
static void test_memory(void ** state) {
    (void) state;
    static const char text[] =
        "{\"conditions\": {\"memory\": {\"huge_pages\": \"madvise\", \"mappings\": ["
        "{\"start\": 1048576, \"bytes\": 400000000, \"resident_bytes\": 300000000, \"huge_bytes\": 30000000, "
        "\"swapped_bytes\": 7}, {\"start\": 9000000000, \"bytes\": 2000, \"resident_bytes\": 1000, \"huge_bytes\": 0, "
        "\"swapped_bytes\": 0, \"node_bytes\": [900, 100]}]}, "
        "\"links\": [{\"lanes\": 16, \"most_lanes\": 16}, {\"lanes\": 4, \"most_lanes\": 16}, {\"device\": \"x\"}]}, "
        "\"engine\": {\"optimised\": \"no\"}}";
    struct recording r;
    struct gathered  g;
    small_recording(&r);
    recording_row(&r, GGS_TABLE_EXPERIMENT, &(struct ggs_experiment){text, sizeof(text) - 1});
    struct ggs_buffer own = {.buffer  = ++r.n_buffers,
                             .address = 2097152,
                             .size    = 150000000,
                             .class_  = GGS_CLASS_WEIGHTS,
                             .end_ns  = -1,
                             .type    = recording_string(&r, "CPU_REPACK")};
    recording_row(&r, GGS_TABLE_BUFFERS, &own);
    struct ggs_buffer mapped = own;
    mapped.buffer = ++r.n_buffers, mapped.address = 9000000000, mapped.size = 2000, mapped.file = 1;
    recording_row(&r, GGS_TABLE_BUFFERS, &mapped);
    recording_row(&r, GGS_TABLE_TRANSFERS,
                  &(struct ggs_transfer){
                      .kind = GGS_TRANSFER_SET, .to_buffer = own.buffer, .bytes = 150000000, .duration_ns = 77});
    const struct ggs_explain_facts * f = gather(&g, &r);
    assert_true(f->pages.recorded);
    assert_int_equal(f->pages.resident, 300001000);
    assert_int_equal(f->pages.swapped, 7);
    assert_int_equal(f->pages.weights, 150001000);
    assert_int_equal(f->pages.nodes, 2);
    assert_int_equal(f->pages.node[0], 900);
    assert_int_equal(f->pages.copied, 150000000); // a tenth of its mapping is in huge pages
    assert_int_equal(f->pages.copied_small, 135000000);
    assert_string_equal(f->pages.huge_pages, "madvise");
    assert_int_equal(f->device.lanes, 4);
    assert_int_equal(f->device.most_lanes, 16);
    assert_true(f->unoptimised);
    assert_int_equal(f->repack_ns, 77);
    assert_int_equal(f->repack_bytes, 150000000);
    release(&g, &r);
}

static int end(void ** state) {
    (void) state;
    ggs_explanation_release(&found);
    return 0;
}

// What each rule says of the figures above, for docs/explain.md: name, title, part, share, bytes,
// evidence, remedy and query, divided by tabs.
static int print_examples(void) {
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        struct ggs_explain_facts f = healthy();
        use_program(&f, "[\"llama-cli\", \"-m\", \"m.gguf\", \"--no-mmap\", \"--no-repack\", \"-md\", \"d.gguf\", "
                        "\"-ngl\", \"99\"]");
        if (strcmp(rules[i].name, "eval-callback") == 0)
            use_program(&f, "[\"ggscope-engine\", \"run\", \"-m\", \"m.gguf\", \"--eval-callback\"]");
        rules[i].has(&f);
        const struct ggs_reason * r = find(&f, rules[i].name);
        if (r == NULL) return 1;
        printf("%s\t%s\t%s\t%.4f\t%llu\t%s\t%s\t%s\n", r->name, r->title, ggs_reason_part_name(r->part), r->gain,
               (unsigned long long) r->gain_bytes, r->evidence, r->remedy, r->query);
        ggs_invocation_release(&f.program);
    }
    ggs_explanation_release(&found);
    return 0;
}

int main(int argc, char ** argv) {
    if (argc == 2 && strcmp(argv[1], "examples") == 0) return print_examples();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_measured_loss),
        cmocka_unit_test(test_advice_in_the_words_of_the_program),
        cmocka_unit_test(test_waits_for_a_cpu_are_not_between_decodes),
        cmocka_unit_test(test_bytes_decide),
        cmocka_unit_test(test_all_rules),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_commands),
        cmocka_unit_test(test_remedies_for_what_was_asked),
        cmocka_unit_test(test_verify),
        cmocka_unit_test(test_each_finding_has_a_command_that_verifies_it),
        cmocka_unit_test(test_nothing_lost),
        cmocka_unit_test(test_graphs),
        cmocka_unit_test(test_unknown_load),
        cmocka_unit_test(test_started_by_others),
        cmocka_unit_test(test_remedies_that_the_program_needs),
        cmocka_unit_test(test_context_of_slots),
        cmocka_unit_test(test_own_options),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_preempted_between_decodes),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_unseen),
        cmocka_unit_test(test_short_prompts),
        cmocka_unit_test(test_free_cores),
        cmocka_unit_test(test_streamed),
        cmocka_unit_test(test_splits_of_ops_that_fell_back),
        cmocka_unit_test(test_small_pages_that_cost_little),
        cmocka_unit_test(test_first_use_alone),
    };
    return cmocka_run_group_tests_name("explain", tests, NULL, end);
}
