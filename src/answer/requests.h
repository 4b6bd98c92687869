// ggscope requests --json, /api/x/N/requests
#pragma once

#include "analyze/requests/cells.h"
#include "analyze/requests/requests.h"
#include "base/json.h"

enum { GGS_CELL_USES_MOST = 512 };

// `cells` may be NULL: then the member is left out.
void ggs_requests_write(struct ggs_json * json, const struct ggs_trace * trace, const struct ggs_requests * requests,
                        const struct ggs_cell_uses * cells);
