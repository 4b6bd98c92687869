// What the types of GGUF files are called: "f32", "q4_K".
#pragma once

#include <stdint.h>

enum { GGS_TYPE_WORD_LENGTH = 64 };
const char * ggs_gguf_type_word(char buffer[GGS_TYPE_WORD_LENGTH], uint32_t type);
