// Counts the requests of a live recording by the rules of sealing (trace/sequences.h), as far as
// they can be known before later decodes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ggs_error;
struct ggs_live_requests;

// `folder` is the spool's, which may still be empty.
int  ggs_live_requests_open(struct ggs_live_requests ** requests, const char * folder, struct ggs_error * error);
void ggs_live_requests_close(struct ggs_live_requests * requests); // NULL is allowed

// Reads what is new. `ended`: the program has ended.
void ggs_live_requests_read(struct ggs_live_requests * requests, bool ended);

// Begins counting; requests in progress are left out.
void ggs_live_requests_begin(struct ggs_live_requests * requests);
// True if the first n requests since then have ended. Warm-ups and drafts do not count. A request
// has ended once its sequence begins another one, has its sampler set or its cells removed; if its
// context computes without it for a while; or if nothing is computed for a second. `last` is their
// newest decode, 0 if fewer than n have begun.
bool ggs_live_requests_have_ended(const struct ggs_live_requests * requests, uint64_t n, uint64_t * last);
// The newest decode, 0 for none.
uint64_t ggs_live_requests_newest(const struct ggs_live_requests * requests);
