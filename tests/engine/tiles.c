// AMX on a processor without it, so that the engine's CPU library for AMX can be tested there.
// tests/variant.mjs makes a copy of that library that needs this one: it grants the permission that
// the engine asks the kernel for, and executes the tile instructions, which raise SIGILL. The rest
// of the engine's library needs AVX-512 with VNNI, VBMI and BF16.
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

enum { TILES = 8, ROWS = 16, ROW_BYTES = 64, REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };

// ---- the state of a thread ----

struct configuration { // as LDTILECFG reads it
    uint8_t  palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t  rows[16];
};

static _Thread_local struct configuration configuration;
static _Thread_local uint8_t              tile[TILES][ROWS][ROW_BYTES];

// ---- decoding ----

struct instruction {
    unsigned  prefix, opcode, reg, rm, vvvv, length; // prefix: 0 none, 1 66, 2 F3, 3 F2
    bool      memory;
    uintptr_t address;
    intptr_t  stride;
};

static uintptr_t value_of(const ucontext_t * context, unsigned number) {
    static const int order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return (uintptr_t) context->uc_mcontext.gregs[order[number]];
}

// The operand in memory: [base + index * scale + displacement], where a tile's rows are index *
// scale apart. False for forms that compilers do not use here.
static bool decode_memory(struct instruction * in, const ucontext_t * context, const uint8_t * code, unsigned mode,
                          bool x, bool b) {
    const uint8_t * at = code + 5;
    unsigned        base;
    in->memory = true;
    if (in->rm == 4) {
        unsigned sib = *at++, index = ((sib >> 3) & 7) | (x ? 8u : 0);
        base       = (sib & 7) | (b ? 8u : 0);
        in->stride = index == 4 ? 0 : (intptr_t) value_of(context, index) << (sib >> 6);
        if ((sib & 7) == 5 && mode == 0) return false;
    } else {
        base = in->rm | (b ? 8u : 0);
        if (in->rm == 5 && mode == 0) { // relative to the next instruction
            int32_t offset;
            memcpy(&offset, at, 4);
            in->length  = (unsigned) (at + 4 - code);
            in->address = (uintptr_t) code + in->length + (uintptr_t) (intptr_t) offset;
            return true;
        }
    }
    in->address = value_of(context, base);
    if (mode == 1) in->address += (uintptr_t) (intptr_t) (int8_t) *at++;
    if (mode == 2) {
        int32_t offset;
        memcpy(&offset, at, 4);
        in->address += (uintptr_t) (intptr_t) offset;
        at += 4;
    }
    in->length = (unsigned) (at - code);
    return true;
}

// VEX with three bytes, map 0F38, 128 bits, W0: C4 RXB.00010 W.vvvv.L.pp OPCODE MODRM
static bool decode(struct instruction * in, const ucontext_t * context) {
    const uint8_t * code = (const uint8_t *) context->uc_mcontext.gregs[REG_RIP];
    if (code[0] != 0xc4 || (code[1] & 0x1f) != 2 || (code[2] & 0x84) != 0) return false;
    unsigned modrm = code[4], mode = modrm >> 6;
    *in = (struct instruction){.prefix = code[2] & 3u,
                               .opcode = code[3],
                               .reg    = (modrm >> 3) & 7,
                               .rm     = modrm & 7,
                               .vvvv   = ~(unsigned) code[2] >> 3 & 15,
                               .length = 5};
    return mode == 3 || decode_memory(in, context, code, mode, (code[1] & 0x40) == 0, (code[1] & 0x20) == 0);
}

// ---- executing ----

static unsigned rows_of(unsigned t) {
    return configuration.rows[t] < ROWS ? configuration.rows[t] : ROWS;
}

static unsigned bytes_of(unsigned t) {
    return configuration.row_bytes[t] < ROW_BYTES ? configuration.row_bytes[t] : ROW_BYTES;
}

static void load(unsigned t, const struct instruction * in) {
    memset(tile[t], 0, sizeof(tile[t]));
    for (unsigned r = 0; r < rows_of(t); r++)
        memcpy(tile[t][r], (const char *) in->address + (intptr_t) r * in->stride, bytes_of(t));
}

static void store(unsigned t, const struct instruction * in) {
    for (unsigned r = 0; r < rows_of(t); r++)
        memcpy((char *) in->address + (intptr_t) r * in->stride, tile[t][r], bytes_of(t));
}

// c += a x b in groups of four bytes; which of the two is signed is in the prefix: 3 both, 2 a, 1
// b, 0 none.
static void multiply(unsigned c, unsigned a, unsigned b, unsigned prefix) {
    bool a_signed = prefix >= 2, b_signed = prefix == 3 || prefix == 1;
    for (unsigned m = 0; m < rows_of(c); m++) {
        for (unsigned k = 0; k < bytes_of(a) / 4; k++) {
            for (unsigned n = 0; n < bytes_of(c) / 4; n++) {
                int32_t sum;
                memcpy(&sum, &tile[c][m][4 * n], 4);
                for (unsigned i = 0; i < 4; i++) {
                    uint8_t x = tile[a][m][4 * k + i], y = tile[b][k][4 * n + i];
                    sum += (a_signed ? (int8_t) x : (int) x) * (b_signed ? (int8_t) y : (int) y);
                }
                memcpy(&tile[c][m][4 * n], &sum, 4);
            }
        }
    }
}

static bool execute(const struct instruction * in) {
    switch (in->opcode) {
        case 0x49:
            if (in->memory && in->prefix == 0)
                memcpy(&configuration, (const void *) in->address, sizeof(configuration));
            if (in->memory && in->prefix == 1) memcpy((void *) in->address, &configuration, sizeof(configuration));
            if (!in->memory && in->prefix == 3) memset(tile[in->reg], 0, sizeof(tile[0]));
            if (!in->memory && in->prefix == 0) configuration = (struct configuration){0};
            return true;
        case 0x4b:
            if (!in->memory || in->prefix == 0) return false;
            if (in->prefix == 2) {
                store(in->reg, in);
            } else {
                load(in->reg, in);
            }
            return true;
        case 0x5e:
            if (in->memory || in->vvvv >= TILES) return false;
            multiply(in->reg, in->rm, in->vvvv, in->prefix);
            return true;
        default:
            return false;
    }
}

static void on_illegal(int number, siginfo_t * info, void * data) {
    (void) info;
    ucontext_t *       context = data;
    struct instruction in;
    if (decode(&in, context) && execute(&in)) {
        context->uc_mcontext.gregs[REG_RIP] += in.length;
    } else {
        signal(number, SIG_DFL); // repeats the instruction, which ends the program
    }
}

__attribute__((constructor)) static void constructor(void) {
    struct sigaction action = {.sa_sigaction = on_illegal, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGILL, &action, NULL);
}

// ---- the permission ----

// Called by the copy in place of libc's syscall().
__attribute__((visibility("default"))) long sysca1l(long number, ...);
long                                        sysca1l(long number, ...) {
                                           va_list list;
                                           va_start(list, number);
                                           long request = va_arg(list, long), feature = va_arg(list, long);
                                           va_end(list);
                                           if (number == SYS_arch_prctl && request == REQUEST_PERMISSION && feature == TILE_DATA) return 0;
    errno = ENOSYS;
                                           return -1;
}
