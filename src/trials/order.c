#include "trials/order.h"

static uint64_t next(uint64_t * state) { // splitmix64
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z          = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z          = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static unsigned common_divisor(unsigned a, unsigned b) {
    while (b != 0) {
        unsigned rest = a % b;
        a = b, b = rest;
    }
    return a;
}

// The distance to the start of the next pair: large, and such that n pairs start everywhere once.
static unsigned stride(unsigned n) {
    unsigned step = n * 5 / 8;
    while (step < n && common_divisor(n, step) != 1) step++;
    return step == 0 ? 1 : step;
}

static void reverse(unsigned * list, unsigned n) {
    for (unsigned i = 0; i < n / 2; i++) {
        unsigned kept   = list[i];
        list[i]         = list[n - 1 - i];
        list[n - 1 - i] = kept;
    }
}

void ggs_order_of_round(unsigned * order, unsigned n, unsigned round, uint64_t seed) {
    uint64_t state = seed;
    unsigned shift = n == 0 ? 0 : (unsigned) ((uint64_t) (round / 2) * stride(n) % n);
    for (unsigned i = 0; i < n; i++) order[i] = i;
    for (unsigned i = n; i > 1; i--) {
        unsigned k = (unsigned) (next(&state) % i), kept = order[i - 1];
        order[i - 1] = order[k], order[k] = kept;
    }
    // Three reversals are a rotation.
    reverse(order, shift);
    reverse(order + shift, n - shift);
    reverse(order, n);
    if (round % 2 == 1) reverse(order, n);
}
