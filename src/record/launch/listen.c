#include "record/launch/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

int ggs_listen(char ** argv, char ** environment, int of, char * said, size_t size) {
    int                        ends[2], status = -1;
    pid_t                      child;
    posix_spawn_file_actions_t actions;
    said[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, of == 1 ? 2 : 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], of);
    int failed = posix_spawnp(&child, argv[0], &actions, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t  used = 0;
    ssize_t n    = 0;
    while (failed == 0 && used + 1 < size &&
           ((n = read(ends[0], said + used, size - used - 1)) > 0 || (n < 0 && errno == EINTR))) {
        if (n > 0) used += (size_t) n;
    }
    said[used] = '\0';
    close(ends[0]);
    if (failed != 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}
