#include "record/memory/memory-size.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/number.h"
#include "gguf/gguf-split.h"

static const uint64_t LEAST = 16u << 20, PAGE = 4096;

bool ggs_set_memory(void * member, const char * text) {
    struct ggs_memory_size * size = member;
    char *                   end;
    *size = (struct ggs_memory_size){0};
    if (ggs_parse_bytes(text, &size->bytes)) return size->bytes >= LEAST;
    if (text == NULL || text[0] < '0' || text[0] > '9') return false;
    size->share = strtod(text, &end) / 100;
    return end[0] == '%' && end[1] == '\0' && size->share > 0 && size->share <= 100;
}

int ggs_memory_size_resolve(struct ggs_memory_size * size, const char * model, const char * option,
                            struct ggs_error * error) {
    struct ggs_model * files;
    struct ggs_error   reason;
    char               number[GGS_NUMBER_LENGTH];
    if (size->share == 0) return 0;
    if (model == NULL)
        return ggs_fail(error, GGS_USAGE,
                        "%s %g%% is a share of the model, and the command names none with -m FILE: give a size", option,
                        100 * size->share);
    if (ggs_model_open(&files, model, &reason) != 0)
        return ggs_fail(error, GGS_USAGE, "%s %g%% needs the size of the model: %s", option, 100 * size->share,
                        reason.text);
    size->bytes = (uint64_t) floor((double) files->size * size->share) / PAGE * PAGE;
    ggs_model_free(files);
    if (size->bytes >= LEAST) return 0;
    return ggs_fail(error, GGS_USAGE, "%s %g%% of the model is %s: give at least 16M", option, 100 * size->share,
                    ggs_format_bytes(number, size->bytes));
}
