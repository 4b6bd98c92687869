#include "analyze/walk/model-type.h"

#include <ctype.h>

#include "gguf/gguf-type.h"

_Static_assert((int) GGS_MODEL_TYPE_LENGTH >= (int) GGS_TYPE_NAME_LENGTH, "names must fit");

const char * ggs_model_type(char buffer[GGS_MODEL_TYPE_LENGTH], uint32_t type) {
    ggs_type_name(buffer, GGS_MODEL_TYPE_LENGTH, type);
    for (char * c = buffer; *c != '\0'; c++) *c = (char) toupper((unsigned char) *c);
    return buffer;
}
