#include "record/host.h"

#include <json-c/json.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/secrets.h"
#include "base/system/file.h"
#include "base/text.h"
#include "base/utf8.h"
#include "record/limits-cache.h"
#include "record/measure.h"

struct json_object * ggs_json_text(const char * text) {
    struct ggs_text clean  = {0};
    size_t          length = strlen(text);
    for (size_t i = 0; i < length;) {
        uint32_t point;
        size_t   size = ggs_utf8_decode(text + i, length - i, &point);
        if (size == 0) {
            ggs_text_puts(&clean, "\xef\xbf\xbd");
            size = 1;
        } else {
            ggs_text_append(&clean, text + i, size);
        }
        i += size;
    }
    struct json_object * string = json_object_new_string(ggs_text_string(&clean));
    ggs_text_release(&clean);
    return string;
}

// Reads the value after "key<blanks><separator>" in a file of such lines, without quotes; "" for
// none.
static void look_up(const char * path, const char * key, char separator, char * value, size_t size) {
    char   line[8192];
    FILE * file = fopen(path, "re");
    value[0]    = '\0';
    while (file != NULL && value[0] == '\0' && fgets(line, sizeof(line), file) != NULL) {
        size_t length = strlen(key);
        if (strncmp(line, key, length) != 0) continue;
        const char * at = line + length + strspn(line + length, " \t");
        if (*at != separator) continue;
        at += 1 + strspn(at + 1, " \t\"");
        snprintf(value, size, "%.*s", (int) strcspn(at, "\"\n"), at);
    }
    if (file != NULL) fclose(file);
}

// Identifies the boot of the machine: recordings of one boot share a clock. Omitted in a time
// namespace, which has another monotonic clock.
static struct json_object * boot_json(void) {
    char   text[64] = "", clock[32];
    FILE * file     = fopen("/proc/self/timens_offsets", "re");
    long   seconds = 0, nanoseconds = 0;
    bool   own = false;
    while (file != NULL && fscanf(file, "%31s %ld %ld", clock, &seconds, &nanoseconds) == 3)
        own |= strcmp(clock, "monotonic") == 0 && (seconds != 0 || nanoseconds != 0);
    if (file != NULL) fclose(file);
    file = own ? NULL : fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file != NULL && fgets(text, sizeof(text), file) == NULL) text[0] = '\0';
    if (file != NULL) fclose(file);
    text[strcspn(text, "\n")] = '\0';
    return text[0] == '\0' ? NULL : ggs_json_text(text);
}

void ggs_host_cpu(char * name, size_t size) {
    look_up("/proc/cpuinfo", "model name", ':', name, size);
}

void ggs_host_cpu_flags(char * flags, size_t size) {
    look_up("/proc/cpuinfo", "flags", ':', flags, size);
    if (flags[0] == '\0') look_up("/proc/cpuinfo", "Features", ':', flags, size); // AArch64
}

// Adds the machine's measured limits, if there are any, for comparison with the recording's ops.
static void add_limits(struct json_object * host) {
    struct ggs_limits    limits;
    struct json_object * list = json_object_new_array();
    unsigned             at;
    ggs_limits_cache_read(&limits);
    if (!ggs_limits_are_plausible(&limits, &at)) limits.n = 0; // measured on a busy machine
    for (unsigned i = 0; i < limits.n; i++) {
        struct json_object * rates = json_object_new_object();
        json_object_object_add(rates, "threads", json_object_new_uint64(limits.rate[i].threads));
        json_object_object_add(rates, "memory_bytes_per_second",
                               json_object_new_uint64(limits.rate[i].memory_bytes_per_second));
        json_object_object_add(rates, "flops_per_second", json_object_new_uint64(limits.rate[i].flops_per_second));
        json_object_object_add(rates, "measured_at", json_object_new_uint64(limits.rate[i].measured_at));
        json_object_object_add(rates, "others_percent", json_object_new_uint64(limits.rate[i].others_percent));
        json_object_array_add(list, rates);
    }
    if (limits.n > 0)
        json_object_object_add(host, "limits", list);
    else
        json_object_put(list);
}

struct json_object * ggs_host_json(void) {
    char           text[256];
    struct utsname kernel;
    cpu_set_t      usable;

    struct json_object * host = json_object_new_object();
    ggs_host_cpu(text, sizeof(text));
    json_object_object_add(host, "cpu", ggs_json_text(text));
    json_object_object_add(host, "cores", json_object_new_int64(sysconf(_SC_NPROCESSORS_ONLN)));
    if (sched_getaffinity(0, sizeof(usable), &usable) == 0)
        json_object_object_add(host, "usable_cores", json_object_new_int(CPU_COUNT(&usable)));
    uint64_t memory = (uint64_t) sysconf(_SC_PHYS_PAGES) * (uint64_t) sysconf(_SC_PAGESIZE);
    json_object_object_add(host, "memory_bytes", json_object_new_uint64(memory));
    if (uname(&kernel) == 0) {
        json_object_object_add(host, "kernel", ggs_json_text(kernel.release));
        json_object_object_add(host, "machine", ggs_json_text(kernel.machine));
    }
    look_up("/etc/os-release", "PRETTY_NAME", '=', text, sizeof(text));
    json_object_object_add(host, "os", ggs_json_text(text));
    json_object_object_add(host, "boot_id", boot_json());
    add_limits(host);
    return host;
}

static bool begins_with_one(const char * name, const char * const * prefixes) {
    for (; *prefixes != NULL; prefixes++) {
        if (strncmp(name, *prefixes, strlen(*prefixes)) == 0) return true;
    }
    return false;
}

struct json_object * ggs_environment_json(char * const * environment) {
    static const char * const matter[] = {
        "GGML_",           "LLAMA_",           "OMP_",         "GOMP_", "KMP_", "CUDA_", "HIP_", "MALLOC_",
        "GLIBC_TUNABLES=", "LD_LIBRARY_PATH=", "LD_BIND_NOW=", "NUMA_", NULL};
    struct json_object * chosen = json_object_new_object();
    for (; *environment != NULL; environment++) {
        const char * equals = strchr(*environment, '=');
        if (equals == NULL || !begins_with_one(*environment, matter)) continue;
        size_t length = (size_t) (equals - *environment);
        char * name   = strndup(*environment, length);
        if (name == NULL) break;
        bool hidden = ggs_secrets_is(name, length, equals + 1);
        json_object_object_add(chosen, name, ggs_json_text(hidden ? GGS_SECRET : equals + 1));
        free(name);
    }
    return chosen;
}

struct json_object * ggs_json_file_read(const char * path) {
    int fd = ggs_file_open(path);
    if (fd < 0) return NULL;
    struct json_object * root = json_object_from_fd(fd);
    close(fd);
    return root;
}
