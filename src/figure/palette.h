// Colours that the colour-blind can distinguish and that stay in order when printed gray.
#pragma once

#include <stdint.h>

// Okabe and Ito, with their yellow behind the others, then gray and pale gray, which are for boxes.
enum { GGS_PALETTE_SERIES = 7, GGS_PALETTE_YELLOW = GGS_PALETTE_SERIES, GGS_PALETTE_DULL, GGS_PALETTE_PALE };
extern const uint32_t ggs_palette_series[GGS_PALETTE_PALE + 1];
// A scale for amounts: 0 is white, "nothing"; from 1 on it goes from light to dark (cividis). The
// last two are not amounts.
enum { GGS_PALETTE_SCALE = 250, GGS_PALETTE_GRAY = GGS_PALETTE_SCALE, GGS_PALETTE_BLACK, GGS_PALETTE_COLOURS };
void ggs_palette_make(uint32_t colours[GGS_PALETTE_COLOURS]);
// The colour of a share of the maximum: 0 for nothing, else at least 1.
uint8_t ggs_palette_at(double share);
