// ggscope doctor [PROGRAM]: what can be recorded here, what cannot, and how to fix it.
#include "cli/doctor/cmd-doctor.h"

#include <dirent.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/object.h"
#include "base/system/terminal.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"
#include "engine/locate.h"
#include "record/inspect/capture-library.h"
#include "record/inspect/findings.h"
#include "record/inspect/libraries.h"
#include "record/inspect/program.h"
#include "record/launch/attach.h"
#include "record/launch/environment.h"
#include "record/launch/listen.h"

// ---- ggscope itself ----

static bool check_capture(struct ggs_findings * report, char path[PATH_MAX]) {
    static char            program[] = "/proc/self/exe", option[] = "--version"; // any executable
    char *                 argv[] = {program, option, NULL};
    char                   said[1024];
    struct ggs_error       error;
    struct ggs_environment environment;
    if (ggs_capture_library_find(path, &error) != 0) {
        ggs_findings_add(report, GGS_FINDING_FAIL, "capture", "build or install ggscope again", "%s", error.text);
        return false;
    }
    ggs_environment_copy(&environment, environ);
    ggs_environment_prepend(&environment, "LD_PRELOAD", path);
    int status = environment.failed ? -1 : ggs_listen(argv, environment.entries, 2, said, sizeof(said));
    ggs_environment_release(&environment);
    said[strcspn(said, "\n")] = '\0';
    bool good                 = status == 0 && said[0] == '\0';
    ggs_findings_add(report, good ? GGS_FINDING_OK : GGS_FINDING_FAIL, "capture",
                     good ? NULL : "build ggscope again on this machine", "%s %s%s", path,
                     good ? "can be preloaded" : "cannot be preloaded: ", said);
    return good;
}

// ---- the engine ----

static void check_version(struct ggs_findings * report, const struct ggs_engine_paths * paths) {
    static char      verb[] = "version", option[] = "--engine";
    char             runner[PATH_MAX], directory[PATH_MAX], said[1024];
    struct ggs_error error;
    if (ggs_sibling_find(runner, "ggscope-engine", &error) != 0) {
        ggs_findings_add(report, GGS_FINDING_WARN, "engine", "build or install ggscope again", "%s", error.text);
        return;
    }
    memcpy(directory, paths->directory, sizeof(directory));
    char * argv[] = {runner, verb, option, directory, NULL};
    int    status = ggs_listen(argv, environ, 1, said, sizeof(said));
    char * second = strchr(said, '\n'); // the first line is about ggscope-engine
    if (status == 0 && second != NULL) {
        const char * cpu                      = strstr(second, "\ncomputes with ");
        size_t       cpu_length               = cpu != NULL ? strcspn(cpu + 1, ":\n") : 0;
        second[1 + strcspn(second + 1, "\n")] = '\0';
        ggs_findings_add(report, GGS_FINDING_OK, "engine", NULL, "%s in %s%s%.*s", second + 1, paths->directory,
                         cpu != NULL ? ", " : "", (int) cpu_length, cpu != NULL ? cpu + 1 : "");
    } else {
        ggs_findings_add(
            report, GGS_FINDING_WARN, "engine", "record programs of that engine instead: ggscope record -- PROGRAM",
            "the libraries in %s are of a release that ggscope-engine was not built for", paths->directory);
    }
}

static bool has_libraries(const char * folder, const char * prefix) {
    DIR *                 entries = opendir(folder);
    const struct dirent * entry;
    bool                  found = false;
    while (entries != NULL && !found && (entry = readdir(entries)) != NULL)
        found = strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && strstr(entry->d_name, ".so") != NULL;
    if (entries != NULL) closedir(entries);
    return found;
}

// For programs that use ggml without llama.cpp (whisper.cpp, stable-diffusion.cpp).
static bool check_ggml_alone(struct ggs_findings * report, const char * directory, struct ggs_libraries * libraries) {
    if (directory == NULL || !has_libraries(directory, "libggml") || has_libraries(directory, "libllama")) return false;
    ggs_findings_add(
        report, GGS_FINDING_WARN, "engine", "name a folder that has libllama.so too, if the program uses llama.cpp",
        "%s has ggml but not llama.cpp: ops, graphs and buffers can be recorded; without tokens a step is a graph run",
        directory);
    if (ggs_libraries_add_ggml(libraries, directory) != 0) report->failed = true;
    return true;
}

