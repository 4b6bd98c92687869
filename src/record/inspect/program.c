#include "record/inspect/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "record/inspect/capture-library.h"
#include "record/inspect/doctor-findings.h"
#include "record/inspect/elf.h"
#include "record/inspect/libraries.h"

// ---- finding it ----

static bool is_program(const char * path) {
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

static bool find_in_path(char path[PATH_MAX], const char * name) {
    const char * folders = getenv("PATH");
    if (folders == NULL) folders = "/usr/local/bin:/bin:/usr/bin";
    for (const char * at = folders;; at++) {
        size_t length  = strcspn(at, ":");
        int    written = length == 0 ? snprintf(path, PATH_MAX, "./%s", name)
                                     : snprintf(path, PATH_MAX, "%.*s/%s", (int) length, at, name);
        if (written < PATH_MAX && is_program(path)) return true;
        at += length;
        if (*at == '\0') return false;
    }
}

// "#!/path/to/interpreter argument"; for "#!/usr/bin/env NAME" it is NAME.
static void find_interpreter(struct ggs_program * program) {
    char   line[512]        = "";
    FILE * file             = fopen(program->path, "re");
    program->interpreter[0] = '\0';
    if (file == NULL) return;
    size_t length = fread(line, 1, sizeof(line) - 1, file);
    fclose(file);
    line[length]              = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "#!", 2) != 0) return;
    const char * word = line + 2 + strspn(line + 2, " \t");
    int          size = (int) strcspn(word, " \t\r");
    snprintf(program->interpreter, sizeof(program->interpreter), "%.*s", size, word);
    if (strcmp(ggs_file_name(program->interpreter), "env") != 0) return;
    word += size;
    do { // options of env
        word += strspn(word, " \t");
        size = (int) strcspn(word, " \t\r");
    } while (word[0] == '-' && (word += size)[0] != '\0');
    char name[256], found[PATH_MAX];
    snprintf(name, sizeof(name), "%.*s", size, word);
    if (name[0] != '\0' && find_in_path(found, name)) memcpy(program->interpreter, found, sizeof(found));
}

int ggs_program_find(struct ggs_program * program, const char * name, struct ggs_error * error) {
    struct stat status;
    *program = (struct ggs_program){0};
    if (name[0] == '\0') return ggs_fail(error, GGS_USAGE, "the program's name is empty");
    if (strchr(name, '/') == NULL) {
        if (!find_in_path(program->path, name))
            return ggs_fail(error, GGS_ABSENT,
                            "there is no program '%s' in PATH (a program in this directory is named ./%s)", name, name);
    } else {
        if (snprintf(program->path, sizeof(program->path), "%s", name) >= (int) sizeof(program->path))
            return ggs_fail(error, GGS_USAGE, "the program's path is too long");
        if (stat(name, &status) != 0) return ggs_fail_errno(error, "cannot run %s", name);
        if (S_ISDIR(status.st_mode)) return ggs_fail(error, GGS_USAGE, "cannot run %s: it is a directory", name);
        if (!is_program(name))
            return ggs_fail(error, GGS_USAGE, "cannot run %s: it is not executable (chmod +x makes it so)", name);
    }
    find_interpreter(program);
    return 0;
}

// ---- programs that start others ----

// The number of its own words before the other's name, without options; the letters of options with
// a value.
static const struct wrapper {
    const char * name;
    unsigned     words;
    const char * with_value;
} wrappers[] = {
    {"env", 0, "uCS"},        {"timeout", 1, "ks"}, {"nice", 0, "n"},    {"nohup", 0, ""},    {"setsid", 0, ""},
    {"time", 0, "of"},        {"stdbuf", 0, "ioe"}, {"taskset", 1, ""},  {"ionice", 0, "cn"}, {"chrt", 1, "TPD"},
    {"numactl", 0, "iNmpCP"}, {"catchsegv", 0, ""}, {"unbuffer", 0, ""},
};

bool ggs_program_is_shell(const struct ggs_program * program) {
    static const char * const shells[] = {"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"};
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
        if (strcmp(ggs_file_name(program->path), shells[i]) == 0) return true;
    return false;
}

// Finds the first word of a shell's command line that names a program: after assignments, exec and
// wrappers' words.
static bool first_program(const char * line, char inner[PATH_MAX]) {
    char               word[PATH_MAX];
    struct ggs_program program;
    while (*line != '\0') {
        line += strspn(line, " \t\n;&|(){}");
        size_t length = strcspn(line, " \t\n;&|(){}");
        bool   quoted = length > 1 && (line[0] == '\'' || line[0] == '"') && line[length - 1] == line[0];
        snprintf(word, sizeof(word), "%.*s", (int) (quoted ? length - 2 : length), line + quoted);
        line += length;
        if (word[0] == '\0' || strchr(word, '=') != NULL || strcmp(word, "exec") == 0) continue;
        if (ggs_program_find(&program, word, NULL) != 0) return false;
        memcpy(inner, word, sizeof(word));
        return true;
    }
    return false;
}

