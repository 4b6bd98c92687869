// One stream of bytes on its way through us: read here, written there, and a copy kept in a file.
//
// A relay holds at most one buffer. It reads only while that is empty, so a slow reader behind us
// slows the program down exactly as it would without us.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ggs_relay {
    int    from;        // -1: at its end
    int    to;          // -1: its reader is gone
    int    copy;        // -1: none
    bool   from_pty;    // `from` is the master of a pty: see below
    bool   held_return; // a \r that may be the terminal's
    int    copy_errno;  // why the copy is not whole, 0 if it is
    int    to_errno;    // why not all was written; 0 if it was, or if its reader went away
    size_t filled, sent;
    char   data[65536];
};

// If `from` is a pty, the copy holds what the program wrote: a terminal turns \n into \r\n on the
// way out, and that is undone, exactly, as long as the terminal does it.
//
// `from` must not block; `to` may (it is shared with other processes, so its flags are left alone):
// after poll has said POLLOUT at most a page is written, which a pipe then always takes.
void ggs_relay_init(struct ggs_relay * relay, int from, int to, int copy);

static inline bool ggs_relay_pending(const struct ggs_relay * relay) {
    return relay->filled > relay->sent;
}

// Reads once. Returns false if nothing was there to be read: at the end (then `from` is closed), or
// for now.
bool ggs_relay_read(struct ggs_relay * relay);
// Writes once. A destination that is gone is noted (to = -1), and `from` is closed: the program
// then gets SIGPIPE or EPIPE, as it would without us. A pty is read on, because a terminal never
// breaks like a pipe; and so is everything if the destination cannot take it (a disk is full): the
// program must not fail because its output cannot be kept.
void ggs_relay_write(struct ggs_relay * relay);
// Drops what is pending and closes `from`.
void ggs_relay_close(struct ggs_relay * relay);
