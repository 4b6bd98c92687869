// The objects that the dynamic linker has loaded, listed so that a fork at the same moment does no
// harm: the linker's lock on its list is not released in the child of a process in which another
// thread holds it (glibc), and whoever lists objects there waits forever.
#pragma once

#include <link.h>
#include <stddef.h>

// dl_iterate_phdr.
int ggs_objects_visit(int (*visit)(struct dl_phdr_info * info, size_t size, void * data), void * data);

// For pthread_atfork: a fork waits until nobody of ours is in the list.
void ggs_objects_before_fork(void);
void ggs_objects_in_parent(void);
void ggs_objects_in_child(void);
