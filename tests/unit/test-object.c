// Unit tests of base/object.h: what each kind of field writes.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/object.h"
#include "base/text.h"

struct part {
    uint64_t a, b;
};

struct thing {
    uint64_t       number, kind, yes;
    int64_t        step;
    int            layer;
    uint32_t       parts;
    uint16_t       small;
    int16_t        tiny;
    uint8_t        byte;
    bool           flag;
    double         share;
    const char *   name;
    char *         own;
    char           word[8];
    struct part    left, right;
    struct part *  list;
    uint64_t       n;
    uint64_t       counts[3];
    unsigned       n_counts;
    const char *   texts[2];
    struct thing * inner;
};

static const char * kind_word(uint64_t kind) {
    return kind == 1 ? "one" : kind == 2 ? "two" : NULL;
}

// Writes an object and compares it. The context is the text "!".
static void writes(const struct ggs_field * fields, const struct thing * thing, const char * expected) {
    const struct ggs_object object = {.fields = fields, .lines = true};
    struct ggs_text         text   = {0};
    struct ggs_json         json;
    ggs_json_init(&json, ggs_json_to_text, &text, false);
    ggs_object_write(&json, NULL, &object, thing, "!");
    assert_int_equal(ggs_json_finish(&json), 0);
    assert_string_equal(ggs_text_string(&text), expected);
    ggs_text_release(&text);
}

#define FIELD(member)   GGS_FIELD(struct thing, member, #member)
#define OR_NULL(member) GGS_FIELD_OR_NULL(struct thing, member, #member)

static void test_members(void ** state) {
    static const struct ggs_field fields[] = {FIELD(number),
                                              FIELD(step),
                                              FIELD(layer),
                                              FIELD(parts),
                                              FIELD(small),
                                              FIELD(tiny),
                                              FIELD(byte),
                                              FIELD(flag),
                                              FIELD(share),
                                              FIELD(name),
                                              FIELD(own),
                                              FIELD(word),
                                              GGS_FIELD_WORD(struct thing, kind, "kind", kind_word),
                                              GGS_FIELD_FLAG(struct thing, yes, "yes"),
                                              {0}};
    char                          own[]    = "mine";
    (void) state;
    writes(
        fields,
        &(struct thing){.number = UINT64_MAX,
                        .kind   = 2,
                        .yes    = 4,
                        .step   = -3,
                        .layer  = 5,
                        .parts  = 9,
                        .small  = 65535,
                        .tiny   = -7,
                        .byte   = 200,
                        .flag   = true,
                        .share  = 0.5,
                        .name   = "a \"b\"",
                        .own    = own,
                        .word   = "w"},
        "{\"number\":18446744073709551615,\"step\":-3,\"layer\":5,\"parts\":9,\"small\":65535,\"tiny\":-7,\"byte\":200,"
        "\"flag\":true,\"share\":0.5,\"name\":\"a \\\"b\\\"\",\"own\":\"mine\",\"word\":\"w\",\"kind\":\"two\",\"yes\":true}");
}

static void test_nulls(void ** state) {
    static const struct ggs_field fields[] = {OR_NULL(number), OR_NULL(step), OR_NULL(layer), OR_NULL(share),
                                              OR_NULL(name),   OR_NULL(own),  OR_NULL(word),  {0}};
    (void) state;
    writes(fields, &(struct thing){.step = -1, .layer = -1, .share = NAN, .name = ""},
           "{\"number\":null,\"step\":null,\"layer\":null,\"share\":null,\"name\":null,\"own\":null,\"word\":null}");
    writes(fields, &(struct thing){.number = 1, .share = -2, .name = "x", .word = "y"},
           "{\"number\":1,\"step\":0,\"layer\":0,\"share\":-2,\"name\":\"x\",\"own\":null,\"word\":\"y\"}");
}

// ---- functions ----

static int64_t step_of(const void * it, const void * context) {
    assert_string_equal(context, "!");
    return ((const struct thing *) it)->step;
}

static double share_of(const void * it, const void * context) {
    (void) context;
    return ((const struct thing *) it)->share;
}

static bool has_flag(const void * it, const void * context) {
    (void) context;
    return ((const struct thing *) it)->flag;
}

