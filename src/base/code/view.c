#include "base/code/view.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

static void add_segment(struct ggs_view * view, const Elf64_Phdr * header, uint64_t address, const uint8_t * bytes) {
    if (header->p_type == PT_GNU_EH_FRAME) view->frames = (struct ggs_code_range){address, address + header->p_filesz};
    if (header->p_type != PT_LOAD || (header->p_flags & PF_R) == 0 || view->n == GGS_VIEW_SEGMENTS) return;
    view->segments[view->n++] = (struct ggs_view_segment){.address    = address,
                                                          .size       = header->p_filesz,
                                                          .bytes      = bytes,
                                                          .executable = (header->p_flags & PF_X) != 0,
                                                          .writable   = (header->p_flags & PF_W) != 0};
}

void ggs_view_of_memory(struct ggs_view * view, const void * headers, size_t n, uint64_t bias) {
    *view = (struct ggs_view){.n = 0};
    for (size_t i = 0; i < n; i++) {
        const Elf64_Phdr * header  = (const Elf64_Phdr *) headers + i;
        uint64_t           address = bias + header->p_vaddr;
        add_segment(view, header, address, (const uint8_t *) (uintptr_t) address);
    }
}

bool ggs_view_of_file(struct ggs_view * view, const uint8_t * file, uint64_t size) {
    Elf64_Ehdr head;
    *view = (struct ggs_view){.n = 0};
    if (size < sizeof(head)) return false;
    memcpy(&head, file, sizeof(head));
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_phentsize != sizeof(Elf64_Phdr) ||
        !ggs_inside(head.e_phoff, (uint64_t) head.e_phnum * sizeof(Elf64_Phdr), size))
        return false;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr header;
        memcpy(&header, file + head.e_phoff + i * sizeof(header), sizeof(header));
        if (ggs_inside(header.p_offset, header.p_filesz, size) && header.p_vaddr <= UINT64_MAX - header.p_filesz)
            add_segment(view, &header, header.p_vaddr, file + header.p_offset);
    }
    return true;
}

const uint8_t * ggs_view_at(const struct ggs_view * view, uint64_t address, uint64_t size) {
    for (unsigned i = 0; i < view->n; i++) {
        const struct ggs_view_segment * segment = &view->segments[i];
        uint64_t                        offset  = address - segment->address;
        if (offset < segment->size && size <= segment->size - offset) return segment->bytes + offset;
    }
    return NULL;
}

bool ggs_view_has_text(const struct ggs_view * view, uint64_t address, const char * text) {
    size_t          size  = strlen(text) + 1;
    const uint8_t * bytes = ggs_view_at(view, address, size);
    return bytes != NULL && memcmp(bytes, text, size) == 0;
}

// ---- functions ----
//
// .eh_frame_hdr: 4 bytes of version and encodings, offset of .eh_frame, number of entries. An entry
// has the offsets of a function and of its description, relative to the table. A description (FDE)
// has its own length, the offset of its common part (CIE), the function's address relative to this
// field, and the function's length.

enum { TABLE_HEADER = 12, TABLE_ENTRY = 8, DESCRIPTION = 16 };

static int32_t word(const uint8_t * bytes) {
    int32_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

// Returns the function's length; 0 if its description is not in the form that compilers write.
static uint64_t length_of(const struct ggs_view * view, uint64_t function, uint64_t description) {
    const uint8_t * bytes = ggs_view_at(view, description, DESCRIPTION);
    if (bytes == NULL || description + 8 + (uint64_t) (int64_t) word(bytes + 8) != function) return 0;
    return (uint32_t) word(bytes + 12);
}

static int by_address(const void * a, const void * b) {
    const struct ggs_code_function *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

struct ggs_code_function * ggs_view_functions(const struct ggs_view * view, size_t * count) {
    static const uint8_t expected[4] = {1, 0x1b, 0x03, 0x3b}; // what every linker writes: 4-byte offsets
    uint64_t             table = view->frames.begin, size = view->frames.end - view->frames.begin;
    const uint8_t *      bytes = size < TABLE_HEADER ? NULL : ggs_view_at(view, table, size);
    *count                     = 0;
    if (bytes == NULL || memcmp(bytes, expected, sizeof(expected)) != 0) return NULL;
    uint64_t n = (uint32_t) word(bytes + 8);
    if (n == 0 || n > (size - TABLE_HEADER) / TABLE_ENTRY) return NULL;
    struct ggs_code_function * functions = malloc(n * sizeof(*functions));
    for (uint64_t i = 0; functions != NULL && i < n; i++) {
        const uint8_t * entry    = bytes + TABLE_HEADER + i * TABLE_ENTRY;
        uint64_t        function = table + (uint64_t) (int64_t) word(entry);
        uint64_t        length   = length_of(view, function, table + (uint64_t) (int64_t) word(entry + 4));
        if (length == 0 || ggs_view_at(view, function, length) == NULL) continue;
        functions[(*count)++] = (struct ggs_code_function){.address = function, .size = length, .name = ""};
    }
    if (functions != NULL) qsort(functions, *count, sizeof(*functions), by_address);
    return functions;
}
