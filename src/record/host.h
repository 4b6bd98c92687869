// The machine that an experiment ran on, as far as it matters for its figures. No names of hosts or
// users.
#pragma once

#include <stddef.h>

struct json_object;

// A string as JSON wants it: bytes that are not UTF-8 become U+FFFD.
struct json_object * ggs_json_text(const char * text);
// A file's JSON; NULL if it is missing, no regular file, or no JSON.
struct json_object * ggs_json_file_read(const char * path);

// "" if it is not known.
void ggs_host_cpu(char * name, size_t size);
// What it can do, in the kernel's words: "fpu vme ... avx512f"; "" if that is not known.
void ggs_host_cpu_flags(char * flags, size_t size);
// {"cpu", "cores", "memory_bytes", "kernel", "os", "boot_id"}, and "limits" if they were measured
struct json_object * ggs_host_json(void);
// The variables that change what an engine does (GGML_*, LLAMA_*, OMP_*, ...). Those that hold
// secrets are named only.
struct json_object * ggs_environment_json(char * const * environment);