static const char * cut_name(const void * it, const void * context, char * room, size_t * length) {
    (void) context, (void) room;
    *length = 2;
    return ((const struct thing *) it)->name;
}

static const char * loud_name(const void * it, const void * context, char * room, size_t * length) {
    (void) length;
    strcpy(room, ((const struct thing *) it)->name);
    return strcat(room, context);
}

static const char * number_text(const void * context, uint64_t number) {
    return number == 0 ? "" : context;
}

static void test_functions(void ** state) {
    static const struct ggs_field fields[] = {
        GGS_INTEGER("integer", step_of, ""),
        GGS_NATURAL("natural", step_of, ""),
        GGS_REAL_OR_NULL("real", share_of, ""),
        GGS_TEXT("cut", cut_name, ""),
        GGS_TEXT("loud", loud_name, ""),
        GGS_TEST("test", has_flag, ""),
        {.key = "numbered", GGS_MEMBER_AT(struct thing, number), .number = number_text, .or_null = true},
        GGS_TRUE("asked", "", .asked = has_flag),
        GGS_FIELD(struct thing, step, "known", "", .known = has_flag),
        {0}};
    (void) state;
    writes(
        fields, &(struct thing){.step = -4, .share = NAN, .name = "abc"},
        "{\"integer\":-4,\"natural\":null,\"real\":null,\"cut\":\"ab\",\"loud\":\"abc!\",\"test\":false,\"numbered\":null,"
        "\"known\":null}");
    writes(fields, &(struct thing){.number = 1, .step = 4, .share = 1, .name = "abc", .flag = true},
           "{\"integer\":4,\"natural\":4,\"real\":1,\"cut\":\"ab\",\"loud\":\"abc!\",\"test\":true,\"numbered\":\"!\","
           "\"asked\":true,\"known\":4}");
}

// ---- objects and arrays ----

static const struct ggs_field part_fields[] = {
    GGS_FIELD(struct part, a, "a"), GGS_FIELD_OR_NULL(struct part, b, "b"), {0}};
static const struct ggs_object part = {.fields = part_fields};
static const struct ggs_object pair = {.fields = part_fields, .tuple = true};

static const void * inner_of(const void * it, const void * context, void * room) {
    (void) context, (void) room;
    return ((const struct thing *) it)->inner;
}

static const void * sum_of(const void * it, const void * context, void * room) {
    const struct thing * thing = it;
    (void) context;
    *(struct part *) room = (struct part){thing->left.a + thing->right.a, 1};
    return room;
}

static const struct ggs_field  name_fields[] = {FIELD(name), {0}};
static const struct ggs_object named         = {.fields = name_fields};

static void test_objects(void ** state) {
    static const struct ggs_field fields[] = {GGS_OBJECT(struct thing, left, "left", &part),
                                              GGS_OBJECT(struct thing, left, "pair", &pair),
                                              GGS_OBJECT_OF("same", &named),
                                              GGS_OBJECT_OR_NULL("inner", inner_of, &named),
                                              GGS_OBJECT_VIEW("sum", sum_of, &part),
                                              GGS_OBJECT_OF("known", &named, "", .known = has_flag),
                                              GGS_MEMBERS(struct thing, right, &part),
                                              GGS_PAIRS(struct thing, left, right, "pairs", &part),
                                              {0}};
    struct thing                  inner    = {.name = "inside"};
    (void) state;
    writes(
        fields, &(struct thing){.left = {1, 2}, .right = {3, 0}, .name = "x", .inner = &inner},
        "{\"left\":{\"a\":1,\"b\":2},\"pair\":[1,2],\"same\":{\"name\":\"x\"},\"inner\":{\"name\":\"inside\"},"
        "\"sum\":{\"a\":4,\"b\":1},\"known\":null,\"a\":3,\"b\":null,\"pairs\":{\"a\":{\"a\":1,\"b\":3},\"b\":{\"a\":2,\"b\":null}}}");
    writes(fields + 3, &(struct thing){.name = "x", .flag = true},
           "{\"inner\":null,\"sum\":{\"a\":0,\"b\":1},\"known\":{\"name\":\"x\"},\"a\":0,\"b\":null,"
           "\"pairs\":{\"a\":{\"a\":0,\"b\":0},\"b\":{\"a\":null,\"b\":null}}}");
}