static void check_engine(struct ggs_findings * report, const char * directory, struct ggs_libraries * libraries) {
    struct ggs_engine_paths paths;
    struct ggs_error        error;
    if (check_ggml_alone(report, directory, libraries)) return;
    if (ggs_engine_locate(directory, &paths, &error) != 0) {
        ggs_findings_add(report, GGS_FINDING_FAIL, "engine", "name a llama.cpp with --engine DIR or GGSCOPE_ENGINE",
                         "%s", error.text);
        return;
    }
    check_version(report, &paths);
    const char * const files[] = {paths.llama, paths.ggml, paths.ggml_base};
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (files[i][0] != '\0' && ggs_libraries_add(libraries, files[i]) != 0) report->failed = true;
    }
    if (paths.backends[0] != '\0' && ggs_libraries_add_backends(libraries, paths.backends) != 0) report->failed = true;
}

// ---- a program or library ----

static const char shared_fix[] = "build it with shared libraries (cmake -DBUILD_SHARED_LIBS=ON)";

// Reports which ggml an ELF file contains or links.
static void check_contents(struct ggs_findings * report, const struct ggs_elf * elf, const char * path,
                           const struct ggs_libraries * capture, struct ggs_libraries * libraries) {
    enum ggs_elf_definition inside = ggs_elf_defines(elf, "ggml_graph_compute");
    if (inside == GGS_ELF_UNDEFINED) inside = ggs_elf_defines(elf, "ggml_init");
    if (ggs_findings_inside(report, capture, elf, path)) return;
    if (inside == GGS_ELF_EXPORTED && elf->interpreter == NULL && ggs_elf_calls(elf, "ggml_graph_compute")) {
        ggs_findings_add(
            report, GGS_FINDING_WARN, "program", shared_fix,
            "ggml is linked into %s, which exports it: what it calls through the dynamic linker can be seen, as listed below; "
            "calls from one source file to itself cannot",
            path);
        if (ggs_libraries_add(libraries, path) != 0) report->failed = true;
        return;
    }
    if (ggs_libraries_add_needed(libraries, elf, path) != 0) report->failed = true;
    if (inside != GGS_ELF_UNDEFINED || (libraries->count == 0 && ggs_elf_contains(elf, "GGML_ASSERT("))) {
        ggs_findings_add(report, GGS_FINDING_FAIL, "program", shared_fix,
                         "ggml is linked into %s itself%s, so its calls cannot be seen", path,
                         inside == GGS_ELF_UNDEFINED ? " (which is stripped)" : "");
    } else if (libraries->count == 0) {
        ggs_findings_add(report, GGS_FINDING_WARN, "program", "name the engine that it loads with --engine DIR",
                         "%s links no ggml library; it may still load one when it runs", path);
    }
}

// A library such as an addon of Node.js or Python: not a program, but it may contain a program's
// ggml.
static bool check_library(struct ggs_findings * report, const char * path, const struct ggs_libraries * capture,
                          struct ggs_libraries * libraries) {
    struct ggs_elf elf;
    if (strchr(path, '/') == NULL || ggs_elf_open(&elf, path, NULL) != 0) return false;
    bool library = elf.library;
    if (library) {
        ggs_findings_add(report, GGS_FINDING_OK, "program", NULL, "%s is a library that a program loads", path);
        check_contents(report, &elf, path, capture, libraries);
    }
    ggs_elf_close(&elf);
    return library;
}

static void check_program(struct ggs_findings * report, char ** words, unsigned n, const struct ggs_libraries * capture,
                          struct ggs_libraries * libraries) {
    struct ggs_program program;
    struct ggs_error   error;
    struct ggs_elf     elf;
    bool               script;
    char               inner[PATH_MAX];
    unsigned           skipped;
    if (check_library(report, words[0], capture, libraries)) return;
    if (ggs_program_find(&program, words[0], &error) != 0) {
        ggs_findings_add(report, GGS_FINDING_FAIL, "program", NULL, "%s", error.text);
        return;
    }
    if (ggs_program_check(&program, &script, &error) != 0) {
        bool inside = !script && ggs_elf_open(&elf, program.path, NULL) == 0 && ggs_elf_contains(&elf, "GGML_ASSERT(");
        ggs_findings_add(report, script ? GGS_FINDING_WARN : GGS_FINDING_FAIL, "program", NULL, "%s%s", error.text,
                         inside ? "; ggml is linked into it" : "");
        if (!script) ggs_elf_close(&elf);
        return;
    }
    if (ggs_program_unwrap(words, n, inner, &skipped)) {
        ggs_findings_add(report, GGS_FINDING_OK, "program", NULL, "%s starts %s", program.path, inner);
        char * next = inner;
        check_program(report, skipped > 0 ? words + skipped : &next, skipped > 0 ? n - skipped : 1, capture, libraries);
        return;
    }
    if (script || ggs_program_is_shell(&program)) {
        ggs_findings_add(report, GGS_FINDING_OK, "program", NULL, "%s is a %s%s: what it starts can be recorded",
                         program.path, script ? "script for " : "shell", script ? program.interpreter : "");
        return;
    }
    ggs_findings_add(report, GGS_FINDING_OK, "program", NULL, "%s can have libraries preloaded", program.path);
    if (ggs_elf_open(&elf, program.path, NULL) != 0) return;
    check_contents(report, &elf, program.path, capture, libraries);
    ggs_elf_close(&elf);
}

