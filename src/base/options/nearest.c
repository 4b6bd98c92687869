#include "base/options/nearest.h"

#include <stddef.h>
#include <string.h>

// Number of letters to add, remove, change or swap with a neighbour to turn one word into the
// other.
static unsigned edit_distance(const char * a, const char * b) {
    enum { MOST = 64 };
    unsigned rows[3][MOST + 1];
    size_t   n = strnlen(b, MOST), m = strnlen(a, MOST);
    for (size_t j = 0; j <= n; j++) rows[0][j] = (unsigned) j;
    for (size_t i = 1; i <= m; i++) {
        const unsigned *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];
        unsigned *      row = rows[i % 3];
        row[0]              = (unsigned) i;
        for (size_t j = 1; j <= n; j++) {
            unsigned best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best) best = above[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[m % 3][n];
}

void ggs_nearest_try(struct ggs_nearest * nearest, const char * candidate) {
    unsigned distance = edit_distance(nearest->word, candidate);
    if (strncmp(candidate, nearest->word, strlen(nearest->word)) == 0) distance = 0; // the word is a prefix
    if (nearest->best != NULL && distance >= nearest->distance) return;
    nearest->best     = candidate;
    nearest->distance = distance;
}

const char * ggs_nearest_likely(const struct ggs_nearest * nearest) {
    if (nearest->best == NULL || nearest->word[0] == '\0') return NULL;
    return 3 * nearest->distance <= strlen(nearest->best) ? nearest->best : NULL;
}
