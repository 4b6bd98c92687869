#include "attach/image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "attach/tracee.h"
#include "base/system/file.h"

enum { SEGMENTS_MOST = 64, DYNAMIC_MOST = 4096, CHAIN_MOST = 4096, NAME_BYTES = 128 };

static bool get(const struct ggs_image * image, uint64_t at, void * to, size_t size) {
    return ggs_tracee_read(image->tracee, at, to, size);
}

// The dynamic linker has relocated most addresses in a dynamic section; those of the vdso and of
// musl are as in the file.
static uint64_t relocated(const struct ggs_image * image, uint64_t value) {
    return value < image->base ? value + image->bias : value;
}

static void read_dynamic(struct ggs_image * image, uint64_t at, uint64_t size) {
    for (uint64_t i = 0; i < size / sizeof(Elf64_Dyn) && i < DYNAMIC_MOST; i++) {
        Elf64_Dyn entry;
        if (!get(image, at + i * sizeof(entry), &entry, sizeof(entry)) || entry.d_tag == DT_NULL) return;
        uint64_t address = relocated(image, entry.d_un.d_ptr);
        if (entry.d_tag == DT_SYMTAB) image->symbols = address;
        if (entry.d_tag == DT_STRTAB) image->strings = address;
        if (entry.d_tag == DT_STRSZ) image->strings_size = entry.d_un.d_val;
        if (entry.d_tag == DT_GNU_HASH) image->hash = address;
        if (entry.d_tag == DT_VERSYM) image->versions = address;
        if (entry.d_tag == DT_RELA) image->relocations = address;
        if (entry.d_tag == DT_RELASZ) image->relocations_size = entry.d_un.d_val;
    }
}

static void read_segments(struct ggs_image * image, const Elf64_Phdr * segments, unsigned n) {
    uint64_t low = UINT64_MAX;
    for (unsigned i = 0; i < n; i++)
        if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr < low) low = segments[i].p_vaddr;
    image->bias = image->base - (low & ~UINT64_C(4095));
    for (unsigned i = 0; i < n; i++) {
        const Elf64_Phdr * segment = &segments[i];
        if (segment->p_type != PT_LOAD) continue;
        uint64_t start = image->bias + segment->p_vaddr, end = start + segment->p_memsz;
        if (end > image->end) image->end = end;
        if ((segment->p_flags & PF_W) != 0 && end > image->data_end) image->data_end = end;
        if ((segment->p_flags & PF_X) != 0 && segment->p_memsz > image->code_size)
            image->code = start, image->code_size = segment->p_memsz;
    }
    for (unsigned i = 0; i < n; i++) {
        uint64_t start = image->bias + segments[i].p_vaddr;
        if (segments[i].p_type == PT_DYNAMIC) read_dynamic(image, start, segments[i].p_memsz);
        if (segments[i].p_type == PT_INTERP) image->interpreted = true;
        if (segments[i].p_type == PT_TLS) image->variables = start, image->variables_size = segments[i].p_filesz;
    }
}

