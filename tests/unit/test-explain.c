// Unit tests of src/analyze/explain: each rule on figures that have its cause, that have not, and at
// the border; how programs are told; figures gathered from a recording made by hand.
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

// A run that is fine: 2 threads on 2 cores, a prompt of 512 tokens in one graph run, 100 tokens of 20 ms.
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
    f.positions  = 612;
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
    ggs_invocation_read(&f->program, ggs_json_read(command, strlen(command)));
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
CHANGE(threads_8, f->threads = 8, f->wait_ns = 20000ull * MS)
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
CHANGE(cold_just, f->conditions.read_bytes = 150ull * MIB, f->loading.ns = 30ull * MS)
CHANGE(cold_not, f->conditions.read_bytes = 149ull * MIB, f->loading.ns = 30ull * MS)
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
CHANGE(kv, f->generate.kv_read = 42000ull * MIB, f->generate.flash_ns = 1400ull * MS)
CHANGE(kv_just, f->generate.kv_read = 18000ull * MIB, f->generate.flash_ns = 400ull * MS)
CHANGE(kv_not, f->generate.kv_read = 17990ull * MIB, f->generate.flash_ns = 400ull * MS)
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
CHANGE(shaders, device(f, false), f->device.first_run_ns = 1900ull * MS)
CHANGE(shaders_just, device(f, false), f->device.first_run_ns = 200ull * MS)
CHANGE(shaders_not, device(f, false), f->device.first_run_ns = 200ull * MS - 1)

static const struct rule rules[] = {
    {"other-programs", others, others_just, others_not},
    {"steal", steal, steal_just, steal_not},
    {"cpu-quota", quota, quota_just, quota_not},
    {"distorted-times", proved, proved, not_proved},
    {"threads-above-cores", threads_8, threads_3, threads_2},
    {"too-few-threads", cores_8, cores_3, cores_smt},
    {"uneven-work", uneven, uneven_just, uneven_not},
    {"page-waits", stalls, stalls_just, stalls_not},
    {"cold-cache", cold, cold_just, cold_not},
    {"no-mmap", no_mmap, no_mmap_just, no_mmap_not},
    {"small-batches", pieces_8, pieces_63, pieces_64},
    {"prompt-recomputed", again, again_just, again_not},
    {"one-slot", slot, slot_just, slot_not},
    {"drafts-cost", drafts, drafts_just, drafts_not},
    {"prompt-outputs", outputs, outputs_just, outputs_not},
    {"context-unused", context, context_just, context_not},
    {"cpu-library", library, library_just, library_not},
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
    {"first-use", shaders, shaders_just, shaders_not},
};

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
    assert_non_null(strstr(reason->evidence, "instead ran cc1 80 %"));
    assert_null(strstr(reason->evidence, "not seen"));
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

// ---- programs ----

