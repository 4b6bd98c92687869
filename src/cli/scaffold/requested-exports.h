// Exports made by `run` and `record` when the program has ended.
#pragma once

// Writes the recording as FORMAT to OUTPUT and reports "LABEL OUTPUT, N files" on stderr; nothing
// without a label. Returns 0, or 1 with the reason on stderr.
int ggs_requested_exports_write(const char * directory, const char * format, const char * output, const char * label);

// Compatibility with ggml-viz: writes the file GGML_VIZ_OUTPUT of the environment, unless
// GGML_VIZ_DISABLE is set; GGML_VIZ_VERBOSE=1 reports it. A failure is one line on stderr.
void ggs_requested_exports_environment(const char * directory);
