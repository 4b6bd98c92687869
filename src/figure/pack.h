// Compression of rasters and PDF streams in zlib's format (RFC 1950, 1951). Implemented here
// because a figure must have the same bytes from the program and from a report's module, which has
// no zlib, and with every release of zlib.
#pragma once

#include "base/text.h"

// Appends the packed bytes.
void ggs_pack(struct ggs_text * out, const void * data, size_t length);
