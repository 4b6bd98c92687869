#include "serve/experiments.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/map.h"
#include "base/system/clock.h"
#include "serve/snapshot.h"

enum { FOLDERS_MOST = 64, DEPTH_MOST = 4 };

struct entry {
    unsigned              index;
    char                  path[PATH_MAX - 64]; // absolute: a directory, or a single trace
    char                  name[256];
    bool                  file;     // it is a single trace
    bool                  found;    // discovered below a folder
    struct ggs_snapshot * snapshot; // NULL if there is none
    struct ggs_error      error;    // of the last attempt; status 0 on success
    char                  state[24];
    bool                  live;
    struct stat           trace_stat;       // of the trace when it was opened or refused
    struct stat           notes_stat;       // of the notes
    uint64_t              units;            // of the recording at the last snapshot
    uint64_t              next_snapshot_ns; // earliest time of the next snapshot of a live recording
};

struct ggs_experiments {
    pthread_mutex_t  lock; // protects the entries; the refreshing thread, which alone writes them, reads without it
    struct ggs_live  live;
    bool             has_live;
    char             folder[64]; // private folder for snapshots; "" until needed
    uint64_t         generation;
    uint64_t         changes;
    _Atomic unsigned n;       // grows under the lock; entries are never removed
    struct entry **  entries; // other threads than the refreshing one read it under the lock
    uint64_t         capacity;
    struct ggs_map   by_path;   // index + 1 by path
    unsigned         n_folders; // number of folders that are searched for new experiments
    char *           folders[FOLDERS_MOST];
    uint64_t         next_search_ns;
};

// ---- opening ----

// Replaces the snapshot of an entry, or sets the reason for having none.
static void replace(struct ggs_experiments * experiments, struct entry * entry, struct ggs_snapshot * snapshot,
                    const struct ggs_error * error, const char * state, bool live) {
    pthread_mutex_lock(&experiments->lock);
    struct ggs_snapshot * old = entry->snapshot;
    if (snapshot != NULL) {
        snapshot->index      = entry->index;
        snapshot->generation = ++experiments->generation;
        snapshot->live       = live;
    }
    entry->live = live;
    experiments->changes++;
    entry->snapshot = snapshot;
    memset(&entry->error, 0, sizeof(entry->error));
    if (error != NULL) entry->error = *error;
    snprintf(entry->state, sizeof(entry->state), "%s", state);
    pthread_mutex_unlock(&experiments->lock);
    ggs_snapshot_release(old);
}

static void trace_path(const struct entry * entry, char path[PATH_MAX]) {
    snprintf(path, PATH_MAX, entry->file ? "%s" : "%s/trace.ggs", entry->path);
}

