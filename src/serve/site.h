// Paths, their parameters, and the functions that answer them. Independent of sockets.
//
// A target is a path with parameters as in a request: "/api/x/0/log?from=100&count=50". It is
// untrusted.
#pragma once

#include "serve/experiments.h"
#include "serve/jobs.h"
#include "serve/reply.h"

enum { GGS_TARGET_LENGTH = 2048, GGS_KEY_LENGTH = GGS_TARGET_LENGTH + 64 };

enum ggs_kind_of_work {
    GGS_WORK_NONE, // no such path
    GGS_WORK_QUICK,
    GGS_WORK_SLOW,
};

// Classifies a target. `key` identifies the job: two targets with the same key have the same answer
// as long as the experiments do not change. `only`: the only experiment that the client may see, as
// number 0; GGS_EXPERIMENTS_ALL for all.
enum ggs_kind_of_work ggs_site_work(struct ggs_experiments * experiments, unsigned only, const char * target,
                                    char key[GGS_KEY_LENGTH]);

// Computes the answer to a key. Callable from any thread.
void ggs_site_answer(struct ggs_experiments * experiments, const char * key, struct ggs_job_progress * progress,
                     struct ggs_reply * reply);
// The same for a target, with access to all experiments.
void ggs_site_answer_target(struct ggs_experiments * experiments, const char * target,
                            struct ggs_job_progress * progress, struct ggs_reply * reply);
