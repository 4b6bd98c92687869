// Finds the word that was probably meant, for "did you mean".
#pragma once

// Compares one candidate after the other:
//     struct ggs_nearest nearest = {.word = "tokne"};
//     ggs_nearest_try(&nearest, "tokens");
struct ggs_nearest {
    const char * word;
    const char * best; // NULL: none was tried
    unsigned     distance;
};
void ggs_nearest_try(struct ggs_nearest * nearest, const char * candidate);

// Returns the best candidate if it is close: it begins with the word, or at most a third of its
// letters differ. Else NULL.
const char * ggs_nearest_likely(const struct ggs_nearest * nearest);
