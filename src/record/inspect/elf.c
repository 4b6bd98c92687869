#include "record/inspect/elf.h"

#include <elf.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"

// ---- bytes ----

// Copies the bytes at `offset`; false if they are not all inside the file.
static bool get(const struct ggs_elf * elf, uint64_t offset, void * to, size_t size) {
    if (!ggs_inside(offset, size, elf->mapping.size)) return false;
    memcpy(to, elf->mapping.data + offset, size);
    return true;
}

static struct ggs_elf_table clip(const struct ggs_elf * elf, uint64_t offset, uint64_t size) {
    if (!ggs_inside(offset, size, elf->mapping.size)) return (struct ggs_elf_table){0};
    return (struct ggs_elf_table){offset, size};
}

// A NUL-terminated string of a string table, or NULL.
static const char * string_at(const struct ggs_elf * elf, struct ggs_elf_table strings, uint64_t index) {
    if (index >= strings.size) return NULL;
    const char * text = (const char *) elf->mapping.data + strings.offset + index;
    return memchr(text, '\0', strings.size - index) == NULL ? NULL : text;
}

static bool symbol_at(const struct ggs_elf * elf, struct ggs_elf_table symbols, uint64_t index, Elf64_Sym * symbol) {
    if (index >= symbols.size / sizeof(*symbol)) return false;
    return get(elf, symbols.offset + index * sizeof(*symbol), symbol, sizeof(*symbol));
}

// ---- segments ----

static bool program_header(const struct ggs_elf * elf, const Elf64_Ehdr * header, unsigned i, Elf64_Phdr * segment) {
    uint64_t offset;
    if (header->e_phentsize < sizeof(*segment)) return false;
    if (!ggs_add(header->e_phoff, (uint64_t) i * header->e_phentsize, &offset)) return false;
    return get(elf, offset, segment, sizeof(*segment));
}

// Converts an address in memory to an offset in the file; false if no segment contains it.
static bool file_offset(const struct ggs_elf * elf, const Elf64_Ehdr * header, uint64_t address, uint64_t * offset) {
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        if (!program_header(elf, header, i, &segment)) return false;
        if (segment.p_type != PT_LOAD || address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
            continue;
        return ggs_add(segment.p_offset, address - segment.p_vaddr, offset);
    }
    return false;
}

static void read_segments(struct ggs_elf * elf, const Elf64_Ehdr * header) {
    enum { CODE = PF_R | PF_X }; // a process cannot read the code of --execute-only
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment;
        if (!program_header(elf, header, i, &segment)) {
            elf->cut_off = true;
            return;
        }
        struct ggs_elf_table place = clip(elf, segment.p_offset, segment.p_filesz);
        if (segment.p_type == PT_LOAD && place.size < segment.p_filesz) elf->cut_off = true;
        if (segment.p_type == PT_INTERP) {
            elf->interpreter = string_at(elf, place, 0);
        } else if (segment.p_type == PT_DYNAMIC) {
            elf->dynamic         = true;
            elf->dynamic_entries = place;
        } else if (segment.p_type == PT_LOAD && (segment.p_flags & CODE) == CODE && place.size > elf->code.size) {
            elf->code         = place;
            elf->code_address = segment.p_vaddr;
        } else if (segment.p_type == PT_GNU_EH_FRAME) {
            elf->frames         = place;
            elf->frames_address = segment.p_vaddr;
        }
    }
}

// ---- the dynamic section ----

static bool dynamic_at(const struct ggs_elf * elf, size_t i, Elf64_Dyn * entry) {
    if (i >= elf->dynamic_entries.size / sizeof(*entry)) return false;
    return get(elf, elf->dynamic_entries.offset + i * sizeof(*entry), entry, sizeof(*entry)) && entry->d_tag != DT_NULL;
}

static uint64_t dynamic_value(const struct ggs_elf * elf, int64_t tag) {
    Elf64_Dyn entry;
    for (size_t i = 0; dynamic_at(elf, i, &entry); i++) {
        if (entry.d_tag == tag) return entry.d_un.d_val;
    }
    return 0;
}

