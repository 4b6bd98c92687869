// Server-sent events: one stream per page, on which the server tells what changed.
#pragma once

#include <microhttpd.h>

struct ggs_error;
struct ggs_events;

int  ggs_events_new(struct ggs_events ** out, struct ggs_error * error);
void ggs_events_free(struct ggs_events * events); // NULL is fine; after the daemon has stopped

// A response that streams to the connection; NULL where there are too many already. `greeting` goes first: events in their form on the wire.
struct MHD_Response * ggs_events_listen(struct ggs_events * events, struct MHD_Connection * connection,
                                        const char * greeting);
// Tells everybody. A listener that does not read is let go.
void ggs_events_tell(struct ggs_events * events, const char * event, const char * data);
// A sign of life, so that nothing between here and there closes the stream.
void ggs_events_comment(struct ggs_events * events);
// Ends all streams: before the daemon is stopped.
void ggs_events_end(struct ggs_events * events);
