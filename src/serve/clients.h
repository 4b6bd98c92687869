// The open connections and their ages. Connections that neither send nor receive are closed.
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include <microhttpd.h>

struct ggs_clients {
    pthread_mutex_t     lock;
    struct ggs_client * first; // newest first
    unsigned            n;
};

// Above this number, each new connection closes the oldest one that has not shown the token and is
// not being answered: a peer that floods the server does not lock out the owner.
enum { GGS_CLIENTS_STRANGERS = 300 };

void ggs_clients_init(struct ggs_clients * clients);
void ggs_clients_release(struct ggs_clients * clients); // call it after the daemon has stopped

// A callback for MHD_OPTION_NOTIFY_CONNECTION with the clients as context.
void ggs_clients_notify(void * clients, struct MHD_Connection * connection, void ** socket_context,
                        enum MHD_ConnectionNotificationCode code);
// Marks the connection as trusted: its peer has shown the token.
void ggs_clients_trust(struct ggs_clients * clients, struct MHD_Connection * connection);
// Mark the request of a connection as being answered, as an endless stream, or as ended. A request
// that is still arriving counts as idle.
void ggs_clients_begin(struct ggs_clients * clients, struct MHD_Connection * connection);
void ggs_clients_stream(struct ggs_clients * clients, struct MHD_Connection * connection);
void ggs_clients_end(struct ggs_clients * clients, struct MHD_Connection * connection);

// Closes connections whose time is up. Call it regularly.
void ggs_clients_hang_up(struct ggs_clients * clients);
