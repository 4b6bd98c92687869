#include "answer/several.h"

#include "answer/fields.h"
#include "base/uuid.h"

// ---- recordings ----

struct side {
    const struct ggs_several_answer * answer;
    unsigned                          i;
};

GGS_GET_TEXT(label_of, struct side, (room[0] = (char) ('A' + it->i), room[1] = '\0', room))
GGS_GET_TEXT(path_of, struct side, it->answer->paths[it->i])
GGS_GET_TEXT(id_of, struct side, ggs_uuid_format(room, ggs_reader_uuid(it->answer->traces[it->i].reader)))
GGS_GET_TEXT(same_of, struct side, (room[0] = (char) ('A' + it->answer->several->group[it->i]), room[1] = '\0', room))

static const struct ggs_field side_fields[] = {
    GGS_TEXT("label", label_of, "A, B, C, ..."),
    GGS_TEXT("path", path_of, "as it was given"),
    GGS_TEXT("experiment_id", id_of, ""),
    GGS_TEXT("repeats", same_of, "label of the first recording with the same conditions; its own if it is that"),
    {0},
};
static const struct ggs_object side = {.fields = side_fields};

static const void * next_side(const void * at, const void * context, uint64_t * i, void * room) {
    const struct ggs_several_answer * answer = at;
    (void) context;
    if (*i == answer->n) return NULL;
    *(struct side *) room = (struct side){answer, (unsigned) (*i)++};
    return room;
}

// ---- conditions and figures ----

#define CONDITION(member, key, ...) GGS_FIELD(struct ggs_several_condition, member, key, __VA_ARGS__)

static const struct ggs_field condition_fields[] = {
    CONDITION(name, "condition"),
    GGS_LIST(struct ggs_several_condition, values, n, "values", "one value per recording", .inside = true),
    {0},
};
static const struct ggs_object condition = {.fields = condition_fields};

GGS_GET_TEXT(name_of, struct ggs_several_figure, it->figure->name)
GGS_GET_TEXT(unit_of, struct ggs_several_figure, it->figure->unit)

static const struct ggs_field figure_fields[] = {
    GGS_TEXT("figure", name_of, ""),
    GGS_TEXT("unit", unit_of, "ns, bytes, /s; empty for a count"),
    GGS_LIST(struct ggs_several_figure, values, n, "values", "one value per recording; null: not seen", .inside = true,
             .or_null = true),
    GGS_FIELD_OR_NULL(
        struct ggs_several_figure, noise, "noise",
        "largest difference between recordings with the same conditions / their mean; null: there are none"),
    GGS_FIELD(struct ggs_several_figure, differs, "differs", "by more than that; false for a time without repeats"),
    {0},
};
static const struct ggs_object figure = {.fields = figure_fields};

// ---- the answer ----

static const struct ggs_field several_fields[] = {
    GGS_ROWS(struct ggs_several, conditions, n_conditions, "conditions", &condition, "those that differ"),
    GGS_ROWS(struct ggs_several, figures, n_figures, "figures", &figure, "", .inside = true),
    {0},
};
static const struct ggs_object several = {.fields = several_fields};

GGS_GET_VIEW(several_of, struct ggs_several_answer, it->several)

static const struct ggs_field fields[] = {
    GGS_EACH("recordings", next_side, &side),
    GGS_MEMBERS_VIEW(several_of, &several),
    {0},
};
const struct ggs_object ggs_several_object = {
    .name = "Several", .text = "Up to twelve recordings side by side.", .fields = fields, .lines = true};
