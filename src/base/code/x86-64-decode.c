#include "base/code/x86-64-decode.h"

#include <string.h>

enum { MOST_BYTES = 15 };

// Operands that follow an opcode, as letters of the tables below.
enum operands {
    BAD       = 'x', // invalid in 64-bit mode, or unknown
    NONE      = '.',
    MODRM     = 'm',
    BYTE      = 'b', // an immediate byte
    WORD      = 'w', // 2 bytes
    FULL      = 'z', // 4 bytes; 2 with a 66 prefix
    WIDE      = 'v', // like FULL; 8 bytes with REX.W
    ADDRESS   = 'a', // 8 bytes; 4 with a 67 prefix
    ENTER     = 'e', // 2 bytes and 1
    SHORT     = 's', // a jump of 1 byte
    NEAR      = 'n', // a jump of 4 bytes
    MODRM_B   = 'B', // ModRM and an immediate byte
    MODRM_Z   = 'Z', // ModRM and FULL
    GROUP_3_B = 'g', // ModRM, and a byte if its reg field is 0 or 1
    GROUP_3_Z = 'G', // the same with FULL
    PREFIX    = 'p',
};

static const char one_byte[257] = "mmmmbzxxmmmmbzxp" // 00; 0f leads to the other tables
                                  "mmmmbzxxmmmmbzxx"
                                  "mmmmbzpxmmmmbzpx" // 20
                                  "mmmmbzpxmmmmbzpx"
                                  "pppppppppppppppp" // 40: REX
                                  "................"
                                  "xxpmppppzZbB...." // 60; 62 is EVEX
                                  "ssssssssssssssss"
                                  "BZxBmmmmmmmmmmmm" // 80
                                  "..........x....."
                                  "aaaa....bz......" // a0
                                  "bbbbbbbbvvvvvvvv"
                                  "BBw.ppBZe.w..bx." // c0; c4 and c5 are VEX
                                  "mmmmxxx.mmmmmmmm"
                                  "ssssbbbbnnxs...." // e0
                                  "p.pp..gG......mm";

static const char two_bytes[257] = "mmmmx.....x.xm.x" // 0f 00
                                   "mmmmmmmmmmmmmmmm"
                                   "mmmmxxxxmmmmmmmm" // 20
                                   "......x.pxpxxxxx" // 38 and 3a lead to the next tables
                                   "mmmmmmmmmmmmmmmm" // 40
                                   "mmmmmmmmmmmmmmmm"
                                   "mmmmmmmmmmmmmmmm" // 60
                                   "BBBBmmm.xxxxmmmm"
                                   "nnnnnnnnnnnnnnnn" // 80
                                   "mmmmmmmmmmmmmmmm"
                                   "...mBmxx...mBmmm" // a0
                                   "mmmmmmmmmmBmmmmm"
                                   "mmBmBBBm........" // c0
                                   "mmmmmmmmmmmmmmmm"
                                   "mmmmmmmmmmmmmmmm" // e0
                                   "mmmmmmmmmmmmmmmm";

struct decoder {
    const uint8_t * bytes;
    size_t          size, at; // `at` may pass `size`: checked at the end
    bool            operand_16, address_32, wide;
    uint8_t         opcode;
    unsigned        map; // 0: one byte; 1: 0f; 2: 0f 38; 3: 0f 3a; 5, 6: EVEX alone
    bool            vector;
    uint8_t         modrm;
    bool            has_modrm;
    uint8_t         relative_at;
};

// Returns 0 beyond the end: the resulting length is then beyond the end too.
static uint8_t read_byte(struct decoder * d) {
    uint8_t byte = d->at < d->size ? d->bytes[d->at] : 0;
    d->at++;
    return byte;
}

static uint8_t peek(const struct decoder * d, size_t ahead) {
    return d->at + ahead < d->size ? d->bytes[d->at + ahead] : 0;
}

static void read_prefixes(struct decoder * d) {
    for (;; d->at++) {
        uint8_t byte = peek(d, 0);
        if (byte == 0x66)
            d->operand_16 = true;
        else if (byte == 0x67)
            d->address_32 = true;
        else if (byte != 0xf0 && byte != 0xf2 && byte != 0xf3 && byte != 0x2e && byte != 0x36 && byte != 0x3e &&
                 byte != 0x26 && byte != 0x64 && byte != 0x65)
            break;
        if (d->at >= MOST_BYTES) return;
    }
    while ((peek(d, 0) & 0xf0) == 0x40 && d->at < MOST_BYTES) d->wide = (read_byte(d) & 8) != 0; // the last REX counts
}

// Reads VEX and EVEX prefixes. False for unknown maps.
static bool read_vector(struct decoder * d, uint8_t first) {
    d->vector   = true;
    d->map      = 1;
    uint8_t one = read_byte(d);
    if (first == 0xc4) {
        d->map = one & 31;
        read_byte(d);
    } else if (first == 0x62) {
        d->map = one & 7;
        read_byte(d);
        read_byte(d);
    }
    d->opcode = read_byte(d);
    return (d->map >= 1 && d->map <= 3) || (first == 0x62 && (d->map == 5 || d->map == 6));
}

