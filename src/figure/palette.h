// Colours that the colour-blind can tell apart, and that stay in order when they are printed gray.
#pragma once

#include <stdint.h>

enum { GGS_PALETTE_SERIES = 7 };
extern const uint32_t ggs_palette_series[GGS_PALETTE_SERIES]; // Okabe and Ito, without their yellow
// A scale for amounts: number 0 is white, "nothing"; 1 and up go from light to dark (cividis).
// The last two are for what is no amount.
enum { GGS_PALETTE_SCALE = 250, GGS_PALETTE_GRAY = GGS_PALETTE_SCALE, GGS_PALETTE_BLACK, GGS_PALETTE_COLOURS };
void ggs_palette_make(uint32_t colours[GGS_PALETTE_COLOURS]);
// The colour of a share of the most: 0 for nothing, else from 1 on.
uint8_t ggs_palette_at(double share);
