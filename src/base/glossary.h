// The words of ggscope, in one sense everywhere. `ggscope help WORD`, ggscope(1), docs/glossary.md
// and the page have their meanings from here.
#pragma once

struct ggs_term {
    const char * word;
    const char * meaning; // finished sentences
};
extern const struct ggs_term ggs_glossary[]; // in alphabetical order, at most 30; ended by one without a word

// Finds a word, in any case; NULL if it is not in the glossary.
const struct ggs_term * ggs_glossary_find(const char * word);
