// What looks like a secret in a command line: values of options and variables whose names say so
// (--api-key, HF_TOKEN=...), passwords in addresses, Authorization headers, and tokens of a form
// that services give out. Recordings are shared; these must not be in them.
//
//     struct ggs_secrets secrets = {0};
//     for (; *argv != NULL; argv++) {
//         char * word = ggs_secrets_hide(&secrets, *argv);    // to be freed; NULL without memory
//         ...
//     }
//     if (secrets.hidden > 0) ...
//
// Where it is not certain, a value is hidden if it is no number, no path and not short: --token 5
// is kept.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define GGS_SECRET "(hidden)"

enum ggs_secret_name { GGS_SECRET_NO, GGS_SECRET_PERHAPS, GGS_SECRET_YES };

struct ggs_secrets {
    enum ggs_secret_name value;  // the next word is the value of an option
    bool                 script; // the next word is a shell script
    unsigned             hidden; // so many so far
};

// The next word of a command line, as it may be kept.
char * ggs_secrets_hide(struct ggs_secrets * secrets, const char * word);

// Is this the value of a variable or an option with that name?
bool ggs_secrets_is(const char * name, size_t length, const char * value);
