#include "answer/answer.h"

static const struct ggs_field check_fields[] = {
    GGS_FIELD(struct ggs_check, name, "name"),
    GGS_FIELD_WORD(struct ggs_check, status, "result", ggs_check_word),
    GGS_FIELD(struct ggs_check, text, "text", "what was found, in numbers"),
    {0},
};
static const struct ggs_object check = {.fields = check_fields};

GGS_GET(bool, is_ok, struct ggs_checks, !it->failed)

static const struct ggs_field fields[] = {
    GGS_TEST("ok", is_ok, "nothing failed"),
    GGS_ROWS(struct ggs_checks, check, n, "checks", &check),
    {0},
};
const struct ggs_object ggs_checks_object = {
    .name = "Checks", .text = "What must hold of an experiment, and whether it does.", .fields = fields, .lines = true};
