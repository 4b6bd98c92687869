// Lists all kernels of a program by CUPTI itself, with NVIDIA's headers: what ggscope says is
// compared with it.
//     CUDA_INJECTION64_PATH=libkernel-list.so PROGRAM ...    prints "kernel COUNT NANOSECONDS NAME" at its end
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityKernel10 kernel_record;
#else
typedef CUpti_ActivityKernel9 kernel_record;
#endif

enum { NAMES_MOST = 4096, BUFFER_BYTES = 1 << 22 };
static struct {
    const char *       name;
    unsigned long      count;
    unsigned long long ns;
} kernels[NAMES_MOST];
static unsigned n_kernels;

static void add(const kernel_record * kernel) {
    unsigned i = 0;
    while (i < n_kernels && strcmp(kernels[i].name, kernel->name) != 0) i++;
    if (i == NAMES_MOST) abort();
    if (i == n_kernels) kernels[n_kernels++].name = strdup(kernel->name);
    kernels[i].count++;
    kernels[i].ns += kernel->end - kernel->start;
}

static void CUPTIAPI wanted(uint8_t ** buffer, size_t * size, size_t * records) {
    *buffer  = aligned_alloc(8, BUFFER_BYTES);
    *size    = BUFFER_BYTES;
    *records = 0;
}

static void CUPTIAPI full(CUcontext context, uint32_t stream, uint8_t * buffer, size_t size, size_t used) {
    (void) context, (void) stream, (void) size;
    CUpti_Activity * record = NULL;
    while (used > 0 && cuptiActivityGetNextRecord(buffer, used, &record) == CUPTI_SUCCESS)
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) add((const kernel_record *) record);
    free(buffer);
}

static void report(void) {
    cuptiActivityFlushAll(1);
    for (unsigned i = 0; i < n_kernels; i++)
        printf("kernel %lu %llu %s\n", kernels[i].count, kernels[i].ns, kernels[i].name);
    fflush(stdout);
}

int InitializeInjection(void);
int InitializeInjection(void) {
    static CUpti_SubscriberHandle subscriber; // like every profiler
    if (cuptiSubscribe(&subscriber, NULL, NULL) != CUPTI_SUCCESS) return 0;
    if (cuptiActivityRegisterCallbacks(wanted, full) != CUPTI_SUCCESS ||
        cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS)
        return 0;
    atexit(report);
    return 1;
}
