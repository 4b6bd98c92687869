#include "figure/palette.h"

const uint32_t ggs_palette_series[GGS_PALETTE_PALE + 1] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0x56b4e9,
                                                           0xe69f00, 0x000000, 0xf0e442, 0x999999, 0xdddddd};

void ggs_palette_make(uint32_t colours[GGS_PALETTE_COLOURS]) {
    // cividis at nine positions, starting at its light end; interpolated in between.
    static const uint32_t stops[] = {0xfee838, 0xe1cc55, 0xc3b369, 0xa69d75, 0x8a8779,
                                     0x707173, 0x575d6d, 0x35456c, 0x00224e};
    const unsigned        last    = sizeof(stops) / sizeof(stops[0]) - 1;
    colours[0] = 0xffffff, colours[GGS_PALETTE_GRAY] = 0xb0b0b0, colours[GGS_PALETTE_BLACK] = 0x000000;
    for (unsigned i = 1; i < GGS_PALETTE_SCALE; i++) {
        unsigned at = (i - 1) * last * 256 / (GGS_PALETTE_SCALE - 2), stop = at / 256, part = at % 256;
        colours[i] = 0;
        for (unsigned shift = 0; shift < 24; shift += 8) {
            unsigned a = stops[stop] >> shift & 255, b = stops[stop < last ? stop + 1 : last] >> shift & 255;
            colours[i] |= (a * (256 - part) + b * part) / 256 << shift;
        }
    }
}

uint8_t ggs_palette_at(double share) {
    if (!(share > 0)) return 0;
    return (uint8_t) (1 + (share < 1 ? share : 1) * (GGS_PALETTE_SCALE - 2));
}
