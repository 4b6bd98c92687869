// ggscope paging --suggest: text for other command lines.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/paging/suggest.h"
#include "base/error.h"
#include "cli/paging/cmd-paging.h"
#include "cli/scaffold/verb.h"

// Paths come from a file and must not control the terminal.
static int print_lines(char * text, struct ggs_error * error) {
    size_t size   = strlen(text) * 4 + 64;
    char * buffer = malloc(size);
    if (buffer == NULL) return ggs_fail_memory(error);
    for (char *line = text, *next; *line != '\0'; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        else
            next = line + strlen(line);
        puts(ggs_verb_fit(buffer, size, line, (unsigned) size));
    }
    free(buffer);
    return 0;
}

int paging_suggest(const struct paging_report * report, struct ggs_error * error) {
    const struct ggs_paging * p = report->paging;
    struct ggs_paging_weights whole;
    int                       status = ggs_paging_weights_list(&whole, report->trace, &p->sequence, false, error);
    for (unsigned k = 0; status == 0 && k < p->n_budgets; k++) {
        struct ggs_text text = {0};
        status               = ggs_paging_suggest(&text, report->trace, p, &whole, &p->budget[k], error);
        if (k > 0) putchar('\n');
        if (status == 0) status = print_lines(text.data, error);
        ggs_text_release(&text);
    }
    ggs_paging_weights_release(&whole);
    return status < 0 || ferror(stdout) ? -1 : 0;
}
