#include "figure/font.h"

#include <string.h>

#include "base/utf8.h"

// In thousandths of the size, from the blank to '~'.
static const uint16_t widths[95] = {278,  278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
                                    556,  556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
                                    1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
                                    667,  778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
                                    333,  556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
                                    556,  556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584};

uint8_t ggs_font_next(const char ** text) {
    uint32_t point;
    size_t   size = ggs_utf8_decode(*text, strlen(*text), &point);
    *text += size == 0 ? 1 : size;
    if (size == 0) return '?';
    if (point == 0x2026) return 0x85; // three dots
    if (point == 0x2013) return 0x96; // a dash
    if ((point >= 32 && point < 127) || (point >= 0xa0 && point <= 0xff)) return (uint8_t) point;
    return '?';
}

double ggs_font_width(const char * text, double size, int bold) {
    double sum = 0;
    while (*text != '\0') {
        uint8_t c = ggs_font_next(&text);
        sum += c >= 32 && c < 127 ? widths[c - 32] : c == 0xb7 ? 278 : 556; // 0xb7: a dot
    }
    return sum * size / 1000 * (bold ? 1.1 : 1);
}
