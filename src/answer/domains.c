#include "answer/domains.h"

#include "answer/fields.h"
#include "base/uuid.h"

// ---- the domains ----

struct domain {
    const struct ggs_domains_answer * answer;
    unsigned                          i;
};

GGS_GET_TEXT(path_of, struct domain, it->answer->paths[it->i])
GGS_GET_TEXT(id_of, struct domain, ggs_uuid_format(room, ggs_reader_uuid(it->answer->traces[it->i].reader)))
GGS_GET(int64_t, tokens_of, struct domain, (int64_t) it->answer->domains->tokens[it->i])
GGS_GET(int64_t, specialists_of, struct domain, (int64_t) it->answer->domains->specialists[it->i])
GGS_GET(double, entropy_of, struct domain, it->answer->domains->entropy[it->i])

static const struct ggs_field domain_fields[] = {
    GGS_TEXT("path", path_of, "of its recording, as it was given"),
    GGS_TEXT("experiment_id", id_of, ""),
    GGS_COUNT("tokens", tokens_of, ""),
    GGS_REAL_OR_NULL("entropy", entropy_of, "bits, mean over layers; null: no choice was recorded"),
    GGS_COUNT("specialists", specialists_of, "experts of all layers"),
    {0},
};
static const struct ggs_object domain = {.fields = domain_fields};

static const void * next_domain(const void * at, const void * context, uint64_t * i, void * room) {
    const struct ggs_domains_answer * answer = at;
    (void) context;
    if (*i == answer->domains->n) return NULL;
    *(struct domain *) room = (struct domain){answer, (unsigned) (*i)++};
    return room;
}

// ---- layers ----

struct shares {
    const double * list;
    uint64_t       n;
};
static const struct ggs_field  shares_fields[] = {GGS_LIST(struct shares, list, n, "shares", "by expert"), {0}};
static const struct ggs_object shares          = {.fields = shares_fields};

static const void * next_shares(const void * at, const void * context, uint64_t * i, void * room) {
    const struct ggs_domains_layer * layer = at;
    (void) context;
    if (*i == layer->n) return NULL;
    *(struct shares *) room = (struct shares){layer->shares + *i * layer->experts, layer->experts};
    (*i)++;
    return room;
}

#define LAYER(member, key, ...) GGS_FIELD(struct ggs_domains_layer, member, key, __VA_ARGS__)

static const struct ggs_field layer_fields[] = {
    LAYER(layer, "layer"),
    LAYER(experts, "experts"),
    GGS_EACH("domains", next_shares, &shares, "the part of its choices that falls on each expert"),
    GGS_LIST(struct ggs_domains_layer, choices, n, "choices", "by domain", .inside = true),
    GGS_LIST(struct ggs_domains_layer, entropy, n, "entropy", "by domain, in bits", .inside = true, .or_null = true),
    GGS_FIELD_OR_NULL(struct ggs_domains_layer, overlap, "overlap", "mean over pairs of domains"),
    LAYER(specialists, "specialists", "experts"),
    {0},
};
static const struct ggs_object layer = {.fields = layer_fields};

// ---- pairs and specialists ----

#define PAIR(member, key, ...) GGS_FIELD(struct ggs_domains_pair, member, key, __VA_ARGS__)
static const struct ggs_field pair_fields[] = {
    PAIR(a, "a", "domain, from 0"),
    PAIR(b, "b", "domain, from 0"),
    GGS_FIELD_OR_NULL(struct ggs_domains_pair, overlap, "overlap",
                      "share of choices in common, mean over layers: 1 if both choose alike"),
    {0},
};
static const struct ggs_object pair = {.fields = pair_fields};

#define SPECIALIST(member, key, ...) GGS_FIELD(struct ggs_specialist, member, key, __VA_ARGS__)
static const struct ggs_field specialist_fields[] = {
    SPECIALIST(layer, "layer"),
    SPECIALIST(expert, "expert"),
    SPECIALIST(domain, "domain", "from 0"),
    SPECIALIST(share, "share", "of the choices of its layer in that domain"),
    SPECIALIST(next, "next", "its largest share in any other domain"),
    {0},
};
static const struct ggs_object specialist = {.fields = specialist_fields};

static const struct ggs_field rest_fields[] = {
    GGS_ROWS(struct ggs_domains, pairs, n_pairs, "pairs", &pair, "pairs of domains", .inside = true),
    GGS_ROWS(struct ggs_domains, list, n_list, "specialists", &specialist,
             "experts with at least twice the share in one domain that they have in any other, largest share first"),
    GGS_ROWS(struct ggs_domains, layers, n_layers, "by_layer", &layer),
    {0},
};
static const struct ggs_object rest = {.fields = rest_fields};

GGS_GET_VIEW(domains_of, struct ggs_domains_answer, it->domains)

static const struct ggs_field fields[] = {
    GGS_EACH("domains", next_domain, &domain),
    GGS_MEMBERS_VIEW(domains_of, &rest),
    {0},
};
const struct ggs_object ggs_domains_object = {.name   = "Domains",
                                              .text   = "Which experts several recordings of one model choose.",
                                              .fields = fields,
                                              .lines  = true};
