#include "base/uuid.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

static bool dash_before(int byte) {
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

char * ggs_uuid_format(char text[GGS_UUID_LENGTH], const uint8_t uuid[16]) {
    char * to = text;
    for (int i = 0; i < 16; i++) {
        if (dash_before(i)) *to++ = '-';
        to += snprintf(to, 3, "%02x", uuid[i]);
    }
    return text;
}

static int digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool ggs_uuid_parse(const char * text, uint8_t uuid[16]) {
    uint8_t bytes[16];
    for (int i = 0; i < 16; i++) {
        if (dash_before(i) && *text++ != '-') return false;
        int high = digit(text[0]), low = high < 0 ? -1 : digit(text[1]);
        if (low < 0) return false;
        bytes[i] = (uint8_t) (high << 4 | low);
        text += 2;
    }
    if (*text != '\0') return false;
    memcpy(uuid, bytes, 16);
    return true;
}

bool ggs_uuid_make(uint8_t uuid[16]) {
    if (getrandom(uuid, 16, 0) != 16) return false;
    uuid[6] = (uint8_t) ((uuid[6] & 0x0f) | 0x40);
    uuid[8] = (uint8_t) ((uuid[8] & 0x3f) | 0x80);
    return true;
}
