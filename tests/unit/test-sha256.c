// SHA-256 and HMAC by the examples of their standards (FIPS 180-4, RFC 4231).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/sha256.h"

static const char * hex(const uint8_t digest[GGS_SHA256_LENGTH]) {
    static char text[2 * GGS_SHA256_LENGTH + 1];
    for (unsigned i = 0; i < GGS_SHA256_LENGTH; i++) snprintf(text + 2 * i, 3, "%02x", digest[i]);
    return text;
}

static void test_sha256(void ** state) {
    (void) state;
    static const struct {
        const char *text, *digest;
    } cases[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };
    uint8_t digest[GGS_SHA256_LENGTH];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ggs_sha256(digest, cases[i].text, strlen(cases[i].text));
        assert_string_equal(hex(digest), cases[i].digest);
    }
    char * million = malloc(1000000);
    memset(million, 'a', 1000000);
    ggs_sha256(digest, million, 1000000);
    assert_string_equal(hex(digest), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(million);
}

static void test_hmac(void ** state) {
    (void) state;
    uint8_t digest[GGS_SHA256_LENGTH], key[131];
    memset(key, 0x0b, 20);
    ggs_hmac_sha256(digest, key, 20, "Hi There", 8);
    assert_string_equal(hex(digest), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    ggs_hmac_sha256(digest, "Jefe", 4, "what do ya want for nothing?", 28);
    assert_string_equal(hex(digest), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof(key));
    static const char long_key[] = "Test Using Larger Than Block-Size Key - Hash Key First";
    ggs_hmac_sha256(digest, key, sizeof(key), long_key, strlen(long_key));
    assert_string_equal(hex(digest), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sha256), cmocka_unit_test(test_hmac)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
