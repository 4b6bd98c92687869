// One stream of bytes through us: read here, written there, and copied to a file.
//
// A relay holds at most one buffer and reads only while that is empty, so a slow reader slows the
// program down exactly as it would without us.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct ggs_relay {
    int    from;        // -1 at its end
    int    to;          // -1 if its reader is gone
    int    copy;        // -1 for none
    bool   from_pty;    // `from` is the master of a pty: see below
    bool   held_return; // a \r that may be the terminal's
    int    copy_errno;  // why the copy is incomplete, or 0
    int    to_errno;    // why not all was written, or 0; not if its reader went away
    size_t filled, sent;
    char   data[65536];
};

// If `from` is a pty, the copy has what the program wrote: a terminal turns \n into \r\n on output,
// which is undone as long as the terminal does it.
//
// `from` must not block; `to` may (its flags are shared with other processes and left alone): after
// POLLOUT at most a page is written, which a pipe always accepts.
void ggs_relay_init(struct ggs_relay * relay, int from, int to, int copy);

static inline bool ggs_relay_pending(const struct ggs_relay * relay) {
    return relay->filled > relay->sent;
}

// Reads once. Returns false if nothing was read: at the end (`from` is closed), or at this moment.
bool ggs_relay_read(struct ggs_relay * relay);
// Writes once. If the destination is gone, `to` becomes -1 and `from` is closed: the program gets
// SIGPIPE or EPIPE, as it would without us. A pty is still read, because a terminal never breaks
// like a pipe; so is everything if the destination cannot take it (a full disk): the program must
// not fail because its output cannot be kept.
void ggs_relay_write(struct ggs_relay * relay);
// Drops pending data and closes `from`.
void ggs_relay_close(struct ggs_relay * relay);