// ---- a process: what ggscope attach would record ----

static bool is_engine(const char * path) {
    const char * name = ggs_file_name(path);
    return strncmp(name, "libggml", 7) == 0 || strncmp(name, "libllama", 8) == 0;
}

// Checks an engine inside the program itself. Returns false if no functions are found.
static bool check_inside(struct ggs_findings * report, const char * number, const struct ggs_libraries * capture) {
    struct ggs_elf elf;
    char           link[64], path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/%s/exe", number);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    if (length <= 0 || ggs_elf_open(&elf, link, NULL) != 0) return false;
    path[length] = '\0';
    bool inside  = ggs_elf_defines(&elf, "ggml_graph_compute") != GGS_ELF_UNDEFINED &&
                  ggs_findings_inside(report, capture, &elf, path);
    ggs_elf_close(&elf);
    return inside;
}

static void check_process(struct ggs_findings * report, const char * number, const struct ggs_libraries * capture,
                          struct ggs_libraries * libraries) {
    struct ggs_attach attach;
    struct ggs_error  error;
    if (ggs_attach_open(&attach, number, &error) == 0) {
        const struct ggs_tracee * tracee = &attach.tracee;
        ggs_findings_add(report, GGS_FINDING_OK, "process", NULL, "ggscope attach %s can record process %s (%s)%s",
                         number, number, tracee->name,
                         attach.entry == 0 ? "" : "; the capture library is loaded already");
        for (size_t i = 0; i < tracee->n_maps; i++) {
            char path[PATH_MAX + 32];
            if (tracee->maps[i].offset != 0 || !is_engine(tracee->maps[i].path)) continue;
            snprintf(path, sizeof(path), "/proc/%s/root%s", number, tracee->maps[i].path);
            if (ggs_libraries_add(libraries, tracee->other_root ? path : tracee->maps[i].path) != 0)
                report->failed = true;
        }
        if (libraries->count == 0 && !check_inside(report, number, capture))
            ggs_findings_add(
                report, GGS_FINDING_WARN, "process", NULL,
                "process %s (%s) has no library of ggml or llama.cpp loaded: what it loads while ggscope is "
                "attached is recorded; a ggml inside the program is not, unless it has symbols",
                number, tracee->name);
    } else {
        ggs_findings_add(report, GGS_FINDING_FAIL, "process", NULL, "%s", error.text);
    }
    ggs_attach_close(&attach);
}

// ---- the report ----

static const char * const words[] = {"ok", "warn", "FAIL"};

static void print_finding(const struct ggs_finding * finding) {
    static const char * const colours[] = {"\x1b[32m", "\x1b[33m", "\x1b[1;31m"};
    bool                      colour    = ggs_terminal_colour(stdout);
    printf("%s%-4s%s  %-9s  %s%s%s%s\n", colour ? colours[finding->level] : "", words[finding->level],
           colour ? "\x1b[0m" : "", finding->topic, finding->text, finding->fix == NULL ? "" : " (",
           finding->fix == NULL ? "" : finding->fix, finding->fix == NULL ? "" : ")");
}

static bool is_one_of(const char * topic, const char * const * topics) {
    while (*topics != NULL && strcmp(*topics, topic) != 0) topics++;
    return *topics != NULL;
}