bool ggs_program_unwrap(char * const * words, unsigned n, char inner[PATH_MAX], unsigned * skipped) {
    struct ggs_program program = {.interpreter = ""};
    snprintf(program.path, sizeof(program.path), "%s", words[0]);
    *skipped = 0;
    if (ggs_program_is_shell(&program)) {
        unsigned i = 1;
        while (i < n && words[i][0] == '-' && strchr(words[i], 'c') == NULL) i++;
        return i + 1 < n && words[i][0] == '-' && first_program(words[i + 1], inner);
    }
    for (size_t k = 0; k < sizeof(wrappers) / sizeof(wrappers[0]); k++) {
        const struct wrapper * wrapper = &wrappers[k];
        unsigned               own     = wrapper->words;
        if (strcmp(ggs_file_name(words[0]), wrapper->name) != 0) continue;
        for (unsigned i = 1; i < n; i++) {
            if (words[i][0] == '-') {
                bool takes = words[i][1] != '-' && words[i][1] != '\0' && words[i][2] == '\0' &&
                             strchr(wrapper->with_value, words[i][1]) != NULL;
                i += takes;
            } else if (strchr(words[i], '=') != NULL && strcmp(wrapper->name, "env") == 0) {
                continue;
            } else if (own > 0) {
                own--;
            } else {
                snprintf(inner, PATH_MAX, "%s", words[i]);
                *skipped = i;
                return true;
            }
        }
        return false;
    }
    return false;
}

// ---- preloading ----

// The kernel marks such a program as secure, and the dynamic linker ignores LD_PRELOAD in it. (Not
// for root, which gains nothing by set-user-ID root or capabilities.)
static int check_rights(const char * path, struct ggs_error * error) {
    static const char advice[] = "; record a copy of it without them, or record as that user";
    struct stat       status;
    struct statvfs    mount;
    if (stat(path, &status) != 0) return 0;
    if (statvfs(path, &mount) == 0 && (mount.f_flag & ST_NOSUID) != 0) return 0;
    if ((status.st_mode & S_ISUID) != 0 && status.st_uid != getuid())
        return ggs_fail(
            error, GGS_UNSUPPORTED,
            "%s is set-user-ID: the dynamic linker lets no library be preloaded into programs with more rights%s", path,
            advice);
    if ((status.st_mode & S_ISGID) != 0 && (status.st_mode & S_IXGRP) != 0 && status.st_gid != getgid())
        return ggs_fail(
            error, GGS_UNSUPPORTED,
            "%s is set-group-ID: the dynamic linker lets no library be preloaded into programs with more rights%s",
            path, advice);
    if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0)
        return ggs_fail(
            error, GGS_UNSUPPORTED,
            "%s has file capabilities: the dynamic linker lets no library be preloaded into programs with more rights%s",
            path, advice);
    return 0;
}

static int check_file(const char * path, struct ggs_error * error) {
    struct ggs_elf   elf, self;
    struct ggs_error reason;
    int              status = check_rights(path, error);
    if (status != 0) return status;
    status = ggs_elf_open(&elf, path, &reason);
    if (status == GGS_UNSUPPORTED) return ggs_fail(error, status, "%s", reason.text);
    if (status != 0) return 0; // not an ELF file: the kernel reports it
    if (ggs_elf_open(&self, "/proc/self/exe", NULL) == 0) {
        if (self.machine != elf.machine)
            status = ggs_fail(error, GGS_UNSUPPORTED,
                              "%s is built for another kind of processor than ggscope: it cannot be recorded", path);
        ggs_elf_close(&self);
    }
    if (status == 0 && elf.cut_off)
        status = ggs_fail(error, GGS_UNSUPPORTED, "%s is cut off: copy or build it again", path);
    if (status == 0 && elf.library)
        status = ggs_fail(error, GGS_UNSUPPORTED,
                          "%s is a shared library, not a program: record the program that loads it", path);
    else if (status == 0 && elf.interpreter == NULL)
        status = ggs_fail(error, GGS_UNSUPPORTED,
                          "%s is statically linked, the C library included: nothing can be preloaded into it; build it "
                          "with shared libraries (cmake -DBUILD_SHARED_LIBS=ON), or link the C library dynamically "
                          "(without -static) and keep the program's symbols",
                          path);
    ggs_elf_close(&elf);
    return status;
}