// Finds the table whose address and size two entries have.
static struct ggs_elf_table dynamic_table(const struct ggs_elf * elf, const Elf64_Ehdr * header, int64_t tag,
                                          uint64_t size) {
    uint64_t address = dynamic_value(elf, tag), offset;
    if (address == 0 || !file_offset(elf, header, address, &offset)) return (struct ggs_elf_table){0};
    return clip(elf, offset, size);
}

// ELF has no count of dynamic symbols. Section headers have it (read_sections, later). Without them
// the symbols are assumed to reach up to their names, which linkers place right after them. All
// reads are checked anyway.
static uint64_t guess_symbols(const struct ggs_elf * elf, const Elf64_Ehdr * header) {
    uint64_t from, to;
    if (!file_offset(elf, header, dynamic_value(elf, DT_SYMTAB), &from)) return 0;
    if (!file_offset(elf, header, dynamic_value(elf, DT_STRTAB), &to)) return 0;
    return to > from ? to - from : 0;
}

static const char * dynamic_string(const struct ggs_elf * elf, int64_t tag) {
    uint64_t index = dynamic_value(elf, tag);
    return index == 0 ? NULL : string_at(elf, elf->dynamic_strings, index);
}

static void read_dynamic(struct ggs_elf * elf, const Elf64_Ehdr * header) {
    elf->dynamic_strings = dynamic_table(elf, header, DT_STRTAB, dynamic_value(elf, DT_STRSZ));
    elf->dynamic_symbols = dynamic_table(elf, header, DT_SYMTAB, guess_symbols(elf, header));
    elf->relocations[0]  = dynamic_table(elf, header, DT_JMPREL, dynamic_value(elf, DT_PLTRELSZ));
    elf->relocations[1]  = dynamic_table(elf, header, DT_RELA, dynamic_value(elf, DT_RELASZ));
    elf->runpath         = dynamic_string(elf, DT_RUNPATH);
    if (elf->runpath == NULL) elf->runpath = dynamic_string(elf, DT_RPATH);
    elf->symbolic = (dynamic_value(elf, DT_FLAGS) & DF_SYMBOLIC) != 0;
    Elf64_Dyn entry;
    for (size_t i = 0; dynamic_at(elf, i, &entry); i++) {
        if (entry.d_tag == DT_SYMBOLIC) elf->symbolic = true;
    }
}

// ---- sections ----

static bool section_at(const struct ggs_elf * elf, const Elf64_Ehdr * header, unsigned i, Elf64_Shdr * section) {
    uint64_t offset;
    if (i >= header->e_shnum || header->e_shentsize < sizeof(*section)) return false;
    if (!ggs_add(header->e_shoff, (uint64_t) i * header->e_shentsize, &offset)) return false;
    return get(elf, offset, section, sizeof(*section));
}

static void read_sections(struct ggs_elf * elf, const Elf64_Ehdr * header) {
    Elf64_Shdr section, strings;
    for (unsigned i = 0; section_at(elf, header, i, &section); i++) {
        if (section.sh_type == SHT_DYNSYM) elf->dynamic_symbols = clip(elf, section.sh_offset, section.sh_size);
        if (section.sh_type != SHT_SYMTAB || !section_at(elf, header, section.sh_link, &strings)) continue;
        elf->symbols = clip(elf, section.sh_offset, section.sh_size);
        elf->strings = clip(elf, strings.sh_offset, strings.sh_size);
    }
}

// ---- files ----

static int parse(struct ggs_elf * elf, const char * path, struct ggs_error * error) {
    Elf64_Ehdr header;
    if (elf->mapping.size < SELFMAG || memcmp(elf->mapping.data, ELFMAG, SELFMAG) != 0)
        return ggs_fail(error, GGS_FORMAT, "%s is no ELF file", path);
    if (elf->mapping.size > EI_DATA && elf->mapping.data[EI_CLASS] != ELFCLASS64)
        return ggs_fail(error, GGS_UNSUPPORTED, "%s is a 32-bit program: only 64-bit programs can be recorded", path);
    if (!get(elf, 0, &header, sizeof(header)))
        return ggs_fail(error, GGS_FORMAT, "%s is cut off within its ELF header", path);
    if (header.e_ident[EI_DATA] != ELFDATA2LSB)
        return ggs_fail(error, GGS_UNSUPPORTED,
                        "%s is a big-endian program: only little-endian programs can be recorded", path);
    elf->machine = header.e_machine;
    read_segments(elf, &header);
    if (elf->dynamic) read_dynamic(elf, &header);
    // A position-independent static program is marked as such.
    elf->library = elf->dynamic && elf->interpreter == NULL && header.e_type == ET_DYN &&
                   (dynamic_value(elf, DT_FLAGS_1) & DF_1_PIE) == 0;
    read_sections(elf, &header);
    return 0;
}

