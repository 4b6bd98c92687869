// A stable qsort, like glibc's merge sort. wasi-libc's is not stable: equal rows would be in
// another order than from the server. wasi-libc also lacks qsort_r.
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef int (*compare_function)(const void * a, const void * b, void * context);

struct sorting {
    size_t           size;
    char *           scratch;
    compare_function compare;
    void *           context;
};

static void merge(const struct sorting * s, char * data, size_t n) {
    size_t half = n / 2, size = s->size;
    if (half == 0) return;
    merge(s, data, half);
    merge(s, data + half * size, n - half);
    char *left = s->scratch, *left_end = left + half * size, *right = data + half * size, *end = data + n * size;
    memcpy(s->scratch, data, half * size);
    for (char * to = data; left < left_end; to += size) {
        bool from_right = right < end && s->compare(left, right, s->context) > 0;
        memcpy(to, from_right ? right : left, size);
        *(from_right ? &right : &left) += size;
    }
}

void qsort_r(void * data, size_t n, size_t size, compare_function compare, void * context) {
    struct sorting s = {size, malloc((n / 2 + 1) * (uint64_t) size), compare, context};
    if (s.scratch == NULL) __builtin_trap(); // the page reports that memory is out
    merge(&s, data, n);
    free(s.scratch);
}

static int compare_plain(const void * a, const void * b, void * context) {
    return (*(int (**)(const void *, const void *)) context)(a, b);
}

void qsort(void * data, size_t n, size_t size, int (*compare)(const void * a, const void * b)) {
    qsort_r(data, n, size, compare_plain, &compare);
}