// Reads the opcode and returns its operands.
static char read_opcode(struct decoder * d) {
    d->opcode = read_byte(d);
    if (d->opcode == 0x62 || d->opcode == 0xc4 || d->opcode == 0xc5) {
        if (!read_vector(d, d->opcode)) return BAD;
        if (d->map == 3) return MODRM_B;
        if (d->map != 1) return MODRM;
        if (d->opcode == 0x77) return NONE; // vzeroupper
        return two_bytes[d->opcode] == MODRM_B ? MODRM_B : MODRM;
    }
    if (d->opcode != 0x0f) return one_byte[d->opcode];
    d->opcode = read_byte(d);
    d->map    = 1;
    if (d->opcode == 0x38 || d->opcode == 0x3a) {
        d->map    = d->opcode == 0x38 ? 2 : 3;
        d->opcode = read_byte(d);
        return d->map == 2 ? MODRM : MODRM_B;
    }
    return two_bytes[d->opcode];
}

static void read_modrm(struct decoder * d) {
    d->modrm     = read_byte(d);
    d->has_modrm = true;
    unsigned mod = d->modrm >> 6, rm = d->modrm & 7, base = rm;
    if (mod == 3) return;
    if (rm == 4) base = read_byte(d) & 7; // SIB
    if (mod == 0 && base == 5) {
        if (rm == 5) d->relative_at = (uint8_t) d->at;
        d->at += 4;
    } else if (mod != 0) {
        d->at += mod == 1 ? 1 : 4;
    }
}

static size_t immediate_size(const struct decoder * d, char operands) {
    bool   takes = (d->modrm >> 3 & 7) < 2; // GROUP_3: test
    size_t full  = d->operand_16 && !d->wide ? 2 : 4;
    switch (operands) {
        case BYTE:
        case MODRM_B:
            return 1;
        case WORD:
            return 2;
        case ENTER:
            return 3;
        case FULL:
        case MODRM_Z:
            return full;
        case WIDE:
            return d->wide ? 8 : full;
        case ADDRESS:
            return d->address_32 ? 4 : 8;
        case GROUP_3_B:
            return takes ? 1 : 0;
        case GROUP_3_Z:
            return takes ? full : 0;
        default:
            return 0;
    }
}

static enum ggs_instruction_kind kind_of_one_byte(const struct decoder * d) {
    unsigned middle = d->modrm >> 3 & 7;
    switch (d->opcode) {
        case 0xe8:
            return GGS_INSTRUCTION_CALL;
        case 0xe9:
        case 0xeb:
            return GGS_INSTRUCTION_JUMP;
        case 0xc2:
        case 0xc3:
            return GGS_INSTRUCTION_RETURN;
        case 0xff:
            if (middle == 2) return GGS_INSTRUCTION_CALL_INDIRECT;
            if (middle == 4) return GGS_INSTRUCTION_JUMP_INDIRECT;
            return middle == 3 || middle == 5 ? GGS_INSTRUCTION_SPECIAL : GGS_INSTRUCTION_ORDINARY;
        case 0xc7:
            return d->modrm == 0xf8 ? GGS_INSTRUCTION_SPECIAL : GGS_INSTRUCTION_ORDINARY; // xbegin
        case 0xca:
        case 0xcb:
        case 0xcc:
        case 0xcd:
        case 0xcf:
        case 0xe0:
        case 0xe1:
        case 0xe2:
        case 0xe3:
        case 0xf1:
        case 0xf4:
            return GGS_INSTRUCTION_SPECIAL;
        default:
            return d->opcode >= 0x70 && d->opcode < 0x80 ? GGS_INSTRUCTION_BRANCH : GGS_INSTRUCTION_ORDINARY;
    }
}

static enum ggs_instruction_kind kind_of(const struct decoder * d) {
    if (d->vector || d->map > 1) return GGS_INSTRUCTION_ORDINARY;
    if (d->map == 0) return kind_of_one_byte(d);
    if (d->opcode >= 0x80 && d->opcode < 0x90) return GGS_INSTRUCTION_BRANCH;
    bool special = d->opcode == 0x05 || d->opcode == 0x07 || d->opcode == 0x0b || d->opcode == 0x34 ||
                   d->opcode == 0x35 || d->opcode == 0xb9 || d->opcode == 0xff;
    return special ? GGS_INSTRUCTION_SPECIAL : GGS_INSTRUCTION_ORDINARY;
}

static bool has_modrm(char operands) {
    return operands == MODRM || operands == MODRM_B || operands == MODRM_Z || operands == GROUP_3_B ||
           operands == GROUP_3_Z;
}

bool ggs_x86_64_decode(struct ggs_instruction * instruction, const uint8_t * bytes, size_t size) {
    struct decoder d = {.bytes = bytes, .size = size};
    read_prefixes(&d);
    char operands = read_opcode(&d);
    if (operands == BAD || operands == PREFIX) return false;
    if (has_modrm(operands)) read_modrm(&d);
    bool   jumps = operands == SHORT || operands == NEAR;
    size_t rest = jumps ? (operands == SHORT ? 1 : 4) : immediate_size(&d, operands), rest_at = d.at;
    d.at += rest;
    if (d.at > size || d.at > MOST_BYTES) return false;
    *instruction = (struct ggs_instruction){
        .length = (uint8_t) d.at, .kind = kind_of(&d), .relative_at = d.relative_at, .condition = d.opcode & 15};
    if (d.relative_at != 0 && d.address_32) instruction->kind = GGS_INSTRUCTION_SPECIAL;
    if (!jumps) return true;
    int32_t distance = (int8_t) bytes[rest_at];
    if (operands == NEAR) memcpy(&distance, bytes + rest_at, sizeof(distance));
    instruction->target = (int64_t) d.at + distance;
    return true;
}
