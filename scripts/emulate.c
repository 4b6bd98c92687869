// Runs one program for AArch64 in the emulator; scripts/cross-root registers it with the kernel.
// Linked statically: libraries preloaded into the program are for another machine, and must not be
// preloaded into this one or the emulator.
//     emulate PATH ARGV0 ARGS...          QEMU_LD_PREFIX names the folder of the program's libraries
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char ** argv) {
    const char * preload = getenv("LD_PRELOAD");
    char **      words   = calloc((size_t) argc + 8, sizeof(*words));
    int          n       = 0;
    if (argc < 3 || words == NULL) return 126;
    words[n++] = "qemu-aarch64";
    if (preload != NULL) {
        words[n++] = "-E";
        if (asprintf(&words[n++], "LD_PRELOAD=%s", preload) < 0) return 126;
        unsetenv("LD_PRELOAD");
    }
    words[n++] = "-0";
    words[n++] = argv[2];
    words[n++] = argv[1];
    for (int i = 3; i < argc; i++) words[n++] = argv[i];
    execvp(words[0], words);
    perror(words[0]);
    return 126;
}
