#include "base/system/interrupt.h"

#include <stddef.h>

void ggs_interrupt_hold(struct ggs_interrupt * interrupt) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(&interrupt->held);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction action;
        // An ignored signal would become pending if it were blocked.
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&interrupt->held, numbers[i]);
    }
    pthread_sigmask(SIG_BLOCK, &interrupt->held, &interrupt->before);
}

bool ggs_interrupt_has_come(const struct ggs_interrupt * interrupt) {
    sigset_t pending;
    sigpending(&pending);
    sigandset(&pending, &pending, &interrupt->held);
    return !sigisemptyset(&pending);
}

void ggs_interrupt_release(const struct ggs_interrupt * interrupt) {
    pthread_sigmask(SIG_SETMASK, &interrupt->before, NULL);
}
