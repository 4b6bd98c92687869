#include "preload/redirect.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "preload/exports.h"
#include "preload/loaded.h"
#include "preload/objects.h"

struct slot {
    void **   place;
    void *    before;
    void *    hook;
    uintptr_t object; // base of its object, which may be unloaded
    bool      locked;
};

static struct slot *         slots;
static unsigned              n_slots, capacity;
static struct ggs_redirected counts;
static unsigned long long    n_loaded; // number of objects ever loaded, at the last check

// Hooks of calls from one object, besides those that this library exports.
struct extra {
    uintptr_t    object;
    const char * name;
    void *       hook;
};
enum { MOST_EXTRAS = 8 };
static struct extra extras[MOST_EXTRAS];
static unsigned     n_extras;

static void * find_hook(const struct ggs_loaded * object, const char * name) {
    for (unsigned i = 0; i < n_extras; i++)
        if (extras[i].object == object->low && strcmp(extras[i].name, name) == 0) return extras[i].hook;
    return ggs_exports_find(name);
}

// ---- one slot ----

static struct slot * find_slot(void ** place) {
    for (unsigned i = 0; i < n_slots; i++)
        if (slots[i].place == place) return &slots[i];
    return NULL;
}

// Room is reserved before objects are visited, because nothing may be allocated meanwhile.
static struct slot * find_or_add_slot(void ** place) {
    struct slot * slot = find_slot(place);
    if (slot == NULL && n_slots < capacity) slot = &slots[n_slots++];
    return slot;
}

// An unbound slot points into its own object, to the code that binds it.
static bool is_lazy(const struct ggs_loaded * object, const ElfW(Sym) * symbol, const void * value) {
    bool inside = (uintptr_t) value >= object->low && (uintptr_t) value < object->high;
    return inside && (symbol->st_shndx == SHN_UNDEF || value != (void *) (object->bias + symbol->st_value));
}

static void exchange(void * context, const struct ggs_loaded * object, const struct ggs_loaded_slot * found) {
    (void) context;
    void * hook = find_hook(object, found->name);
    if (hook == NULL) return;
    void * value = __atomic_load_n(found->place, __ATOMIC_ACQUIRE);
    if (value == hook || value == NULL) return; // NULL: an undefined weak function
    unsigned      before = n_slots;
    struct slot * slot   = find_or_add_slot(found->place);
    if (slot == NULL) {
        counts.failed++;
        return;
    }
    bool again = slot < slots + before;
    *slot      = (struct slot){found->place, value, hook, object->low, found->locked};
    if (!ggs_loaded_write_slot(found->place, hook, found->locked)) {
        if (!again) n_slots--;
        counts.failed++;
    } else if (!again) {
        counts.slots++;
        counts.locked += found->locked;
        counts.lazy += found->jump && is_lazy(object, found->symbol, value);
    }
}

// ---- objects ----

// The C library and the dynamic linker call their own functions through slots too. These stay, and
// so do the slots of this library and of the vdso.
static bool is_left_alone(const struct ggs_loaded * object, const char * path) {
    const char * slash = strrchr(path, '/');
    const char * name  = slash == NULL ? path : slash + 1;
    bool         own   = (uintptr_t) &slots >= object->low && (uintptr_t) &slots < object->high;
    return own || strstr(name, "vdso") != NULL || strncmp(name, "ld-linux", 8) == 0 || strncmp(name, "ld-2", 4) == 0 ||
           strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libc-2", 6) == 0 ||
           strncmp(name, "libpthread", 10) == 0 || strncmp(name, "libggscope-", 11) == 0;
}

// See loaded.h for the functions that must not be called here.
static int visit(struct dl_phdr_info * info, size_t size, void * data) {
    struct ggs_loaded object;
    (void) size, (void) data;
    n_loaded = info->dlpi_adds;
    ggs_loaded_read(&object, info);
    if (object.dynamic == NULL || is_left_alone(&object, info->dlpi_name == NULL ? "" : info->dlpi_name)) return 0;
    ggs_loaded_each_slot(&object, exchange, NULL);
    return 0;
}

// Listed objects stay mapped while the list is walked: slots are read and written only there.
static int read_counters(struct dl_phdr_info * info, size_t size, void * data) {
    (void) size;
    *(unsigned long long *) data = info->dlpi_adds;
    return 1;
}

static int find_overwritten(struct dl_phdr_info * info, size_t size, void * data) {
    struct ggs_loaded object;
    (void) size;
    ggs_loaded_read(&object, info);
    for (unsigned i = 0; i < n_slots; i++)
        if (slots[i].object == object.low && __atomic_load_n(slots[i].place, __ATOMIC_RELAXED) != slots[i].hook)
            *(bool *) data = true;
    return 0;
}

// A slot with another value was written by another party since, or belongs to a new object at this
// address.
static int restore(struct dl_phdr_info * info, size_t size, void * data) {
    struct ggs_loaded object;
    (void) size, (void) data;
    ggs_loaded_read(&object, info);
    for (unsigned i = 0; i < n_slots; i++)
        if (slots[i].object == object.low && __atomic_load_n(slots[i].place, __ATOMIC_RELAXED) == slots[i].hook)
            ggs_loaded_write_slot(slots[i].place, slots[i].before, slots[i].locked);
    return 0;
}

static void scan(void) {
    enum { ROOM = 4096 };
    (void) ggs_array_reserve(slots, capacity, n_slots + ROOM);
    ggs_objects_visit(visit, NULL);
}

// ---- interface ----

static unsigned checks_left; // for bindings in progress

struct ggs_redirected ggs_redirect_begin(void) {
    enum { CHECKS = 20 };
    ggs_exports_read();
    counts      = (struct ggs_redirected){0};
    checks_left = CHECKS;
    scan();
    return counts;
}

void ggs_redirect_also(uintptr_t object, const char * name, void * hook) {
    if (n_extras < MOST_EXTRAS) extras[n_extras++] = (struct extra){object, name, hook};
    n_loaded = 0; // the next check visits all objects
}

void ggs_redirect_again(void) {
    unsigned long long loaded      = 0;
    bool               overwritten = false;
    ggs_objects_visit(read_counters, &loaded);
    if (checks_left > 0) {
        checks_left--;
        ggs_objects_visit(find_overwritten, &overwritten);
    }
    if (loaded != n_loaded || overwritten) scan();
}

void ggs_redirect_end(void) {
    ggs_objects_visit(restore, NULL);
    n_slots = n_extras = 0;
}
