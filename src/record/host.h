// The machine of an experiment, as far as it matters for its figures. No names of hosts or users.
#pragma once

#include <stddef.h>

struct json_object;

// A string for JSON: bytes that are not UTF-8 become U+FFFD.
struct json_object * ggs_json_text(const char * text);
// Reads a JSON file; NULL if it is missing, not a regular file, or not JSON.
struct json_object * ggs_json_file_read(const char * path);

// "" if unknown.
void ggs_host_cpu(char * name, size_t size);
// The features in the kernel's words: "fpu vme ... avx512f"; "" if unknown.
void ggs_host_cpu_flags(char * flags, size_t size);
// {"cpu", "cores", "memory_bytes", "kernel", "os", "boot_id"}, and "limits" if they were measured
struct json_object * ggs_host_json(void);
// Variables that change what an engine does (GGML_*, LLAMA_*, OMP_*, ...). Values of secrets are
// left out.
struct json_object * ggs_environment_json(char * const * environment);
