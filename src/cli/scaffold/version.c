#include "cli/scaffold/version.h"

#include <json-c/json.h>
#include <limits.h>
#include <microhttpd.h>
#include <sqlite3.h>
#include <zstd.h>

#include "base/error.h"
#include "build-facts.h"
#include "engine/locate.h"
#include "record/inspect/capture-library.h"
#include "trace/format.h"

void ggs_version_print(FILE * out) {
    char                    capture[PATH_MAX];
    struct ggs_engine_paths engine;
    struct ggs_error        error;
    fprintf(out, "ggscope %s%s%s%s\n", GGSCOPE_VERSION, GGSCOPE_COMMIT[0] == '\0' ? "" : " (", GGSCOPE_COMMIT,
            GGSCOPE_COMMIT[0] == '\0' ? "" : ")");
    fprintf(out, "built     %s, %s, %s\n", GGSCOPE_COMPILER, GGSCOPE_MACHINE, GGSCOPE_BUILD_TYPE);
    fprintf(out, "trace     format %d\n", GGS_TRACE_VERSION);
    fprintf(out, "libraries zstd %s, sqlite %s, json-c %s, microhttpd %s\n", ZSTD_versionString(), sqlite3_libversion(),
            json_c_version(), MHD_get_version());
    fprintf(out, "capture   %s\n", ggs_capture_library_find(capture, &error) == 0 ? capture : error.text);
    fprintf(out, "engine    %s\n", ggs_engine_locate(NULL, &engine, &error) == 0 ? engine.directory : error.text);
}
