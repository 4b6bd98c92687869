// Facts from experiment.json and the tables of tensors and buffers.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/explain/facts.h"
#include "gguf/gguf-name.h"

static uint64_t number(struct ggs_json_value object, const char * key) {
    uint64_t value = 0;
    ggs_json_to_u64(ggs_json_member(object, key), &value);
    return value;
}

static double real(struct ggs_json_value object, const char * key) {
    struct ggs_json_value member = ggs_json_member(object, key);
    double                value  = ggs_json_is_there(member) ? strtod(member.at, NULL) : 0;
    return value > 0 ? value : 0;
}

static void add_quota(struct ggs_explain_facts * facts, struct ggs_json_value cpu) {
    uint64_t quota = number(cpu, "quota_ns"), period = number(cpu, "quota_period_ns");
    facts->quota             = quota > 0 && period > 0 ? (double) quota / (double) period : 0;
    facts->periods           = number(cpu, "quota_periods");
    facts->throttled_periods = number(cpu, "throttled_periods");
    facts->throttled_ns      = number(cpu, "throttled_ns");
}

static void add_engine(struct ggs_explain_facts * facts, struct ggs_json_value engine) {
    char optimised[8] = "", version[32] = "";
    ggs_json_to_buffer(ggs_json_member(engine, "cpu_library"), facts->cpu_library, sizeof(facts->cpu_library));
    ggs_json_to_buffer(ggs_json_member(engine, "sanitizer"), facts->sanitizer, sizeof(facts->sanitizer));
    ggs_json_to_buffer(ggs_json_member(engine, "optimised"), optimised, sizeof(optimised));
    facts->unoptimised = strcmp(optimised, "no") == 0;
    ggs_json_to_buffer(ggs_json_member(engine, "ggml_version"), version, sizeof(version));
    facts->old = strcmp(version, "unknown") == 0;
}

// Scripts have the arguments of a binding only if they use it: its folder holds the libraries.
static void check_binding(struct ggs_invocation * program, struct ggs_json_value libraries) {
    const char *          folder  = program->kind == GGS_PROGRAM_NODE     ? "node-llama-cpp"
                                    : program->kind == GGS_PROGRAM_PYTHON ? "llama_cpp"
                                                                          : NULL;
    struct ggs_json_value library = {0};
    bool                  found = false, any = false;
    char                  path[4096];
    while (folder != NULL && ggs_json_next(libraries, &library)) {
        any = true;
        ggs_json_to_buffer(ggs_json_member(library, "path"), path, sizeof(path));
        found |= strstr(path, folder) != NULL;
    }
    if (any && !found) program->kind = GGS_PROGRAM_OTHER;
}

// Which device has which link is not known: the narrowest one counts.
static void add_links(struct ggs_device_facts * device, struct ggs_json_value links) {
    struct ggs_json_value link = {0};
    while (ggs_json_next(links, &link)) {
        uint64_t lanes = number(link, "lanes"), most = number(link, "most_lanes");
        if (lanes == 0 || most == 0 || (device->lanes > 0 && lanes * device->most_lanes >= device->lanes * most))
            continue;
        device->lanes      = lanes;
        device->most_lanes = most;
    }
}

void ggs_explain_facts_experiment(struct ggs_explain_facts * facts, struct ggs_trace * trace) {
    const char *          text = ggs_reader_experiment(trace->reader);
    struct ggs_json_value root = ggs_json_read(text, strlen(text)), host = ggs_json_member(root, "host");
    struct ggs_json_value conditions = ggs_json_member(root, "conditions");
    struct ggs_json_value memory = ggs_json_member(conditions, "memory"), cpu = ggs_json_member(conditions, "cpu");
    struct ggs_limits     limits;
    facts->cores            = number(host, "cores");
    facts->usable_cores     = number(host, "usable_cores");
    facts->memory_bytes     = number(host, "memory_bytes");
    facts->threads_per_core = number(cpu, "threads_per_core");
    facts->load             = real(conditions, "load_begin");
    facts->available_bytes  = number(memory, "available_bytes");
    facts->available_end    = number(memory, "available_bytes_end");
    facts->stall_known      = ggs_json_to_u64(ggs_json_member(memory, "stall_ns"), &facts->stall_ns);
    facts->readahead        = number(ggs_json_member(conditions, "storage"), "readahead_bytes");
    facts->disk_sequential  = number(ggs_json_member(conditions, "storage"), "sequential_bytes_per_s");
    add_quota(facts, cpu);
    add_engine(facts, ggs_json_member(root, "engine"));
    add_links(&facts->device, ggs_json_member(conditions, "links"));
    ggs_json_to_buffer(ggs_json_member(cpu, "flags"), facts->flags, sizeof(facts->flags));
    ggs_limits_read(&limits, ggs_json_member(host, "limits"));
    facts->rates     = ggs_limits_of(&limits, facts->threads);
    facts->all_rates = ggs_limits_of(&limits, facts->usable_cores);
    ggs_invocation_read(&facts->program, ggs_json_member(root, "command"), ggs_json_member(root, "executable"));
    check_binding(&facts->program, ggs_json_member(ggs_json_member(root, "engine"), "libraries"));
    if (facts->graphs) facts->program.kind = GGS_PROGRAM_GRAPHS;
    facts->under_stream = ggs_json_is_true(ggs_json_member(ggs_json_member(root, "settings"), "stream"));
    const char * layers = ggs_invocation_value(&facts->program, GGS_KNOB_GPU_LAYERS);
    facts->wants_device = layers != NULL && strtol(layers, NULL, 10) != 0;
}

