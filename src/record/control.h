// Windows of a recording: when graph runs are recorded and when they are not, decided from outside
// while the program runs.
//
// The program reads one word in shared memory (struct ggs_spool_control of trace/spool.h).
// Commands come through DIR/control.sock, which only the owner may write to, one line per
// connection:
//
//     start        open a window            stop         close it           toggle      switch
//     mark TEXT    mark this moment         status       which it is
//
// The answer is one line: "ok WORDS", or "error SENTENCE".
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_error;
struct ggs_control;

#define GGS_CONTROL_SOCKET "control.sock"

struct ggs_control_settings {
    const char * directory; // of the experiment
    const char * folder;    // of the spool
    bool         paused;    // begins without a window
    uint64_t     length_ns; // length of a window; 0 for no limit
    uint64_t     steps;     // steps of a window; 0 for no limit
    uint64_t     requests;  // requests of a window (spool/live-requests.h); 0 for no limit
    bool         quiet;
    // Called when a window opens or closes, except for the first one, for observations from
    // outside.
    void (*changed)(void * context, bool recording);
    void * context;
};

// Makes the control file in the spool folder and the socket, before the program is started. A
// socket that cannot be made is reported in one line, and the recording goes on without it.
int ggs_control_open(struct ggs_control ** control, const struct ggs_control_settings * settings,
                     struct ggs_error * error);
// Starts to listen, once the program's process exists.
void ggs_control_begin(struct ggs_control * control);
// Forked children that computed graphs without being recorded.
uint32_t ggs_control_children(const struct ggs_control * control);
// Opens a window, like the command.
void ggs_control_start(struct ggs_control * control);
void ggs_control_toggle(struct ggs_control * control);
// Reports bytes of segments that were sealed and removed: the program may write as many more.
void ggs_control_freed(struct ggs_control * control, uint64_t bytes);
// Decodes up to this one are certainly part of the recording; UINT64_MAX if all are.
uint64_t ggs_control_certain(struct ggs_control * control);
// Closes the window and removes the socket. NULL is allowed.
void ggs_control_close(struct ggs_control * control);

// Followed programs obey the same windows: copies DIR/spool's control file to the spool of each
// (DIR/process-N/spool), before that is sealed.
void ggs_control_share(const char * directory);

// For clients: sends a line to the live recording in `directory`, and returns the answer without
// its first word. GGS_ABSENT if nothing is recorded there; GGS_USAGE with the sentence if the
// answer is an error.
int ggs_control_ask(const char * directory, const char * line, char * answer, size_t size, struct ggs_error * error);
