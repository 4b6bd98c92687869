// Compression for rasters and PDF streams, as zlib's format (RFC 1950, 1951) has it. It is our own,
// because the same figure must have the same bytes from the program and from a report's module,
// which has no zlib, and whatever release of zlib a machine has.
#pragma once

#include "base/text.h"

// Appends the packed bytes.
void ggs_pack(struct ggs_text * out, const void * data, size_t length);
