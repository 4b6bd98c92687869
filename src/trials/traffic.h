// Traffic for a server under test: completion requests over HTTP, in the words of llama-server.
//
//     ggs_traffic_own(&traffic, error) or ggs_traffic_replay(&traffic, directory, error);
//     ggs_traffic_start(&run, &traffic, port, process); // a thread sends the requests, ends it
//     ... the caller waits for the end of the process ...
//     ggs_traffic_join(&run);
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct ggs_error;

enum { GGS_TRAFFIC_PATIENCE_S = 600 }; // for a server to start, and for one answer

struct ggs_traffic_request {
    char *   body;  // JSON
    uint64_t at_ns; // after the first one
};

struct ggs_traffic {
    struct ggs_traffic_request * request;
    unsigned                     n, capacity;
    unsigned                     at_once; // concurrent requests, at most
};

// Sixteen short requests, four at once, two of which begin with the same words.
int ggs_traffic_own(struct ggs_traffic * traffic, struct ggs_error * error);
// The requests of a recording: the same tokens in, as many out, at the same times after the first.
int  ggs_traffic_replay(struct ggs_traffic * traffic, const char * directory, struct ggs_error * error);
void ggs_traffic_release(struct ggs_traffic * traffic); // a zeroed struct is allowed

// True if the command starts llama-server, itself or by another program such as taskset.
bool ggs_traffic_is_server(const char * const * words, unsigned n);

struct ggs_traffic_run {
    const struct ggs_traffic * traffic;
    unsigned                   port;
    int                        process; // pidfd, or -1
    pthread_t                  thread;
    bool                       running;
    atomic_bool                ended; // the process has ended, or is about to
    atomic_uint                next;
    uint64_t                   first_ns;
    char **                    answers;   // contents, in the order of requests
    uint64_t *                 took;      // ns each
    char                       said[200]; // why it failed, or ""
    pthread_mutex_t            lock;      // of `said`
    // Results:
    bool   done;       // every request had its answer
    double request_ns; // on average
};

// Returns false if no thread can be made. ggs_traffic_join is allowed either way.
bool ggs_traffic_start(struct ggs_traffic_run * run, const struct ggs_traffic * traffic, unsigned port, pid_t process);
// Call once the process has ended.
void ggs_traffic_join(struct ggs_traffic_run * run);
// Writes the contents of all answers, a line each.
int  ggs_traffic_write(const struct ggs_traffic_run * run, const char * path, struct ggs_error * error);
void ggs_traffic_run_release(struct ggs_traffic_run * run); // a zeroed struct is allowed

// Returns an unused port, or 0 if there is none.
unsigned ggs_traffic_free_port(void);
// True if something listens at the port.
bool ggs_traffic_is_taken(unsigned port);
