#include "base/code/entry.h"

#include <string.h>

#include "base/search.h"

// Returns the number of code bytes from `address` on; 0 if it is outside of the code.
static size_t code_at(const struct ggs_code * code, uint64_t address, const uint8_t ** bytes) {
    uint64_t offset = address - code->address;
    *bytes          = code->bytes;
    if (offset >= code->size) return 0;
    *bytes += offset;
    return code->size - offset;
}

// The same, up to the end of the function.
static size_t function_bytes(const struct ggs_code * code, uint64_t function, uint64_t size, const uint8_t ** bytes) {
    size_t there = code_at(code, function, bytes);
    return there < size ? there : (size_t) size;
}

static bool is_stub(const struct ggs_code * code, uint64_t address) {
    for (unsigned i = 0; i < code->n_stubs; i++)
        if (address >= code->stubs[i].begin && address < code->stubs[i].end) return true;
    return false;
}

const struct ggs_code_function * ggs_code_function_at(const struct ggs_code * code, uint64_t address) {
    size_t behind = ggs_search(code->n_functions, at, code->functions[at].address <= address);
    if (behind == 0) return NULL;
    const struct ggs_code_function * function = &code->functions[behind - 1];
    return address - function->address < function->size ? function : NULL;
}

struct ggs_code_range ggs_code_extent(const struct ggs_code * code) {
    struct ggs_code_range all = {code->address, code->address + code->size}, extent = all;
    if (code->n_functions == 0) return all;
    const struct ggs_code_function * last = &code->functions[code->n_functions - 1];
    extent.begin                          = code->functions[0].address;
    extent.end                            = last->address + last->size;
    if (extent.begin < all.begin) extent.begin = all.begin;
    if (extent.end > all.end) extent.end = all.end;
    return extent.begin < extent.end ? extent : all;
}

// ---- calls that the compiler cannot see through ----

enum { MOST_VISITED = 512 };

struct visit {
    const struct ggs_code_function * found[MOST_VISITED];
    unsigned                         n;
};

static void visit_add(struct visit * visit, const struct ggs_code_function * function) {
    for (unsigned i = 0; i < visit->n; i++)
        if (visit->found[i]->address == function->address) return;
    if (visit->n < MOST_VISITED) visit->found[visit->n++] = function;
}

// True if the function calls another object, or through a pointer. Adds the functions that it
// calls.
static bool leads_outside(const struct ggs_code * code, const struct ggs_code_function * function,
                          struct visit * visit) {
    const uint8_t *        bytes;
    struct ggs_instruction instruction;
    size_t                 size = function_bytes(code, function->address, function->size, &bytes);
    for (size_t i = 0; i < size; i += instruction.length) {
        if (!code->processor->decode(&instruction, bytes + i, size - i)) return false;
        uint64_t target = function->address + i + (uint64_t) instruction.target;
        switch (instruction.kind) {
            case GGS_INSTRUCTION_CALL_INDIRECT:
                if (!code->processor->is_thread_lookup(&instruction, bytes + i, i)) return true;
                break;
            case GGS_INSTRUCTION_CALL:
            case GGS_INSTRUCTION_JUMP:
            case GGS_INSTRUCTION_BRANCH:
                if (target - function->address < function->size) break;
                if (is_stub(code, target)) return true;
                const struct ggs_code_function * other = ggs_code_function_at(code, target);
                if (other != NULL) visit_add(visit, other);
                break;
            default:
                break;
        }
    }
    return false;
}

static bool must_preserve(const struct ggs_code * code, uint64_t function, uint64_t size) {
    struct ggs_code_function first = {.address = function, .size = size};
    struct visit             visit = {{&first}, 1};
    for (unsigned i = 0; i < visit.n; i++)
        if (leads_outside(code, visit.found[i], &visit)) return false;
    return true;
}

bool ggs_code_calls(const struct ggs_code * code, const struct ggs_code_function * function, uint64_t address) {
    const uint8_t *        bytes;
    struct ggs_instruction instruction;
    size_t                 size = function_bytes(code, function->address, function->size, &bytes);
    for (size_t i = 0; i < size && code->processor->decode(&instruction, bytes + i, size - i); i += instruction.length)
        if (instruction.target != 0 && function->address + i + (uint64_t) instruction.target == address) return true;
    return false;
}

// ---- the entry ----

