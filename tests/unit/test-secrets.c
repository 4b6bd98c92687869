// What of a command line is kept in a recording.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/secrets.h"

// A command line, its words divided by |, and what is kept of it; NULL: all.
static const struct {
    const char *command, *kept;
} cases[] = {
    // options
    {"llama-server|--api-key|SECRET|-m|x", "llama-server|--api-key|(hidden)|-m|x"},
    {"llama-server|--api-key=a", "llama-server|--api-key=(hidden)"},
    {"a|-hft|hf|--hf-token|x", "a|-hft|(hidden)|--hf-token|(hidden)"},
    {"a|--password|x|--client-secret|y|--service-key|z",
     "a|--password|(hidden)|--client-secret|(hidden)|--service-key|(hidden)"},
    {"a|--api_key|x|--API-KEY|y", "a|--api_key|(hidden)|--API-KEY|(hidden)"},
    {"a|--token|abcdefgh1", "a|--token|(hidden)"},
    {"a|--api-key|-starts-with-a-dash", "a|--api-key|(hidden)"},
    {"a|--password|--verbose|x", NULL},
    {"a|--api-key", NULL},
    {"a|--api-key||-m|x", NULL},
    // what is no secret
    {"a|--api-key-file|/etc/key|--ssl-key-file|key.pem", NULL},
    {"a|--token|5|--keep|64|--top-k|40|--max-tokens|1234567890|--n-tokens|12345678", NULL},
    {"a|--stop-token|<|end-of-text|>|--eos-token|abcdefghijk", NULL},
    {"a|-ctk|q8_0|--cache-type-k|q8_0|--override-kv|tokenizer.ggml.eos_token=int:12345678", NULL},
    {"a|-p|The password is on the key, and the token is in the secret box", NULL},
    {"a|-p|--password", NULL},
    {"a|-p|Recipe of a cookie: flour and an api-key: none", NULL},
    {"a|--token|/a/path/to/a/file|--public-key|abcdefghijkl", NULL},
    {"a|-m|hf_model_of_mine.gguf|sk-learn|--prompt|ask-for-something-long", NULL},
    {"a|--auth|none|--bearer|x|-n|-1|-", NULL},
    // variables
    {"env|HF_TOKEN=x|OPENAI_API_KEY=y|AWS_SECRET_ACCESS_KEY=z|PATH=/bin|prog",
     "env|HF_TOKEN=(hidden)|OPENAI_API_KEY=(hidden)|AWS_SECRET_ACCESS_KEY=(hidden)|PATH=/bin|prog"},
    {"a|MY_TOKEN=12|N_TOKENS=123456789", NULL},
    // addresses
    {"a|https://user:pass@host/x?y=1", "a|https://user:(hidden)@host/x?y=1"},
    {"a|--url=postgres://me:p%40ss@db:5432/x", "a|--url=postgres://me:(hidden)@db:5432/x"},
    {"a|https://0123456789abcdef0123@host/x", "a|https://(hidden)@host/x"},
    {"a|ssh://git@host/x|https://host/a@b|http://[::1]:8080/|https://host:80/@", NULL},
    {"a|https://host/x?api_key=abc&n=2&access_token=def#end",
     "a|https://host/x?api_key=(hidden)&n=2&access_token=(hidden)#end"},
    // headers and tokens
    {"curl|-H|Authorization: Bearer abc.def|http://host", "curl|-H|Authorization: Bearer (hidden)|http://host"},
    {"curl|-H|authorization:abc|-HX-API-Key: q", "curl|-H|authorization:(hidden)|-HX-API-Key: (hidden)"},
    {"curl|-H|Cookie: session=1|-H|api-key: 2", "curl|-H|Cookie: (hidden)|-H|api-key: (hidden)"},
    {"a|-p|my key is sk-abcdefghijklmnop12345, isn't it", "a|-p|my key is (hidden), isn't it"},
    {"a|hf_abcdefghijklmnop12345", "a|(hidden)"},
    {"a|eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_DEF-123", "a|(hidden)"},
    {"a|--json|{\"api_key\": \"abc\", \"n\": 3}", "a|--json|{\"api_key\": \"(hidden)\", \"n\": 3}"},
    // scripts
    {"sh|-c|HF_TOKEN=abc llama-server --api-key 'my own' -m x; echo done",
     "sh|-c|HF_TOKEN=(hidden) llama-server --api-key '(hidden)' -m x; echo done"},
    {"bash|-lc|exec prog --password=\"x\" && curl -H \"Authorization: Bearer y\" z",
     "bash|-lc|exec prog --password=(hidden) && curl -H \"Authorization: Bearer (hidden)\" z"},
    {"sh|-c|prog --password|x", NULL}, // x is $0
    {"sh|-c|exec \"$@\" # --api-key abc", "sh|-c|exec \"$@\" # --api-key (hidden)"},
    {"sh|-c|curl -H authorization:abc -d x", "sh|-c|curl -H authorization:(hidden) -d x"},
};

static void test_cases(void ** state) {
    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ggs_secrets secrets    = {0};
        char               kept[1024] = "", command[1024];
        strcpy(command, cases[i].command);
        for (char *next = command, *word; (word = strsep(&next, "|")) != NULL;) {
            char * hidden = ggs_secrets_hide(&secrets, word);
            assert_non_null(hidden);
            strcat(kept, hidden);
            if (next != NULL) strcat(kept, "|");
            free(hidden);
        }
        const char * right = cases[i].kept == NULL ? cases[i].command : cases[i].kept;
        if (strcmp(kept, right) != 0) fail_msg("%s became %s, not %s", cases[i].command, kept, right);
        assert_int_equal(secrets.hidden > 0, cases[i].kept != NULL);
    }
}

static void test_variables(void ** state) {
    (void) state;
    assert_true(ggs_secrets_is("LLAMA_API_KEY", 13, "x"));
    assert_true(ggs_secrets_is("LLAMA_ARG_HF_TOKEN", 18, "x"));
    assert_false(ggs_secrets_is("LLAMA_ARG_N_PREDICT", 19, "12345678"));
    assert_false(ggs_secrets_is("GGML_KEEP", 9, "abcdefghijk"));
    assert_false(ggs_secrets_is("", 0, "abcdefghijk"));
}

// Whatever the words are: what is kept ends, and has nothing of what an option hides.
static void test_anything(void ** state) {
    (void) state;
    static const char letters[] = "-=:/@?&\"' ;{}abkeyKEYtoken0_.#\n\\\xc3\xa4";
    unsigned          seed      = 1;
    for (int i = 0; i < 200000; i++) {
        struct ggs_secrets secrets  = {.value = (unsigned) rand_r(&seed) % 3, .script = rand_r(&seed) % 3 == 0};
        char               word[40] = "";
        for (unsigned k = 0, n = (unsigned) rand_r(&seed) % 39; k < n; k++)
            word[k] = letters[(unsigned) rand_r(&seed) % (sizeof(letters) - 1)];
        char * hidden = ggs_secrets_hide(&secrets, word);
        assert_non_null(hidden);
        assert_true(secrets.hidden > 0 || strcmp(hidden, word) == 0);
        free(hidden);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases), cmocka_unit_test(test_variables),
                                       cmocka_unit_test(test_anything)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
