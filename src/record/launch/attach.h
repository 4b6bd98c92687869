// Attaches to a running process: the capture library is loaded into it, records, and restores it.
// The alternative to ggs_launch, which starts a program.
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "attach/c-library.h"
#include "attach/tracee.h"
#include "base/system/file.h"

struct ggs_error;
struct ggs_spool_attach;

struct ggs_attach {
    struct ggs_tracee         tracee;
    struct ggs_c_library      c_library;
    char                      library[PATH_MAX]; // the capture library, as this process sees it
    uint64_t                  entry;             // its ggscope_attach if it is loaded, else 0
    uint64_t                  block_at;          // its ggscope_attach_block if it is loaded, else 0
    struct ggs_mapping        image;             // its contents if the process cannot open the file
    char **                   command;           // of the process, NULL at the end
    char *                    words;             // storage of `command`
    struct ggs_spool_attach * state;             // shared with the library
    uint64_t                  stood_ns;          // how long a thread of the process was stopped
    uint64_t                  all_stood_ns;      // how long all were, if its code was changed
    bool                      loaded;            // it records, or is about to
    // For a process with other mounts (a container): a folder for the spool; -1 for none.
    int  parent;
    char parent_inside[PATH_MAX]; // as the process sees it
    char parent_outside[64];      // as we and others see it, while we live
};
#define GGS_ATTACH_NONE ((struct ggs_attach){.tracee = {.pidfd = -1, .proc = -1, .memory = -1}, .parent = -1})

struct ggs_attach_settings {
    const char * output;  // directory of the experiment
    const char * folder;  // of the spool, as this process sees it
    const char * inside;  // as the process sees it
    const char * model;   // NULL: searched
    const char * gpu_ops; // NULL: the library's default
    uint64_t     max_size;
    bool         ring, residency, quiet, follow;
};

// Finds the process by id or name, and checks everything possible before it is touched: fails with
// one sentence if attaching cannot work. Call ggs_attach_close either way.
int ggs_attach_open(struct ggs_attach * attach, const char * word, struct ggs_error * error);

// For a process with other mounts: finds a folder for the spool that both can write to, `wanted`
// (as the process sees it) or its /dev/shm or /tmp.
int ggs_attach_find_parent(struct ggs_attach * attach, const char * wanted, struct ggs_error * error);

// Loads the library. Returns 0 once calls of the process lead to it.
int ggs_attach_start(struct ggs_attach * attach, const struct ggs_attach_settings * settings, struct ggs_error * error);

enum ggs_attach_end {
    GGS_ATTACH_WANTED,  // `stop` became readable
    GGS_ATTACH_SIGNAL,  // SIGINT, SIGTERM or SIGHUP came
    GGS_ATTACH_EXITED,  // the process has ended
    GGS_ATTACH_STOPPED, // the library has ended the recording; ggs_attach_finish says why
};
// Waits for one of these; `signals` is a signalfd.
enum ggs_attach_end ggs_attach_wait(const struct ggs_attach * attach, int stop, int signals);

// Ends the recording and waits until the process is restored; a graph run in progress continues to
// its end. After two seconds it says so, and a signal ends the wait: `*pending` is set, and the
// library finishes by itself. Earlier signals end nothing, because code of the process would stay
// changed. Returns GGS_IO with the reason if the recording had ended before.
int ggs_attach_finish(struct ggs_attach * attach, int signals, bool * pending, struct ggs_error * error);

// True if the recording ended for a reason that the library gave.
bool ggs_attach_failed(const struct ggs_attach * attach);

// If root attaches to a process of another user: gives that user the folder with its contents, and
// the recordings of children.
void ggs_attach_chown(const struct ggs_attach * attach, const char * folder);

void ggs_attach_close(struct ggs_attach * attach);