static const char * measure(struct ggs_code_entry * entry, const struct ggs_code * code) {
    const uint8_t *        bytes;
    struct ggs_instruction instruction;
    uint64_t               end  = entry->function + entry->size;
    size_t                 size = function_bytes(code, entry->at, end - entry->at, &bytes);
    const unsigned         jump = code->processor->jump_length;
    for (entry->length = 0; entry->length < jump; entry->length += instruction.length) {
        if (entry->length >= size) return "it is shorter than a jump";
        if (!code->processor->decode(&instruction, bytes + entry->length, size - entry->length))
            return "its first instructions are not known";
        bool last = entry->length + instruction.length >= jump;
        switch (instruction.kind) {
            case GGS_INSTRUCTION_ORDINARY:
            case GGS_INSTRUCTION_BRANCH:
                break;
            case GGS_INSTRUCTION_JUMP:
            case GGS_INSTRUCTION_RETURN:
                if (!last) return "it is shorter than a jump";
                break;
            case GGS_INSTRUCTION_CALL:
                if (!last) return "its first instructions cannot be moved";
                entry->calls = true;
                break;
            default:
                return "its first instructions cannot be moved";
        }
    }
    return NULL;
}

void ggs_entry_examine(struct ggs_code_entry * entry, const struct ggs_code * code, uint64_t function, uint64_t size) {
    const uint8_t *       bytes;
    struct ggs_code_range extent = ggs_code_extent(code);
    *entry                       = (struct ggs_code_entry){.function = function, .size = size, .at = function};
    size_t             there     = function_bytes(code, function, size, &bytes);
    struct ggs_landing landing   = code->processor->landing(bytes, there);
    entry->at += landing.length;
    entry->undo = landing.undo;
    if (there < size)
        entry->refused = "it lies outside of the program's readable code";
    else if (extent.end - extent.begin > code->processor->jump_reach)
        entry->refused = "the program has more code than a jump reaches";
    else
        entry->refused = measure(entry, code);
    if (entry->refused == NULL) entry->preserve = must_preserve(code, function, size);
}

// ---- branches into entries ----

// `call`: true for a call, which may target the beginning of a function; a jump from inside the
// function may not.
static void check_target(struct ggs_code_entry * entries, size_t n, uint64_t from, uint64_t to, bool call) {
    for (size_t i = 0; i < n; i++) {
        struct ggs_code_entry * entry = &entries[i];
        if (to < entry->function || to >= entry->at + entry->length) continue;
        bool within = from - entry->function < entry->size;
        bool begins = to == entry->at || to == entry->function;
        if (!begins || (within && !call)) entry->refused = "a jump leads into its first instructions";
    }
}

// A function that cannot be decoded to its end may jump anywhere inside itself.
static void refuse_function(struct ggs_code_entry * entries, size_t n, uint64_t function) {
    for (size_t i = 0; i < n; i++)
        if (entries[i].function == function && entries[i].refused == NULL)
            entries[i].refused = "its instructions are not all known";
}

void ggs_entries_check(struct ggs_code_entry * entries, size_t n, const struct ggs_code * code) {
    uint64_t low = UINT64_MAX, high = 0, scanned = 0;
    for (size_t i = 0; i < n; i++) {
        if (entries[i].function < low) low = entries[i].function;
        if (entries[i].at + entries[i].length > high) high = entries[i].at + entries[i].length;
    }
    for (size_t f = 0; f < code->n_functions; f++) {
        const struct ggs_code_function * function = &code->functions[f];
        const uint8_t *                  bytes;
        struct ggs_instruction           instruction;
        if (function->address < scanned) continue; // an alias
        size_t size = function_bytes(code, function->address, function->size, &bytes);
        scanned     = function->address + size;
        for (size_t i = 0; i < size; i += instruction.length) {
            uint64_t from = function->address + i;
            if (!code->processor->decode(&instruction, bytes + i, size - i)) {
                refuse_function(entries, n, function->address);
                break;
            }
            uint64_t to = from + (uint64_t) instruction.target;
            if (instruction.target != 0 && to >= low && to < high)
                check_target(entries, n, from, to, instruction.kind == GGS_INSTRUCTION_CALL);
        }
    }
}

// ---- moving ----

size_t ggs_entry_displace(const struct ggs_code_entry * entry, const struct ggs_code * code,
                          uint8_t to[GGS_DISPLACED_MOST], uint64_t at) {
    const struct ggs_processor * processor = code->processor;
    const uint8_t *              bytes;
    struct ggs_instruction       instruction;
    size_t                       used = (size_t) (entry->at - entry->function), size = code_at(code, entry->at, &bytes);
    memcpy(to, bytes - used, used); // indirect calls arrive here
    for (unsigned i = 0; i < entry->length; i += instruction.length) {
        if (!processor->decode(&instruction, bytes + i, size - i)) return 0;
        size_t n = processor->move(&instruction, bytes + i, entry->at + i, to + used, at + used);
        if (n == 0) return 0;
        used += n;
    }
    if (entry->calls) return used;
    return processor->jump(to + used, at + used, entry->at + entry->length) ? used + processor->jump_length : 0;
}
