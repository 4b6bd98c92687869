#include "preload/exports.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

enum { HOOKS_MOST = 512, BUCKETS = 1024 };
static struct hook {
    const char * name;
    void *       function;
    uint16_t     next; // next in its bucket, + 1
} hooks[HOOKS_MOST];
static unsigned n_hooks;
static uint16_t buckets[BUCKETS];

static uint32_t hash_of(const char * name) {
    uint32_t hash = 5381;
    for (const char * c = name; *c != '\0'; c++) hash = hash * 33 + (uint8_t) *c;
    return hash;
}

static void add_hook(const char * name, void * function) {
    if (n_hooks == HOOKS_MOST || strncmp(name, "ggscope_", 8) == 0) return;
    uint16_t * bucket = &buckets[hash_of(name) % BUCKETS];
    hooks[n_hooks++]  = (struct hook){name, function, *bucket};
    *bucket           = (uint16_t) n_hooks;
}

void * ggs_exports_find(const char * name) {
    for (unsigned i = buckets[hash_of(name) % BUCKETS]; i != 0; i = hooks[i - 1].next)
        if (strcmp(hooks[i - 1].name, name) == 0) return hooks[i - 1].function;
    return NULL;
}

// No table states the number of dynamic symbols: it follows from the last chain of the hash table.
static uint32_t count_symbols(const uint32_t * hash) {
    const uint32_t *table = hash + 4 + 2 * hash[2], *chains = table + hash[0];
    uint32_t        last = 0;
    for (uint32_t i = 0; i < hash[0]; i++)
        if (table[i] > last) last = table[i];
    if (last < hash[1]) return 0;
    while ((chains[last - hash[1]] & 1) == 0) last++;
    return last + 1;
}

void ggs_exports_read(void) {
    Dl_info           info;
    struct link_map * map     = NULL;
    const ElfW(Sym) * symbols = NULL;
    const char *     strings  = NULL;
    const uint32_t * hash     = NULL;
    if (n_hooks > 0 || dladdr1(&hooks, &info, (void **) &map, RTLD_DL_LINKMAP) == 0 || map == NULL) return;
    for (const ElfW(Dyn) * entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB) symbols = (const void *) entry->d_un.d_ptr;
        if (entry->d_tag == DT_STRTAB) strings = (const void *) entry->d_un.d_ptr;
        if (entry->d_tag == DT_GNU_HASH) hash = (const void *) entry->d_un.d_ptr;
    }
    if (symbols == NULL || strings == NULL || hash == NULL) return;
    for (uint32_t i = hash[1], n = count_symbols(hash); i < n; i++)
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC && symbols[i].st_shndx != SHN_UNDEF)
            add_hook(strings + symbols[i].st_name, (void *) (map->l_addr + symbols[i].st_value));
}

void * ggs_exports_at(size_t i, const char ** name) {
    if (i >= n_hooks) return NULL;
    *name = hooks[i].name;
    return hooks[i].function;
}
