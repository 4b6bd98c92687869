// Server-sent events: one stream per page for changes on the server.
#pragma once

#include <microhttpd.h>

#include "serve/experiments.h"

struct ggs_error;
struct ggs_sse;

int  ggs_sse_new(struct ggs_sse ** out, struct ggs_error * error);
void ggs_sse_free(struct ggs_sse * events); // NULL is fine; call it after the daemon has stopped

// Makes a response that streams events about the experiment `only` (GGS_EXPERIMENTS_ALL: about
// any); NULL if there are too many streams. `greeting` has the first events in wire format.
struct MHD_Response * ggs_sse_listen(struct ggs_sse * events, struct MHD_Connection * connection, unsigned only,
                                     const char * greeting);
// Sends an event about an experiment: `data` to the streams about any, `alone` to those about this
// one. A stream whose client does not read is closed.
void ggs_sse_send(struct ggs_sse * events, unsigned index, const char * event, const char * data, const char * alone);
// Sends a comment, so that no proxy closes the stream as idle.
void ggs_sse_comment(struct ggs_sse * events);
// Ends all streams; call it before the daemon stops.
void ggs_sse_end(struct ggs_sse * events);
