// Types of GGUF files by name. By itself, because a trace's types and those of files bear the same struct name.
#pragma once

#include <stdint.h>

enum { GGS_MODEL_TYPE_LENGTH = 24 };
const char * ggs_model_type(char buffer[GGS_MODEL_TYPE_LENGTH], uint32_t type); // "Q4_K"
