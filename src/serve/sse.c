#include "serve/sse.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/text.h"

enum { LISTENERS_MOST = 64, PENDING_MOST = 64 << 10 };

struct listener {
    struct ggs_sse *        events;
    struct MHD_Connection * connection;
    struct ggs_text         pending;
    unsigned                only; // the experiment of its events
    bool                    suspended, closed;
    struct listener *       next;
};

struct ggs_sse {
    pthread_mutex_t   lock;
    struct listener * listeners;
    unsigned          n; // listeners that are not closed
    bool              ended;
};

int ggs_sse_new(struct ggs_sse ** out, struct ggs_error * error) {
    *out = calloc(1, sizeof(**out));
    if (*out == NULL) return ggs_fail_memory(error);
    pthread_mutex_init(&(*out)->lock, NULL);
    return 0;
}

void ggs_sse_free(struct ggs_sse * events) {
    if (events == NULL) return;
    pthread_mutex_destroy(&events->lock);
    free(events);
}

// ---- callers hold the lock ----

static void wake(struct listener * listener) {
    if (!listener->suspended) return;
    listener->suspended = false;
    MHD_resume_connection(listener->connection);
}

static void end(struct listener * listener) {
    if (!listener->closed) listener->events->n--;
    listener->closed = true;
    wake(listener);
}

// The daemon does not watch the sockets of suspended connections: it notices that a browser has
// left when it writes twice. Streams whose browser has left are ended here instead.
static void end_abandoned(struct ggs_sse * events) {
    for (struct listener * listener = events->listeners; listener != NULL; listener = listener->next) {
        const union MHD_ConnectionInfo * info =
            MHD_get_connection_info(listener->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        char byte;
        if (listener->suspended && info != NULL && recv(info->connect_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
            end(listener);
    }
}

// ---- one listener; callbacks of the daemon ----

static ssize_t read_pending(void * context, uint64_t position, char * buffer, size_t size) {
    struct listener * listener = context;
    ssize_t           taken    = 0;
    (void) position;
    pthread_mutex_lock(&listener->events->lock);
    if (listener->pending.length > 0) {
        taken = (ssize_t) (listener->pending.length < size ? listener->pending.length : size);
        memcpy(buffer, listener->pending.data, (size_t) taken);
        listener->pending.length -= (size_t) taken;
        memmove(listener->pending.data, listener->pending.data + taken, listener->pending.length);
    } else if (listener->closed || listener->events->ended) {
        taken = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        listener->suspended = true;
        MHD_suspend_connection(listener->connection);
    }
    pthread_mutex_unlock(&listener->events->lock);
    return taken;
}

static void leave(void * context) {
    struct listener * listener = context;
    struct ggs_sse *  events   = listener->events;
    pthread_mutex_lock(&events->lock);
    for (struct listener ** at = &events->listeners; *at != NULL; at = &(*at)->next) {
        if (*at != listener) continue;
        *at = listener->next;
        if (!listener->closed) events->n--;
        break;
    }
    pthread_mutex_unlock(&events->lock);
    ggs_text_release(&listener->pending);
    free(listener);
}

struct MHD_Response * ggs_sse_listen(struct ggs_sse * events, struct MHD_Connection * connection, unsigned only,
                                     const char * greeting) {
    struct listener * listener = calloc(1, sizeof(*listener));
    if (listener == NULL) return NULL;
    listener->events     = events;
    listener->connection = connection;
    listener->only       = only;
    ggs_text_puts(&listener->pending, greeting);
    pthread_mutex_lock(&events->lock);
    if (events->n == LISTENERS_MOST) end_abandoned(events);
    bool room = events->n < LISTENERS_MOST && !events->ended && !listener->pending.failed;
    if (room) {
        listener->next    = events->listeners;
        events->listeners = listener;
        events->n++;
    }
    pthread_mutex_unlock(&events->lock);
    struct MHD_Response * response =
        room ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 1024, read_pending, listener, leave) : NULL;
    if (response == NULL) leave(listener);
    return response;
}

// ---- all listeners ----

static void add(struct listener * listener, const char * text) {
    ggs_text_puts(&listener->pending, text);
    if (listener->pending.failed || listener->pending.length > PENDING_MOST) {
        listener->pending.length = 0;
        end(listener);
    }
    wake(listener);
}

// Sends to the streams about all experiments, or to those about this one.
static void send_to(struct ggs_sse * events, unsigned only, const char * text) {
    pthread_mutex_lock(&events->lock);
    for (struct listener * listener = events->listeners; listener != NULL; listener = listener->next)
        if (listener->only == only) add(listener, text);
    pthread_mutex_unlock(&events->lock);
}

void ggs_sse_send(struct ggs_sse * events, unsigned index, const char * event, const char * data, const char * alone) {
    struct ggs_text text = {0};
    ggs_text_printf(&text, "event: %s\ndata: %s\n\n", event, data);
    send_to(events, GGS_EXPERIMENTS_ALL, ggs_text_string(&text));
    ggs_text_clear(&text);
    ggs_text_printf(&text, "event: %s\ndata: %s\n\n", event, alone);
    send_to(events, index, ggs_text_string(&text));
    ggs_text_release(&text);
}

void ggs_sse_comment(struct ggs_sse * events) {
    pthread_mutex_lock(&events->lock);
    for (struct listener * listener = events->listeners; listener != NULL; listener = listener->next)
        add(listener, ": still here\n\n");
    pthread_mutex_unlock(&events->lock);
}

void ggs_sse_end(struct ggs_sse * events) {
    pthread_mutex_lock(&events->lock);
    events->ended = true;
    for (struct listener * listener = events->listeners; listener != NULL; listener = listener->next) wake(listener);
    pthread_mutex_unlock(&events->lock);
}
