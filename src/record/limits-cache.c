#include "record/limits-cache.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/system/file.h"
#include "record/host.h"

enum { FILE_MOST = 64 << 10 };

int ggs_limits_cache_path(char path[PATH_MAX], struct ggs_error * error) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char        cpu[256];
    bool        own = cache != NULL && cache[0] == '/';
    if (!own && (home == NULL || home[0] != '/'))
        return ggs_fail(error, GGS_ABSENT,
                        "the measured limits cannot be stored: neither HOME nor XDG_CACHE_HOME is set");
    ggs_host_cpu(cpu, sizeof(cpu));
    for (char * at = cpu; *at != '\0'; at++)
        if (!isalnum((unsigned char) *at)) *at = '-';
    if (snprintf(path, PATH_MAX, "%s%s/ggscope/limits-%.100s-%ld.json", own ? cache : home, own ? "" : "/.cache",
                 cpu[0] == '\0' ? "cpu" : cpu, sysconf(_SC_NPROCESSORS_ONLN)) >= PATH_MAX)
        return ggs_fail(error, GGS_USAGE, "the path of the cache is too long");
    return 0;
}

static bool read_cache(struct ggs_limits * limits) {
    char               path[PATH_MAX];
    struct ggs_mapping file;
    uint64_t           wanted = 0;
    *limits                   = (struct ggs_limits){0};
    if (ggs_limits_cache_path(path, NULL) < 0 || ggs_mapping_open(&file, path, NULL) < 0) return false;
    if (file.size > 0 && file.size <= FILE_MOST) {
        struct ggs_json_value all = ggs_json_read((const char *) file.data, (size_t) file.size);
        ggs_limits_read(limits, ggs_json_member(all, "limits"));
        ggs_json_to_u64(ggs_json_member(all, "wanted"), &wanted);
    }
    ggs_mapping_close(&file);
    return wanted != 0;
}

void ggs_limits_cache_read(struct ggs_limits * limits) {
    read_cache(limits);
}

bool ggs_limits_cache_is_wanted(void) {
    struct ggs_limits limits;
    return read_cache(&limits);
}

static int write_cache(const struct ggs_limits * limits, bool wanted, struct ggs_error * error) {
    char              path[PATH_MAX], folder[PATH_MAX];
    struct ggs_output output;
    struct ggs_json   json;
    int               status = ggs_limits_cache_path(path, error);
    if (status < 0) return status;
    snprintf(folder, sizeof(folder), "%.*s", (int) (strrchr(path, '/') - path), path);
    status = ggs_make_directories(folder, error);
    if (status == 0) status = ggs_output_open(&output, path, error);
    if (status != 0) return status;
    ggs_json_init(&json, ggs_json_to_file, output.file, true);
    ggs_json_object(&json, NULL);
    ggs_limits_write(&json, "limits", limits);
    if (wanted) ggs_json_u64(&json, "wanted", 1);
    ggs_json_end(&json);
    if (ggs_json_finish(&json) != 0) {
        status = ggs_fail_errno(error, "cannot write %s", path);
        ggs_output_discard(&output);
        return status;
    }
    return ggs_output_commit(&output, error);
}

int ggs_limits_cache_write(const struct ggs_limits * limits, struct ggs_error * error) {
    return write_cache(limits, false, error);
}

int ggs_limits_cache_want(struct ggs_error * error) {
    struct ggs_limits limits;
    read_cache(&limits);
    return write_cache(&limits, true, error);
}