bool ggs_image_open(struct ggs_image * image, const struct ggs_tracee * tracee, uint64_t base) {
    Elf64_Ehdr header;
    Elf64_Phdr segments[SEGMENTS_MOST];
    *image = (struct ggs_image){.tracee = tracee, .base = base};
    if (!get(image, base, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0 ||
        header.e_phnum > SEGMENTS_MOST)
        return false;
    if (!get(image, base + header.e_phoff, segments, header.e_phnum * sizeof(segments[0]))) return false;
    image->machine = header.e_machine;
    read_segments(image, segments, header.e_phnum);
    return true;
}

bool ggs_image_find(struct ggs_image * image, const struct ggs_tracee * tracee, const char * name, size_t * next) {
    for (; *next < tracee->n_maps; (*next)++) {
        const struct ggs_tracee_map * map = &tracee->maps[*next];
        if (map->offset != 0 || !map->readable || strncmp(ggs_file_name(map->path), name, strlen(name)) != 0) continue;
        if (!ggs_image_open(image, tracee, map->start)) continue;
        (*next)++;
        return true;
    }
    return false;
}

// ---- symbols ----

static uint32_t hash_of(const char * name) {
    uint32_t hash = 5381;
    for (const char * c = name; *c != '\0'; c++) hash = hash * 33 + (uint8_t) *c;
    return hash;
}

static bool is_named(const struct ggs_image * image, const Elf64_Sym * symbol, const char * name) {
    char   found[NAME_BYTES];
    size_t length = strlen(name) + 1;
    return length <= sizeof(found) && symbol->st_name < image->strings_size &&
           get(image, image->strings + symbol->st_name, found, length) && memcmp(found, name, length) == 0;
}

// Old versions of a symbol are marked hidden: prefers the default version over any other.
static uint64_t search_chain(const struct ggs_image * image, uint64_t chain, uint32_t index, uint32_t first,
                             uint32_t hash, const char * name) {
    uint64_t older = 0;
    for (unsigned steps = 0; steps < CHAIN_MOST; steps++, index++) {
        uint32_t  link;
        Elf64_Sym symbol;
        uint16_t  version = 0;
        if (!get(image, chain + 4 * (uint64_t) (index - first), &link, sizeof(link))) return older;
        if ((link | 1) == (hash | 1) &&
            get(image, image->symbols + index * (uint64_t) sizeof(symbol), &symbol, sizeof(symbol)) &&
            symbol.st_shndx != SHN_UNDEF &&
            (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC || ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT) &&
            is_named(image, &symbol, name)) {
            if (image->versions != 0) get(image, image->versions + 2 * (uint64_t) index, &version, sizeof(version));
            older = image->bias + symbol.st_value;
            if ((version & 0x8000) == 0) return older;
        }
        if ((link & 1) != 0) return older;
    }
    return older;
}

uint64_t ggs_image_symbol(const struct ggs_image * image, const char * name) {
    struct {
        uint32_t buckets, first, bloom, shift;
    } head;
    if (image->symbols == 0 || image->strings == 0 || image->hash == 0) return 0;
    if (!get(image, image->hash, &head, sizeof(head)) || head.buckets == 0) return 0;
    uint32_t hash    = hash_of(name), index;
    uint64_t buckets = image->hash + sizeof(head) + 8 * (uint64_t) head.bloom;
    if (!get(image, buckets + 4 * (uint64_t) (hash % head.buckets), &index, sizeof(index)) || index < head.first)
        return 0;
    return search_chain(image, buckets + 4 * (uint64_t) head.buckets, index, head.first, hash, name);
}

// ---- thread-local variables ----

// The dynamic linker has stored the offset of one variable, or the object's number, where a
// relocation says. The program itself needs none: it is module 1.
void ggs_image_variables_place(const struct ggs_image * image, uint64_t * distance, uint64_t * module) {
    enum { BLOCK = 1024 };
    Elf64_Rela entries[BLOCK];
    uint64_t   n = image->variables == 0 || image->relocations == 0 ? 0 : image->relocations_size / sizeof(entries[0]);
    *distance = *module = 0;
    for (uint64_t done = 0; done < n; done += BLOCK) {
        size_t part = n - done < BLOCK ? (size_t) (n - done) : BLOCK;
        if (!get(image, image->relocations + done * sizeof(entries[0]), entries, part * sizeof(entries[0]))) return;
        for (size_t i = 0; i < part; i++) {
            Elf64_Sym symbol = {0};
            uint64_t  number = ELF64_R_SYM(entries[i].r_info), type = ELF64_R_TYPE(entries[i].r_info), stored;
            if (type != R_X86_64_TPOFF64 && type != R_X86_64_DTPMOD64) continue;
            if (number != 0 && (!get(image, image->symbols + number * sizeof(symbol), &symbol, sizeof(symbol)) ||
                                symbol.st_shndx == SHN_UNDEF))
                continue;
            if (!get(image, image->bias + entries[i].r_offset, &stored, sizeof(stored))) return;
            if (type == R_X86_64_DTPMOD64) *module = stored;
            if (type == R_X86_64_TPOFF64) *distance = symbol.st_value + (uint64_t) entries[i].r_addend - stored;
            if (*distance != 0) return;
        }
    }
    if (*module == 0 && image->interpreted) *module = 1;
}

// ---- code ----

uint64_t ggs_image_search(const struct ggs_image * image, const void * bytes, size_t size) {
    enum { BLOCK = 1 << 18 };
    uint8_t * block = malloc(BLOCK);
    uint64_t  found = 0;
    for (uint64_t at = 0; block != NULL && found == 0 && at + size <= image->code_size; at += BLOCK - size + 1) {
        size_t part = image->code_size - at < BLOCK ? (size_t) (image->code_size - at) : BLOCK;
        if (!get(image, image->code + at, block, part)) break;
        const uint8_t * hit = memmem(block, part, bytes, size);
        if (hit != NULL) found = image->code + at + (uint64_t) (hit - block);
    }
    free(block);
    return found;
}
