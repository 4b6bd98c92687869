// The process that ggscope attaches to: identity, mappings, memory and threads.
//
// Everything read from the process is untrusted: lengths and addresses are checked, and no value
// can make ggscope do more than write into that same process.
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
    uint64_t                started; // ticks since boot; pid and start time identify the process
    int                     proc;    // /proc/PID, locked: only one ggscope attaches at a time
    int                     memory;  // /proc/PID/mem, the address space at the time of opening
    uid_t                   user;
    gid_t                   group;
    char                    name[32];
    bool                    other_root; // paths differ: another mount namespace, or chroot
    struct ggs_tracee_map * maps;
    size_t                  n_maps, maps_capacity;
};

// Parses a process id or the name of exactly one process. GGS_ABSENT if there is none, GGS_USAGE if
// there are several.
int ggs_tracee_find(const char * word, pid_t * pid, struct ggs_error * error);

// Opens the process for reading and writing. Fails with a sentence that names the obstacle
// (permission, Yama). Call ggs_tracee_close in either case.
int  ggs_tracee_open(struct ggs_tracee * tracee, pid_t pid, struct ggs_error * error);
void ggs_tracee_close(struct ggs_tracee * tracee);

// True while the opened process runs; false for another one with the same id.
bool ggs_tracee_lives(const struct ggs_tracee * tracee);

int ggs_tracee_read_maps(struct ggs_tracee * tracee, struct ggs_error * error);
// Returns the mapping that contains the address; NULL if there is none.
const struct ggs_tracee_map * ggs_tracee_map_at(const struct ggs_tracee * tracee, uint64_t address);

bool ggs_tracee_read(const struct ggs_tracee * tracee, uint64_t address, void * to, size_t size);
bool ggs_tracee_write(const struct ggs_tracee * tracee, uint64_t address, const void * from, size_t size);

struct ggs_tracee_thread {
    pid_t id;
    char  state; // as in /proc/PID/stat: R, S, D, T, t, Z, X
    long  call;  // the system call in which it sleeps; -1: none, or unknown
};
// Lists at most `most` threads; returns their number.
size_t ggs_tracee_threads(const struct ggs_tracee * tracee, struct ggs_tracee_thread * threads, size_t most);
char   ggs_tracee_state(const struct ggs_tracee * tracee, pid_t thread); // 'X' if it has ended

// Reads the value of a line "KEY:\tVALUE" of a thread's status. False if there is none.
bool ggs_tracee_status(const struct ggs_tracee * tracee, pid_t thread, const char * key, char * value, size_t size);
