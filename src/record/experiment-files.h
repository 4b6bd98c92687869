// The files of an experiment in its directory, as listed in src/record/experiment.h, and the
// experiments of followed programs, DIR/process-N.
//
// An experiment that is replaced (--force) is set aside in DIR/.replaced while the new one is made.
// It is put back if the new one fails, and removed once the new one is complete. If ggscope is
// killed in between, the next one that seals or replaces DIR decides the same way.
#pragma once

#include <limits.h>
#include <stdbool.h>

struct ggs_error;

// DIRECTORY/NAME; the empty path, which names nothing, if that is too long.
void ggs_experiment_files_path(char path[PATH_MAX], const char * directory, const char * name);
bool ggs_experiment_files_hold(const char * directory, const char * name);
int  ggs_experiment_files_remove(const char * directory, struct ggs_error * error);

// On failure nothing is moved.
int ggs_experiment_files_set_aside(const char * directory, struct ggs_error * error);
// True if an experiment is set aside in the directory.
bool ggs_experiment_files_are_aside(const char * directory);
// Removes the directory's contents and puts back what was set aside. Returns false if nothing was.
bool ggs_experiment_files_put_back(const char * directory);
void ggs_experiment_files_remove_aside(const char * directory);
