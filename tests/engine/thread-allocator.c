// A stand-in for allocators that link thread-local data of all threads, as jemalloc does. A thread
// that ends removes its own from the list and looks at every other's.
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>

#ifndef TLS
#define TLS __thread
#endif

struct thread_data {
    struct thread_data * next;
    unsigned long        calls, mark; // mark: not zero in a thread's initial data
};
enum { MARK = 0x5ca1ab1e };

static TLS struct thread_data self = {.mark = MARK};
static struct thread_data *   threads;
static pthread_mutex_t        lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t          key;

static void leave(void * data) {
    pthread_mutex_lock(&lock);
    for (struct thread_data ** at = &threads; *at != NULL;) {
        if ((*at)->mark != MARK) abort();
        if (*at == data)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    }
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void make_key(void) {
    pthread_key_create(&key, leave);
}

void * __libc_calloc(size_t n, size_t size);

__attribute__((visibility("default"))) void * calloc(size_t n, size_t size) {
    if (self.calls++ == 0) {
        pthread_mutex_lock(&lock);
        self.next = threads;
        threads   = &self;
        pthread_mutex_unlock(&lock);
        pthread_setspecific(key, &self);
    }
    return __libc_calloc(n, size);
}