// Every other part, from the end of a row that it makes on the way.
static const void * next_part(const void * it, const void * context, uint64_t * i, void * room) {
    const struct thing * thing = it;
    (void) context;
    if (*i >= thing->n) return NULL;
    *(struct part *) room = (struct part){thing->list[*i].a * 10, 1};
    *i += 2;
    return room;
}

static const void * next_text(const void * it, const void * context, uint64_t * i, void * room) {
    const struct thing * thing = it;
    (void) context, (void) room;
    return *i < 2 ? &thing->texts[(*i)++] : NULL;
}

static struct ggs_list squares(const void * it, const void * context, void * room) {
    double * list = room;
    (void) it, (void) context;
    for (int i = 0; i < 3; i++) list[i] = i * i;
    return (struct ggs_list){list, 3, sizeof(*list)};
}

static void test_arrays(void ** state) {
    static const struct ggs_field fields[] = {GGS_ROWS(struct thing, list, n, "rows", &part),
                                              GGS_ROWS(struct thing, list, n, "pairs", &pair),
                                              GGS_EACH("each", next_part, &part),
                                              GGS_COLUMNS(struct thing, list, n, "columns", &part),
                                              GGS_COLUMNS(struct thing, list, n, NULL, &part),
                                              GGS_LIST(struct thing, counts, n_counts, "counts", "", .inside = true),
                                              GGS_LIST_OF(DOUBLE, "squares", squares),
                                              GGS_LIST_EACH(STRING, "texts", next_text, "", .or_null = true),
                                              {0}};
    struct part                   list[]   = {{1, 2}, {3, 0}, {5, 6}};
    (void) state;
    writes(
        fields, &(struct thing){.list = list, .n = 3, .counts = {7, 8, 9}, .n_counts = 2, .texts = {"x", ""}},
        "{\"rows\":[{\"a\":1,\"b\":2},{\"a\":3,\"b\":null},{\"a\":5,\"b\":6}],\"pairs\":[[1,2],[3,null],[5,6]],"
        "\"each\":[{\"a\":10,\"b\":1},{\"a\":50,\"b\":1}],\"columns\":{\"a\":[1,3,5],\"b\":[2,null,6]},\"a\":[1,3,5],\"b\":[2,null,6],"
        "\"counts\":[7,8],\"squares\":[0,1,4],\"texts\":[\"x\",null]}");
    writes(fields, &(struct thing){.texts = {"x", "y"}},
           "{\"rows\":[],\"pairs\":[],\"each\":[],\"columns\":{\"a\":[],\"b\":[]},\"a\":[],\"b\":[],\"counts\":[],"
           "\"squares\":[0,1,4],\"texts\":[\"x\",\"y\"]}");
}

static void test_stream(void ** state) {
    static const struct ggs_field  fields[] = {FIELD(number), GGS_STREAM("rows", &part), OR_NULL(step), {0}};
    static const struct ggs_object object   = {.fields = fields, .lines = true};
    const struct part              rows[]   = {{1, 2}, {3, 4}};
    struct ggs_text                text     = {0};
    struct ggs_json                json;
    (void) state;
    ggs_json_init(&json, ggs_json_to_text, &text, true);
    ggs_object_begin(&json, &object, &(struct thing){.number = 1, .step = 1}, NULL);
    for (int i = 0; i < 2; i++) ggs_object_row(&json, &object, &rows[i], NULL);
    ggs_object_end(&json, &object, &(struct thing){.number = 2, .step = 2}, NULL);
    assert_int_equal(ggs_json_finish(&json), 0);
    assert_string_equal(
        ggs_text_string(&text),
        "{\n  \"number\": 1,\n  \"rows\": [\n    {\"a\": 1, \"b\": 2},\n    {\"a\": 3, \"b\": 4}\n  ],\n  \"step\": 2\n}\n");
    ggs_text_release(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members), cmocka_unit_test(test_nulls),  cmocka_unit_test(test_functions),
        cmocka_unit_test(test_objects), cmocka_unit_test(test_arrays), cmocka_unit_test(test_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
