// The checks of `ggscope check` on the output of `ggscope export --format json`.
#pragma once

#include <stdbool.h>

struct ggs_checks;
struct ggs_error;

bool ggs_is_json_export(const char * directory);
// Negative only if the directory is not readable.
int ggs_check_json(struct ggs_checks * checks, const char * directory, struct ggs_error * error);
