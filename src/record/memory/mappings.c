#include "record/memory/mappings.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/array.h"
#include "record/surroundings.h"

enum { FIRST_MS = 500, MOST_MAPPINGS = 512 };
static const uint64_t LEAST_BYTES = 1 << 20;

struct ggs_mappings {
    pid_t                   program;
    struct ggs_mapping_list best; // the reading with the most memory
    pthread_t               thread;
    int                     stop; // eventfd
};

// ---- reading ----

// "AnonHugePages:      2048 kB"
static bool read_size(const char * line, const char * name, uint64_t * bytes) {
    uint64_t kib;
    size_t   length = strlen(name);
    if (strncmp(line, name, length) != 0 || line[length] != ':') return false;
    if (sscanf(line + length + 1, "%" SCNu64, &kib) != 1) return false;
    *bytes += kib * 1024;
    return true;
}

static bool keep(struct ggs_mapping_list * list, const struct ggs_mapping_pages * mapping) {
    list->resident += mapping->resident;
    if (mapping->resident + mapping->swapped < LEAST_BYTES || list->n == MOST_MAPPINGS) return true;
    return ggs_array_push(list->mapping, list->n, list->capacity, *mapping);
}

bool ggs_mapping_list_read(struct ggs_mapping_list * list, FILE * smaps) {
    static const char * const huge[]  = {"AnonHugePages", "ShmemPmdMapped", "FilePmdMapped", "Private_Hugetlb",
                                         "Shared_Hugetlb"};
    struct ggs_mapping_pages  mapping = {0};
    char                      line[4352];
    uint64_t                  start, end;
    bool                      fine = true;
    *list                          = (struct ggs_mapping_list){0};
    while (fine && fgets(line, sizeof(line), smaps) != NULL) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &start, &end) == 2) {
            fine    = keep(list, &mapping);
            mapping = (struct ggs_mapping_pages){.start = start, .bytes = end - start};
        } else if (!read_size(line, "Rss", &mapping.resident) && !read_size(line, "Swap", &mapping.swapped)) {
            for (unsigned i = 0; i < sizeof(huge) / sizeof(huge[0]); i++) read_size(line, huge[i], &mapping.huge);
        }
    }
    return fine && keep(list, &mapping);
}

static struct ggs_mapping_pages * find(const struct ggs_mapping_list * list, uint64_t start) {
    for (size_t i = 0; i < list->n; i++)
        if (list->mapping[i].start == start) return &list->mapping[i];
    return NULL;
}

// "7f01a0000000 default file=/m.gguf mapped=512 N0=500 N1=12 kernelpagesize_kB=4"
void ggs_mapping_list_read_nodes(struct ggs_mapping_list * list, FILE * numa_maps, unsigned nodes) {
    char     line[4352];
    uint64_t start, pages, kib;
    unsigned node;
    list->nodes = nodes < GGS_MAPPING_NODES ? nodes : GGS_MAPPING_NODES;
    while (fgets(line, sizeof(line), numa_maps) != NULL) {
        struct ggs_mapping_pages * mapping = sscanf(line, "%" SCNx64, &start) == 1 ? find(list, start) : NULL;
        const char *               size    = strstr(line, "kernelpagesize_kB=");
        if (mapping == NULL || size == NULL || sscanf(size, "kernelpagesize_kB=%" SCNu64, &kib) != 1) continue;
        for (const char * at = line; (at = strstr(at, " N")) != NULL; at++)
            if (sscanf(at, " N%u=%" SCNu64, &node, &pages) == 2 && node < list->nodes)
                mapping->node[node] = pages * kib * 1024;
    }
}

void ggs_mapping_list_release(struct ggs_mapping_list * list) {
    free(list->mapping);
    *list = (struct ggs_mapping_list){0};
}

// ---- the thread ----

static FILE * open_file(pid_t program, const char * name) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int) program, name);
    return fopen(path, "re");
}

static void read_mappings(struct ggs_mappings * mappings) {
    struct ggs_mapping_list list;
    unsigned                nodes = ggs_surroundings_nodes();
    FILE *                  smaps = open_file(mappings->program, "smaps");
    if (smaps == NULL) return;
    bool fine = ggs_mapping_list_read(&list, smaps);
    fclose(smaps);
    FILE * numa_maps = fine && nodes > 1 ? open_file(mappings->program, "numa_maps") : NULL;
    if (numa_maps != NULL) {
        ggs_mapping_list_read_nodes(&list, numa_maps, nodes);
        fclose(numa_maps);
    }
    if (fine && list.resident >= mappings->best.resident) {
        struct ggs_mapping_list worse = mappings->best;
        mappings->best                = list;
        list                          = worse;
    }
    ggs_mapping_list_release(&list);
}

static void * run(void * context) {
    struct ggs_mappings * mappings = context;
    struct pollfd         stop     = {.fd = mappings->stop, .events = POLLIN};
    for (int wait = FIRST_MS; poll(&stop, 1, wait) == 0; wait = wait < 1 << 30 ? 2 * wait : wait)
        read_mappings(mappings);
    return NULL;
}

struct ggs_mappings * ggs_mappings_watch(pid_t program) {
    struct ggs_mappings * mappings = calloc(1, sizeof(*mappings));
    sigset_t              all, before;
    if (mappings == NULL) return NULL;
    mappings->program = program;
    mappings->stop    = eventfd(0, EFD_CLOEXEC);
    sigfillset(&all); // signals are for the thread that waits for the program
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = mappings->stop >= 0 && pthread_create(&mappings->thread, NULL, run, mappings) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started) return mappings;
    if (mappings->stop >= 0) close(mappings->stop);
    free(mappings);
    return NULL;
}

// ---- the result ----

static void add(struct json_object * object, const char * key, uint64_t value) {
    json_object_object_add(object, key, json_object_new_uint64(value));
}

static struct json_object * mapping_json(const struct ggs_mapping_pages * mapping, unsigned nodes) {
    struct json_object * object = json_object_new_object();
    add(object, "start", mapping->start);
    add(object, "bytes", mapping->bytes);
    add(object, "resident_bytes", mapping->resident);
    add(object, "huge_bytes", mapping->huge);
    add(object, "swapped_bytes", mapping->swapped);
    if (nodes == 0) return object;
    struct json_object * list = json_object_new_array();
    for (unsigned i = 0; i < nodes; i++) json_object_array_add(list, json_object_new_uint64(mapping->node[i]));
    json_object_object_add(object, "node_bytes", list);
    return object;
}

void ggs_mappings_end(struct ggs_mappings * mappings, struct json_object * conditions) {
    struct json_object * memory;
    uint64_t             one = 1;
    if (mappings == NULL) return;
    if (write(mappings->stop, &one, sizeof(one)) == (ssize_t) sizeof(one)) pthread_join(mappings->thread, NULL);
    struct json_object * list = mappings->best.n == 0 ? NULL : json_object_new_array();
    for (size_t i = 0; i < mappings->best.n; i++)
        json_object_array_add(list, mapping_json(&mappings->best.mapping[i], mappings->best.nodes));
    if (list != NULL && json_object_object_get_ex(conditions, "memory", &memory))
        json_object_object_add(memory, "mappings", list);
    else
        json_object_put(list);
    close(mappings->stop);
    ggs_mapping_list_release(&mappings->best);
    free(mappings);
}
