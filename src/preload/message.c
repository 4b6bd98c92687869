#include "preload/message.h"

#include <stdio.h>
#include <unistd.h>

#include "preload/signals.h"

void ggs_message(const char * format, va_list arguments) {
    char line[1024];
    int  length = vsnprintf(line, sizeof(line) - 1, format, arguments);
    if (length < 0) return;
    if ((size_t) length > sizeof(line) - 2) length = (int) sizeof(line) - 2;
    line[length] = '\n';
    struct ggs_signals signals;
    ggs_signals_hold(&signals);
    dprintf(STDERR_FILENO, "ggscope: %.*s", length + 1, line);
    ggs_signals_release(&signals);
}
