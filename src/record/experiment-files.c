#include "record/experiment-files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "record/control.h"
#include "trace/seal/part.h"
#include "trace/spool-reader.h"

static const char         ASIDE[] = ".replaced";
static const char * const ours[]  = {"experiment.json", "trace.ggs",  "trace.ggs.tmp", GGS_PART_NAME,
                                     "stdout.txt",      "stderr.txt", "notes.txt"};
enum { N_OURS = sizeof(ours) / sizeof(ours[0]) };

void ggs_experiment_files_path(char path[PATH_MAX], const char * directory, const char * name) {
    if (snprintf(path, PATH_MAX, "%s/%s", directory, name) >= PATH_MAX) path[0] = '\0';
}

bool ggs_experiment_files_hold(const char * directory, const char * name) {
    char        path[PATH_MAX];
    struct stat status;
    ggs_experiment_files_path(path, directory, name);
    return lstat(path, &status) == 0;
}

// True for the experiment of a followed program.
static bool is_followed(const char * directory, const char * name) {
    char path[PATH_MAX];
    if (strncmp(name, "process-", 8) != 0 || strlen(name) > 24) return false;
    ggs_experiment_files_path(path, directory, name);
    return ggs_experiment_files_hold(path, "trace.ggs") || ggs_experiment_files_hold(path, "spool");
}

static bool is_ours(const char * directory, const char * name) {
    if (strcmp(name, "spool") == 0) return true;
    for (size_t i = 0; i < N_OURS; i++)
        if (strcmp(name, ours[i]) == 0) return true;
    return is_followed(directory, name);
}

// ---- removing ----

// A killed ggscope leaves its socket, on which the next one could not listen.
static void remove_socket(const char * directory) {
    char path[PATH_MAX];
    ggs_experiment_files_path(path, directory, GGS_CONTROL_SOCKET);
    unlink(path);
}

static int remove_files(const char * directory, struct ggs_error * error) {
    char path[PATH_MAX];
    remove_socket(directory);
    ggs_experiment_files_path(path, directory, "spool");
    int status = ggs_spool_remove(path, error);
    for (size_t i = 0; i < N_OURS && status == 0; i++) {
        ggs_experiment_files_path(path, directory, ours[i]);
        if (unlink(path) != 0 && errno != ENOENT) status = ggs_fail_errno(error, "cannot remove %s", path);
    }
    return status;
}

int ggs_experiment_files_remove(const char * directory, struct ggs_error * error) {
    int                   status = remove_files(directory, error);
    DIR *                 folder = opendir(directory);
    const struct dirent * entry;
    while (status == 0 && folder != NULL && (entry = readdir(folder)) != NULL) {
        char path[PATH_MAX];
        if (!is_followed(directory, entry->d_name)) continue;
        ggs_experiment_files_path(path, directory, entry->d_name);
        status = remove_files(path, error);
        rmdir(path);
    }
    if (folder != NULL) closedir(folder);
    return status;
}

// ---- setting aside ----

// Moves an experiment's files. Stops at the first failure.
static int move(const char * from, const char * to, struct ggs_error * error) {
    int                   status = 0;
    DIR *                 folder = opendir(from);
    const struct dirent * entry;
    while (status == 0 && folder != NULL && (entry = readdir(folder)) != NULL) {
        char old[PATH_MAX], new[PATH_MAX];
        if (!is_ours(from, entry->d_name)) continue;
        ggs_experiment_files_path(old, from, entry->d_name);
        ggs_experiment_files_path(new, to, entry->d_name);
        if (rename(old, new) != 0) status = ggs_fail_errno(error, "cannot move %s to %s", old, new);
    }
    if (folder == NULL) return ggs_fail_errno(error, "cannot read the folder %s", from);
    closedir(folder);
    return status;
}

int ggs_experiment_files_set_aside(const char * directory, struct ggs_error * error) {
    char aside[PATH_MAX];
    ggs_experiment_files_path(aside, directory, ASIDE);
    if (mkdir(aside, 0700) != 0) return ggs_fail_errno(error, "cannot create the folder %s", aside);
    remove_socket(directory);
    int status = move(directory, aside, error);
    if (status == 0) return 0;
    move(aside, directory, NULL);
    rmdir(aside);
    return status;
}

bool ggs_experiment_files_are_aside(const char * directory) {
    char        aside[PATH_MAX];
    struct stat info;
    ggs_experiment_files_path(aside, directory, ASIDE);
    return lstat(aside, &info) == 0 && S_ISDIR(info.st_mode);
}

bool ggs_experiment_files_put_back(const char * directory) {
    char aside[PATH_MAX];
    if (!ggs_experiment_files_are_aside(directory) || ggs_experiment_files_remove(directory, NULL) != 0) return false;
    ggs_experiment_files_path(aside, directory, ASIDE);
    bool good = move(aside, directory, NULL) == 0;
    rmdir(aside);
    return good;
}

void ggs_experiment_files_remove_aside(const char * directory) {
    char aside[PATH_MAX];
    if (!ggs_experiment_files_are_aside(directory)) return;
    ggs_experiment_files_path(aside, directory, ASIDE);
    ggs_experiment_files_remove(aside, NULL);
    rmdir(aside);
}
