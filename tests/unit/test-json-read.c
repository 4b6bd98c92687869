// Unit tests of base/json-read.h.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json-read.h"

static struct ggs_json_value read_text(const char * text) {
    return ggs_json_read(text, strlen(text));
}

static void test_lookups(void ** state) {
    (void) state;
    struct ggs_json_value root = read_text(
        " {\"host\" : {\"cores\":4, \"cpu\":\"x\"},\n\"command\":[\"run\", \"-p\",[1,{}], \"\"],\"cold\":null, \"prove\":true,"
        "\"largest\":18446744073709551615,\"more\":18446744073709551616,\"half\":0.5,\"less\":-1,\"cores\":5} ");
    uint64_t number = 7;
    char     text[8];
    assert_true(ggs_json_to_u64(ggs_json_member(ggs_json_member(root, "host"), "cores"), &number));
    assert_int_equal(number, 4);
    assert_true(ggs_json_to_u64(ggs_json_member(root, "largest"), &number));
    assert_true(number == UINT64_MAX);
    static const char * const none[] = {"more", "half", "less", "cold", "command", "nowhere", "host"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        assert_false(ggs_json_to_u64(ggs_json_member(root, none[i]), &number));
    assert_false(ggs_json_is_there(ggs_json_member(root, "cold")));
    assert_true(ggs_json_is_there(ggs_json_member(root, "prove")));
    assert_false(ggs_json_is_there(ggs_json_member(ggs_json_member(root, "nowhere"), "cores")));
    assert_false(ggs_json_is_there(ggs_json_member(ggs_json_member(root, "command"), "run")));
    assert_true(ggs_json_is_true(ggs_json_member(root, "prove")));
    assert_false(ggs_json_is_true(ggs_json_member(root, "cold")));
    struct ggs_json_value     word = {0}, list = ggs_json_member(root, "command");
    static const char * const words[] = {"run", "-p", "", ""};
    for (size_t i = 0; i < 4; i++) {
        assert_true(ggs_json_next(list, &word));
        ggs_json_to_buffer(word, text, sizeof(text));
        assert_string_equal(text, words[i]);
    }
    assert_false(ggs_json_next(list, &word));
    word = (struct ggs_json_value){0};
    assert_false(ggs_json_next(root, &word));
    assert_false(ggs_json_next(read_text("[ ]"), &word));
}

static void test_strings(void ** state) {
    (void) state;
    struct ggs_text text = {0};
    assert_true(ggs_json_append_to(
        read_text("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\ud83d\\ude00\\ud83dx\\ude00\""), &text));
    assert_string_equal(ggs_text_string(&text),
                        "a\"\\/\b\f\n\r\tA\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbdx\xef\xbf\xbd");
    ggs_text_release(&text);
    assert_false(ggs_json_append_to(read_text("1"), &text));
    char small[4];
    ggs_json_to_buffer(read_text("\"abcdef\""), small, sizeof(small));
    assert_string_equal(small, "abc");
}

static void test_refused(void ** state) {
    (void) state;
    static const char * const wrong[] = {"",         " ",          "{",     "}",   "[1,]",    "[1 2]",       "{\"a\"}",
                                         "{\"a\":}", "{\"a\":1,}", "{1:2}", "\"",  "\"\\x\"", "\"\\u12g4\"", "\"\\",
                                         "\"\n\"",   "01",         "1.",    "1e",  "-",       "+1",          ".5",
                                         "nul",      "truefalse",  "1 2",   "'a'", "[1]]",    "{\"a\":1}x"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (read_text(wrong[i]).at != NULL) fail_msg("taken: %s", wrong[i]);
    }
    static const char * const good[] = {"0",   "-0", "1.5e-7", "1E+2", "[]", "{}", "null", " \t\n[true ,false]\r ",
                                        "\"\""};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (read_text(good[i]).at == NULL) fail_msg("refused: %s", good[i]);
    }
    char deep[2 * GGS_JSON_READ_DEPTH + 3];
    for (int n = GGS_JSON_READ_DEPTH; n <= GGS_JSON_READ_DEPTH + 1; n++) {
        memset(deep, '[', (size_t) n);
        memset(deep + n, ']', (size_t) n);
        assert_int_equal(ggs_json_is_there(ggs_json_read(deep, 2 * (size_t) n)), n <= GGS_JSON_READ_DEPTH);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lookups),
        cmocka_unit_test(test_strings),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
