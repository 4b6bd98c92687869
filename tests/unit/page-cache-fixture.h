#pragma once

#include "analyze/paging/linux.h"

struct ggs_paging_cost plain_linux(const struct ggs_paging_sequence *   sequence,
                                   const struct ggs_paging_linux_host * host);
