#include "preload/loaded.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOBAL_DATA = R_AARCH64_GLOB_DAT, ADDRESS = R_AARCH64_ABS64 };
#else
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOBAL_DATA = R_X86_64_GLOB_DAT, ADDRESS = R_X86_64_64 };
#endif

static void read_segments(struct ggs_loaded * object, const struct dl_phdr_info * info) {
    uintptr_t page = (uintptr_t) sysconf(_SC_PAGESIZE);
    *object        = (struct ggs_loaded){.bias = info->dlpi_addr, .low = UINTPTR_MAX};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) * segment = &info->dlpi_phdr[i];
        uintptr_t start            = info->dlpi_addr + segment->p_vaddr;
        uintptr_t end              = start + segment->p_memsz;
        if (segment->p_type == PT_LOAD && start < object->low) object->low = start;
        if (segment->p_type == PT_LOAD && end > object->high) object->high = end;
        if (segment->p_type == PT_DYNAMIC) object->dynamic = (const ElfW(Dyn) *) start;
        if (segment->p_type == PT_GNU_RELRO)
            object->locked = start & ~(page - 1), object->locked_end = end & ~(page - 1);
    }
}

void ggs_loaded_read(struct ggs_loaded * object, const struct dl_phdr_info * info) {
    read_segments(object, info);
    for (const ElfW(Dyn) * entry = object->dynamic; entry != NULL && entry->d_tag != DT_NULL; entry++) {
        uintptr_t value = entry->d_un.d_ptr, address = value < object->low ? value + object->bias : value;
        if (entry->d_tag == DT_SYMTAB) object->symbols = (const void *) address;
        if (entry->d_tag == DT_STRTAB) object->strings = (const void *) address;
        if (entry->d_tag == DT_JMPREL) object->tables[0] = address;
        if (entry->d_tag == DT_PLTRELSZ) object->sizes[0] = value;
        if (entry->d_tag == DT_RELA) object->tables[1] = address;
        if (entry->d_tag == DT_RELASZ) object->sizes[1] = value;
    }
}

static void visit_relocation(const struct ggs_loaded * object, const ElfW(Rela) * relocation, ggs_loaded_visit * visit,
                             void * context) {
    unsigned type = ELF64_R_TYPE(relocation->r_info);
    if (type != JUMP_SLOT && type != GLOBAL_DATA && (type != ADDRESS || relocation->r_addend != 0)) return;
    const ElfW(Sym) * symbol = &object->symbols[ELF64_R_SYM(relocation->r_info)];
    unsigned  kind           = ELF64_ST_TYPE(symbol->st_info);
    uintptr_t place          = object->bias + relocation->r_offset;
    if (symbol->st_name == 0 || kind == STT_OBJECT || kind == STT_TLS) return;
    struct ggs_loaded_slot slot = {(void **) place, place >= object->locked && place < object->locked_end,
                                   type == JUMP_SLOT, symbol, object->strings + symbol->st_name};
    visit(context, object, &slot);
}

void ggs_loaded_each_slot(const struct ggs_loaded * object, ggs_loaded_visit * visit, void * context) {
    if (object->symbols == NULL || object->strings == NULL) return;
    for (unsigned t = 0; t < 2; t++)
        for (size_t i = 0; i < object->sizes[t] / sizeof(ElfW(Rela)); i++)
            visit_relocation(object, (const ElfW(Rela) *) object->tables[t] + i, visit, context);
}

bool ggs_loaded_write_slot(void ** place, void * value, bool locked) {
    uintptr_t page_size = (uintptr_t) sysconf(_SC_PAGESIZE);
    void *    page      = (void *) ((uintptr_t) place & ~(page_size - 1));
    if (locked && mprotect(page, page_size, PROT_READ | PROT_WRITE) != 0) return false;
    __atomic_store_n(place, value, __ATOMIC_RELEASE);
    if (locked) mprotect(page, page_size, PROT_READ);
    return true;
}

struct search {
    const char * function;
    bool         found;
};

static void compare_name(void * context, const struct ggs_loaded * object, const struct ggs_loaded_slot * slot) {
    struct search * search = context;
    (void) object;
    if (strcmp(slot->name, search->function) == 0) search->found = true;
}

bool ggs_loaded_calls(const struct ggs_loaded * object, const char * function) {
    struct search search = {function, false};
    ggs_loaded_each_slot(object, compare_name, &search);
    return search.found;
}
