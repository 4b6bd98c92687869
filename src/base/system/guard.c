#include "base/system/guard.h"

#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Maps a page of zeros where the file has none. Makes only system calls: a signal can arrive
// anywhere.
static void map_zeros(int number, siginfo_t * info, void * context) {
    uintptr_t size = (uintptr_t) sysconf(_SC_PAGESIZE), page = (uintptr_t) info->si_addr & ~(size - 1);
    (void) context;
    if (info->si_code == BUS_ADRERR && info->si_addr != NULL &&
        mmap((void *) page, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == (void *) page)
        return;
    // Some other fault: it recurs with the default action.
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(number, &plain, NULL);
}

void ggs_guard_install(void) {
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction     = map_zeros;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
