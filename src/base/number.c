#include "base/number.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Three significant digits and a unit: 1.21, 12.1, 121.
static char * format_scaled(char * buffer, double value, const char * unit) {
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    snprintf(buffer, GGS_NUMBER_LENGTH, "%.*f %s", decimals, value, unit);
    return buffer;
}

char * ggs_format_bytes(char buffer[GGS_NUMBER_LENGTH], uint64_t bytes) {
    static const char * const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    if (bytes < 1024) {
        snprintf(buffer, GGS_NUMBER_LENGTH, "%" PRIu64 " B", bytes);
        return buffer;
    }
    double value = (double) bytes / 1024.0;
    size_t unit  = 0;
    // 1023.5 would print as "1024", so the next unit is used from there on.
    while (value >= 1023.5 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024.0;
        unit++;
    }
    return format_scaled(buffer, value, units[unit]);
}

char * ggs_format_count(char buffer[GGS_NUMBER_LENGTH], uint64_t count) {
    char   digits[GGS_NUMBER_LENGTH];
    int    length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
    char * to     = buffer;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) *to++ = ',';
        *to++ = digits[i];
    }
    *to = '\0';
    return buffer;
}

char * ggs_format_nanoseconds(char buffer[GGS_NUMBER_LENGTH], uint64_t ns) {
    if (ns < 1000) {
        snprintf(buffer, GGS_NUMBER_LENGTH, "%" PRIu64 " ns", ns);
        return buffer;
    }
    double value = (double) ns / 1e3;
    if (value < 999.5) return format_scaled(buffer, value, "us");
    value /= 1e3;
    if (value < 999.5) return format_scaled(buffer, value, "ms");
    value /= 1e3;
    if (value < 600) return format_scaled(buffer, value, "s");
    uint64_t seconds = ns / 1000000000u;
    snprintf(buffer, GGS_NUMBER_LENGTH, "%" PRIu64 " min %02" PRIu64 " s", seconds / 60, seconds % 60);
    return buffer;
}

char * ggs_format_percent(char buffer[GGS_NUMBER_LENGTH], uint64_t part, uint64_t whole) {
    if (whole == 0) {
        snprintf(buffer, GGS_NUMBER_LENGTH, "-");
    } else {
        snprintf(buffer, GGS_NUMBER_LENGTH, "%.1f %%", 100.0 * (double) part / (double) whole);
    }
    return buffer;
}

// strtoull accepts leading blanks and signs; options must not.
static bool starts_with_digit(const char * string) {
    return string[0] >= '0' && string[0] <= '9';
}

static int base_of(const char * string) {
    return string[0] == '0' && (string[1] == 'x' || string[1] == 'X') ? 16 : 10;
}

bool ggs_parse_u64(const char * string, uint64_t minimum, uint64_t maximum, uint64_t * result) {
    if (string == NULL || !starts_with_digit(string)) return false;
    char * end;
    errno          = 0;
    uint64_t value = strtoull(string, &end, base_of(string));
    if (errno != 0 || *end != '\0' || value < minimum || value > maximum) return false;
    *result = value;
    return true;
}

bool ggs_parse_i64(const char * string, int64_t minimum, int64_t maximum, int64_t * result) {
    if (string == NULL || !starts_with_digit(string + (string[0] == '-'))) return false;
    char * end;
    errno         = 0;
    int64_t value = strtoll(string, &end, base_of(string));
    if (errno != 0 || *end != '\0' || value < minimum || value > maximum) return false;
    *result = value;
    return true;
}

bool ggs_parse_time(const char * string, uint64_t * nanoseconds) {
    static const struct {
        const char * unit;
        double       seconds;
    } units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"m", 60}, {"min", 60}, {"h", 3600}};
    if (string == NULL || !starts_with_digit(string)) return false;
    char * end;
    errno        = 0;
    double value = strtod(string, &end);
    for (size_t i = 0; errno == 0 && i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].unit) != 0) continue;
        double ns = value * units[i].seconds * 1e9;
        if (!(ns >= 1 && ns < 1e17)) return false;
        *nanoseconds = (uint64_t) ns;
        return true;
    }
    return false;
}

bool ggs_parse_bytes(const char * string, uint64_t * result) {
    if (string == NULL || !starts_with_digit(string)) return false;
    if (ggs_parse_u64(string, 0, UINT64_MAX, result)) return true; // exact, also above 2^53
    char * end;
    errno        = 0;
    double value = strtod(string, &end);
    if (errno != 0 || !isfinite(value)) return false;
    const char * const units = "KMGTPE";
    const char *       unit  = *end == '\0' ? NULL : strchr(units, *end >= 'a' ? *end - 'a' + 'A' : *end);
    if (unit != NULL) {
        value = ldexp(value, 10 * (int) (unit - units + 1));
        end++;
        if (end[0] == 'i' && end[1] == 'B') {
            end += 2;
        } else if (end[0] == 'B') {
            end++;
        }
    } else if (end[0] == 'B') {
        end++;
    }
    if (*end != '\0' || value < 0 || value >= 18446744073709551616.0) return false;
    *result = (uint64_t) value;
    return true;
}
