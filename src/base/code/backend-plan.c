#include "base/code/backend-plan.h"

#include <stddef.h>
#include <string.h>

#include "base/code/processor.h"

typedef uint64_t __attribute__((aligned(1), may_alias)) unaligned;

static const uint8_t guid[16] = {0xaa, 0x67, 0xc7, 0x43, 0x96, 0xe6, 0xa3, 0x8a,
                                 0xe3, 0xaf, 0xea, 0x92, 0x36, 0xbc, 0xfc, 0x89};

// Returns the first place of the constant at `at` or behind it, NULL if there is none. The data of
// programs with AddressSanitizer has gaps that memmem and instrumented code must not read.
__attribute__((no_sanitize("address"))) static const uint8_t * search(const uint8_t * at, const uint8_t * end) {
    const unaligned * wanted = (const unaligned *) guid;
    for (; end - at >= (ptrdiff_t) sizeof(guid); at++) {
        const unaligned * here = (const unaligned *) at;
        if (here[0] == wanted[0] && here[1] == wanted[1]) return at;
    }
    return NULL;
}

// Finds the constant in the object. Returns 0 if it is missing or occurs twice.
static uint64_t find_guid(const struct ggs_view * view) {
    uint64_t found = 0;
    for (unsigned i = 0; i < view->n; i++) {
        const struct ggs_view_segment * segment = &view->segments[i];
        const uint8_t *                 end     = segment->bytes + segment->size;
        const uint8_t *                 at      = segment->writable ? search(segment->bytes, end) : NULL;
        for (; at != NULL; at = search(at + 1, end)) {
            if (found != 0) return 0;
            found = segment->address + (uint64_t) (at - segment->bytes);
        }
    }
    return found;
}

bool ggs_backend_plan_is_engine(const struct ggs_view * view) {
    return find_guid(view) != 0;
}

// A maker allocates two objects, prepares the processor and gets the device. Functions that only
// compare the name call less.
static bool is_maker(const struct ggs_code * code, const struct ggs_code_function * function, uint64_t address) {
    enum { FEWEST_CALLS = 4 };
    const uint8_t *        bytes = code->bytes + (function->address - code->address);
    struct ggs_instruction instruction;
    unsigned               calls = 0;
    for (size_t i = 0; i < function->size; i += instruction.length) {
        if (!code->processor->decode(&instruction, bytes + i, function->size - i)) return false;
        calls += instruction.kind == GGS_INSTRUCTION_CALL || instruction.kind == GGS_INSTRUCTION_CALL_INDIRECT;
    }
    return calls >= FEWEST_CALLS && code->processor->refers(bytes, function->size, function->address, address);
}

static bool is_listed(const struct ggs_backend_plan * plan, uint64_t function) {
    for (size_t i = 0; i < plan->n; i++)
        if (plan->makers[i].function == function) return true;
    return false;
}

static void add_maker(struct ggs_backend_plan * plan, const struct ggs_code * code, uint64_t reference) {
    const struct ggs_code_function * function = ggs_code_function_at(code, reference);
    if (function == NULL || function->address < code->address ||
        function->size > code->size - (function->address - code->address) || is_listed(plan, function->address) ||
        !is_maker(code, function, plan->guid))
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
    for (uint64_t i = 0; plan->guid != 0 && i + 4 <= code->size; i += code->processor->alignment)
        if (code->processor->may_refer(code->bytes + i, code->address + i, plan->guid))
            add_maker(plan, code, code->address + i);
    if (plan->refused == NULL && plan->n == 0) plan->refused = "the function that makes its backend is not found";
    ggs_entries_check(plan->makers, plan->n, code);
    for (size_t i = 0; i < plan->n && plan->refused == NULL; i++) plan->refused = plan->makers[i].refused;
}
