#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void fill(struct ggs_error * error, int status, const char * format, va_list arguments) {
    if (error == NULL) return;
    error->status = status;
    vsnprintf(error->text, sizeof(error->text), format, arguments);
}

void ggs_error_set(struct ggs_error * error, int status, const char * format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fill(error, status, format, arguments);
    va_end(arguments);
}

int ggs_error_set_errno(struct ggs_error * error, const char * format, ...) {
    int     number = errno; // vsnprintf may change it
    int     status = number == ENOMEM ? GGS_MEMORY : GGS_IO;
    va_list arguments;
    va_start(arguments, format);
    fill(error, status, format, arguments);
    va_end(arguments);
    if (error != NULL) {
        size_t length = strlen(error->text);
        snprintf(error->text + length, sizeof(error->text) - length, ": %s%s", strerror(number),
                 number == EFBIG ? " (ulimit -f limits the size of files here)" : "");
    }
    return status;
}