static bool same_file(const struct stat * a, const struct stat * b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static void open_trace(struct ggs_experiments * experiments, struct entry * entry, const struct stat * seen) {
    char                  path[PATH_MAX], state[24] = "complete";
    struct ggs_snapshot * snapshot;
    struct ggs_error      error = {0};
    trace_path(entry, path);
    entry->trace_stat = *seen;
    if (ggs_snapshot_open(&snapshot, entry->path, path, experiments->live.damaged, &error) < 0) {
        replace(experiments, entry, NULL, &error, "refused", false);
        return;
    }
    if (!entry->file) ggs_snapshot_read_fact(entry->path, "state", state, sizeof(state));
    replace(experiments, entry, snapshot, NULL, state, false);
}

static void refuse(struct ggs_experiments * experiments, struct entry * entry, int status, const char * state,
                   const char * why) {
    struct ggs_error error = {0};
    if (entry->snapshot == NULL && entry->error.status != 0 && strcmp(entry->state, state) == 0) return;
    ggs_error_set(&error, status, "%s %s", entry->path, why);
    entry->trace_stat = (struct stat){0};
    replace(experiments, entry, NULL, &error, state, false);
}

// ---- live recordings ----

static bool make_folder(struct ggs_experiments * experiments) {
    if (experiments->folder[0] != '\0') return true;
    const char * parent = getenv("TMPDIR");
    if (parent == NULL || parent[0] != '/' || strlen(parent) > 40) parent = "/tmp";
    snprintf(experiments->folder, sizeof(experiments->folder), "%s/ggscope-XXXXXX", parent);
    if (mkdtemp(experiments->folder) != NULL) return true;
    experiments->folder[0] = '\0';
    return false;
}

static const uint64_t SECOND = 1000000000u;

// Taking a snapshot takes time in proportion to the recording: long ones are refreshed less often.
static bool update_snapshot(struct ggs_experiments * experiments, struct entry * entry, uint64_t units,
                            const char * state) {
    char                  path[128];
    struct ggs_snapshot * snapshot = NULL;
    struct ggs_error      error    = {0};
    uint64_t              began    = ggs_clock_now();
    bool                  first    = entry->snapshot == NULL || !entry->live;
    if (began < entry->next_snapshot_ns) return false;
    if (!first && units == entry->units) {
        entry->next_snapshot_ns = began + SECOND;
        return false;
    }
    if (!make_folder(experiments)) {
        refuse(experiments, entry, GGS_IO, "recording",
               "is being recorded, and there is no room for a copy in the folder for temporary files");
        return true;
    }
    snprintf(path, sizeof(path), "%s/snapshot", experiments->folder);
    int status = experiments->live.copy(experiments->live.context, entry->path, path, &error);
    if (status == 0) status = ggs_snapshot_open(&snapshot, entry->path, path, experiments->live.damaged, &error);
    unlink(path); // its mapping stays valid
    entry->next_snapshot_ns = ggs_clock_now() + SECOND + 4 * (ggs_clock_now() - began);
    entry->units            = units;
    if (status < 0 && !first) return false; // keeps the previous snapshot
    entry->trace_stat = (struct stat){0};
    if (status < 0) {
        ggs_error_set(&error, GGS_ABSENT, "%s is being recorded; there is nothing to see yet", entry->path);
        replace(experiments, entry, NULL, &error, "recording", true);
        return true;
    }
    replace(experiments, entry, snapshot, NULL, state, true);
    return true;
}

// ---- refreshing ----

// Returns true if something changed.
static bool refresh(struct ggs_experiments * experiments, struct entry * entry) {
    char        path[PATH_MAX];
    struct stat seen;
    uint64_t    units  = 0;
    bool        before = entry->snapshot != NULL || entry->live;
    trace_path(entry, path);
    if (stat(path, &seen) == 0) {
        if (same_file(&seen, &entry->trace_stat)) return false;
        open_trace(experiments, entry, &seen);
        return true;
    }
    if (access(entry->path, F_OK) != 0) {
        bool news = strcmp(entry->state, "gone") != 0;
        refuse(experiments, entry, GGS_IO, "gone", "is gone: the experiment was moved or removed");
        return news;
    }
    if (!entry->file && experiments->has_live &&
        experiments->live.going_on(experiments->live.context, entry->path, &units))
        return update_snapshot(experiments, entry, units, "recording");
    if (entry->live && entry->snapshot != NULL) { // it has ended; it is being sealed, or its recorder was killed
        if (strcmp(entry->state, "ended") == 0) return false;
        entry->next_snapshot_ns = 0, entry->units = UINT64_MAX;
        if (!update_snapshot(experiments, entry, units, "ended")) { // the rest since the last snapshot
            pthread_mutex_lock(&experiments->lock);
            snprintf(entry->state, sizeof(entry->state), "ended");
            experiments->changes++;
            pthread_mutex_unlock(&experiments->lock);
        }
        return true;
    }
    refuse(experiments, entry, GGS_IO, "gone", "has lost its trace: trace.ggs was removed");
    return before;
}

// Notes are read on request; this only reports that they changed.
static bool has_new_notes(struct ggs_experiments * experiments, struct entry * entry) {
    char        path[PATH_MAX];
    struct stat now = {0};
    snprintf(path, sizeof(path), "%s/notes.txt", entry->path);
    if (stat(path, &now) != 0) now = (struct stat){0};
    if (same_file(&now, &entry->notes_stat)) return false;
    entry->notes_stat = now;
    pthread_mutex_lock(&experiments->lock);
    experiments->changes++;
    pthread_mutex_unlock(&experiments->lock);
    return true;
}

// ---- discovering ----

static int add(struct ggs_experiments * experiments, const char * directory, bool found, struct ggs_error * error) {
    char           path[PATH_MAX];
    struct stat    info;
    struct entry * entry  = calloc(1, sizeof(*entry));
    int            status = entry == NULL ? ggs_fail_memory(error) : 0;
    if (status == 0 && realpath(directory, path) == NULL)
        status = ggs_fail_errno(error, "cannot open the experiment %s", directory);
    if (status == 0 && strlen(path) >= sizeof(entry->path))
        status = ggs_fail(error, GGS_USAGE, "the path %.200s is too long", path);
    if (status < 0) {
        free(entry);
        return status;
    }
    memcpy(entry->path, path, strlen(path) + 1);
    entry->file        = stat(path, &info) == 0 && S_ISREG(info.st_mode);
    entry->found       = found;
    const char * slash = strrchr(entry->path, '/');
    snprintf(entry->name, sizeof(entry->name), "%s", slash == NULL || slash[1] == '\0' ? entry->path : slash + 1);
    // A request may come before the next refresh opens it.
    ggs_error_set(&entry->error, GGS_ABSENT, "%s is new and not open yet: try again in a moment", entry->path);
    pthread_mutex_lock(&experiments->lock);
    uint64_t * number = ggs_map_put(&experiments->by_path, ggs_map_key_of(path, strlen(path)));
    bool room = number != NULL && ggs_array_reserve(experiments->entries, experiments->capacity, experiments->n + 1u);
    if (room) {
        if (*number == 0) *number = experiments->n + 1u; // an experiment that is named twice is served twice
        entry->index                         = experiments->n;
        experiments->entries[experiments->n] = entry;
        experiments->n++;
        experiments->changes++;
    }
    pthread_mutex_unlock(&experiments->lock);
    if (room) return 0;
    ggs_map_remove(&experiments->by_path, ggs_map_key_of(path, strlen(path)));
    free(entry);
    return ggs_fail_memory(error);
}

static bool is_listed(const struct ggs_experiments * experiments, const char * path) {
    return ggs_map_get(&experiments->by_path, ggs_map_key_of(path, strlen(path))) != 0;
}

static int by_name(const struct dirent ** a, const struct dirent ** b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

// Adds unknown experiments below a folder, without following links.
static void search(struct ggs_experiments * experiments, const char * folder, unsigned depth) {
    struct dirent ** entries = NULL;
    int              n       = scandir(folder, &entries, NULL, by_name);
    for (int i = 0; i < n; i++) {
        char        path[PATH_MAX];
        struct stat info;
        bool        usable = entries[i]->d_name[0] != '.' &&
                      snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name) < (int) sizeof(path) &&
                      lstat(path, &info) == 0 && S_ISDIR(info.st_mode) && !is_listed(experiments, path);
        free(entries[i]);
        if (!usable) continue;
        enum ggs_found found = experiments->live.classify(experiments->live.context, path);
        if (found == GGS_FOUND_EXPERIMENT) add(experiments, path, true, NULL);
        if (found == GGS_FOUND_FOLDER && depth < DEPTH_MOST) search(experiments, path, depth + 1);
    }
    free(entries);
}

int ggs_experiments_add_folder(struct ggs_experiments * experiments, const char * folder, struct ggs_error * error) {
    if (experiments->n_folders == FOLDERS_MOST)
        return ggs_fail(error, GGS_USAGE, "more than %d folders cannot be served at once", FOLDERS_MOST);
    char * path = realpath(folder, NULL);
    if (path == NULL) return ggs_fail_errno(error, "cannot open the folder %s", folder);
    experiments->folders[experiments->n_folders++] = path;
    search(experiments, path, 0);
    return 0;
}

void ggs_experiments_refresh(struct ggs_experiments * experiments, void (*changed)(void * context, unsigned index),
                             void *                   context) {
    uint64_t now = ggs_clock_now();
    if (now >= experiments->next_search_ns) {
        for (unsigned i = 0; i < experiments->n_folders; i++) search(experiments, experiments->folders[i], 0);
        experiments->next_search_ns = ggs_clock_now() + SECOND + 20 * (ggs_clock_now() - now);
    }
    for (unsigned i = 0; i < experiments->n; i++)
        if ((refresh(experiments, experiments->entries[i]) || has_new_notes(experiments, experiments->entries[i])) &&
            changed != NULL)
            changed(context, i);
}

// ---- creation and release ----

int ggs_experiments_new(struct ggs_experiments ** out, const char * const * directories, unsigned n,
                        const struct ggs_live * live, struct ggs_error * error) {
    struct ggs_experiments * experiments = calloc(1, sizeof(*experiments));
    int                      status      = 0;
    *out                                 = NULL;
    if (experiments == NULL) return ggs_fail_memory(error);
    pthread_mutex_init(&experiments->lock, NULL);
    if (live != NULL) experiments->live = *live, experiments->has_live = true;
    for (unsigned i = 0; status == 0 && i < n; i++) status = add(experiments, directories[i], false, error);
    if (status < 0) {
        ggs_experiments_free(experiments);
        return status;
    }
    ggs_experiments_refresh(experiments, NULL, NULL);
    *out = experiments;
    return 0;
}

void ggs_experiments_tidy(const struct ggs_experiments * experiments) {
    static const char * const names[] = {"snapshot", "snapshot.tmp"};
    char                      path[128];
    if (experiments->folder[0] == '\0') return;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", experiments->folder, names[i]);
        unlink(path);
    }
    rmdir(experiments->folder);
}

