#include "serve/auth.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/error.h"

int ggs_auth_make(struct ggs_auth * auth, bool loopback, uint16_t port, struct ggs_error * error) {
    unsigned char bytes[GGS_TOKEN_LENGTH / 2];
    *auth = (struct ggs_auth){.loopback = loopback, .port = port};
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t) sizeof(bytes))
        return ggs_fail_errno(error, "cannot get random bytes for the token");
    for (size_t i = 0; i < sizeof(bytes); i++) snprintf(auth->token + 2 * i, 3, "%02x", bytes[i]);
    snprintf(auth->cookie, sizeof(auth->cookie), "ggscope_%u", port);
    return 0;
}

// Takes as long whatever differs.
static bool is_token(const struct ggs_auth * auth, const char * text, size_t length) {
    unsigned char differs = length != GGS_TOKEN_LENGTH;
    for (size_t i = 0; i < GGS_TOKEN_LENGTH; i++)
        differs |= (unsigned char) (auth->token[i] ^ (i < length ? text[i] : 0));
    return differs == 0;
}

bool ggs_auth_host_ok(const struct ggs_auth * auth, const char * host) {
    char            name[260];
    struct in6_addr address;
    if (host == NULL || host[0] == '\0' || strlen(host) >= sizeof(name)) return false;
    memcpy(name, host, strlen(host) + 1);
    // The port is anything: a tunnel may have another one at its near end.
    bool   bracket = name[0] == '[';
    char * end     = bracket ? strchr(name, ']') : strchr(name, ':');
    if (bracket && end == NULL) return false;
    const char * port = end == NULL ? "" : bracket ? end + 1 : end;
    if (*port != '\0' && (*port != ':' || strspn(port + 1, "0123456789") != strlen(port + 1))) return false;
    if (end != NULL) *end = '\0';
    const char * plain = bracket ? name + 1 : name;
    if (strcasecmp(plain, "localhost") == 0 || strcmp(plain, "127.0.0.1") == 0 || strcmp(plain, "::1") == 0)
        return true;
    if (auth->loopback) return false;
    // Reachable from elsewhere on purpose: by any address, or by the machine's own name.
    char own[260] = "";
    gethostname(own, sizeof(own) - 1);
    return inet_pton(bracket ? AF_INET6 : AF_INET, plain, &address) == 1 ||
           (own[0] != '\0' && strcasecmp(plain, own) == 0);
}

bool ggs_auth_cookie_ok(const struct ggs_auth * auth, const char * cookies) {
    size_t length = strlen(auth->cookie);
    while (cookies != NULL && *cookies != '\0') {
        cookies += strspn(cookies, " ;");
        size_t end = strcspn(cookies, ";");
        if (end > length && strncmp(cookies, auth->cookie, length) == 0 && cookies[length] == '=' &&
            is_token(auth, cookies + length + 1, end - length - 1))
            return true;
        cookies += end;
    }
    return false;
}

enum ggs_auth_token ggs_auth_token(const struct ggs_auth * auth, const char * query) {
    while (*query != '\0') {
        size_t length = strcspn(query, "&");
        if (length >= 6 && memcmp(query, "token=", 6) == 0)
            return is_token(auth, query + 6, length - 6) ? GGS_TOKEN_RIGHT : GGS_TOKEN_WRONG;
        query += length + (query[length] == '&');
    }
    return GGS_TOKEN_ABSENT;
}
