// Which of several words was meant, for "did you mean".
#pragma once

// Looks at one candidate after the other:
//     struct ggs_nearest nearest = {.word = "tokne"};
//     ggs_nearest_try(&nearest, "tokens");
struct ggs_nearest {
    const char * word;
    const char * best; // NULL: none was tried
    unsigned     distance;
};
void ggs_nearest_try(struct ggs_nearest * nearest, const char * candidate);

// The best one if it is near enough to be what was meant: it begins with the word, or a third of
// its letters are wrong at most; else NULL.
const char * ggs_nearest_likely(const struct ggs_nearest * nearest);
