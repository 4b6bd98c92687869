#include "figure/axis.h"

#include <math.h>
#include <stdio.h>

static const double LOG2_10 = 3.32192809488736234787;

double ggs_axis_log2(double value) {
    int    exponent;
    double part = frexp(value, &exponent), sum = 0;                // from 0.5 to 1
    double t = (part - M_SQRT1_2) / (part + M_SQRT1_2), power = t; // ln(part) = ln(1/sqrt 2) + 2 atanh(t)
    for (unsigned i = 1; i < 24; i += 2, power *= t * t) sum += power / i;
    return exponent - 0.5 + 2 * sum * M_LOG2E;
}

static double log10_of(double value) {
    return ggs_axis_log2(value) / LOG2_10;
}

static double power_of(unsigned base, double exponent) {
    double result = 1;
    for (; exponent > 0.5; exponent--) result *= base;
    for (; exponent < -0.5; exponent++) result /= base;
    return result;
}

// ---- units: one for all ticks of an axis, shown once in its title ----

struct unit {
    double       factor;
    const char * name;
};

static struct unit unit_for(enum ggs_axis_unit unit, double most) {
    static const struct unit bytes[] = {{1, "B"}, {0x1p10, "KiB"}, {0x1p20, "MiB"}, {0x1p30, "GiB"}, {0x1p40, "TiB"}},
                             times[] = {{1, "ns"}, {1e3, "\xc2\xb5s"}, {1e6, "ms"}, {1e9, "s"}};
    if (unit == GGS_AXIS_PERCENT) return (struct unit){0.01, "%"};
    if (unit == GGS_AXIS_NUMBER) return (struct unit){1, ""};
    const struct unit * list = unit == GGS_AXIS_BYTES ? bytes : times;
    unsigned            n = unit == GGS_AXIS_BYTES ? 5 : 4, i = 0;
    while (i + 1 < n && most >= 2 * list[i + 1].factor) i++;
    return list[i];
}

// Uses as few digits as distinguish the ticks.
static void put_number(char text[GGS_AXIS_LABEL], double value, double step) {
    int digits = step > 0 && step < 1 ? (int) ceil(-log10_of(step) - 1e-9) : 0;
    if (fabs(value) >= 1e15)
        snprintf(text, GGS_AXIS_LABEL, "%.0e", value);
    else if (digits == 0 && fabs(value) >= 1e6 && floor(value / 1e5) * 1e5 == value)
        snprintf(text, GGS_AXIS_LABEL, "%gM", value / 1e6);
    else
        snprintf(text, GGS_AXIS_LABEL, "%.*f", digits > 9 ? 9 : digits, value);
}

char * ggs_axis_text(const struct ggs_axis * axis, double value, char text[GGS_AXIS_LABEL]) {
    struct unit unit   = unit_for(axis->unit, value * 2);
    double      amount = value / unit.factor;
    bool        whole  = fabs(amount) >= 999.5 && fabs(amount) < 1e6; // not 1e+03
    snprintf(text, GGS_AXIS_LABEL, whole ? "%.0f%s%s" : "%.3g%s%s", amount, *unit.name == '\0' ? "" : " ", unit.name);
    return text;
}

// ---- linear ----

// Returns 1, 2 or 5 times a power of ten (for bytes a power of two): the smallest step that yields
// at most `wanted` steps.
static double nice_step(double range, unsigned wanted, bool binary) {
    double step =
        binary ? power_of(2, floor(ggs_axis_log2(range / wanted))) : power_of(10, floor(log10_of(range / wanted)));
    if (binary) return range / step > wanted ? step * 2 : step;
    static const double factors[] = {1, 2, 5, 10};
    for (unsigned i = 0; i < 4; i++)
        if (range / (step * factors[i]) <= wanted * (1 + 1e-9)) return step * factors[i];
    return step * 10;
}

