// The process that ggscope attaches to: who it is, what is mapped in it, its memory and its threads.
//
// What is read from the process is untrusted: lengths and addresses are checked before use, and nothing is believed
// that could make ggscope do more than write into that same process.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct ggs_error;

struct ggs_tracee_map {
    uint64_t start, end, offset;
    uint64_t device, inode;
    bool     readable, writable, executable;
    char *   path; // "" for none
};

struct ggs_tracee {
    pid_t                   pid;
    int                     pidfd;   // -1 if the kernel has none
    uint64_t                started; // ticks since boot; the pid and this are its identity
    int                     proc;    // /proc/PID, locked: one ggscope at a time attaches
    int                     memory;  // /proc/PID/mem, the address space at the time of opening
    uid_t                   user;
    gid_t                   group;
    char                    name[32];
    bool                    other_root; // paths mean other files in it: another mount namespace, or chroot
    struct ggs_tracee_map * maps;
    size_t                  n_maps, maps_capacity;
};

// A process id, or the name of exactly one process. GGS_ABSENT if there is none, GGS_USAGE if there are several.
int ggs_tracee_find(const char * word, pid_t * pid, struct ggs_error * error);

// Opens the process for reading and writing. Fails with one sentence that names what is missing (permission, Yama).
// `tracee` is valid for ggs_tracee_close either way.
int  ggs_tracee_open(struct ggs_tracee * tracee, pid_t pid, struct ggs_error * error);
void ggs_tracee_close(struct ggs_tracee * tracee);

// True while the process that was opened runs: the same one, not another that has got its number.
bool ggs_tracee_lives(const struct ggs_tracee * tracee);

int ggs_tracee_read_maps(struct ggs_tracee * tracee, struct ggs_error * error);
// The mapping that holds the address; NULL if none does.
const struct ggs_tracee_map * ggs_tracee_map_at(const struct ggs_tracee * tracee, uint64_t address);

bool ggs_tracee_read(const struct ggs_tracee * tracee, uint64_t address, void * to, size_t size);
bool ggs_tracee_write(const struct ggs_tracee * tracee, uint64_t address, const void * from, size_t size);

struct ggs_tracee_thread {
    pid_t id;
    char  state; // as /proc/PID/stat has it: R, S, D, T, t, Z, X
    long  call;  // the system call that it sleeps in; -1: none, or not known
};
// At most `most` threads; returns how many there are in `threads`.
size_t ggs_tracee_threads(const struct ggs_tracee * tracee, struct ggs_tracee_thread * threads, size_t most);
char   ggs_tracee_state(const struct ggs_tracee * tracee, pid_t thread); // 'X' if it is gone

// The value of a line "KEY:\tVALUE" of a thread's status. False if there is none.
bool ggs_tracee_status(const struct ggs_tracee * tracee, pid_t thread, const char * key, char * value, size_t size);
