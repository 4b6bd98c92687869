// Numbers for strings: equal strings have the same number, across recordings.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ggs_names;
struct ggs_reader;

struct ggs_names * ggs_names_new(void);                      // NULL when out of memory
void               ggs_names_free(struct ggs_names * names); // NULL is fine

// Returns the number of a string of `length` bytes, added if new; UINT32_MAX if out of memory.
uint32_t ggs_names_number(struct ggs_names * names, const char * text, size_t length);
// Lives as long as `names`.
const char * ggs_names_text(const struct ggs_names * names, uint32_t number);

// Returns the name of a backend whose graph runs have no op times: "Vulkan0, as a whole". NULL if
// out of memory.
const char * ggs_names_backend(struct ggs_names * names, struct ggs_reader * reader, uint64_t backend);
