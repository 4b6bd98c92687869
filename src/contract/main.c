#include <errno.h>
#include <string.h>

#include "contract/contract.h"

int main(int argc, char ** argv) {
    static const struct {
        const char * name;
        void (*write)(FILE * file);
    } writers[] = {{"typescript", ggs_contract_typescript},
                   {"markdown", ggs_contract_markdown},
                   {"man", ggs_contract_man},
                   {"glossary", ggs_contract_glossary}};
    if (argc == 3 && strcmp(argv[1], "schemas") == 0) return ggs_contract_schemas(argv[2]);
    for (size_t i = 0; argc == 3 && i < sizeof(writers) / sizeof(writers[0]); i++) {
        if (strcmp(argv[1], writers[i].name) != 0) continue;
        FILE * file = fopen(argv[2], "w");
        if (file != NULL) writers[i].write(file);
        bool written = file != NULL && !ferror(file);
        if (file != NULL && fclose(file) == 0 && written) return 0;
        fprintf(stderr, "contract: cannot write %s: %s\n", argv[2], strerror(errno));
        return 1;
    }
    fprintf(stderr, "Usage: contract schemas DIR | typescript FILE | markdown FILE | man FILE | glossary FILE\n");
    return 2;
}
