#include "sealing-fixture.h"

#include <stdlib.h>

char *               folder;
struct spool_fixture f;

int sealing_setup(void ** state) {
    (void) state;
    folder       = scratch_make();
    char * spool = scratch_path(folder, "spool");
    fixture_open(&f, spool);
    free(spool);
    return 0;
}

int sealing_teardown(void ** state) {
    (void) state;
    scratch_remove(folder);
    return 0;
}
