// Numbers for texts: equal texts have the same number, whichever recording they are from.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ggs_names;
struct ggs_reader;

struct ggs_names * ggs_names_new(void);                      // NULL when out of memory
void               ggs_names_free(struct ggs_names * names); // NULL is fine

// The number of a text of `length` bytes, a new one if it is new; UINT32_MAX when out of memory.
uint32_t ggs_names_number(struct ggs_names * names, const char * text, size_t length);
// Lives as long as `names`.
const char * ggs_names_text(const struct ggs_names * names, uint32_t number);

// What the graph runs of a backend are called whose ops have no times: "Vulkan0, as a whole". NULL
// when out of memory.
const char * ggs_names_backend(struct ggs_names * names, struct ggs_reader * reader, uint64_t backend);
