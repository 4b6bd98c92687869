// Runs one program for AArch64 in the emulator; scripts/cross-root registers it with the kernel for a whole tree of them. Linked statically, so
// that what is preloaded into the program is not preloaded into this and the emulator, which are of another machine.
//     emulate PATH ARGV0 ARGS...          the folder of the program's libraries is in QEMU_LD_PREFIX
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
