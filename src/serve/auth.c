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
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t) sizeof(bytes) ||
        getrandom(auth->secret, sizeof(auth->secret), 0) != (ssize_t) sizeof(auth->secret))
        return ggs_fail_errno(error, "cannot get random bytes for the token");
    for (size_t i = 0; i < sizeof(bytes); i++) snprintf(auth->token + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

// Compares in constant time.
static bool is_same(const char * right, size_t right_length, const char * text, size_t length) {
    unsigned char differs = length != right_length;
    for (size_t i = 0; i < right_length; i++) differs |= (unsigned char) (right[i] ^ (i < length ? text[i] : 0));
    return differs == 0;
}

bool ggs_auth_host_ok(const struct ggs_auth * auth, const char * host) {
    char            name[260];
    struct in6_addr address;
    if (host == NULL || host[0] == '\0' || strlen(host) >= sizeof(name)) return false;
    memcpy(name, host, strlen(host) + 1);
    // Any port is accepted: a tunnel may use another one at its near end.
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
    // Any address of the server and the machine's own name are accepted, because the server is
    // meant to be reachable from other machines.
    char own[260] = "";
    gethostname(own, sizeof(own) - 1);
    return inet_pton(bracket ? AF_INET6 : AF_INET, plain, &address) == 1 ||
           (own[0] != '\0' && strcasecmp(plain, own) == 0);
}

bool ggs_auth_link(const struct ggs_auth * auth, const char * id, char part[GGS_LINK_LENGTH + 1]) {
    uint8_t code[GGS_SHA256_LENGTH];
    char *  to = part;
    for (; *id != '\0' && to < part + 32; id++)
        if (*id != '-') *to++ = *id;
    if (*id != '\0' || to != part + 32) return false;
    ggs_hmac_sha256(code, auth->secret, sizeof(auth->secret), part, 32);
    *to++ = '-';
    for (unsigned i = 0; i < 16; i++, to += 2) snprintf(to, 3, "%02x", code[i]);
    return true;
}

enum ggs_visitor ggs_auth_visitor(const struct ggs_auth * auth, const char * part, size_t length,
                                  char id[GGS_UUID_LENGTH]) {
    char right[GGS_LINK_LENGTH + 1];
    if (is_same(auth->token, GGS_TOKEN_LENGTH, part, length)) return GGS_VISITOR_OF_ALL;
    if (length != GGS_LINK_LENGTH || strspn(part, "0123456789abcdef") != 32) return GGS_VISITOR_STRANGER;
    snprintf(id, GGS_UUID_LENGTH, "%.8s-%.4s-%.4s-%.4s-%.12s", part, part + 8, part + 12, part + 16, part + 20);
    return ggs_auth_link(auth, id, right) && is_same(right, GGS_LINK_LENGTH, part, length) ? GGS_VISITOR_OF_ONE
                                                                                           : GGS_VISITOR_STRANGER;
}
