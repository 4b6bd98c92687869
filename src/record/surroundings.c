#include "record/surroundings.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/system/disk-speed.h"
#include "base/system/file.h"
#include "base/system/readahead.h"
#include "record/cpu-group.h"
#include "record/host.h"

// ---- small files ----

// Reads the first line of a file without blanks at its ends; false if there is none.
static bool read_line(const char * path, char * line, size_t size) {
    FILE * file = fopen(path, "re");
    line[0]     = '\0';
    if (file == NULL) return false;
    bool read = fgets(line, (int) size, file) != NULL;
    fclose(file);
    size_t length = strlen(line);
    while (length > 0 && isspace((unsigned char) line[length - 1])) line[--length] = '\0';
    return read && length > 0;
}

static void add_text(struct json_object * object, const char * key, const char * text) {
    if (text[0] != '\0') json_object_object_add(object, key, ggs_json_text(text));
}

static void add_number(struct json_object * object, const char * key, uint64_t value) {
    json_object_object_add(object, key, json_object_new_uint64(value));
}

static void add_number_from(struct json_object * object, const char * key, const char * path) {
    char line[64], *end;
    if (!read_line(path, line, sizeof(line))) return;
    unsigned long long value = strtoull(line, &end, 10);
    if (end != line && *end == '\0') add_number(object, key, value);
}

// The word in brackets of "always [madvise] never".
static void add_choice_from(struct json_object * object, const char * key, const char * path) {
    char line[256];
    if (!read_line(path, line, sizeof(line))) return;
    char * open  = strchr(line, '[');
    char * close = open == NULL ? NULL : strchr(open, ']');
    if (close != NULL) *close = '\0';
    add_text(object, key, close == NULL ? line : open + 1);
}

// "MemAvailable:  123 kB"
static void add_meminfo(struct json_object * object, const char * name, const char * key) {
    char     line[256];
    FILE *   file = fopen("/proc/meminfo", "re");
    uint64_t kib;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        size_t length = strlen(name);
        if (strncmp(line, name, length) != 0 || line[length] != ':') continue;
        if (sscanf(line + length + 1, "%" SCNu64, &kib) == 1) add_number(object, key, kib * 1024);
    }
    if (file != NULL) fclose(file);
}

// ---- the disk ----

// Adds the mount of a device: "36 35 98:0 /root /point rw,noatime shared:1 - ext4 /dev/sda1
// rw,errors=continue".
static void add_mount(struct json_object * storage, dev_t device) {
    char   line[4096], type[128], source[1024], options[1024], more[1024];
    FILE * file = fopen("/proc/self/mountinfo", "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        unsigned     high, low;
        const char * dash = strstr(line, " - ");
        if (dash == NULL || sscanf(line, "%*u %*u %u:%u %*s %*s %1023s", &high, &low, options) != 3) continue;
        if (makedev(high, low) != device || sscanf(dash, " - %127s %1023s %1023s", type, source, more) != 3) continue;
        char         all[2100];
        const char * comma = strchr(more, ','); // after "rw" or "ro"
        snprintf(all, sizeof(all), "%s%s", options, comma == NULL ? "" : comma);
        add_text(storage, "file_system", type);
        add_text(storage, "mount_options", all);
        add_text(storage, "device", source);
        break;
    }
    if (file != NULL) fclose(file);
}

// Finds the folder of a device in /sys, of the whole disk for a partition; false if it has none
// (network, overlay).
static bool disk_folder(dev_t device, char folder[PATH_MAX]) {
    char link[64], partition[PATH_MAX + 16];
    snprintf(link, sizeof(link), "/sys/dev/block/%u:%u", major(device), minor(device));
    if (realpath(link, folder) == NULL) return false;
    snprintf(partition, sizeof(partition), "%s/partition", folder);
    if (access(partition, F_OK) == 0) *strrchr(folder, '/') = '\0';
    return true;
}

static void add_disk(struct json_object * storage, dev_t device) {
    char folder[PATH_MAX], path[PATH_MAX + 32], text[256];
    if (!disk_folder(device, folder)) return;
    add_text(storage, "disk", strrchr(folder, '/') + 1);
    snprintf(path, sizeof(path), "%s/device/model", folder);
    if (read_line(path, text, sizeof(text))) add_text(storage, "disk_model", text);
    snprintf(path, sizeof(path), "%s/queue/rotational", folder);
    if (read_line(path, text, sizeof(text)))
        json_object_object_add(storage, "rotational", json_object_new_boolean(text[0] == '1'));
    snprintf(path, sizeof(path), "%s/queue/scheduler", folder);
    add_choice_from(storage, "scheduler", path);
}

// Adds what `ggscope stream` measured on the device earlier. Nothing is measured here, because that
// takes seconds and fills the page cache.
static void add_speed(struct json_object * storage, const char * model) {
    char             identity[2048], path[PATH_MAX];
    struct ggs_speed speed;
    int              fd = ggs_file_open(model);
    if (fd < 0) return;
    ggs_speed_identity(fd, "/proc", "/sys", identity, sizeof(identity));
    close(fd);
    if (!ggs_speed_path(identity, path) || !ggs_speed_read(path, identity, &speed)) return;
    if (speed.sequential > 0) add_number(storage, "sequential_bytes_per_s", speed.sequential);
    if (speed.random > 0) add_number(storage, "random_bytes_per_s", speed.random);
}

static struct json_object * storage_json(const char * model) {
    struct json_object * storage = json_object_new_object();
    struct stat          facts;
    uint64_t             readahead;
    if (model == NULL || stat(model, &facts) != 0) return storage;
    add_mount(storage, facts.st_dev);
    add_disk(storage, facts.st_dev);
    add_speed(storage, model);
    if (ggs_file_readahead(model, &readahead)) add_number(storage, "readahead_bytes", readahead);
    return storage;
}

