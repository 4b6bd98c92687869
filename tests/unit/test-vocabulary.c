// Unit tests of src/gguf/vocabulary.c on the vocabularies of the engine's source.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/text.h"
#include "gguf-fixture.h"
#include "gguf/vocabulary.h"

struct opened_vocabulary {
    struct ggs_gguf *       gguf;
    struct ggs_vocabulary * vocabulary;
};

static struct opened_vocabulary open_vocabulary(const char * name) {
    struct opened_vocabulary o = {0};
    struct ggs_error         error;
    char                     path[4096];
    snprintf(path, sizeof(path), "%s/ggml-vocab-%s.gguf", GGSCOPE_VOCABULARIES, name);
    assert_int_equal(ggs_gguf_open(&o.gguf, path, &error), 0);
    assert_int_equal(ggs_vocabulary_open(&o.vocabulary, o.gguf, &error), 0);
    return o;
}

static void close_vocabulary(struct opened_vocabulary * o) {
    ggs_vocabulary_free(o->vocabulary);
    ggs_gguf_free(o->gguf);
}

// Tokens [first, first + 256) must be the 256 bytes, each once.
static void check_bytes(const struct opened_vocabulary * o, int64_t first) {
    bool            seen[256] = {false};
    struct ggs_text text      = {0};
    for (int64_t token = first; token < first + 256; token++) {
        ggs_text_clear(&text);
        ggs_vocabulary_append(o->vocabulary, token, &text);
        assert_int_equal(text.length, 1);
        assert_false(seen[(uint8_t) text.data[0]]);
        seen[(uint8_t) text.data[0]] = true;
    }
    ggs_text_release(&text);
}

static void check_piece(const struct opened_vocabulary * o, int64_t token, const char * expected) {
    struct ggs_text text = {0};
    ggs_vocabulary_append(o->vocabulary, token, &text);
    assert_string_equal(ggs_text_string(&text), expected);
    ggs_text_release(&text);
}

static void test_sentencepiece(void ** state) {
    (void) state;
    struct opened_vocabulary o = open_vocabulary("llama-spm");
    check_bytes(&o, 3);
    check_piece(&o, 9038, " Once");
    check_piece(&o, 931, " time");
    check_piece(&o, -1, "");
    check_piece(&o, 31999, "\xe7\xbb\x99");
    check_piece(&o, 32000, "");
    close_vocabulary(&o);
}

static void test_gpt2(void ** state) {
    (void) state;
    struct opened_vocabulary o = open_vocabulary("gpt-2");
    check_bytes(&o, 0);
    check_piece(&o, 7454, "Once");
    check_piece(&o, 640, " time");
    close_vocabulary(&o);
}

static void test_no_vocabulary(void ** state) {
    (void) state;
    struct ggs_text         empty = {0};
    struct ggs_vocabulary * vocabulary;
    struct ggs_error        error;
    put_header(&empty, 0, 0);
    struct ggs_gguf * gguf = opened(&empty);
    ggs_text_release(&empty);
    assert_int_equal(ggs_vocabulary_open(&vocabulary, gguf, &error), GGS_ABSENT);
    assert_null(vocabulary);
    ggs_gguf_free(gguf);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentencepiece),
        cmocka_unit_test(test_gpt2),
        cmocka_unit_test(test_no_vocabulary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
