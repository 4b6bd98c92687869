// Requests to the server, over a stored trace: the target as it comes from the network.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve/auth.h"
#include "serve/routes/query.h"
#include "serve/site.h"

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size);

static struct ggs_experiments * open_experiments(void) {
    static struct ggs_experiments * experiments;
    static const char * const       directories[] = {"tests/golden/v2", "tests/golden/v2"};
    struct ggs_error                error         = {0};
    if (experiments == NULL && ggs_experiments_new(&experiments, directories, 2, NULL, &error) < 0) {
        fprintf(stderr, "%s; run it from the top of the tree\n", error.text);
        exit(1);
    }
    return experiments;
}

static void try_auth(const char * text) {
    static const struct ggs_auth auth = {.token = "0123456789abcdef0123456789abcdef", .loopback = false, .port = 1};
    char                         id[GGS_UUID_LENGTH];
    ggs_auth_host_ok(&auth, text);
    ggs_auth_visitor(&auth, text, strcspn(text, "/"), id);
}

int LLVMFuzzerTestOneInput(const uint8_t * data, size_t size) {
    char                     target[GGS_TARGET_LENGTH], key[GGS_KEY_LENGTH];
    struct ggs_query         query;
    struct ggs_experiments * experiments = open_experiments();
    struct ggs_reply *       reply       = ggs_reply_new();
    if (reply == NULL || size >= sizeof(target)) {
        ggs_reply_drop(reply);
        return 0;
    }
    memcpy(target, data, size);
    target[size] = '\0';
    try_auth(target);
    ggs_query_parse(&query, target, NULL);
    ggs_site_work(experiments, size % 2 == 0 ? GGS_EXPERIMENTS_ALL : 0, target, key);
    struct ggs_job_progress progress = {0};
    ggs_site_answer_target(experiments, target, &progress, reply);
    ggs_reply_compress(reply);
    if (reply->status != 200 && strstr(ggs_text_string(&reply->body), "{\"error\":") == NULL && !reply->gzip) abort();
    ggs_reply_drop(reply);
    return 0;
}
