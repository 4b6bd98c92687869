// ggscope version: the version, and what a bug report should say of the build.
#pragma once

#include <stdio.h>

void ggs_version_print(FILE * out);
