#include "base/roff.h"

#include <ctype.h>
#include <stdbool.h>

void ggs_roff_put(FILE * file, const char * text) {
    bool begins = true;
    for (const char * c = text; *c != '\0'; c++) {
        if (begins && (*c == '.' || *c == '\'')) fputs("\\&", file);
        if (*c == '\\')
            fputs("\\e", file);
        else
            fputc(*c, file);
        begins = (*c == '.' || *c == ':') && c[1] == ' ' && isupper((unsigned char) c[2]);
        if (begins) {
            fputc('\n', file);
            c++;
        }
    }
    fputc('\n', file);
}
