#include "base/code/backend-plan.h"

#include <string.h>

#include "base/code/instruction.h"
#include "base/search.h"

static const uint8_t guid[16] = {0xaa, 0x67, 0xc7, 0x43, 0x96, 0xe6, 0xa3, 0x8a,
                                 0xe3, 0xaf, 0xea, 0x92, 0x36, 0xbc, 0xfc, 0x89};

// Finds a constant in the object. Returns 0 if it is missing or occurs twice.
static uint64_t find_guid(const struct ggs_view * view) {
    uint64_t found = 0;
    for (unsigned i = 0; i < view->n; i++) {
        const struct ggs_view_segment * segment = &view->segments[i];
        const uint8_t *                 at      = segment->bytes;
        size_t                          left    = segment->size;
        while (segment->writable && (at = memmem(at, left, guid, sizeof(guid))) != NULL) {
            if (found != 0) return 0;
            found = segment->address + (uint64_t) (at - segment->bytes);
            left  = segment->size - (size_t) (++at - segment->bytes);
        }
    }
    return found;
}

bool ggs_backend_plan_is_engine(const struct ggs_view * view) {
    return find_guid(view) != 0;
}

// True if the 4 bytes at `at` refer to the address, relative or absolute.
static bool refers(const uint8_t * bytes, uint64_t at, uint64_t address) {
    int32_t word;
    memcpy(&word, bytes, sizeof(word));
    return at + sizeof(word) + (uint64_t) (int64_t) word == address || (uint64_t) (int64_t) word == address;
}

// A maker allocates two objects, prepares the processor and gets the device. Functions that only
// compare the name call less.
static bool is_maker(const struct ggs_code * code, const struct ggs_code_function * function, uint64_t reference) {
    enum { FEWEST_CALLS = 4 };
    const uint8_t *        bytes = code->bytes + (function->address - code->address);
    struct ggs_instruction instruction;
    bool                   refers_there = false;
    unsigned               calls        = 0;
    for (size_t i = 0; i < function->size; i += instruction.length) {
        if (!ggs_instruction_decode(&instruction, bytes + i, function->size - i)) return false;
        calls += instruction.kind == GGS_INSTRUCTION_CALL || instruction.kind == GGS_INSTRUCTION_CALL_INDIRECT;
        // Its last bytes: an address relative to the next instruction, or an absolute one.
        refers_there |= function->address + i + instruction.length == reference + 4;
    }
    return refers_there && calls >= FEWEST_CALLS;
}

static bool is_listed(const struct ggs_backend_plan * plan, uint64_t function) {
    for (size_t i = 0; i < plan->n; i++)
        if (plan->makers[i].function == function) return true;
    return false;
}

static void add_maker(struct ggs_backend_plan * plan, const struct ggs_code * code, uint64_t reference) {
    size_t behind = ggs_search(code->n_functions, at, code->functions[at].address <= reference);
    if (behind == 0) return;
    const struct ggs_code_function * function = &code->functions[behind - 1];
    if (reference - function->address >= function->size || function->address < code->address ||
        function->size > code->size - (function->address - code->address) || is_listed(plan, function->address) ||
        !is_maker(code, function, reference))
        return;
    if (plan->n == GGS_MAKERS_MOST) {
        plan->refused = "too many of its functions make backends";
        return;
    }
    ggs_entry_examine(&plan->makers[plan->n++], code, function->address, function->size);
}

void ggs_backend_plan(struct ggs_backend_plan * plan, const struct ggs_view * view, const struct ggs_code * code) {
    *plan = (struct ggs_backend_plan){.guid = find_guid(view)};
    if (plan->guid == 0) plan->refused = "the name of ggml's CPU backend is not in it";
    for (uint64_t i = 0; plan->guid != 0 && i + 4 <= code->size; i++)
        if (refers(code->bytes + i, code->address + i, plan->guid)) add_maker(plan, code, code->address + i);
    if (plan->refused == NULL && plan->n == 0) plan->refused = "the function that makes its backend is not found";
    ggs_entries_check(plan->makers, plan->n, code);
    for (size_t i = 0; i < plan->n && plan->refused == NULL; i++) plan->refused = plan->makers[i].refused;
}
