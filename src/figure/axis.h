// An axis: its quantity, its range and its ticks.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ggs_axis_unit {
    GGS_AXIS_NUMBER,
    GGS_AXIS_BYTES,
    GGS_AXIS_TIME, // nanoseconds
    GGS_AXIS_PERCENT,
};

enum { GGS_AXIS_TICKS = 24, GGS_AXIS_LABEL = 32 };
struct ggs_axis {
    const char *       title;
    enum ggs_axis_unit unit;
    bool               log;        // from > 0
    bool               whole;      // whole numbers only
    bool               down;       // of a vertical axis: the smallest value is at the top
    bool               fixed;      // ends at `from` and `to`, not at ticks
    double             from, to;   // with to > from
    char (*names)[GGS_AXIS_LABEL]; // of lines that lie from i to i + 1; NULL: an axis of numbers
    uint64_t n_names;
};

struct ggs_ticks {
    unsigned n;
    double   at[GGS_AXIS_TICKS];
    char     label[GGS_AXIS_TICKS][GGS_AXIS_LABEL];
    char     title[96]; // with the unit
};

// Makes about `wanted` ticks. Widens the axis to whole ticks unless it is fixed.
void ggs_axis_ticks(struct ggs_axis * axis, unsigned wanted, struct ggs_ticks * ticks);
// Position of a value from 0 to 1; below 0 or above 1 if it is outside.
double ggs_axis_place(const struct ggs_axis * axis, double value);
// Logarithm of a positive number. Implemented here to be equal on every machine and small in a
// report.
double ggs_axis_log2(double value);
// Writes a value with its unit.
char * ggs_axis_text(const struct ggs_axis * axis, double value, char text[GGS_AXIS_LABEL]);
