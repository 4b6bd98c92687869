#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "record/recording.h"

// A recording needs at least this: the journal and the first lane take a segment each.
static const uint64_t LEAST_SIZE = 4u << 20;

static bool set_max_size(void * member, const char * text) {
    return ggs_parse_bytes(text, member) && *(uint64_t *) member >= LEAST_SIZE;
}

GGS_WORDS(gpu_ops_words, {"first:N", "until N graph runs after the first generated token, with CUDA; all with others"},
          {"all", "all of them"}, {"none", "none, on no device"})

static bool set_window(void * member, const char * text) {
    uint64_t runs;
    if (strcmp(text, "all") != 0 && strcmp(text, "none") != 0 &&
        (strncmp(text, "first:", 6) != 0 || !ggs_parse_u64(text + 6, 1, UINT32_MAX, &runs)))
        return false;
    return ggs_set_text(member, text);
}

static bool set_length(void * member, const char * text) {
    return ggs_parse_time(text, member);
}

static bool set_steps(void * member, const char * text) {
    return ggs_parse_u64(text, 1, UINT32_MAX, member);
}

GGS_WORDS(policy_words, {"stop", "stop recording (the default)"}, {"ring", "drop the oldest op runs"})

static bool set_policy(void * member, const char * text) {
    return (strcmp(text, "stop") == 0 || strcmp(text, "ring") == 0) && ggs_set_text(member, text);
}

bool ggs_set_cold(void * member, const char * text) {
    struct ggs_recording * recording = member;
    recording->cold                  = true;
    recording->cold_model            = text;
    return true;
}

static bool set_values(void * member, const char * text) {
    struct ggs_recording * recording = member;
    regex_t                pattern;
    recording->values = text == NULL ? "" : text;
    if (text == NULL || text[0] == '\0') return true;
    if (regcomp(&pattern, text, REG_EXTENDED | REG_NOSUB) != 0) return false;
    regfree(&pattern);
    return true;
}

static bool set_dump(void * member, const char * text) {
    struct ggs_recording * recording = member;
    regex_t                pattern;
    if (text[0] == '\0' || regcomp(&pattern, text, REG_EXTENDED | REG_NOSUB) != 0) return false;
    regfree(&pattern);
    recording->values_dump = text;
    if (recording->values == NULL) recording->values = text;
    return true;
}

// The last of --faults and --no-faults counts.
static bool set_faults(void * member, const char * text) {
    struct ggs_recording * recording = member;
    (void) text;
    recording->faults    = true;
    recording->no_faults = false;
    return true;
}

static bool set_no_faults(void * member, const char * text) {
    struct ggs_recording * recording = member;
    (void) text;
    recording->faults    = false;
    recording->no_faults = true;
    return true;
}

#define AT(member) offsetof(struct ggs_recording, member)
const struct ggs_option ggs_recording_options[] = {
    GGS_OPTION("output", 'o', "DIR", "Write the experiment to DIR (./experiments/<date-time>-<model>)", 0, AT(output),
               ggs_set_path, "a directory"),
    GGS_SWITCH("force", 0, "Replace an existing experiment", 0, AT(force)),
    GGS_OPTION("name", 0, "TEXT", "Name of the run in tables (that of its directory)", 0, AT(name), ggs_set_text, NULL),
    GGS_OPTION("group", 0, "TEXT", "Name of its group of runs in tables", 0, AT(group), ggs_set_text, NULL),
    GGS_OPTION("max-size", 0, "SIZE", "Record at most SIZE bytes, such as 2G (16G, or half of what is free)", 0,
               AT(max_size), set_max_size, "a size of at least 4M, such as 512M or 2G"),
    GGS_OPTION_OF("policy", 0, "POLICY", "What to do at --max-size", 0, AT(policy), set_policy, policy_words),
    GGS_SWITCH("follow", 0, "Also record programs that the program starts", 0, AT(follow)),
    GGS_OPTION("spool", 0, "DIR", "Keep the recording in DIR until it is sealed (/dev/shm if that has room)", 0,
               AT(spool), ggs_set_text, NULL),
    GGS_OPTION("engine", 0, "DIR", "Run the program with the llama.cpp libraries in DIR", 0, AT(engine), ggs_set_text,
               NULL),
    {.name    = "gpu-ops",
     .value   = "WHICH",
     .help    = "Graph runs of devices whose ops are timed (first:32)",
     .offset  = AT(gpu_ops),
     .set     = set_window,
     .expects = "first:N with N of at least 1, all or none",
     .words   = gpu_ops_words},
    GGS_SWITCH("paused", 0, "Record nothing until ggscope control DIR start, or SIGUSR2", 0, AT(paused)),
    GGS_OPTION("for", 0, "TIME", "Record for this long, such as 30s, 500ms or 2m; the program runs on", 0,
               AT(length_ns), set_length, "a time such as 30s, 500ms, 2m or 1h"),
    GGS_OPTION("steps", 0, "N", "Record N decodes (graph runs if there are none); the program runs on", 0, AT(steps),
               set_steps, "a number of at least 1"),
    GGS_OPTION("requests", 0, "N", "Record N requests of a server, which runs on", 0, AT(requests), set_steps,
               "a number of at least 1"),
    GGS_SWITCH("quiet", 'q', "No summary", 0, AT(quiet)),
    {0},
};

const struct ggs_option ggs_machine_options[] = {
    GGS_SWITCH("prove", 0,
               "Record which pages of the mapped model each op touches, for ggscope prove; distorts all times", 0,
               AT(prove)),
    GGS_OPTION("values", 0, "=REGEX",
               "Record what ops compute: NaN, range, mean, rms and hash per token, of all or of those whose OP:tensor "
               "matches",
               0, 0, set_values, "an extended regular expression, such as MUL_MAT: or ffn_out"),
    GGS_OPTION("values-every", 0, "N", "With --values: of every N-th graph only", 0, AT(values_every), set_steps,
               "a number of at least 1"),
    GGS_OPTION("values-dump", 0, "REGEX",
               "Keep whole tensors of ops whose OP:tensor matches, inputs and output, for ggscope extract", 0, 0,
               set_dump, "an extended regular expression, such as MUL_MAT:ffn_out-3"),
    GGS_SWITCH("values-unfused", 0,
               "With --values, on devices: compute and read every op by itself instead of every group that is fused", 0,
               AT(values_unfused)),
    GGS_OPTION("faults", 0, NULL, "Record page faults (the default where permitted)", 0, 0, set_faults, NULL),
    GGS_OPTION("no-faults", 0, NULL, "Do not record page faults", 0, 0, set_no_faults, NULL),
    GGS_SWITCH("residency", 0,
               "Record which pages of the model are in memory after loading, after each token and at the end", 0,
               AT(residency)),
    GGS_SWITCH("io", 0, "Record block requests to the model's disk (needs root)", 0, AT(io)),
    GGS_OPTION("memory", 0, "SIZE",
               "Limit the program's memory to SIZE bytes, or a share of the model such as 25%, page cache included", 0,
               AT(memory), ggs_set_memory, GGS_EXPECTS_MEMORY),
    GGS_OPTION("cold", 0, "=FILE", "Drop the model from the page cache first: FILE, or what the command names with -m",
               0, 0, ggs_set_cold, NULL),
    {0},
};

const char * ggs_recording_misuse(const struct ggs_recording * recording) {
    if (recording->values != NULL) return NULL;
    if (recording->values_every != 0) return "--values-every needs --values or --values-dump";
    return recording->values_unfused ? "--values-unfused needs --values or --values-dump" : NULL;
}
