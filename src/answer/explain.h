// ggscope explain: findings with their bounds, evidence, remedies and commands.
#pragma once

#include "analyze/explain/explain.h"
#include "base/object.h"

extern const struct ggs_object ggs_explanation_object; // of a struct ggs_explanation
