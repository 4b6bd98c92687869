// The files of an experiment in its directory, as src/record/experiment.h lists them, and the
// experiments of followed programs, DIR/process-N.
//
// An experiment that is replaced (--force) is set aside in DIR/.replaced while the new one is made.
// It is put back if nothing comes of the new one, and removed once that is whole; if ggscope is
// killed in between, whoever seals DIR or replaces it again decides the same way.
#pragma once

#include <limits.h>
#include <stdbool.h>

struct ggs_error;

// DIRECTORY/NAME; the empty path, which names nothing, if that is too long.
void ggs_experiment_files_path(char path[PATH_MAX], const char * directory, const char * name);
bool ggs_experiment_files_hold(const char * directory, const char * name);
int  ggs_experiment_files_remove(const char * directory, struct ggs_error * error);

// If it fails, everything is where it was.
int ggs_experiment_files_set_aside(const char * directory, struct ggs_error * error);
// True if an experiment is set aside in the directory.
bool ggs_experiment_files_are_aside(const char * directory);
// Removes what is in the directory and puts back what was set aside. False if nothing was.
bool ggs_experiment_files_put_back(const char * directory);
void ggs_experiment_files_remove_aside(const char * directory);
