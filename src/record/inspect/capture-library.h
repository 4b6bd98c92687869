// Finds libggscope-capture.so and libggscope-stream.so: beside this program in a build tree, or in
// the library folder of an installation.
#pragma once

#include <limits.h>

struct ggs_error;

// Returns the absolute path for LD_PRELOAD, which cannot contain a blank or a colon: a path with
// one is replaced by a link in a private folder below XDG_RUNTIME_DIR, /dev/shm or /tmp.
int ggs_capture_library_find(char path[PATH_MAX], struct ggs_error * error);
int ggs_stream_library_find(char path[PATH_MAX], struct ggs_error * error);
// The absolute path of another program of ggscope ("ggscope-engine"), beside this one.
int ggs_sibling_find(char path[PATH_MAX], const char * name, struct ggs_error * error);
