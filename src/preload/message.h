// What a preloaded library says to the user of its host.
#pragma once

#include <stdarg.h>

// One line on stderr: "ggscope: ...". A host whose stderr is a closed pipe is not signalled.
__attribute__((format(printf, 1, 0))) void ggs_message(const char * format, va_list arguments);
