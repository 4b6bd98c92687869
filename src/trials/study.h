// A study: which values of which conditions are tried with a program, how often, and where its
// recordings are. `ggscope sweep` makes and continues one.
//
//     STUDY/study.json     the plan, as the user may write it too
//     STUDY/trials.jsonl   a line for each trial that has ended (trials/journal.h)
//     STUDY/runs/v01-001   the recording of variant 1 in round 1, and so on; control-001: the first
//                          variant once more, in each round
//
// A factor is a condition with several values. Its name says what it sets:
//
//     memory       limit: a size, a share of the model's files, or none
//     cold         yes: the model is dropped from the page cache before; no: it is read into it
//                  before, unless memory is limited (cached pages would not count for the limit)
//     readahead    of the whole device that holds the model: a size, or none (as it is); needs root
//     drop-caches  yes: all of the page cache is dropped before; needs root
//     model        behind the program's -m
//     prompt       behind the program's -p
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
    bool              pairs; // the first values together, the second ones, ...; else every combination
    unsigned          n_variants;
};

void ggs_study_release(struct ggs_study * study);
// Adds a value, and its factor if that is new.
int ggs_study_add(struct ggs_study * study, const char * factor, const char * value, struct ggs_error * error);
// The same for a list "a,b,c"; "\," is a comma.
int ggs_study_add_list(struct ggs_study * study, const char * factor, const char * list, struct ggs_error * error);
int ggs_study_set_program(struct ggs_study * study, char * const * words, struct ggs_error * error);

// A plan: a study.json, the user's or one in the directory of a study. `directory` is empty unless
// the file names one ("output").
int ggs_study_read(struct ggs_study * study, const char * path, struct ggs_error * error);
// Is everything that it names possible? Counts the variants.
int ggs_study_check(struct ggs_study * study, struct ggs_error * error);
// Makes study->directory, its plan and the folder of its runs. A study that is there is fine if it
// has the same plan, or no trial has ended yet.
int ggs_study_make(const struct ggs_study * study, struct ggs_error * error);

const char * ggs_study_value(const struct ggs_study * study, unsigned variant, unsigned factor);

// ---- one variant of it ----

struct ggs_study_variant {
    char         name[16]; // "v01"
    char         title[512];
    char **      options; // of ggscope record; NULL at the end
    unsigned     n_options;
    char **      program;
    unsigned     n_program;
    uint64_t     memory; // 0: no limit
    bool         cold, warm, drop_caches;
    int64_t      readahead; // bytes; -1: as it is
    const char * model;     // of the program; NULL: none is named
};
// Fails with a sentence if a value makes no sense.
int  ggs_study_variant_make(const struct ggs_study * study, unsigned variant, struct ggs_study_variant * out,
                            struct ggs_error * error);
void ggs_study_variant_release(struct ggs_study_variant * variant);
