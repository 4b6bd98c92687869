// An engine without symbols: where it makes CPU backends.
//
// Such a backend identifies itself by 16 bytes, the same in all releases. A function that refers to
// them and makes the parts of a backend returns one. Used by the capture library, and by ggscope
// doctor on files.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/code/entry.h"
#include "base/code/view.h"

enum { GGS_MAKERS_MOST = 4 };

struct ggs_backend_plan {
    uint64_t              guid; // its address; 0 if there is no such engine
    struct ggs_code_entry makers[GGS_MAKERS_MOST];
    size_t                n;
    const char *          refused; // half a sentence; NULL if every maker can be hooked
};

// `code` has the functions of ggs_view_functions.
void ggs_backend_plan(struct ggs_backend_plan * plan, const struct ggs_view * view, const struct ggs_code * code);
// True if the object contains the id of the CPU's backend.
bool ggs_backend_plan_is_engine(const struct ggs_view * view);
