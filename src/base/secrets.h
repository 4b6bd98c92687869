// Finds likely secrets in a command line: values of options and variables with telling names
// (--api-key, HF_TOKEN=...), passwords in URLs, Authorization headers, and tokens of well-known
// services. Recordings are shared, so they must not contain them.
//
//     struct ggs_secrets secrets = {0};
//     for (; *argv != NULL; argv++) {
//         char * word = ggs_secrets_hide(&secrets, *argv);    // to be freed; NULL without memory
//         ...
//     }
//     if (secrets.hidden > 0) ...
//
// In doubtful cases a value is hidden unless it is a number, a path or short: --token 5 is kept.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define GGS_SECRET "(hidden)"

enum ggs_secret_name { GGS_SECRET_NO, GGS_SECRET_PERHAPS, GGS_SECRET_YES };

struct ggs_secrets {
    enum ggs_secret_name value;  // the next word is the value of an option
    bool                 script; // the next word is a shell script
    unsigned             hidden; // number of secrets hidden so far
};

// Returns the next word of a command line with its secrets hidden.
char * ggs_secrets_hide(struct ggs_secrets * secrets, const char * word);

// True if this is a secret as the value of a variable or option of that name.
bool ggs_secrets_is(const char * name, size_t length, const char * value);