void ggs_experiments_free(struct ggs_experiments * experiments) {
    if (experiments == NULL) return;
    for (unsigned i = 0; i < experiments->n; i++) {
        ggs_snapshot_release(experiments->entries[i]->snapshot);
        free(experiments->entries[i]);
    }
    free(experiments->entries);
    ggs_map_release(&experiments->by_path);
    for (unsigned i = 0; i < experiments->n_folders; i++) free(experiments->folders[i]);
    ggs_experiments_tidy(experiments);
    pthread_mutex_destroy(&experiments->lock);
    free(experiments);
}

// ---- access ----

unsigned ggs_experiments_count(const struct ggs_experiments * experiments) {
    return experiments->n;
}

unsigned ggs_experiments_find(struct ggs_experiments * experiments, const char * id) {
    unsigned i = 0;
    pthread_mutex_lock(&experiments->lock);
    while (i < experiments->n &&
           (experiments->entries[i]->snapshot == NULL || strcasecmp(experiments->entries[i]->snapshot->id, id) != 0))
        i++;
    unsigned found = i < experiments->n ? i : GGS_EXPERIMENTS_ALL;
    pthread_mutex_unlock(&experiments->lock);
    return found;
}

void ggs_experiments_state(struct ggs_experiments * experiments, unsigned index, struct ggs_experiments_state * state) {
    *state = (struct ggs_experiments_state){0};
    pthread_mutex_lock(&experiments->lock);
    const struct entry * entry = experiments->entries[index];
    snprintf(state->directory, sizeof(state->directory), "%s", entry->path);
    snprintf(state->name, sizeof(state->name), "%s", entry->name);
    snprintf(state->state, sizeof(state->state), "%s", entry->state);
    state->live  = entry->live;
    state->found = entry->found;
    if (entry->snapshot != NULL) {
        memcpy(state->id, entry->snapshot->id, sizeof(state->id));
        state->generation = entry->snapshot->generation;
    } else {
        memcpy(state->error, entry->error.text, sizeof(state->error));
    }
    pthread_mutex_unlock(&experiments->lock);
}

