// Messages of a preloaded library to the user of its host.
#pragma once

#include <stdarg.h>

// Prints one line on stderr: "ggscope: ...". If stderr is a closed pipe, the host gets no signal.
__attribute__((format(printf, 1, 0))) void ggs_message(const char * format, va_list arguments);
