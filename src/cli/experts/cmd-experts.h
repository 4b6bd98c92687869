// ggscope experts of several recordings.
#pragma once

#include "analyze/experts/domains.h"

void ggs_experts_domains_text(const struct ggs_domains * domains, char * const * paths);
