#include "serve/clients.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/system/clock.h"

enum {
    IDLE_SECONDS    = 30,  // between requests, including the time to send one
    REQUEST_SECONDS = 900, // to receive one answer
};

struct ggs_client {
    int                 socket;
    uint64_t            since; // time of the connection, of the start of its request, or of the end of its last request
    bool                busy;  // a request is being answered
    bool                stream;
    bool                trusted; // has shown the token
    bool                closing;
    struct ggs_client * next;
};

static uint64_t seconds(void) {
    return ggs_clock_now() / 1000000000u;
}

void ggs_clients_init(struct ggs_clients * clients) {
    pthread_mutex_init(&clients->lock, NULL);
    clients->first = NULL;
    clients->n     = 0;
}

void ggs_clients_release(struct ggs_clients * clients) {
    pthread_mutex_destroy(&clients->lock);
}

static void hang_up(struct ggs_client * client) {
    if (client->socket >= 0 && !client->closing) shutdown(client->socket, SHUT_RDWR);
    client->closing = true;
}

static void make_room(struct ggs_clients * clients) {
    struct ggs_client * oldest = NULL;
    unsigned            n      = 0;
    for (struct ggs_client * client = clients->first; client != NULL; client = client->next) {
        if (client->trusted || client->busy || client->closing) continue;
        oldest = client;
        n++;
    }
    if (n > GGS_CLIENTS_STRANGERS) hang_up(oldest);
}

static void add(struct ggs_clients * clients, struct MHD_Connection * connection, void ** socket_context) {
    const union MHD_ConnectionInfo * info   = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct ggs_client *              client = calloc(1, sizeof(*client));
    *socket_context                         = client;
    if (client == NULL) return;
    client->socket = info == NULL ? -1 : info->connect_fd;
    client->since  = seconds();
    pthread_mutex_lock(&clients->lock);
    client->next   = clients->first;
    clients->first = client;
    if (++clients->n > GGS_CLIENTS_STRANGERS) make_room(clients);
    pthread_mutex_unlock(&clients->lock);
}

// The daemon closes the socket after this call, so no descriptor that was reused is shut down.
static void drop(struct ggs_clients * clients, void ** socket_context) {
    pthread_mutex_lock(&clients->lock);
    for (struct ggs_client ** at = &clients->first; *at != NULL; at = &(*at)->next) {
        if (*at != *socket_context) continue;
        *at = (*at)->next;
        clients->n--;
        break;
    }
    pthread_mutex_unlock(&clients->lock);
    free(*socket_context);
    *socket_context = NULL;
}

void ggs_clients_notify(void * clients, struct MHD_Connection * connection, void ** socket_context,
                        enum MHD_ConnectionNotificationCode code) {
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        add(clients, connection, socket_context);
    else
        drop(clients, socket_context);
}

void ggs_clients_trust(struct ggs_clients * clients, struct MHD_Connection * connection) {
    const union MHD_ConnectionInfo * info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (info == NULL || info->socket_context == NULL) return;
    pthread_mutex_lock(&clients->lock);
    ((struct ggs_client *) info->socket_context)->trusted = true;
    pthread_mutex_unlock(&clients->lock);
}

static void set_state(struct ggs_clients * clients, struct MHD_Connection * connection, bool busy, bool stream) {
    const union MHD_ConnectionInfo * info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (info == NULL || info->socket_context == NULL) return;
    struct ggs_client * client = info->socket_context;
    pthread_mutex_lock(&clients->lock);
    client->busy   = busy;
    client->stream = stream;
    client->since  = seconds();
    pthread_mutex_unlock(&clients->lock);
}

void ggs_clients_begin(struct ggs_clients * clients, struct MHD_Connection * connection) {
    set_state(clients, connection, true, false);
}

void ggs_clients_stream(struct ggs_clients * clients, struct MHD_Connection * connection) {
    set_state(clients, connection, true, true);
}

void ggs_clients_end(struct ggs_clients * clients, struct MHD_Connection * connection) {
    set_state(clients, connection, false, false);
}

void ggs_clients_hang_up(struct ggs_clients * clients) {
    uint64_t now = seconds();
    pthread_mutex_lock(&clients->lock);
    for (struct ggs_client * client = clients->first; client != NULL; client = client->next) {
        uint64_t limit = client->busy ? REQUEST_SECONDS : IDLE_SECONDS;
        if (!client->stream && now - client->since >= limit) hang_up(client);
    }
    pthread_mutex_unlock(&clients->lock);
}
