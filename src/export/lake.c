#include "export/lake.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static int remove_one(const char * path, const struct stat * info, int kind, struct FTW * ftw) {
    (void) info, (void) kind, (void) ftw;
    return remove(path);
}

static void remove_all(const char * folder) {
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

int ggs_lake_begin(struct ggs_lake_entry * entry, const char * lake, const char * id, bool force,
                   struct ggs_error * error) {
    struct stat info;
    *entry = (struct ggs_lake_entry){.force = force};
    if (asprintf(&entry->place, "%s/experiment=%s", lake, id) < 0 ||
        asprintf(&entry->temporary, "%s/.experiment=%s.%d", lake, id, (int) getpid()) < 0)
        return ggs_fail_memory(error);
    if (mkdir(lake, 0777) != 0 && errno != EEXIST) return ggs_fail_errno(error, "cannot create the lake %s", lake);
    if (stat(lake, &info) != 0 || !S_ISDIR(info.st_mode))
        return ggs_fail(error, GGS_USAGE, "%s is not a directory, as a lake must be", lake);
    if (!force && lstat(entry->place, &info) == 0)
        return ggs_fail(error, GGS_USAGE, "the experiment is in the lake already, as %s: replace it with --force",
                        entry->place);
    remove_all(entry->temporary); // left by a killed export with the same process id
    if (mkdir(entry->temporary, 0777) != 0)
        return ggs_fail_errno(error, "cannot create the directory %s", entry->temporary);
    return 0;
}

int ggs_lake_end(struct ggs_lake_entry * entry, int status, struct ggs_error * error) {
    // Folders can be exchanged atomically; the old one then has the hidden name.
    if (status == 0 && renameat2(AT_FDCWD, entry->temporary, AT_FDCWD, entry->place, RENAME_NOREPLACE) != 0) {
        bool taken = errno == EEXIST;
        if (taken && !entry->force)
            status =
                ggs_fail(error, GGS_USAGE, "another export has added the experiment to the lake, as %s", entry->place);
        else if (!taken || renameat2(AT_FDCWD, entry->temporary, AT_FDCWD, entry->place, RENAME_EXCHANGE) != 0)
            status = ggs_fail_errno(error, "cannot rename %s to %s", entry->temporary, entry->place);
    }
    remove_all(entry->temporary);
    return status;
}

void ggs_lake_release(struct ggs_lake_entry * entry) {
    free(entry->place);
    free(entry->temporary);
    *entry = (struct ggs_lake_entry){0};
}