// ---- the model ----

struct by_type {
    uint64_t bytes[64], elements;
    double   bits;
};

static bool is_wide(const char * type) {
    return strcmp(type, "f16") == 0 || strcmp(type, "bf16") == 0 || strcmp(type, "f32") == 0;
}

static void add_weight(struct ggs_explain_facts * facts, struct ggs_trace * trace, const struct ggs_tensor * t,
                       struct by_type * types) {
    const char *    name   = ggs_reader_string(trace->reader, t->name);
    struct ggs_name parsed = ggs_name_parse(name, strlen(name));
    uint64_t        bytes = ggs_trace_extent(trace, t), elements = 1;
    const char *    type = t->type < trace->n_types ? ggs_reader_string(trace->reader, trace->types[t->type].name) : "";
    for (unsigned i = 0; i < 4; i++) elements *= t->ne[i] > 0 && t->ne[i] < 1 << 24 ? (uint64_t) t->ne[i] : 1;
    if (parsed.category == GGS_CATEGORY_OUTPUT && t->ne[1] > 1)
        snprintf(facts->output_type, sizeof(facts->output_type), "%s", type);
    // Embeddings are read by rows; norms and biases are small whatever their type.
    if (parsed.category == GGS_CATEGORY_INPUT || t->ne[1] <= 1 || bytes == 0) return;
    facts->weight_bytes += bytes;
    if (is_wide(type)) facts->wide_bytes += bytes;
    types->elements += elements;
    types->bits += 8 * (double) bytes;
    if (t->type >= 64) return;
    types->bytes[t->type] += bytes;
}

// Layers with a sliding window have fewer cells. Old releases have keys in one row: the number of
// cells is then not known.
static void add_cache(struct ggs_explain_facts * facts, struct ggs_trace * trace, const struct ggs_tensor * t) {
    uint64_t streams = t->ne[2] > 0 && t->ne[2] <= 1 << 16 ? (uint64_t) t->ne[2] : 1;
    uint64_t cells   = t->ne[1] > 1 && t->ne[1] <= 1 << 30 ? (uint64_t) t->ne[1] * streams : 0;
    if (t->type < trace->n_types)
        snprintf(facts->kv_type, sizeof(facts->kv_type), "%s",
                 ggs_reader_string(trace->reader, trace->types[t->type].name));
    if (cells <= facts->kv_cells) return;
    facts->kv_cells   = cells;
    facts->kv_streams = streams;
}

void ggs_explain_facts_model(struct ggs_explain_facts * facts, struct ggs_trace * trace,
                             const struct ggs_totals * totals) {
    struct by_type types = {0};
    uint64_t       file, offset, most = 0;
    for (uint64_t i = 0; i < trace->n_tensors; i++) {
        const struct ggs_tensor * t    = &trace->tensors[i];
        const char *              name = ggs_reader_string(trace->reader, t->name);
        if (t->view == 0 && ggs_trace_origin(t, &file, &offset)) add_weight(facts, trace, t, &types);
        if (t->view == 0 && strncmp(name, "cache_k_l", 9) == 0) add_cache(facts, trace, t);
    }
    for (uint64_t i = 0; i < 64 && i < trace->n_types; i++) {
        if (types.bytes[i] <= most) continue;
        most = types.bytes[i];
        snprintf(facts->type, sizeof(facts->type), "%s", ggs_reader_string(trace->reader, trace->types[i].name));
    }
    facts->weight_bits = types.elements > 0 ? types.bits / (double) types.elements : 0;
    for (uint64_t i = 0; i < trace->n_buffers; i++)
        if (trace->buffers[i].class_ == GGS_CLASS_KV) facts->kv_bytes += trace->buffers[i].size;
    for (unsigned i = 0; i < totals->places.n; i++)
        facts->repacked |=
            strstr(totals->places.buffer[i], "REPACK") != NULL || strcmp(totals->places.buffer[i], "AMX") == 0;
}
