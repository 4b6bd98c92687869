// What can be asked: paths, their parameters, and who answers. Knows nothing of sockets.
//
// A target is a path with its parameters, as it stands in a request:
// "/api/x/0/log?from=100&count=50". It comes from the network.
#pragma once

#include "serve/experiments.h"
#include "serve/jobs.h"
#include "serve/reply.h"

enum { GGS_TARGET_LENGTH = 2048, GGS_KEY_LENGTH = GGS_TARGET_LENGTH + 64 };

enum ggs_kind_of_work {
    GGS_WORK_NONE, // there is no such path
    GGS_WORK_QUICK,
    GGS_WORK_SLOW,
};

// Is the target one of ours? Then `key` is its name as a job: two targets with the same key have
// the same answer, as long as the experiments do not change. `only`: the one experiment that who
// asks may know of, as number 0; GGS_EXPERIMENTS_ALL for any.
enum ggs_kind_of_work ggs_site_work(struct ggs_experiments * experiments, unsigned only, const char * target,
                                    char key[GGS_KEY_LENGTH]);

// The answer to a key, worked out here and now. Any thread.
void ggs_site_answer(struct ggs_experiments * experiments, const char * key, struct ggs_job_progress * progress,
                     struct ggs_reply * reply);
// The same for a target, about all experiments.
void ggs_site_answer_target(struct ggs_experiments * experiments, const char * target,
                            struct ggs_job_progress * progress, struct ggs_reply * reply);