// ---- memory and processors ----

// Reads the total time that programs were stalled for memory since the machine started.
static bool read_stall(uint64_t * ns) {
    FILE *   file = fopen("/proc/pressure/memory", "re");
    uint64_t us   = 0;
    bool     read = file != NULL && fscanf(file, "some avg10=%*f avg60=%*f avg300=%*f total=%" SCNu64, &us) == 1;
    if (file != NULL) fclose(file);
    *ns = us * 1000;
    return read;
}

static struct json_object * memory_json(void) {
    struct json_object * memory = json_object_new_object();
    add_number_from(memory, "swappiness", "/proc/sys/vm/swappiness");
    add_meminfo(memory, "SwapTotal", "swap_bytes");
    add_meminfo(memory, "MemAvailable", "available_bytes");
    uint64_t stall_ns;
    if (read_stall(&stall_ns)) add_number(memory, "stall_ns", stall_ns);
    add_choice_from(memory, "huge_pages", "/sys/kernel/mm/transparent_hugepage/enabled");
    add_number_from(memory, "numa_balancing", "/proc/sys/kernel/numa_balancing");
    return memory;
}

unsigned ggs_surroundings_nodes(void) {
    DIR *           folder = opendir("/sys/devices/system/node");
    unsigned        n      = 0, number;
    struct dirent * entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) n += sscanf(entry->d_name, "node%u", &number) == 1;
    if (folder != NULL) closedir(folder);
    return n;
}

// Hardware threads of a core: "0,4" or "0-1".
static unsigned threads_per_core(void) {
    char     line[256];
    unsigned n = 0, first, last;
    if (!read_line("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", line, sizeof(line))) return 0;
    for (const char * part = line; part != NULL; part = strchr(part, ',')) {
        part += *part == ',';
        n += sscanf(part, "%u-%u", &first, &last) == 2 && last >= first ? last - first + 1 : 1;
    }
    return n;
}

// Adds the quota of CPU time and its effect: the counts at the begin, and the increase at the end.
static void add_quota(struct json_object * cpu, bool ended) {
    static const char * const keys[] = {"quota_periods", "throttled_periods", "throttled_ns"};
    struct ggs_cpu_group      group;
    if (!ggs_cpu_group_read(&group) || group.quota_ns == 0) return;
    uint64_t counts[] = {group.periods, group.throttled_periods, group.throttled_ns};
    add_number(cpu, "quota_ns", group.quota_ns);
    add_number(cpu, "quota_period_ns", group.period_ns);
    for (unsigned i = 0; i < 3; i++) {
        struct json_object * before;
        bool                 there = json_object_object_get_ex(cpu, keys[i], &before);
        uint64_t             old   = ended && there ? json_object_get_uint64(before) : 0;
        add_number(cpu, keys[i], counts[i] >= old ? counts[i] - old : 0);
    }
}

static struct json_object * cpu_json(void) {
    struct json_object * cpu = json_object_new_object();
    char                 text[8192];
    ggs_host_cpu_flags(text, sizeof(text));
    add_text(cpu, "flags", text);
    if (read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", text, sizeof(text)))
        add_text(cpu, "governor", text);
    unsigned nodes = ggs_surroundings_nodes();
    if (nodes > 0) add_number(cpu, "numa_nodes", nodes);
    unsigned threads = threads_per_core();
    if (threads > 0) add_number(cpu, "threads_per_core", threads);
    add_quota(cpu, false);
    return cpu;
}

// PCIe links of graphics and compute devices: lanes in use, and as many as there could be. The
// speed of a lane says nothing: idle devices lower it.
static struct json_object * links_json(void) {
    struct json_object * links  = json_object_new_array();
    DIR *                folder = opendir("/sys/bus/pci/devices");
    struct dirent *      entry;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char path[PATH_MAX], line[64];
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/class", entry->d_name);
        if (!read_line(path, line, sizeof(line))) continue;
        if (strncmp(line, "0x03", 4) != 0 && strncmp(line, "0x12", 4) != 0) continue;
        struct json_object * link = json_object_new_object();
        add_text(link, "device", entry->d_name);
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/current_link_width", entry->d_name);
        add_number_from(link, "lanes", path);
        snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/max_link_width", entry->d_name);
        add_number_from(link, "most_lanes", path);
        json_object_array_add(links, link);
    }
    if (folder != NULL) closedir(folder);
    return links;
}

// Adds the load average: programs that run or wait for a disk, over the last minute.
static void add_load(struct json_object * conditions, const char * key) {
    double load;
    if (getloadavg(&load, 1) == 1) json_object_object_add(conditions, key, json_object_new_double(load));
}

struct json_object * ggs_surroundings_begin(const char * model) {
    struct json_object * conditions = json_object_new_object();
    json_object_object_add(conditions, "storage", storage_json(model));
    json_object_object_add(conditions, "memory", memory_json());
    json_object_object_add(conditions, "cpu", cpu_json());
    json_object_object_add(conditions, "links", links_json());
    add_load(conditions, "load_begin");
    return conditions;
}

void ggs_surroundings_end(struct json_object * conditions) {
    struct json_object *memory, *cpu, *before;
    uint64_t            stall_ns;
    add_load(conditions, "load_end");
    if (json_object_object_get_ex(conditions, "cpu", &cpu)) add_quota(cpu, true);
    if (!json_object_object_get_ex(conditions, "memory", &memory)) return;
    add_meminfo(memory, "MemAvailable", "available_bytes_end");
    if (json_object_object_get_ex(memory, "stall_ns", &before) && read_stall(&stall_ns))
        add_number(memory, "stall_ns", stall_ns - json_object_get_uint64(before));
}
