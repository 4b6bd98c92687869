// Server-sent events: one stream per page, on which the server tells what changed.
#pragma once

#include <microhttpd.h>

#include "serve/experiments.h"

struct ggs_error;
struct ggs_sse;

int  ggs_sse_new(struct ggs_sse ** out, struct ggs_error * error);
void ggs_sse_free(struct ggs_sse * events); // NULL is fine; after the daemon has stopped

// A response that streams to the connection what is about the experiment `only`
// (GGS_EXPERIMENTS_ALL: about any); NULL if there are too many already. `greeting` goes first:
// events in their form on the wire.
struct MHD_Response * ggs_sse_listen(struct ggs_sse * events, struct MHD_Connection * connection, unsigned only,
                                     const char * greeting);
// Sends an event about an experiment to the streams: `data` to those about any, `alone` to those
// about it. One whose client does not read is closed.
void ggs_sse_send(struct ggs_sse * events, unsigned index, const char * event, const char * data, const char * alone);
// A sign of life, so that nothing between here and there closes the stream.
void ggs_sse_comment(struct ggs_sse * events);
// Ends all streams: before the daemon is stopped.
void ggs_sse_end(struct ggs_sse * events);
