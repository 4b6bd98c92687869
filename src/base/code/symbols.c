#include "base/code/symbols.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"

enum { MOST_SECTIONS = 4096, MOST_NAME = 32 };
static const uint64_t most_table = 1ull << 30;

struct file {
    int        fd;
    uint64_t   size;
    Elf64_Ehdr header;
    Elf64_Shdr names; // of sections
};

static bool get(const struct file * file, uint64_t offset, void * to, size_t size) {
    if (!ggs_inside(offset, size, file->size)) return false;
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(file->fd, (char *) to + done, size - done, (off_t) (offset + done));
        if (n <= 0) return false;
        done += (size_t) n;
    }
    return true;
}

// Returns a section's bytes and a NUL; NULL if they are not all in the file, or too many.
static char * get_section(const struct file * file, const Elf64_Shdr * section) {
    if (section->sh_type == SHT_NOBITS || section->sh_size > most_table ||
        !ggs_inside(section->sh_offset, section->sh_size, file->size))
        return NULL;
    char * bytes = malloc(section->sh_size + 1);
    if (bytes == NULL) return NULL;
    bytes[section->sh_size] = '\0';
    if (get(file, section->sh_offset, bytes, section->sh_size)) return bytes;
    free(bytes);
    return NULL;
}

static bool open_file(struct file * file, const char * path) {
    struct stat info;
    *file = (struct file){.fd = open(path, O_RDONLY | O_CLOEXEC)};
    if (file->fd < 0) return false;
    if (fstat(file->fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0) {
        file->size            = (uint64_t) info.st_size;
        const Elf64_Ehdr * is = &file->header;
        if (get(file, 0, &file->header, sizeof(file->header)) && memcmp(is->e_ident, ELFMAG, SELFMAG) == 0 &&
            is->e_ident[EI_CLASS] == ELFCLASS64 && is->e_ident[EI_DATA] == ELFDATA2LSB &&
            is->e_shentsize == sizeof(Elf64_Shdr) && is->e_shnum <= MOST_SECTIONS)
            return true;
    }
    close(file->fd);
    file->fd = -1;
    return false;
}

static bool section_at(const struct file * file, unsigned i, Elf64_Shdr * section) {
    uint64_t offset;
    return i < file->header.e_shnum && ggs_add(file->header.e_shoff, (uint64_t) i * sizeof(*section), &offset) &&
           get(file, offset, section, sizeof(*section));
}

static void section_name(const struct file * file, const Elf64_Shdr * section, char name[MOST_NAME]) {
    uint64_t left = section->sh_name < file->names.sh_size ? file->names.sh_size - section->sh_name : 0, offset;
    memset(name, 0, MOST_NAME);
    if (left > MOST_NAME - 1) left = MOST_NAME - 1;
    if (!ggs_add(file->names.sh_offset, section->sh_name, &offset) || !get(file, offset, name, left)) name[0] = '\0';
}

// ---- does the file match the object in memory? ----

void ggs_build_id_find(struct ggs_build_id * id, const uint8_t * notes, size_t size) {
    id->size = 0;
    for (size_t at = 0; size - at >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof(note));
        size_t name = at + sizeof(note), rest = size - name;
        size_t name_size = ((size_t) note.n_namesz + 3) & ~(size_t) 3,
               id_size   = ((size_t) note.n_descsz + 3) & ~(size_t) 3;
        if (name_size > rest || note.n_descsz > rest - name_size) return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0 &&
            note.n_descsz > 1 && note.n_descsz <= GGS_BUILD_ID_MOST) {
            id->size = note.n_descsz;
            memcpy(id->bytes, notes + name + name_size, note.n_descsz);
            return;
        }
        if (id_size > rest - name_size) return;
        at = name + name_size + id_size;
    }
}

