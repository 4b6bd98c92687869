// The open connections, and since when: those that send nothing, or take nothing, are closed.
#pragma once

#include <pthread.h>
#include <stdbool.h>

#include <microhttpd.h>

struct ggs_clients {
    pthread_mutex_t     lock;
    struct ggs_client * first; // newest first
    unsigned            n;
};

// Above this many, each new connection closes the oldest one whose peer has not shown the token and
// is not being answered: a peer that fills the server with connections does not keep the owner out.
enum { GGS_CLIENTS_STRANGERS = 300 };

void ggs_clients_init(struct ggs_clients * clients);
void ggs_clients_release(struct ggs_clients * clients); // after the daemon has stopped

// For the daemon: MHD_OPTION_NOTIFY_CONNECTION, with the clients as its context.
void ggs_clients_notify(void * clients, struct MHD_Connection * connection, void ** socket_context,
                        enum MHD_ConnectionNotificationCode code);
// The peer has shown the token.
void ggs_clients_trust(struct ggs_clients * clients, struct MHD_Connection * connection);
// A request has arrived whole and is being answered, or is over; an endless one says so. Until it
// has arrived the time for sending it runs.
void ggs_clients_begin(struct ggs_clients * clients, struct MHD_Connection * connection);
void ggs_clients_stream(struct ggs_clients * clients, struct MHD_Connection * connection);
void ggs_clients_end(struct ggs_clients * clients, struct MHD_Connection * connection);

// Closes the connections of those who have been given time enough. To be called now and then.
void ggs_clients_hang_up(struct ggs_clients * clients);
