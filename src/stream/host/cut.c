#include "stream/host/cut.h"

#include <signal.h>
#include <unistd.h>

#include "stream/host/library.h"

// The previous handler, or the default, gets the signal when the op touches the page again.
static void handle(int number, siginfo_t * info, void * context) {
    static const char sentence[] = "ggscope: the model file was truncated while in use, and an op needs bytes that "
                                   "are gone: the program ends here\n";
    struct ggs_stream_library * library = ggs_stream_library_now();
    (void) context;
    if (library != NULL && ggs_stream_may_touch(library->stream, info->si_addr) &&
        !ggs_stream_cut_reported(library->stream)) {
        ssize_t n = write(STDERR_FILENO, sentence, sizeof(sentence) - 1);
        (void) n;
    }
    if (library == NULL) {
        signal(number, SIG_DFL);
    } else {
        sigaction(number, &library->before_cut, NULL);
    }
    if (info->si_code <= 0) raise(number); // sent by a process: it does not recur by itself
}

void ggs_cut_watch(void) {
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &ggs_stream_library_now()->before_cut);
}
