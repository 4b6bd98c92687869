#include "answer/explain.h"

#include <math.h>

#include "answer/answer.h"

GGS_GET(int64_t, bytes_of, struct ggs_reason, it->part == GGS_PART_MEMORY ? (int64_t) it->gain_bytes : -1)
GGS_GET(int64_t, ns_of, struct ggs_reason, it->gain_ns == 0 ? -1 : (int64_t) it->gain_ns)
GGS_GET(double, share_of, struct ggs_reason, it->gain_ns == 0 ? NAN : it->gain)

#define FINDING(member, key, ...) GGS_FIELD(struct ggs_reason, member, key, __VA_ARGS__)

static const struct ggs_field finding_fields[] = {
    FINDING(name, "name", "of the cause: docs/explain.md has all of them"),
    FINDING(title, "title"),
    FINDING(condition, "condition", "it is about the machine: it distorts the times of all other findings"),
    FINDING(timed, "timed", "it rests on times of this recording, not on its structure"),
    GGS_FIELD_WORD(
        struct ggs_reason, part, "part", ggs_reason_part_name,
        "what the gain is a share of: load, prompt, generation, tokens, graphs (of a program without tokens) or memory"),
    GGS_REAL_OR_NULL("gain", share_of,
                     "at most, of the time of its part, from 0 to 1; null if not known, and for memory", .least = 0,
                     .most = 1),
    GGS_NATURAL("gain_ns", ns_of, "the same as time"),
    GGS_NATURAL("gain_bytes", bytes_of, "of memory; null for time"),
    FINDING(estimated, "estimated", "the bound rests on what is usual: measure"),
    GGS_FIELD_OR_NULL(struct ggs_reason, figure, "figure", "that the cause is seen by"),
    FINDING(figure_of, "figure_of", "what it counts"),
    FINDING(evidence, "evidence"),
    FINDING(query, "query", "a command that shows the same figure; DIR is the recording"),
    GGS_FIELD_OR_NULL(struct ggs_reason, remedy, "remedy", "what to try, in the words of the program that ran"),
    GGS_FIELD_OR_NULL(struct ggs_reason, verify, "verify", "a command that measures it; null if there is none"),
    {0},
};
static const struct ggs_object finding = {.name = "Finding", .fields = finding_fields};

GGS_NEXT(next_finding) {
    const struct ggs_explanation * explanation = at;
    return *i < explanation->n ? &explanation->finding[(*i)++] : NULL;
}

GGS_GET(int64_t, load_of, struct ggs_explanation, (int64_t) it->part_ns[GGS_PART_LOAD])
GGS_GET(int64_t, prompt_of, struct ggs_explanation, (int64_t) it->part_ns[GGS_PART_PROMPT])
GGS_GET(int64_t, generate_of, struct ggs_explanation, (int64_t) it->part_ns[GGS_PART_GENERATE])
GGS_GET_TEXT(program_of, struct ggs_explanation, ggs_invocation_kind_name(it->program.kind))

static const struct ggs_field fields[] = {
    GGS_ABOUT,
    GGS_TEXT("program", program_of, "program whose options the remedies use"),
    GGS_FIELD(struct ggs_explanation, distorted, "distorted",
              "a condition of the machine distorts all times: it comes first"),
    GGS_EACH("findings", next_finding, &finding, "conditions first, then by largest possible gain"),
    GGS_FIELD(struct ggs_explanation, rest, "rest", "one sentence about the time that no finding explains"),
    GGS_COUNT("load_ns", load_of, "time of all model loads"),
    GGS_COUNT("prompt_ns", prompt_of, "time of token steps that feed the prompt"),
    GGS_COUNT("generate_ns", generate_of, "time of steps that generate, with the time between them"),
    {0},
};
const struct ggs_object ggs_explanation_object = {
    .name   = "Explanation",
    .text   = "Why a recording is slow, what helps, and the command that verifies it.",
    .fields = fields,
    .lines  = true,
};
