#include "stream/cut.h"

#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "stream/disk/files.h"

static struct sigaction before;
static bool             told;

void ggs_cut_told(void) {
    __atomic_store_n(&told, true, __ATOMIC_RELAXED);
}

// The handler that was there, or the default, gets the signal when the op touches the page again.
static void handle(int number, siginfo_t * info, void * context) {
    static const char sentence[] = "ggscope: the model file was cut while it is in use, and an op needs bytes of it "
                                   "that are gone: the program ends here\n";
    (void) context;
    if (ggs_files_touches(info->si_addr, 1) && !__atomic_exchange_n(&told, true, __ATOMIC_RELAXED)) {
        ssize_t n = write(STDERR_FILENO, sentence, sizeof(sentence) - 1);
        (void) n;
    }
    sigaction(number, &before, NULL);
    if (info->si_code <= 0) raise(number); // sent by someone: it does not come again by itself
}

void ggs_cut_watch(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &before);
}
