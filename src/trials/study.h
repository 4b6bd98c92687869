// A study: a program, its conditions with their values, the number of rounds, and the recordings.
// `ggscope sweep` creates and continues one.
//
//     STUDY/study.json     the plan; users may write it too
//     STUDY/trials.jsonl   a line per finished trial (trials/journal.h)
//     STUDY/runs/v01-001   the recording of variant 1 in round 1, and so on; control-001: the first
//                          variant once more, in each round
//
// A factor is a condition with several values. Its name selects what it sets:
//
//     memory       limit: a size, a share of the model's files, or none
//     cold         yes: drop the model from the page cache first; no: read it into the page cache
//                  first, unless memory is limited (cached pages would not count for the limit)
//     readahead    of the whole device of the model: a size, or none (unchanged); needs root
//     drop-caches  yes: drop the whole page cache first; needs root
//     model        the value of the program's -m
//     prompt       the value of the program's -p
//     -NAME        any other argument of the program: its value, or yes and no for a switch
//     NAME         an option of ggscope record, without dashes: its value or none, or yes and no
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct ggs_error;

enum { GGS_STUDY_FACTORS = 8, GGS_STUDY_VALUES = 64, GGS_STUDY_VARIANTS = 4096 };

struct ggs_factor {
    char *   name;
    char *   values[GGS_STUDY_VALUES];
    unsigned n;
};

struct ggs_study {
    char              directory[PATH_MAX]; // absolute
    struct ggs_factor factors[GGS_STUDY_FACTORS];
    unsigned          n_factors;
    char **           program; // NULL at the end
    uint64_t          repeat, seed;
    bool              pairs; // combines first values, second values, ...; else all combinations
    unsigned          n_variants;
};

void ggs_study_release(struct ggs_study * study);
// Adds a value, and its factor if that is new.
int ggs_study_add(struct ggs_study * study, const char * factor, const char * value, struct ggs_error * error);
// The same for a list "a,b,c"; "\," is a literal comma.
int ggs_study_add_list(struct ggs_study * study, const char * factor, const char * list, struct ggs_error * error);
int ggs_study_set_program(struct ggs_study * study, char * const * words, struct ggs_error * error);

// Reads a plan: a study.json of the user or of an existing study. `directory` stays empty unless
// the file names one ("output").
int ggs_study_read(struct ggs_study * study, const char * path, struct ggs_error * error);
// Checks that all conditions are possible, and counts the variants.
int ggs_study_check(struct ggs_study * study, struct ggs_error * error);
// Creates study->directory, its plan and the folder of its runs. An existing study is accepted if
// it has the same plan or no finished trial.
int ggs_study_make(const struct ggs_study * study, struct ggs_error * error);

const char * ggs_study_value(const struct ggs_study * study, unsigned variant, unsigned factor);

// ---- one variant ----

struct ggs_study_variant {
    char         name[16]; // "v01"
    char         title[512];
    char **      options; // of ggscope record; NULL at the end
    unsigned     n_options;
    char **      program;
    unsigned     n_program;
    uint64_t     memory; // 0: no limit
    bool         cold, warm, drop_caches;
    int64_t      readahead; // bytes; -1: unchanged
    const char * model;     // of the program; NULL: unknown
};
// Fails with a sentence if a value is invalid.
int  ggs_study_variant_make(const struct ggs_study * study, unsigned variant, struct ggs_study_variant * out,
                            struct ggs_error * error);
void ggs_study_variant_release(struct ggs_study_variant * variant);
