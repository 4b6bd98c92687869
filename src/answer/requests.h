// ggscope requests --json, /api/x/N/requests
#pragma once

#include "analyze/requests/requests.h"
#include "base/json.h"

void ggs_requests_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_requests * requests);