uint64_t ggs_experiments_changes(struct ggs_experiments * experiments) {
    pthread_mutex_lock(&experiments->lock);
    uint64_t changes = experiments->changes;
    pthread_mutex_unlock(&experiments->lock);
    return changes;
}

uint64_t ggs_experiments_generation(struct ggs_experiments * experiments, unsigned index) {
    uint64_t generation = 0;
    pthread_mutex_lock(&experiments->lock);
    if (index < experiments->n && experiments->entries[index]->snapshot != NULL)
        generation = experiments->entries[index]->snapshot->generation;
    pthread_mutex_unlock(&experiments->lock);
    return generation;
}

int ggs_experiments_acquire(struct ggs_experiments * experiments, unsigned index, struct ggs_snapshot ** out,
                            struct ggs_error * error) {
    int status = 0;
    *out       = NULL;
    if (index >= experiments->n)
        return ggs_fail(error, GGS_ABSENT, "there is no experiment %u: they are numbered from 0, and there are %u", index, experiments->n);
    pthread_mutex_lock(&experiments->lock);
    struct entry * entry = experiments->entries[index];
    if (entry->snapshot == NULL) {
        *error = entry->error;
        status = entry->error.status;
    } else {
        *out = entry->snapshot;
        atomic_fetch_add(&(*out)->holders, 1);
    }
    pthread_mutex_unlock(&experiments->lock);
    return status;
}
