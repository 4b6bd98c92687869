#include "base/system/probe.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "base/system/clock.h"

enum { MOST_THREADS = 256, BLOCK = 1 << 20 };
static const uint64_t READ_NS = 500000000u, COMPUTE_NS = 250000000u;

struct reader {
    pthread_t        thread;
    const uint64_t * data;
    size_t           words;
    uint64_t         until_ns;
    uint64_t         bytes, sum; // `sum` keeps the compiler from removing the reads
};

static void * read_on(void * data) {
    struct reader * r  = data;
    size_t          at = 0;
    while (ggs_clock_now() < r->until_ns) {
        size_t   n = BLOCK / sizeof(uint64_t);
        uint64_t a = 0, b = 0, c = 0, d = 0;
        for (size_t i = 0; i < n; i += 4)
            a += r->data[at + i], b += r->data[at + i + 1], c += r->data[at + i + 2], d += r->data[at + i + 3];
        r->sum += a + b + c + d;
        r->bytes += BLOCK;
        at += n;
        if (at + n > r->words) at = 0;
    }
    return NULL;
}

static uint64_t per_second(uint64_t amount, uint64_t ns) {
    return ns == 0 ? 0 : (uint64_t) ((double) amount * 1e9 / (double) ns);
}

static uint64_t bandwidth(unsigned threads) {
    struct reader readers[MOST_THREADS];
    size_t        size = (size_t) 256 << 20;
    char *        data = malloc(size);
    if (data == NULL) return 0;
    memset(data, 1, size); // touches every page before the clock starts
    uint64_t begin = ggs_clock_now(), bytes = 0;
    unsigned started = 0;
    for (; started < threads; started++) {
        size_t part      = size / threads / BLOCK * BLOCK;
        readers[started] = (struct reader){.data     = (const uint64_t *) (data + started * part),
                                           .words    = part / sizeof(uint64_t),
                                           .until_ns = begin + READ_NS};
        if (pthread_create(&readers[started].thread, NULL, read_on, &readers[started]) != 0) break;
    }
    for (unsigned i = 0; i < started; i++) {
        pthread_join(readers[i].thread, NULL);
        bytes += readers[i].bytes;
    }
    uint64_t spent = ggs_clock_now() - begin;
    free(data);
    return per_second(bytes, spent);
}

// ---- multiply-adds ----

// Enough independent chains to hide the latency of each unit.
enum { CHAINS = 12, ROUNDS = 4096 };

#define EACH_CHAIN(act) act(0) act(1) act(2) act(3) act(4) act(5) act(6) act(7) act(8) act(9) act(10) act(11)

// ROUNDS times CHAINS vectors in registers; the sum keeps the compiler from removing them.
#define MULTIPLY_ADD(vector, set, store, lanes)                           \
    do {                                                                  \
        vector chain[CHAINS], factor = set(0.999f), addend = set(0.001f); \
        float  last[lanes];                                               \
        for (int k = 0; k < CHAINS; k++) chain[k] = set((float) k);       \
        for (int i = 0; i < ROUNDS; i++) {                                \
            EACH_CHAIN(ONE)                                               \
        }                                                                 \
        for (int k = 0; k < CHAINS; k++) {                                \
            store(last, chain[k]);                                        \
            *sum += last[0];                                              \
        }                                                                 \
        return 2ull * ROUNDS * CHAINS * (lanes);                          \
    } while (0)

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static uint64_t with_avx512(float * sum) {
#define ONE(k) chain[k] = _mm512_fmadd_ps(chain[k], factor, addend);
    MULTIPLY_ADD(__m512, _mm512_set1_ps, _mm512_storeu_ps, 16);
#undef ONE
}
__attribute__((target("avx2,fma"))) static uint64_t with_avx2(float * sum) {
#define ONE(k) chain[k] = _mm256_fmadd_ps(chain[k], factor, addend);
    MULTIPLY_ADD(__m256, _mm256_set1_ps, _mm256_storeu_ps, 8);
#undef ONE
}
#elif defined(__aarch64__)
static uint64_t with_neon(float * sum) {
#define ONE(k) chain[k] = vfmaq_f32(addend, chain[k], factor);
    MULTIPLY_ADD(float32x4_t, vdupq_n_f32, vst1q_f32, 4);
#undef ONE
}
#endif

typedef uint64_t (*computing)(float * sum);

// Returns NULL if the processor has no known vector instructions.
static computing find_computing(void) {
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx512f")                                 ? with_avx512
           : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? with_avx2
                                                                             : NULL;
#elif defined(__aarch64__)
    return with_neon;
#else
    return NULL;
#endif
}

struct computer {
    pthread_t thread;
    computing compute;
    uint64_t  until_ns, flops;
    float     sum; // keeps the compiler from removing the work
};

static void * compute_on(void * data) {
    struct computer * c = data;
    while (ggs_clock_now() < c->until_ns) c->flops += c->compute(&c->sum);
    return NULL;
}

static uint64_t peak_flops(unsigned threads) {
    struct computer computers[MOST_THREADS];
    computing       compute = find_computing();
    uint64_t        begin = ggs_clock_now(), flops = 0;
    unsigned        started = 0;
    if (compute == NULL) return 0;
    for (; started < threads; started++) {
        computers[started] = (struct computer){.compute = compute, .until_ns = begin + COMPUTE_NS};
        if (pthread_create(&computers[started].thread, NULL, compute_on, &computers[started]) != 0) break;
    }
    for (unsigned i = 0; i < started; i++) {
        pthread_join(computers[i].thread, NULL);
        flops += computers[i].flops;
    }
    return per_second(flops, ggs_clock_now() - begin);
}

struct ggs_rates ggs_probe_rates(unsigned threads) {
    if (threads == 0) threads = 1;
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    return (struct ggs_rates){
        .threads = threads, .memory_bytes_per_second = bandwidth(threads), .flops_per_second = peak_flops(threads)};
}
