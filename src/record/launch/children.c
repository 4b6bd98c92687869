#include "record/launch/children.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/system/file.h"
#include "base/system/maps.h"

extern char ** environ;

// Long enough to cost nothing, short compared to loading a model.
enum { PERIOD_MS = 200 };

struct child {
    pid_t    pid;
    unsigned round;    // of the last search that found it
    bool     engine;   // an engine is loaded
    bool     waits;    // its parent has one too: until it calls exec, its libraries are its parent's
    bool     ours;     // our library is loaded: it records or is counted by itself
    pid_t    recorder; // the ggscope attached to it; 0 for none
};

struct ggs_children {
    pid_t                     program;
    char                      directory[PATH_MAX]; // "" to count only
    bool                      quiet;
    struct child *            list;
    size_t                    n, capacity;
    unsigned                  round;
    struct ggs_children_found found;
    pthread_t                 thread;
    int                       stop; // eventfd
};

// ---- search ----

static struct child * find(struct ggs_children * children, pid_t pid) {
    for (size_t i = 0; i < children->n; i++)
        if (children->list[i].pid == pid) return &children->list[i];
    return NULL;
}

static void inspect(struct child * child) {
    struct ggs_maps       maps;
    struct ggs_maps_entry entry;
    char                  pid[16];
    snprintf(pid, sizeof(pid), "%d", (int) child->pid);
    child->engine = child->ours = false; // it may have called exec
    if (!ggs_maps_open(&maps, pid)) return;
    while (ggs_maps_next(&maps, &entry)) {
        const char * name = ggs_file_name(entry.path);
        child->engine |= strncmp(name, "libggml", 7) == 0 || strncmp(name, "libllama", 8) == 0;
        child->ours |= strncmp(name, "libggscope-", 11) == 0 || strncmp(name, "memfd:ggscope", 13) == 0;
    }
    ggs_maps_close(&maps);
}

static void visit(struct ggs_children * children, pid_t parent, unsigned depth, bool engine);

static void add(struct ggs_children * children, pid_t pid, unsigned depth, bool engine) {
    struct child * child = find(children, pid);
    bool           known = child != NULL;
    if (!known) {
        if (!ggs_array_push(children->list, children->n, children->capacity, (struct child){.pid = pid})) return;
        child = &children->list[children->n - 1];
    }
    child->round = children->round;
    child->waits = engine && !known;
    if (child->recorder == 0) inspect(child);
    visit(children, pid, depth + 1, child->engine && !child->ours);
}

// The children file of each thread has "11 12 13 ". `engine`: the parent has one without ours.
static void visit(struct ggs_children * children, pid_t parent, unsigned depth, bool engine) {
    enum { DEEPEST = 8 };
    char                  path[64 + NAME_MAX], words[4096];
    const struct dirent * entry;
    snprintf(path, sizeof(path), "/proc/%d/task", (int) parent);
    DIR * folder = depth > DEEPEST ? NULL : opendir(path);
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int) parent, entry->d_name);
        FILE * file = fopen(path, "re");
        size_t size = file == NULL ? 0 : fread(words, 1, sizeof(words) - 1, file);
        if (file != NULL) fclose(file);
        words[size] = '\0';
        char * end;
        for (const char * at = words;; at = end) {
            long pid = strtol(at, &end, 10);
            if (end == at || pid <= 0) break;
            add(children, (pid_t) pid, depth, engine);
        }
    }
    if (folder != NULL) closedir(folder);
}

// ---- recording them ----

static void name_first(struct ggs_children * children, pid_t pid) {
    char   path[64];
    FILE * file;
    snprintf(path, sizeof(path), "/proc/%d/comm", (int) pid);
    children->found.first = pid;
    file                  = fopen(path, "re");
    if (file == NULL || fgets(children->found.name, sizeof(children->found.name), file) == NULL)
        snprintf(children->found.name, sizeof(children->found.name), "?");
    children->found.name[strcspn(children->found.name, "\n")] = '\0';
    if (file != NULL) fclose(file);
}

static pid_t attach_to(const struct ggs_children * children, pid_t pid) {
    char  directory[PATH_MAX + 32], number[16];
    pid_t recorder = 0;
    snprintf(directory, sizeof(directory), "%s/process-%d", children->directory, (int) pid);
    snprintf(number, sizeof(number), "%d", (int) pid);
    char *            words[] = {"ggscope", "attach", "-o", directory, number, children->quiet ? "-q" : NULL, NULL};
    posix_spawnattr_t attributes;
    sigset_t          none;
    sigemptyset(&none);
    if (posix_spawnattr_init(&attributes) != 0) return 0;
    // Ctrl-C at the terminal is for us; we end it.
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setsigmask(&attributes, &none);
    int status = posix_spawn(&recorder, "/proc/self/exe", NULL, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    return status == 0 ? recorder : 0;
}

static void judge(struct ggs_children * children, struct child * child) {
    if (child->waits || !child->engine || child->ours || child->recorder != 0) return;
    if (children->directory[0] != '\0') child->recorder = attach_to(children, child->pid);
    if (child->recorder != 0) return;
    child->recorder = -1; // counted
    if (children->found.n++ == 0) name_first(children, child->pid);
}

static void search(struct ggs_children * children) {
    children->round++;
    visit(children, children->program, 0, false);
    for (size_t i = 0; i < children->n; i++)
        if (children->list[i].round == children->round) judge(children, &children->list[i]);
    if (children->n > children->found.seen) children->found.seen = (unsigned) children->n;
}

static void * run(void * context) {
    struct ggs_children * children = context;
    struct pollfd         stop     = {.fd = children->stop, .events = POLLIN};
    while (poll(&stop, 1, PERIOD_MS) == 0) search(children);
    return NULL;
}

struct ggs_children * ggs_children_watch(pid_t program, const char * directory, bool quiet) {
    struct ggs_children * children = calloc(1, sizeof(*children));
    sigset_t              all, before;
    if (children == NULL) return NULL;
    children->program = program;
    children->quiet   = quiet;
    children->stop    = eventfd(0, EFD_CLOEXEC);
    if (directory != NULL) snprintf(children->directory, sizeof(children->directory), "%s", directory);
    sigfillset(&all); // signals are for the thread that waits for the program
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = children->stop >= 0 && pthread_create(&children->thread, NULL, run, children) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) pthread_setname_np(children->thread, "children");
    if (started) return children;
    if (children->stop >= 0) close(children->stop);
    free(children);
    return NULL;
}

struct ggs_children_found ggs_children_end(struct ggs_children * children) {
    uint64_t one = 1;
    if (children == NULL) return (struct ggs_children_found){0};
    if (write(children->stop, &one, sizeof(one)) == (ssize_t) sizeof(one)) pthread_join(children->thread, NULL);
    for (size_t i = 0; i < children->n; i++)
        if (children->list[i].recorder > 0) kill(children->list[i].recorder, SIGINT);
    for (size_t i = 0; i < children->n; i++)
        while (children->list[i].recorder > 0 && waitpid(children->list[i].recorder, NULL, 0) < 0 && errno == EINTR) {}
    struct ggs_children_found found = children->found;
    close(children->stop);
    free(children->list);
    free(children);
    return found;
}
