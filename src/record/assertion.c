#include "record/assertion.h"

#include <ctype.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

// True if the line begins with "NAME.EXTENSION:LINE: " of a source file of ggml or llama.cpp;
// `*name` is the beginning of the file's name, `*of_ggml` whether it is ggml's.
static bool is_source_line(const char * line, const char ** name, bool * of_ggml) {
    static const char * const extensions[] = {"c", "cpp", "cu", "cuh", "h", "hpp", "m", "mm"};
    const char *              colon        = strchr(line, ':');
    if (colon == NULL || colon == line || !isdigit((unsigned char) colon[1])) return false;
    const char * end = colon + 1 + strspn(colon + 1, "0123456789");
    if (strncmp(end, ": ", 2) != 0) return false;
    const char * dot = colon;
    while (dot > line && dot[-1] != '.' && dot[-1] != '/') dot--;
    *name = dot;
    while (*name > line && (*name)[-1] != '/') (*name)--;
    bool known = false;
    for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
        size_t length = strlen(extensions[i]);
        known |= (size_t) (colon - dot) == length && memcmp(dot, extensions[i], length) == 0;
    }
    if (memchr(*name, ' ', (size_t) (colon - *name)) != NULL) return false; // words, not a file
    const char *ggml = strstr(line, "ggml"), *llama = strstr(line, "llama");
    *of_ggml = ggml != NULL && ggml < colon && strncmp(*name, "llama", 5) != 0;
    return known && (*of_ggml || (llama != NULL && llama < colon));
}

// Searches a copy of the program's stderr. If true, `text` is "ggml-backend.cpp:1294:
// GGML_ASSERT(...) failed", without folders, truncated to `size`.
static bool find(const char * stderr_file, char * text, size_t size, bool * of_ggml) {
    FILE * file = fopen(stderr_file, "re");
    char   line[4096];
    bool   found = false, begins = true;
    if (file == NULL) return false;
    while (!found && fgets(line, sizeof(line), file) != NULL) {
        const char * name;
        size_t       length = strcspn(line, "\n");
        bool         whole  = line[length] == '\n';
        line[length]        = '\0';
        found               = begins && is_source_line(line, &name, of_ggml);
        begins              = whole;
        if (!found) continue;
        snprintf(text, size, "%.*s", (int) size - 1, name);
        for (char * c = text; *c != '\0'; c++) { // must not control the terminal
            if ((unsigned char) *c < 0x20 || *c == 0x7f) *c = '?';
        }
    }
    fclose(file);
    return found;
}

static bool has_word(char * const * words, const char * word) {
    for (; *words != NULL; words++) {
        if (strcmp(*words, word) == 0) return true;
    }
    return false;
}

void ggs_assertion_explain(const char * stderr_file, int wait_status, char * const * command, const char * layout) {
    char text[512];
    bool of_ggml = false;
    if (!WIFSIGNALED(wait_status) || WTERMSIG(wait_status) != SIGABRT ||
        !find(stderr_file, text, sizeof(text), &of_ggml))
        return;
    fprintf(stderr, "ggscope: the engine ended it by an assertion of its own: %s", text);
    // What llama.cpp itself asserts is about the calls of the program.
    if (of_ggml && layout[0] != '\0' && !has_word(command, "--no-repack"))
        fprintf(stderr, "; it has weights in a buffer of type %s, which --no-repack avoids", layout);
    fputs("\n", stderr);
}