int ggs_program_check(const struct ggs_program * program, bool * only_warn, struct ggs_error * error) {
    *only_warn = program->interpreter[0] != '\0';
    return check_file(*only_warn ? program->interpreter : program->path, error);
}

// ---- empty recordings ----

// The capture library prints one line when it gives up.
static bool capture_spoke(const char * stderr_file) {
    char   line[1024];
    bool   spoke = false;
    FILE * file  = fopen(stderr_file, "re");
    while (file != NULL && !spoke && fgets(line, sizeof(line), file) != NULL)
        spoke = strncmp(line, "ggscope: ", 9) == 0;
    if (file != NULL) fclose(file);
    return spoke;
}

static bool can_be_seen(const struct ggs_libraries * libraries) {
    for (size_t i = 0; i < libraries->count; i++) {
        const struct ggs_elf * elf = &libraries->items[i].elf;
        if (!elf->symbolic &&
            (ggs_elf_calls(elf, "ggml_graph_compute") || ggs_elf_calls(elf, "ggml_backend_graph_compute_async")))
            return true;
    }
    return false;
}

// Finds the first obstacle to recording an engine inside; false if there is no such engine.
static bool explain_inside(const struct ggs_elf * elf, const char * path, int wait_status, struct ggs_text * reason) {
    struct ggs_findings  report  = {0};
    struct ggs_libraries capture = {0};
    char                 library[PATH_MAX];
    if (ggs_capture_library_find(library, NULL) == 0) ggs_libraries_add(&capture, library);
    bool   inside = ggs_findings_inside(&report, &capture, elf, path, path);
    size_t i      = 0;
    while (i < report.count && report.findings[i].level != GGS_FINDING_FAIL) i++;
    if (i < report.count)
        ggs_text_printf(reason, "%s; %s", report.findings[i].text,
                        report.findings[i].fix == NULL ? "" : report.findings[i].fix);
    else if (inside)
        ggs_text_printf(reason, "%s has ggml inside, but it %s before it computed anything", path,
                        WIFSIGNALED(wait_status) ? "was killed" : "ended");
    ggs_findings_release(&report);
    ggs_libraries_release(&capture);
    return inside;
}

static void explain_elf(const struct ggs_elf * elf, const char * path, int wait_status, struct ggs_text * reason) {
    struct ggs_libraries libraries = {0};
    if (explain_inside(elf, path, wait_status, reason)) return;
    bool inside = ggs_elf_defines(elf, "ggml_graph_compute") != GGS_ELF_UNDEFINED ||
                  ggs_elf_defines(elf, "ggml_init") != GGS_ELF_UNDEFINED;
    ggs_libraries_add_needed(&libraries, elf, path);
    if (inside || (libraries.count == 0 && ggs_elf_contains(elf, "GGML_ASSERT("))) {
        ggs_text_printf(
            reason,
            "ggml is linked into %s itself, so its calls cannot be seen; build it with shared libraries (cmake -DBUILD_SHARED_LIBS=ON)",
            path);
    } else if (libraries.count > 0 && !can_be_seen(&libraries)) {
        ggs_text_printf(
            reason,
            "the libraries of %s call their own functions directly (linked with -Bsymbolic-functions or with link-time optimisation); ggscope doctor %s tells more",
            path, path);
    } else if (libraries.count > 0) {
        ggs_text_printf(reason, "%s uses %s, but it %s before it computed anything", path,
                        ggs_file_name(libraries.items[0].path), WIFSIGNALED(wait_status) ? "was killed" : "ended");
    } else {
        ggs_text_printf(reason, "%s does not link ggml or llama.cpp, and loaded neither while it ran", path);
    }
    ggs_libraries_release(&libraries);
}

void ggs_program_explain(const struct ggs_program * program, const char * stderr_file, int wait_status,
                         struct ggs_text * reason) {
    struct ggs_elf elf;
    if (capture_spoke(stderr_file)) {
        ggs_text_puts(reason, "the line above that begins with \"ggscope:\" says why");
    } else if (program->interpreter[0] != '\0') {
        ggs_text_printf(reason, "the script %s started no program that uses ggml's shared libraries", program->path);
    } else if (ggs_elf_open(&elf, program->path, NULL) == 0) {
        explain_elf(&elf, program->path, wait_status, reason);
        ggs_elf_close(&elf);
    } else {
        ggs_text_printf(reason, "%s started no program that uses ggml's shared libraries", program->path);
    }
}
