// ggscope tune: the remedies that make a program faster.
#pragma once

#include "analyze/explain/tuned.h"
#include "base/object.h"

extern const struct ggs_object ggs_tuned_object; // of a struct ggs_tuned