// 0 prevents a recording, 1 is about the program, 2 limits a recording, 3 is fine, 4 is one of many
// that are fine.
static unsigned rank(const struct ggs_finding * finding, bool about_program) {
    static const char * const subjects[]    = {"program", "process", NULL};
    static const char * const one_of_many[] = {"ops", "graphs", "buffers", "transfers", "files", "tokens", NULL};
    static const char * const machine[]     = {"kernel", "clock",  "spool",   "faults", "io",
                                               "memory", "limits", "capture", NULL};
    if (finding->level == GGS_FINDING_FAIL) return 0;
    if (is_one_of(finding->topic, subjects)) return 1;
    if (finding->level == GGS_FINDING_WARN) return 2;
    bool hooks = is_one_of(finding->topic, one_of_many) || strstr(finding->text, "not in this release") != NULL ||
                 strstr(finding->text, ", called by ") != NULL;
    return hooks || (about_program && is_one_of(finding->topic, machine)) ? 4 : 3;
}

// Prints the most important findings first.
static void print_text(const struct ggs_findings * report, bool about_program, bool verbose) {
    size_t hidden = 0;
    for (unsigned now = 0; now <= 4; now++) {
        for (size_t i = 0; i < report->count; i++) {
            if (rank(&report->findings[i], about_program) != now) continue;
            if (now < 4 || verbose)
                print_finding(&report->findings[i]);
            else
                hidden++;
        }
    }
    if (hidden == 0) return;
    char text[64];
    snprintf(text, sizeof(text), "%zu more things: --verbose lists them", hidden);
    print_finding(&(struct ggs_finding){.level = GGS_FINDING_OK, .topic = "more", .text = text});
}

// ---- the verb ----

struct arguments {
    struct ggs_input input;
    const char *     engine;
    bool             bandwidth;
    bool             verbose;
};

static void examine(struct ggs_findings * report, const struct arguments * arguments) {
    struct ggs_libraries capture = {0}, engine = {0};
    char                 path[PATH_MAX];
    struct stat          info;
    const char *         program = arguments->input.n > 0 ? arguments->input.paths[0] : NULL;
    const char *         folder  = arguments->engine;
    doctor_machine(report, arguments->bandwidth);
    if (check_capture(report, path) && ggs_libraries_add(&capture, path) != 0) report->failed = true;
    if (program != NULL && folder == NULL && stat(program, &info) == 0 && S_ISDIR(info.st_mode)) {
        folder  = program; // a folder of libraries
        program = NULL;
    }
    if (program != NULL && program[strspn(program, "0123456789")] == '\0' && arguments->input.n == 1)
        check_process(report, program, &capture, &engine);
    else if (program != NULL)
        check_program(report, arguments->input.paths, arguments->input.n, &capture, &engine);
    // A program has its own engine; otherwise the given or default engine is checked.
    if (program == NULL || folder != NULL) check_engine(report, folder, &engine);
    if (engine.count > 0) ggs_findings_hooks(report, &capture, &engine);
    ggs_findings_backends(report, &engine);
    ggs_libraries_release(&capture);
    ggs_libraries_release(&engine);
}

static int diagnose(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    const struct arguments * arguments = input;
    struct ggs_findings      report    = {0};
    (void) traces;
    examine(&report, arguments);
    int status = report.failed ? ggs_fail_memory(error) : ggs_findings_good(&report) ? 0 : 1;
    if (status >= 0 && arguments->input.json) {
        ggs_object_write(arguments->input.out, NULL, &ggs_findings_object, &report, NULL);
    } else if (status >= 0) {
        print_text(&report, arguments->input.n > 0, arguments->verbose);
    }
    ggs_findings_release(&report);
    return status;
}

int cmd_doctor(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        GGS_OPTION("engine", 0, "DIR",
                   "Inspect the llama.cpp libraries in DIR (default: GGSCOPE_ENGINE, else the pinned ones)", 1,
                   offsetof(struct arguments, engine), ggs_set_text, NULL),
        GGS_SWITCH("bandwidth", 0,
                   "Measure memory and cores of this machine and keep the result; recordings get a copy", 1,
                   offsetof(struct arguments, bandwidth)),
        GGS_SWITCH("verbose", 'v', "Also list everything that is fine", 1, offsetof(struct arguments, verbose)),
        GGS_OPTION_JSON(1),
        {0}};
    static const struct ggs_verb verb = {
        .operands = "[PROGRAM [ARGS...] | PID | LIBRARY | DIR]",
        .most     = UINT_MAX,
        .program  = true,
        .options  = options,
        .run      = diagnose,
        .text =
            "Find out what can be recorded on this machine, with this engine, of this program or process, and how to fix "
            "the rest. Exit 1 if something prevents a recording."};
    struct arguments arguments = {0};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
