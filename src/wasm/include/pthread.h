// One thread: locks have nothing to do.
#pragma once

#include <sys/types.h>

static inline int pthread_mutex_init(pthread_mutex_t * lock, const void * attributes) {
    (void) lock, (void) attributes;
    return 0;
}
static inline int pthread_mutex_destroy(pthread_mutex_t * lock) {
    (void) lock;
    return 0;
}
static inline int pthread_mutex_lock(pthread_mutex_t * lock) {
    (void) lock;
    return 0;
}
static inline int pthread_mutex_unlock(pthread_mutex_t * lock) {
    (void) lock;
    return 0;
}
