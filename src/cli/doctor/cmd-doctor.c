// ggscope doctor [PROGRAM]: what can be recorded here, what cannot, and how to fix that.
#include "cli/doctor/cmd-doctor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json.h"
#include "base/system/terminal.h"
#include "cli/commands.h"
#include "cli/scaffold/verb.h"
#include "engine/locate.h"
#include "record/inspect/capture-library.h"
#include "record/inspect/findings.h"
#include "record/inspect/libraries.h"
#include "record/inspect/program.h"
#include "record/launch/environment.h"

// ---- running a program for what it says ----

// The output of a program (stdout, or stderr if `of` is 2), cut to `size`. Returns its exit status, -1 if it did not run.
static int listen_to(char ** argv, char ** environment, int of, char * said, size_t size) {
    int                        ends[2], status = -1;
    pid_t                      child;
    posix_spawn_file_actions_t actions;
    said[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, of == 1 ? 2 : 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], of);
    int failed = posix_spawnp(&child, argv[0], &actions, NULL, argv, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t  used = 0;
    ssize_t n    = 0;
    while (failed == 0 && used + 1 < size &&
           ((n = read(ends[0], said + used, size - used - 1)) > 0 || (n < 0 && errno == EINTR))) {
        if (n > 0) used += (size_t) n;
    }
    said[used] = '\0';
    close(ends[0]);
    if (failed != 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
    return WEXITSTATUS(status);
}

// ---- ggscope itself ----

static bool check_capture(struct ggs_findings * report, char path[PATH_MAX]) {
    static char            program[] = "/proc/self/exe", option[] = "--version"; // a program of our kind, for sure
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
    int status = environment.failed ? -1 : listen_to(argv, environment.entries, 2, said, sizeof(said));
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
    int    status = listen_to(argv, environ, 1, said, sizeof(said));
    char * second = strchr(said, '\n'); // the first line is about ggscope-engine
    if (status == 0 && second != NULL) {
        second[1 + strcspn(second + 1, "\n")] = '\0';
        ggs_findings_add(report, GGS_FINDING_OK, "engine", NULL, "%s in %s", second + 1, paths->directory);
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

// Programs that use ggml without llama.cpp (whisper.cpp, stable-diffusion.cpp).
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

// ---- a program, or a library that a program loads ----

static const char shared_fix[] = "build it with shared libraries (cmake -DBUILD_SHARED_LIBS=ON)";

// What can be seen of the ggml that an ELF file has in it, or links.
static void check_contents(struct ggs_findings * report, const struct ggs_elf * elf, const char * path,
                           struct ggs_libraries * libraries) {
    enum ggs_elf_definition inside = ggs_elf_defines(elf, "ggml_graph_compute");
    if (inside == GGS_ELF_UNDEFINED) inside = ggs_elf_defines(elf, "ggml_init");
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

// A library, such as an addon of Node.js or Python: no program, but what a program may have its ggml in.
static bool check_library(struct ggs_findings * report, const char * path, struct ggs_libraries * libraries) {
    struct ggs_elf elf;
    const char *   name    = ggs_file_name(path);
    size_t         length  = strlen(name);
    bool           library = strstr(name, ".so") != NULL || (length > 5 && strcmp(name + length - 5, ".node") == 0);
    if (!library || strchr(path, '/') == NULL || ggs_elf_open(&elf, path, NULL) != 0) return false;
    ggs_findings_add(report, GGS_FINDING_OK, "program", NULL, "%s is a library that a program loads", path);
    check_contents(report, &elf, path, libraries);
    ggs_elf_close(&elf);
    return true;
}

static void check_program(struct ggs_findings * report, char ** words, unsigned n, struct ggs_libraries * libraries) {
    struct ggs_program program;
    struct ggs_error   error;
    struct ggs_elf     elf;
    bool               script;
    char               inner[PATH_MAX];
    unsigned           skipped;
    if (check_library(report, words[0], libraries)) return;
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
        check_program(report, skipped > 0 ? words + skipped : &next, skipped > 0 ? n - skipped : 1, libraries);
        return;
    }
    if (script || ggs_program_is_shell(&program)) {
        ggs_findings_add(report, GGS_FINDING_OK, "program", NULL, "%s is a %s%s: what it starts can be recorded",
                         program.path, script ? "script for " : "shell", script ? program.interpreter : "");
        return;
    }
    ggs_findings_add(report, GGS_FINDING_OK, "program", NULL, "%s can have libraries preloaded", program.path);
    if (ggs_elf_open(&elf, program.path, NULL) != 0) return;
    check_contents(report, &elf, program.path, libraries);
    ggs_elf_close(&elf);
}

// ---- the report ----

static const char * const words[] = {"ok", "warn", "FAIL"};

static void print_text(const struct ggs_findings * report) {
    static const char * const colours[] = {"\x1b[32m", "\x1b[33m", "\x1b[1;31m"};
    bool                      colour    = ggs_terminal_colour(stdout);
    for (size_t i = 0; i < report->count; i++) {
        const struct ggs_finding * finding = &report->findings[i];
        printf("%s%-4s%s  %-9s  %s%s%s%s\n", colour ? colours[finding->level] : "", words[finding->level],
               colour ? "\x1b[0m" : "", finding->topic, finding->text, finding->fix == NULL ? "" : " (",
               finding->fix == NULL ? "" : finding->fix, finding->fix == NULL ? "" : ")");
    }
}

static void write_json(struct ggs_json * json, const struct ggs_findings * report, bool good) {
    ggs_json_object(json, NULL);
    ggs_json_bool(json, "ok", good);
    ggs_json_array(json, "checks");
    for (size_t i = 0; i < report->count; i++) {
        const struct ggs_finding * finding = &report->findings[i];
        ggs_json_object(json, NULL);
        ggs_json_string(json, "level", finding->level == GGS_FINDING_FAIL ? "fail" : words[finding->level]);
        ggs_json_string(json, "topic", finding->topic);
        ggs_json_string(json, "text", finding->text);
        ggs_json_string(json, "fix", finding->fix);
        ggs_json_end(json);
    }
    ggs_json_end(json);
    ggs_json_end(json);
}

// ---- the verb ----

struct arguments {
    struct ggs_input input;
    const char *     engine;
    bool             bandwidth;
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
        folder  = program; // of libraries
        program = NULL;
    }
    if (program != NULL) check_program(report, arguments->input.paths, arguments->input.n, &engine);
    // A program brings its own engine; if it does not, the one that is named, or ours, is looked at.
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
    bool good = true;
    for (size_t i = 0; i < report.count; i++) good = good && report.findings[i].level != GGS_FINDING_FAIL;
    int status = report.failed ? ggs_fail_memory(error) : good ? 0 : 1;
    if (status >= 0 && arguments->input.json) {
        write_json(arguments->input.out, &report, good);
    } else if (status >= 0) {
        print_text(&report);
    }
    ggs_findings_release(&report);
    return status;
}

int cmd_doctor(int argc, char ** argv) {
    static const struct ggs_option options[] = {
        {"engine", 0, "DIR", "Look at the llama.cpp libraries in DIR (else GGSCOPE_ENGINE, else ours)", 1,
         offsetof(struct arguments, engine), ggs_take_text, NULL},
        {"bandwidth", 0, NULL,
         "Measure what memory and cores of this machine can do, and keep it: recordings get a copy", 1,
         offsetof(struct arguments, bandwidth), NULL, NULL},
        GGS_OPTION_JSON(1),
        {0}};
    static const struct ggs_verb verb = {
        .operands = "[PROGRAM [ARGS...] | LIBRARY | DIR]",
        .most     = UINT_MAX,
        .program  = true,
        .options  = options,
        .run      = diagnose,
        .text =
            "Tell what can be recorded on this machine, with this engine, of this program, and how to fix the rest. Exit 1 if "
            "something stands in the way of a recording."};
    struct arguments arguments = {0};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
