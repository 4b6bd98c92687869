// A loaded object as listed by the dynamic linker (dl_iterate_phdr), and the slots through which it
// calls other objects.
//
// Inside a callback of dl_iterate_phdr the dynamic linker holds a lock. dlclose takes that lock and
// the one of dlopen, dlsym and dladdr in the opposite order, so none of them may be called there.
// Nothing here calls them.
#pragma once

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ggs_loaded {
    uintptr_t bias, low, high;
    uintptr_t locked, locked_end; // RELRO: read-only after relocation
    const ElfW(Dyn) * dynamic;    // NULL: none
    const ElfW(Sym) * symbols;
    const char * strings;
    uintptr_t    tables[2]; // of relocations
    size_t       sizes[2];
};

void ggs_loaded_read(struct ggs_loaded * object, const struct dl_phdr_info * info);

struct ggs_loaded_slot {
    void ** place;
    bool    locked; // lies in RELRO memory
    bool    jump;   // may be unbound
    const ElfW(Sym) * symbol;
    const char * name;
};
typedef void ggs_loaded_visit(void * context, const struct ggs_loaded * object, const struct ggs_loaded_slot * slot);

// Visits every function slot.
void ggs_loaded_each_slot(const struct ggs_loaded * object, ggs_loaded_visit * visit, void * context);
bool ggs_loaded_write_slot(void ** place, void * value, bool locked);
// True if the object calls the function through a slot.
bool ggs_loaded_calls(const struct ggs_loaded * object, const char * function);