static void assert_said(const char * command, enum ggs_knob knob, const char * value, const char * wanted) {
    struct ggs_invocation   program;
    struct ggs_knob_setting setting = {.knob = knob};
    struct ggs_text         text    = {0};
    strcpy(setting.value, value);
    ggs_invocation_read(&program, ggs_json_read(command, strlen(command)));
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
    ggs_invocation_read(&program, ggs_json_read(command, strlen(command)));
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
    ggs_invocation_read(&program, ggs_json_read(command, strlen(command)));
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

static void test_verify(void ** state) {
    (void) state;
    struct ggs_explain_facts f = healthy();
    use_program(&f, "[\"llama-cli\", \"-m\", \"a.gguf\", \"-t\", \"8\"]");
    threads_8(&f);
    assert_string_equal(find(&f, "threads-above-cores")->verify,
                        "ggscope bench -b 'llama-cli -m a.gguf -t 8' -- llama-cli -m a.gguf -t 2");
    use_program(&f, "[\"python3\", \"a.py\"]");
    assert_string_equal(find(&f, "threads-above-cores")->verify,
                        "ggscope bench -b 'python3 a.py' -- python3 a.py   (a copy with the change)");
    assert_string_equal(find(&f, "threads-above-cores")->remedy, "Llama(n_threads=2)");
    // What no option mends is measured by another command.
    ggs_invocation_release(&f.program);
    f = healthy();
    use_program(&f, "[\"llama-cli\", \"-m\", \"a.gguf\"]");
    cold(&f);
    assert_string_equal(find(&f, "cold-cache")->verify, "ggscope sweep -o study --cold yes,no -- llama-cli -m a.gguf");
    ggs_invocation_release(&f.program);
}

// ---- figures of a recording ----

static void test_gather(void ** state) {
    (void) state;
    struct recording         r;
    struct ggs_trace         trace;
    struct ggs_totals        totals;
    struct ggs_explain_facts f;
    small_recording(&r);
    for (int i = 0; i < 3; i++)
        recording_row(&r, GGS_TABLE_TOKENS,
                      &(struct ggs_token){.step = i / 2, .index = i % 2, .token = 3, .position = i, .output = i > 0});
    recording_done(&r, &trace);
    assert_int_equal(ggs_totals_compute(&totals, &trace, &ggs_totals_all, &error), 0);
    assert_int_equal(ggs_explain_facts_gather(&f, &trace, &totals, &error), 0);
    assert_int_equal(f.threads, 2);
    assert_int_equal(f.prompt.steps, 1);
    assert_int_equal(f.prompt.tokens, 2);
    assert_int_equal(f.prompt.outputs, 1);
    assert_int_equal(f.generate.steps, 1);
    assert_int_equal(f.generate.step_ns, SMALL_RUN_NS);
    assert_int_equal(f.generate.before_ns, SMALL_APART - SMALL_RUN_NS);
    assert_int_equal(f.prompt.wall_ns, 4 * 65);
    assert_int_equal(f.positions, 3);
    assert_string_equal(f.type, "f32");
    assert_int_equal(f.wide_bytes, f.weight_bytes);
    ggs_explain_facts_release(&f);
    ggs_totals_release(&totals);
    recording_close(&r, &trace);
}

// The same prompt twice in one sequence, but for its first token.
static void test_again(void ** state) {
    (void) state;
    struct recording         r;
    struct ggs_trace         trace;
    struct ggs_totals        totals;
    struct ggs_explain_facts f;
    small_recording(&r);
    recording_step(&r, 2, GGS_PHASE_PROMPT, 2, 5000, 6000, 40);
    recording_step(&r, 3, GGS_PHASE_PROMPT, 2, 7000, 8000, 40);
    for (int step = 2; step < 4; step++)
        for (int i = 0; i < 40; i++)
            recording_row(&r, GGS_TABLE_TOKENS,
                          &(struct ggs_token){
                              .step = step, .index = (uint64_t) i, .token = i == 0 ? 100 + step : i, .position = i});
    recording_done(&r, &trace);
    assert_int_equal(ggs_totals_compute(&totals, &trace, &ggs_totals_all, &error), 0);
    assert_int_equal(ggs_explain_facts_gather(&f, &trace, &totals, &error), 0);
    assert_int_equal(f.requests_again, 1);
    assert_int_equal(f.prompt_again, 39);
    assert_int_equal(f.prompt_of, 40);
    assert_int_equal(f.first_difference, 0);
    ggs_explain_facts_release(&f);
    ggs_totals_release(&totals);
    recording_close(&r, &trace);
}

static int end(void ** state) {
    (void) state;
    ggs_explanation_release(&found);
    return 0;
}

// What each rule says of the figures above, for docs/explain.md: name, title, part, share, bytes,
// evidence and remedy, divided by tabs.
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
        printf("%s\t%s\t%s\t%.4f\t%llu\t%s\t%s\n", r->name, r->title, ggs_reason_part_name(r->part), r->gain,
               (unsigned long long) r->gain_bytes, r->evidence, r->remedy);
        ggs_invocation_release(&f.program);
    }
    ggs_explanation_release(&found);
    return 0;
}

int main(int argc, char ** argv) {
    if (argc == 2 && strcmp(argv[1], "examples") == 0) return print_examples();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_healthy),   cmocka_unit_test(test_rules),  cmocka_unit_test(test_measured_loss),
        cmocka_unit_test(test_all_rules), cmocka_unit_test(test_order),  cmocka_unit_test(test_words),
        cmocka_unit_test(test_commands),  cmocka_unit_test(test_verify), cmocka_unit_test(test_own_options),
        cmocka_unit_test(test_gather),    cmocka_unit_test(test_again),
    };
    return cmocka_run_group_tests_name("explain", tests, NULL, end);
}
