// ggscope version: the version, and details of the build for bug reports.
#pragma once

#include <stdio.h>

void ggs_version_print(FILE * out);