static bool same_id(const struct ggs_build_id * a, const struct ggs_build_id * b) {
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static bool is_of(const struct file * file, const struct ggs_symbols_of * of, const struct ggs_build_id * id) {
    if (of == NULL) return true;
    if (id->size > 0 && of->id.size > 0 && !same_id(id, &of->id)) return false;
    char * headers = malloc(of->headers_size);
    bool   same    = headers != NULL && file->header.e_phentsize == sizeof(Elf64_Phdr) &&
                (size_t) file->header.e_phnum * sizeof(Elf64_Phdr) == of->headers_size &&
                get(file, file->header.e_phoff, headers, of->headers_size) &&
                memcmp(headers, of->headers, of->headers_size) == 0;
    free(headers);
    return same;
}

// Finds the debug file that distributions install for a build id; false if there is none.
static bool debug_path(char * path, size_t size, const struct ggs_build_id * id) {
    if (id->size < 2) return false;
    int used = snprintf(path, size, "/usr/lib/debug/.build-id/%02x/", id->bytes[0]);
    for (unsigned i = 1; i < id->size && used > 0 && (size_t) used < size; i++)
        used += snprintf(path + used, size - (size_t) used, "%02x", id->bytes[i]);
    if (used < 0 || (size_t) used >= size) return false;
    return snprintf(path + used, size - (size_t) used, ".debug") < (int) (size - (size_t) used);
}

// ---- sections ----

struct sections {
    Elf64_Shdr          table, strings;
    bool                has_table;
    bool                by_clang;
    struct ggs_build_id id;
};

static void read_note(const struct file * file, const Elf64_Shdr * section, struct ggs_build_id * id) {
    uint8_t notes[1024];
    if (id->size > 0 || section->sh_size > sizeof(notes)) return;
    if (get(file, section->sh_offset, notes, section->sh_size)) ggs_build_id_find(id, notes, section->sh_size);
}

static bool names_clang(const struct file * file, const Elf64_Shdr * section) {
    char   text[4096] = "";
    size_t size       = section->sh_size < sizeof(text) ? (size_t) section->sh_size : sizeof(text);
    if (section->sh_type != SHT_PROGBITS || !get(file, section->sh_offset, text, size)) return false;
    return memmem(text, size, "clang", 5) != NULL || memmem(text, size, "LLVM", 4) != NULL;
}

static void read_sections(const struct file * file, struct sections * sections, struct ggs_symbols * symbols) {
    Elf64_Shdr section;
    char       name[MOST_NAME];
    *sections = (struct sections){0};
    for (unsigned i = 0; section_at(file, i, &section); i++) {
        section_name(file, &section, name);
        if (section.sh_type == SHT_NOTE) read_note(file, &section, &sections->id);
        if (strcmp(name, ".comment") == 0) sections->by_clang = names_clang(file, &section);
        if (strncmp(name, ".plt", 4) == 0 && symbols->n_stubs < GGS_CODE_STUBS) {
            symbols->stubs[symbols->n_stubs].begin = section.sh_addr;
            if (ggs_add(section.sh_addr, section.sh_size, &symbols->stubs[symbols->n_stubs].end)) symbols->n_stubs++;
        }
        if (section.sh_type != SHT_SYMTAB || section.sh_entsize != sizeof(Elf64_Sym)) continue;
        sections->table     = section;
        sections->has_table = section_at(file, section.sh_link, &sections->strings);
    }
}

// ---- symbols ----

static int by_address(const void * a, const void * b) {
    const struct ggs_code_function *x = a, *y = b;
    if (x->address != y->address) return x->address < y->address ? -1 : 1;
    return x->size > y->size ? -1 : x->size < y->size; // the longest first
}

// clang's whole-program optimisation changes the arguments of functions under the same name and
// makes them local; gcc gives such functions another name.
static bool is_vague(const Elf64_Sym * symbol, bool by_clang) {
    return by_clang && ELF64_ST_BIND(symbol->st_info) == STB_LOCAL &&
           ELF64_ST_VISIBILITY(symbol->st_other) == STV_DEFAULT;
}

static bool keep_functions(struct ggs_symbols * symbols, const char * table, uint64_t size, bool by_clang) {
    size_t n       = size / sizeof(Elf64_Sym);
    symbols->items = n == 0 ? NULL : malloc(n * sizeof(*symbols->items));
    if (symbols->items == NULL) return false;
    for (size_t i = 0; i < n; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, table + i * sizeof(symbol), sizeof(symbol));
        if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0 ||
            symbol.st_name >= symbols->names_size || symbol.st_value > UINT64_MAX - symbol.st_size)
            continue;
        symbols->items[symbols->count++] = (struct ggs_code_function){
            symbol.st_value, symbol.st_size, symbols->names + symbol.st_name, is_vague(&symbol, by_clang)};
    }
    qsort(symbols->items, symbols->count, sizeof(*symbols->items), by_address);
    return true;
}

static bool read_table(const struct file * file, const struct sections * sections, struct ggs_symbols * symbols,
                       const char * function) {
    if ((symbols->names = get_section(file, &sections->strings)) == NULL) return false;
    symbols->names_size = sections->strings.sh_size;
    // Most objects contain no ggml, so their names are checked first.
    if (memmem(symbols->names, symbols->names_size, function, strlen(function) + 1) == NULL) return false;
    char * table = get_section(file, &sections->table);
    bool   good  = table != NULL && keep_functions(symbols, table, sections->table.sh_size, sections->by_clang);
    free(table);
    return good;
}

static bool open_sections(struct file * file, const char * path, struct sections * sections,
                          struct ggs_symbols * symbols) {
    *symbols = (struct ggs_symbols){0};
    if (!open_file(file, path)) return false;
    if (!section_at(file, file->header.e_shstrndx, &file->names)) file->names = (Elf64_Shdr){0};
    read_sections(file, sections, symbols);
    return true;
}

// Uses the debug file in place of the file if it is of the same build.
static bool open_debug(struct file * file, struct sections * sections, struct ggs_symbols * symbols) {
    char                path[256];
    struct ggs_build_id id = sections->id;
    if (!debug_path(path, sizeof(path), &id)) return false;
    close(file->fd);
    file->fd = -1;
    return open_sections(file, path, sections, symbols) && same_id(&id, &sections->id) && sections->has_table;
}

bool ggs_symbols_read(struct ggs_symbols * symbols, const char * path, const struct ggs_symbols_of * of,
                      const char * function) {
    struct file     file;
    struct sections sections;
    if (!open_sections(&file, path, &sections, symbols)) return false;
    struct ggs_symbols none = *symbols; // its stubs
    bool               good = is_of(&file, of, &sections.id);
    if (!good) none.n_stubs = 0;
    none.stripped = good && !sections.has_table && !open_debug(&file, &sections, symbols);
    good          = good && !none.stripped && read_table(&file, &sections, symbols, function);
    if (file.fd >= 0) close(file.fd);
    if (good) return true;
    ggs_symbols_release(symbols);
    *symbols = none;
    return false;
}

void ggs_symbols_release(struct ggs_symbols * symbols) {
    free(symbols->items);
    free(symbols->names);
    *symbols = (struct ggs_symbols){0};
}
