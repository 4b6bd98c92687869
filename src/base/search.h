// Binary search in sorted arrays:
//
//     // the first row that begins at `begin` or later; n if there is none
//     uint64_t i = ggs_search(n, at, rows[at].begin < begin);
//
// The condition uses the index `at`. It must hold for the front of the array and not for the rest;
// the result is the first index for which it does not hold.
#pragma once

#include <stdint.h>

#define ggs_search(n, at, condition)                             \
    __extension__({                                              \
        uint64_t ggs_low_ = 0, ggs_high_ = (n);                  \
        while (ggs_low_ < ggs_high_) {                           \
            uint64_t at = ggs_low_ + (ggs_high_ - ggs_low_) / 2; \
            if (condition)                                       \
                ggs_low_ = at + 1;                               \
            else                                                 \
                ggs_high_ = at;                                  \
        }                                                        \
        ggs_low_;                                                \
    })
