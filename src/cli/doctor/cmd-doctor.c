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
#include "record/inspect/doctor-findings.h"
#include "record/inspect/libraries.h"
#include "record/inspect/program.h"
#include "record/launch/child-environment.h"
#include "record/launch/listen.h"

// ---- ggscope itself ----

static bool check_capture(struct ggs_findings * report, char path[PATH_MAX]) {
    static char                  program[] = "/proc/self/exe", option[] = "--version"; // any executable
    char *                       argv[] = {program, option, NULL};
    char                         said[1024];
    struct ggs_error             error;
    struct ggs_child_environment environment;
    if (ggs_capture_library_find(path, &error) != 0) {
        ggs_findings_add(report, GGS_FINDING_FAIL, "capture", "build or install ggscope again", "%s", error.text);
        return false;
    }
    ggs_child_environment_copy(&environment, environ);
    ggs_child_environment_prepend(&environment, "LD_PRELOAD", path);
    int status = environment.failed ? -1 : ggs_listen(argv, environment.entries, 2, said, sizeof(said));
    ggs_child_environment_release(&environment);
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

bool doctor_object(struct ggs_findings * report, const struct ggs_elf * elf, const char * path, const char * file,
                   const struct ggs_libraries * capture, struct ggs_libraries * libraries) {
    if (ggs_findings_inside(report, capture, elf, path, file)) return true;
    enum ggs_elf_definition inside = ggs_elf_defines(elf, "ggml_graph_compute");
    if (inside == GGS_ELF_UNDEFINED) inside = ggs_elf_defines(elf, "ggml_init");
    if (inside != GGS_ELF_EXPORTED || elf->interpreter != NULL || !ggs_elf_calls(elf, "ggml_graph_compute"))
        return false;
    ggs_findings_add(
        report, GGS_FINDING_WARN, "program", shared_fix,
        "ggml is linked into %s, which exports it: what it calls through the dynamic linker can be seen, as listed below; "
        "calls from one source file to itself cannot",
        path);
    if (ggs_libraries_add_file(libraries, path, file) != 0) report->failed = true;
    return true;
}

// A library of ggml or llama.cpp: it is checked together with those beside it.
static bool check_engine_library(struct ggs_findings * report, const struct ggs_elf * elf, const char * path,
                                 struct ggs_libraries * libraries) {
    char folder[PATH_MAX];
    if (!elf->library || !ggs_library_is_engine(ggs_file_name(path))) return false;
    snprintf(folder, sizeof(folder), "%.*s", (int) (ggs_file_name(path) - path), path);
    if (ggs_libraries_add(libraries, path) != 0 || ggs_libraries_add_needed(libraries, elf, path) != 0 ||
        ggs_libraries_add_ggml(libraries, folder) != 0)
        report->failed = true;
    return true;
}

// Reports which ggml an ELF file contains or links.
static void check_contents(struct ggs_findings * report, const struct ggs_elf * elf, const char * path,
                           const struct ggs_libraries * capture, struct ggs_libraries * libraries) {
    if (check_engine_library(report, elf, path, libraries)) return;
    if (doctor_object(report, elf, path, path, capture, libraries)) return;
    const char * missing = NULL;
    bool         inside  = ggs_elf_defines(elf, "ggml_graph_compute") != GGS_ELF_UNDEFINED ||
                  ggs_elf_defines(elf, "ggml_init") != GGS_ELF_UNDEFINED;
    if (ggs_libraries_add_needed(libraries, elf, path) != 0) report->failed = true;
    if (libraries->count == 0) missing = ggs_libraries_missing(elf, path);
    if (missing != NULL) {
        ggs_findings_add(report, GGS_FINDING_WARN, "program", "name its folder with LD_LIBRARY_PATH or --engine DIR",
                         "%s needs %s, which is not found", path, missing);
    } else if (inside || (libraries->count == 0 && ggs_elf_contains(elf, "GGML_ASSERT("))) {
        ggs_findings_add(report, GGS_FINDING_FAIL, "program", shared_fix,
                         "ggml is linked into %s itself%s, so its calls cannot be seen", path,
                         inside ? "" : " (which is stripped)");
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
    if (ggs_elf_open(&elf, program.path, NULL) != 0) {
        ggs_findings_add(report, GGS_FINDING_WARN, "program", NULL,
                         "%s is no program for Linux, and no script that begins with #!: it can be recorded only if "
                         "this machine knows how to run it",
                         program.path);
        return;
    }
    ggs_findings_add(report, GGS_FINDING_OK, "program", NULL, "%s can have libraries preloaded", program.path);
    check_contents(report, &elf, program.path, capture, libraries);
    ggs_elf_close(&elf);
}

// ---- the report ----

static const char * const words[] = {"ok", "warn", "FAIL"};

static void print_finding(const struct ggs_finding * finding, const char * fix) {
    static const char * const colours[] = {"\x1b[32m", "\x1b[33m", "\x1b[1;31m"};
    bool                      colour    = ggs_terminal_colour(stdout);
    printf("%s%-4s%s  %-9s  %s%s%s%s\n", colour ? colours[finding->level] : "", words[finding->level],
           colour ? "\x1b[0m" : "", finding->topic, finding->text, fix == NULL ? "" : " (", fix == NULL ? "" : fix,
           fix == NULL ? "" : ")");
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

// What a function's finding says of a recording without it: the part behind the last colon.
static const char * consequence(const struct ggs_finding * finding) {
    const char * found = NULL;
    for (const char * at = finding->text; at != NULL && (at = strstr(at, ": ")) != NULL; at += 2) found = at;
    return found;
}

// True if an earlier finding says the same of another function.
static bool is_repeated(const struct ggs_findings * report, size_t i) {
    const struct ggs_finding * finding = &report->findings[i];
    const char *               text    = consequence(finding);
    for (size_t k = 0; text != NULL && finding->level == GGS_FINDING_WARN && k < i; k++) {
        const struct ggs_finding * other   = &report->findings[k];
        const char *               earlier = consequence(other);
        if (other->level == finding->level && other->topic == finding->topic && earlier != NULL &&
            strcmp(earlier, text) == 0)
            return true;
    }
    return false;
}

// Sets `shown` to the findings to print, the most important first. Returns their number.
static size_t choose_shown(const struct ggs_findings * report, bool about_program, bool verbose,
                           const struct ggs_finding ** shown) {
    size_t n = 0;
    for (unsigned now = 0; now <= 4; now++)
        for (size_t i = 0; i < report->count; i++)
            if (rank(&report->findings[i], about_program) == now && (verbose || (now < 4 && !is_repeated(report, i))))
                shown[n++] = &report->findings[i];
    return n;
}

static bool same_text(const char * a, const char * b) {
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

// Findings that have the same fix have it once, after the last one.
static void print_text(const struct ggs_findings * report, bool about_program, bool verbose) {
    const struct ggs_finding ** shown = calloc(report->count + 1, sizeof(*shown));
    if (shown == NULL) return;
    size_t n = choose_shown(report, about_program, verbose, shown);
    for (size_t i = 0; i < n; i++)
        print_finding(shown[i], i + 1 < n && same_text(shown[i]->fix, shown[i + 1]->fix) ? NULL : shown[i]->fix);
    free(shown);
    char text[64];
    snprintf(text, sizeof(text), "%zu more things: --verbose lists them", report->count - n);
    if (n < report->count)
        print_finding(&(struct ggs_finding){.level = GGS_FINDING_OK, .topic = "more", .text = text}, NULL);
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
        doctor_process(report, program, &capture, &engine);
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
