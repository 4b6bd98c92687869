// What can be asked of the server, over a stored trace: the target of a request, as it comes from the network.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/gate.h"
#include "serve/routes/query.h"
#include "serve/site.h"

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size);

static struct ggs_shelf * open_shelf(void) {
    static struct ggs_shelf * shelf;
    static const char * const directories[] = {"tests/golden/v1", "tests/golden/v1"};
    struct ggs_error          error         = {0};
    if (shelf == NULL && ggs_shelf_new(&shelf, directories, 2, NULL, &error) < 0) {
        fprintf(stderr, "%s; run it from the top of the tree\n", error.text);
        exit(1);
    }
    return shelf;
}

static void try_gate(const char * text) {
    static const struct ggs_gate gate = {
        .token = "0123456789abcdef0123456789abcdef", .cookie = "ggscope_1", .loopback = false, .port = 1};
    ggs_gate_host_ok(&gate, text);
    ggs_gate_cookie_ok(&gate, text);
    ggs_gate_token(&gate, text);
}

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    char                target[GGS_TARGET_LENGTH], key[GGS_KEY_LENGTH];
    struct ggs_query    query;
    struct ggs_shelf *  shelf  = open_shelf();
    struct ggs_answer * answer = ggs_answer_new();
    if (answer == NULL || size >= sizeof(target)) {
        ggs_answer_drop(answer);
        return 0;
    }
    memcpy(target, data, size);
    target[size] = '\0';
    try_gate(target);
    ggs_query_parse(&query, target, NULL);
    ggs_site_work(shelf, target, key);
    ggs_site_answer_target(shelf, target, answer);
    ggs_answer_compress(answer);
    if (answer->status != 200 && strstr(ggs_text_string(&answer->body), "{\"error\":") == NULL && !answer->gzip)
        abort();
    ggs_answer_drop(answer);
    return 0;
}
