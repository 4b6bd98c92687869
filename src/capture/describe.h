// Journal records that describe the process and its engine. One thread at a time.
#pragma once

#include <stdbool.h>

void ggs_describe_process(void);
// Versions, libraries with their build ids, the command line.
void ggs_describe_engine(void);
// False if libraries were loaded since the engine was described.
bool ggs_describe_is_current(void);
