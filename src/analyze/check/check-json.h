// The checks of `ggscope check` on a directory that `ggscope export --format json` wrote.
#pragma once

#include <stdbool.h>

struct ggs_checks;
struct ggs_error;

bool ggs_is_json_export(const char * directory);
// Negative only if the directory cannot be read at all.
int ggs_check_json(struct ggs_checks * checks, const char * directory, struct ggs_error * error);
