// The rows of a table that took longest, of any number in one pass: a heap whose first is the shortest of them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { GGS_LONGEST_MOST = 500 };

struct ggs_longest { // zeroed but for `count`
    uint64_t count, n;
    struct {
        uint64_t ns, row;
    } kept[GGS_LONGEST_MOST];
};

void ggs_longest_keep(struct ggs_longest * l, uint64_t ns, uint64_t row);
bool ggs_longest_has(const struct ggs_longest * l, uint64_t row);
