// Exports that `run` and `record` make by themselves when the program has ended.
#pragma once

// Writes the recording as FORMAT to OUTPUT, and says so on stderr as "LABEL OUTPUT, N files"; no
// label: says nothing. Returns 0, or 1 with the reason on stderr.
int ggs_exports_write(const char * directory, const char * format, const char * output, const char * label);

// What programs under ggml-viz expect: with GGML_VIZ_OUTPUT=FILE in the environment that file,
// unless GGML_VIZ_DISABLE is set; GGML_VIZ_VERBOSE=1 says so. A failure is one line on stderr.
void ggs_exports_environment(const char * directory);
