#include "record/launch/relay.h"

#include <errno.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { PAGE = 4096 };

void ggs_relay_init(struct ggs_relay * relay, int from, int to, int copy) {
    relay->from        = from;
    relay->to          = to;
    relay->copy        = copy;
    relay->from_pty    = false;
    relay->held_return = false;
    relay->copy_errno  = 0;
    relay->to_errno    = 0;
    relay->filled      = 0;
    relay->sent        = 0;
}

static void keep_bytes(struct ggs_relay * relay, const char * data, size_t length) {
    while (length > 0 && relay->copy_errno == 0) {
        ssize_t n = write(relay->copy, data, length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            relay->copy_errno = n < 0 ? errno : ENOSPC;
            return;
        }
        data += n;
        length -= (size_t) n;
    }
}

static bool adds_returns(int pty) {
    struct termios settings;
    if (tcgetattr(pty, &settings) != 0) return false;
    return (settings.c_oflag & OPOST) != 0 && (settings.c_oflag & ONLCR) != 0;
}

// Removes one \r before each \n. A \r at the end of the data is held until the next byte is known.
static void keep_without_returns(struct ggs_relay * relay, const char * data, size_t length) {
    if (length == 0) return;
    if (relay->held_return && data[0] != '\n') keep_bytes(relay, "\r", 1);
    relay->held_return = data[length - 1] == '\r';
    if (relay->held_return) length--;
    size_t begin = 0;
    for (size_t i = 0; i + 1 < length; i++) {
        if (data[i] != '\r' || data[i + 1] != '\n') continue;
        keep_bytes(relay, data + begin, i - begin);
        begin = i + 1;
    }
    keep_bytes(relay, data + begin, length - begin);
}

static void keep(struct ggs_relay * relay, const char * data, size_t length) {
    if (relay->copy < 0) return;
    if (relay->from_pty && adds_returns(relay->from)) {
        keep_without_returns(relay, data, length);
        return;
    }
    if (relay->held_return) keep_bytes(relay, "\r", 1);
    relay->held_return = false;
    keep_bytes(relay, data, length);
}

void ggs_relay_close(struct ggs_relay * relay) {
    if (relay->held_return) keep_bytes(relay, "\r", 1);
    relay->held_return = false;
    relay->filled = relay->sent = 0;
    if (relay->from >= 0) close(relay->from);
    relay->from = -1;
}

bool ggs_relay_read(struct ggs_relay * relay) {
    if (relay->from < 0 || ggs_relay_pending(relay)) return false;
    ssize_t n;
    do {
        n = read(relay->from, relay->data, sizeof(relay->data));
    } while (n < 0 && errno == EINTR);
    if (n > 0) {
        keep(relay, relay->data, (size_t) n);
        relay->filled = (size_t) n;
        relay->sent   = 0;
        if (relay->to < 0) relay->sent = relay->filled;
        return true;
    }
    // EIO: no process has the other side of the pty open.
    if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) ggs_relay_close(relay);
    return false;
}

void ggs_relay_write(struct ggs_relay * relay) {
    size_t length = relay->filled - relay->sent;
    if (relay->to < 0 || length == 0) return;
    ssize_t n = write(relay->to, relay->data + relay->sent, length < PAGE ? length : PAGE);
    if (n >= 0) {
        relay->sent += (size_t) n;
        return;
    }
    if (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK) return;
    bool gone   = errno == EPIPE;
    relay->to   = -1;
    relay->sent = relay->filled;
    if (!gone) relay->to_errno = errno;
    if (gone && !relay->from_pty) ggs_relay_close(relay);
}
