// A spool in a scratch folder for tests that write and seal it: made before each test, removed
// after it.
#pragma once

#include "trace-fixture.h"

extern char *               folder;
extern struct spool_fixture f; // FOLDER/spool

int sealing_setup(void ** state);
int sealing_teardown(void ** state);

#define READ(reader, table, type, n) ((struct type *) read_all(reader, table, sizeof(struct type), n))
