#include "answer/server-answers.h"

#include "base/uuid.h"

#define SERVED(member, key, ...)      GGS_FIELD(struct ggs_served, member, key, __VA_ARGS__)
#define SERVED_NULL(member, key, ...) GGS_FIELD_OR_NULL(struct ggs_served, member, key, __VA_ARGS__)

static const struct ggs_field served_fields[] = {
    SERVED(index, "index", "N in /api/x/N"),
    SERVED_NULL(id, "experiment_id", "UUID of the recording", .pattern = GGS_UUID_PATTERN),
    SERVED(name, "name"),
    SERVED(directory, "directory"),
    SERVED(state, "state"),
    SERVED(live, "live", "being recorded"),
    SERVED_NULL(error, "error", "why it cannot be shown"),
    SERVED(found, "found", "true: found below a served folder; false: named on the command line"),
    {0},
};
const struct ggs_object ggs_served_object = {
    .name = "Experiment", .text = "An experiment that is served.", .fields = served_fields, .lines = true};

static const struct ggs_field link_fields[] = {
    GGS_FIELD(struct ggs_link, path, "path", "after the server's name and port; works until the server ends"),
    GGS_FIELD(struct ggs_link, loopback, "loopback",
              "only this machine can reach the server (it listens at 127.0.0.1)"),
    {0},
};
const struct ggs_object ggs_link_object = {
    .name = "Link", .text = "A link that opens one experiment alone.", .fields = link_fields, .lines = true};

static const struct ggs_field refusal_fields[]   = {GGS_FIELD(struct ggs_refusal, error, "error", "one sentence"), {0}};
const struct ggs_object       ggs_refusal_object = {
          .name = "Refusal", .text = "Why a request was refused.", .fields = refusal_fields, .lines = true};
