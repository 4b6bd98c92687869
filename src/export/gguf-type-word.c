// Types of GGUF files by name. By itself, because a trace's types and those of files bear the same struct name.
#include "export/gguf-type-word.h"

#include "gguf/gguf-type.h"

_Static_assert((int) GGS_TYPE_WORD_LENGTH >= (int) GGS_TYPE_NAME_LENGTH, "names must fit");

const char * ggs_gguf_type_word(char buffer[GGS_TYPE_WORD_LENGTH], uint32_t type) {
    return ggs_type_name(buffer, GGS_TYPE_WORD_LENGTH, type);
}
