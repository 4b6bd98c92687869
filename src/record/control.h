// Windows of a recording: when graph runs are recorded and when they are not, decided from outside
// while the program runs.
//
// The program looks at one word in shared memory (struct ggs_spool_control of trace/spool.h).
// Commands come through DIR/control.sock, which only the owner may write to, one line for each
// connection:
//
//     start        open a window            stop         close it           toggle      the other one of the two
//     mark TEXT    note a moment            status       which it is
//
// and gets a line back: "ok WORDS", or "error SENTENCE".
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
    bool         paused;    // no window is open at first
    uint64_t     length_ns; // a window ends after so much time; 0: by itself never
    uint64_t     steps;     // after so many steps; likewise
    uint64_t     requests;  // after so many requests have ended (spool/live-requests.h); likewise
    bool         quiet;
    // Called when a window opens or closes, for what is observed from outside; not for the first
    // one.
    void (*changed)(void * context, bool recording);
    void * context;
};

// Makes the control file in the spool folder and the socket; before the program is started. A
// socket that cannot be made is said in one line, and the recording goes on without it.
int ggs_control_open(struct ggs_control ** control, const struct ggs_control_settings * settings,
                     struct ggs_error * error);
// Starts to listen; once the program's process is there.
void ggs_control_begin(struct ggs_control * control);
// Children that the program forked, that computed graphs and were not recorded.
uint32_t ggs_control_children(const struct ggs_control * control);
// Opens a window, as the command does.
void ggs_control_start(struct ggs_control * control);
void ggs_control_toggle(struct ggs_control * control);
// Closes the window and the socket, which is removed. NULL is fine.
// So many bytes of segments are sealed and gone: the program may write as many more.
void ggs_control_freed(struct ggs_control * control, uint64_t bytes);
// Decodes up to this one are part of the recording whatever comes: UINT64_MAX if all are.
uint64_t ggs_control_certain(struct ggs_control * control);
void     ggs_control_close(struct ggs_control * control);

// Programs that were followed obey the same windows: gives the spool of each (DIR/process-N/spool)
// a copy of DIR/spool's control file, before that is sealed.
void ggs_control_share(const char * directory);

// The other side: sends a line to the recording that goes on in `directory`, and gets the answer
// without its first word. GGS_ABSENT if nothing is recorded there; GGS_USAGE with the sentence if
// the answer is an error.
int ggs_control_ask(const char * directory, const char * line, char * answer, size_t size, struct ggs_error * error);
