// Server-sent events: one stream per page, on which the server tells what changed.
#pragma once

#include <microhttpd.h>

struct ggs_error;
struct ggs_sse;

int  ggs_sse_new(struct ggs_sse ** out, struct ggs_error * error);
void ggs_sse_free(struct ggs_sse * events); // NULL is fine; after the daemon has stopped

// A response that streams to the connection; NULL if there are too many already. `greeting` goes first: events in their form on the wire.
struct MHD_Response * ggs_sse_listen(struct ggs_sse * events, struct MHD_Connection * connection,
                                     const char * greeting);
// Sends an event to all streams. One whose client does not read is closed.
void ggs_sse_tell(struct ggs_sse * events, const char * event, const char * data);
// A sign of life, so that nothing between here and there closes the stream.
void ggs_sse_comment(struct ggs_sse * events);
// Ends all streams: before the daemon is stopped.
void ggs_sse_end(struct ggs_sse * events);