static void put_linear(struct ggs_axis * axis, unsigned wanted, struct ggs_ticks * ticks) {
    struct unit unit = unit_for(axis->unit, fmax(fabs(axis->from), fabs(axis->to)));
    double      step = nice_step((axis->to - axis->from) / unit.factor, wanted, axis->unit == GGS_AXIS_BYTES);
    if (axis->whole && step < 1) step = 1;
    double from = axis->from / unit.factor, to = axis->to / unit.factor;
    if (!axis->fixed) {
        from = floor(from / step + 1e-9) * step, to = ceil(to / step - 1e-9) * step;
        axis->from = from * unit.factor, axis->to = to * unit.factor;
    }
    for (double i = ceil(from / step - 1e-9); ticks->n < GGS_AXIS_TICKS && i * step <= to + step * 1e-9; i++) {
        ticks->at[ticks->n] = i * step * unit.factor;
        put_number(ticks->label[ticks->n++], i * step + 0.0, step); // + 0.0: never -0
    }
    snprintf(ticks->title, sizeof(ticks->title), *unit.name == '\0' ? "%s" : "%s (%s)", axis->title, unit.name);
}

// ---- logarithmic: powers of ten, of bytes powers of two ----

static void put_log(struct ggs_axis * axis, unsigned wanted, struct ggs_ticks * ticks) {
    bool     binary = axis->unit == GGS_AXIS_BYTES;
    unsigned base   = binary ? 2 : 10;
    double   from   = ggs_axis_log2(axis->from) / (binary ? 1 : LOG2_10),
           to       = ggs_axis_log2(axis->to) / (binary ? 1 : LOG2_10);
    if (!axis->fixed) {
        from = floor(from + 1e-9), to = fmax(ceil(to - 1e-9), from + 1);
        axis->from = power_of(base, from), axis->to = power_of(base, to);
    }
    double step = fmax(1, ceil((to - from) / wanted));
    for (double i = ceil(from - 1e-9); ticks->n < GGS_AXIS_TICKS && i <= to + 1e-9; i += step) {
        double value        = power_of(base, i);
        ticks->at[ticks->n] = value;
        if (axis->unit == GGS_AXIS_NUMBER && (i > 5 || i < -3))
            snprintf(ticks->label[ticks->n++], GGS_AXIS_LABEL, "1e%d", (int) i);
        else
            ggs_axis_text(axis, value, ticks->label[ticks->n++]);
    }
    snprintf(ticks->title, sizeof(ticks->title), "%s", axis->title);
}

// ---- names: as many as there is room for ----

static void put_names(struct ggs_axis * axis, uint64_t wanted, struct ggs_ticks * ticks) {
    uint64_t most = wanted < GGS_AXIS_TICKS ? wanted : GGS_AXIS_TICKS, step = (axis->n_names + most - 1) / most;
    axis->from = 0, axis->to = (double) axis->n_names;
    for (uint64_t i = 0; i < axis->n_names; i += step) {
        ticks->at[ticks->n] = (double) i + 0.5;
        snprintf(ticks->label[ticks->n++], GGS_AXIS_LABEL, "%s", axis->names[i]);
    }
    snprintf(ticks->title, sizeof(ticks->title), "%s", axis->title);
}

void ggs_axis_ticks(struct ggs_axis * axis, unsigned wanted, struct ggs_ticks * ticks) {
    ticks->n = 0;
    if (!(axis->to > axis->from)) axis->to = axis->from + 1;
    if (wanted < 2) wanted = 2;
    if (axis->names != NULL)
        put_names(axis, 2 * wanted, ticks); // a name needs less room than two numbers
    else if (axis->log && axis->from > 0)
        put_log(axis, wanted, ticks);
    else
        put_linear(axis, wanted, ticks);
}

double ggs_axis_place(const struct ggs_axis * axis, double value) {
    if (!axis->log) return (value - axis->from) / (axis->to - axis->from);
    return value <= 0 ? -1 : ggs_axis_log2(value / axis->from) / ggs_axis_log2(axis->to / axis->from);
}
