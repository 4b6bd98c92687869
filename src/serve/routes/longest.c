#include "serve/routes/longest.h"

static bool is_less(const struct ggs_longest * l, uint64_t a, uint64_t b) {
    // Of equal ones the later goes first.
    return l->kept[a].ns != l->kept[b].ns ? l->kept[a].ns < l->kept[b].ns : l->kept[a].row > l->kept[b].row;
}

static void exchange(struct ggs_longest * l, uint64_t a, uint64_t b) {
    uint64_t ns = l->kept[a].ns, row = l->kept[a].row;
    l->kept[a]    = l->kept[b];
    l->kept[b].ns = ns, l->kept[b].row = row;
}

void ggs_longest_keep(struct ggs_longest * l, uint64_t ns, uint64_t row) {
    uint64_t at = l->n;
    if (l->count == 0) return;
    if (l->n < l->count) {
        l->kept[at].ns = ns, l->kept[at].row = row;
        l->n++;
        for (; at > 0 && is_less(l, at, (at - 1) / 2); at = (at - 1) / 2) exchange(l, at, (at - 1) / 2);
        return;
    }
    if (ns <= l->kept[0].ns) return;
    l->kept[0].ns = ns, l->kept[0].row = row;
    for (at = 0;;) {
        uint64_t least = at;
        for (uint64_t child = 2 * at + 1; child <= 2 * at + 2 && child < l->n; child++)
            if (is_less(l, child, least)) least = child;
        if (least == at) return;
        exchange(l, at, least);
        at = least;
    }
}

bool ggs_longest_has(const struct ggs_longest * l, uint64_t row) {
    for (uint64_t i = 0; i < l->n; i++)
        if (l->kept[i].row == row) return true;
    return false;
}
