// Lists the loaded objects safely with respect to fork. glibc does not release the linker's lock in
// a child that was forked while another thread held it, so listing objects there would block
// forever.
#pragma once

#include <link.h>
#include <stddef.h>

// dl_iterate_phdr.
int ggs_objects_visit(int (*visit)(struct dl_phdr_info * info, size_t size, void * data), void * data);

// For pthread_atfork: a fork waits until no thread of this library is in the list.
void ggs_objects_before_fork(void);
void ggs_objects_in_parent(void);
void ggs_objects_in_child(void);
