// Loads a library into a process and calls its ggscope_attach, as ggscope attach does.
//     load-library PID LIBRARY REQUEST [--image]
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/bootstrap.h"
#include "attach/c-library.h"
#include "attach/image.h"
#include "attach/tracee.h"
#include "base/error.h"
#include "base/system/file.h"

static int load(struct ggs_tracee * tracee, struct ggs_bootstrap * bootstrap, const char * pid, int * result,
                struct ggs_error * error) {
    struct ggs_c_library library;
    pid_t                number;
    int                  status = ggs_tracee_find(pid, &number, error);
    if (status == 0) status = ggs_tracee_open(tracee, number, error);
    if (status == 0) status = ggs_c_library_find(&library, tracee, error);
    struct ggs_image image;
    size_t           next = 0;
    if (status == 0 && ggs_image_find(&image, tracee, ggs_file_name(bootstrap->path), &next))
        bootstrap->block_at = ggs_image_symbol(&image, "ggscope_attach_block");
    if (status == 0) status = ggs_bootstrap_start(bootstrap, tracee, &library, error);
    if (status == 0) status = ggs_bootstrap_finish(bootstrap, tracee, UINT64_C(20000000000), result, error);
    return status;
}

int main(int argc, char ** argv) {
    struct ggs_tracee    tracee = {.pidfd = -1, .proc = -1, .memory = -1};
    struct ggs_mapping   file   = {0};
    struct ggs_error     error;
    struct ggs_bootstrap bootstrap = {.path = argv[2], .request = argv[3]};
    int                  result    = 0;
    if (argc < 4) return 2;
    if (argc > 4 && ggs_mapping_open(&file, argv[2], &error) == 0)
        bootstrap.image = file.data, bootstrap.image_size = file.size;
    int status = load(&tracee, &bootstrap, argv[1], &result, &error);
    if (status != 0)
        fprintf(stderr, "%s\n", error.text);
    else
        printf("%d %" PRIu64 "\n", result, bootstrap.stood_ns);
    ggs_tracee_close(&tracee);
    return status == 0 ? 0 : 1;
}