int ggs_elf_open(struct ggs_elf * elf, const char * path, struct ggs_error * error) {
    *elf       = (struct ggs_elf){0};
    int status = ggs_mapping_open(&elf->mapping, path, error);
    if (status == 0) status = parse(elf, path, error);
    if (status != 0) ggs_elf_close(elf);
    return status;
}

void ggs_elf_close(struct ggs_elf * elf) {
    ggs_mapping_close(&elf->mapping);
    *elf = (struct ggs_elf){0};
}

static bool defined_in(const struct ggs_elf * elf, struct ggs_elf_table symbols, struct ggs_elf_table strings,
                       const char * function) {
    Elf64_Sym symbol;
    for (uint64_t i = 1; symbol_at(elf, symbols, i, &symbol); i++) {
        if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
        const char * name = string_at(elf, strings, symbol.st_name);
        if (name != NULL && strcmp(name, function) == 0) return true;
    }
    return false;
}

enum ggs_elf_definition ggs_elf_defines(const struct ggs_elf * elf, const char * function) {
    if (defined_in(elf, elf->dynamic_symbols, elf->dynamic_strings, function)) return GGS_ELF_EXPORTED;
    return defined_in(elf, elf->symbols, elf->strings, function) ? GGS_ELF_LOCAL : GGS_ELF_UNDEFINED;
}

unsigned ggs_elf_slots(const struct ggs_elf * elf, const char * function, uint64_t * slots, unsigned most) {
    unsigned n = 0;
    for (int table = 0; table < 2; table++) {
        struct ggs_elf_table all = elf->relocations[table];
        for (uint64_t i = 0; n < most && i < all.size / sizeof(Elf64_Rela); i++) {
            Elf64_Rela relocation;
            Elf64_Sym  symbol;
            if (!get(elf, all.offset + i * sizeof(relocation), &relocation, sizeof(relocation))) break;
            uint64_t index = ELF64_R_SYM(relocation.r_info);
            if (index == 0 || !symbol_at(elf, elf->dynamic_symbols, index, &symbol)) continue;
            const char * name = string_at(elf, elf->dynamic_strings, symbol.st_name);
            if (name != NULL && strcmp(name, function) == 0) slots[n++] = relocation.r_offset;
        }
    }
    return n;
}

bool ggs_elf_calls(const struct ggs_elf * elf, const char * function) {
    uint64_t slot;
    return ggs_elf_slots(elf, function, &slot, 1) > 0;
}

const char * ggs_elf_needs(const struct ggs_elf * elf, size_t number) {
    Elf64_Dyn entry;
    for (size_t i = 0; dynamic_at(elf, i, &entry); i++) {
        if (entry.d_tag == DT_NEEDED && number-- == 0) return string_at(elf, elf->dynamic_strings, entry.d_un.d_val);
    }
    return NULL;
}

bool ggs_elf_exports(const struct ggs_elf * elf, size_t i, const char ** name) {
    Elf64_Sym symbol;
    *name = NULL;
    if (!symbol_at(elf, elf->dynamic_symbols, i, &symbol)) return false;
    bool global = ELF64_ST_BIND(symbol.st_info) != STB_LOCAL && ELF64_ST_VISIBILITY(symbol.st_other) == STV_DEFAULT;
    if (global && symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == STT_FUNC)
        *name = string_at(elf, elf->dynamic_strings, symbol.st_name);
    return true;
}

bool ggs_elf_contains(const struct ggs_elf * elf, const char * text) {
    return elf->mapping.size > 0 && memmem(elf->mapping.data, elf->mapping.size, text, strlen(text)) != NULL;
}
