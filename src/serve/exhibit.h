// Opening and closing exhibits, for the shelf.
#pragma once

#include "serve/shelf.h"

// Opens the trace at `path` as the experiment in `directory`. Files of different experiments in one directory are refused.
int  ggs_exhibit_open(struct ggs_exhibit ** out, const char * directory, const char * path, struct ggs_error * error);
void ggs_exhibit_free(struct ggs_exhibit * exhibit);

// A member of a directory's experiment.json, "" where it is not there.
void ggs_exhibit_read_fact(const char * directory, const char * key, char * text, size_t size);
