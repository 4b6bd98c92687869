// There is one thread: locks do nothing.
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

// Always fails, so the caller does all the work.
static inline int pthread_create(pthread_t * thread, const void * attributes, void * (*work)(void * context),
                                 void * context) {
    (void) thread, (void) attributes, (void) work, (void) context;
    return 11; // EAGAIN
}
static inline int pthread_join(pthread_t thread, void ** result) {
    (void) thread, (void) result;
    return 0;
}
