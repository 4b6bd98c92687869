// Unit tests of src/engine/locate.c in an installed program that has no engine of its own: what
// pkg-config knows, then where people put their builds. The file itself is compiled in here,
// without the folder of the build, which would come first.
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#undef GGSCOPE_DEFAULT_ENGINE
#include "engine/locate.c"

static char root[PATH_MAX];

static void write_file(const char * name, const char * text) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    FILE * file = fopen(path, "we");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void make_folder(const char * name) {
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0777), 0);
}

// llama.pc as llama.cpp installs it, for libraries in ROOT/FOLDER.
static void write_pc(const char * folder) {
    char text[2 * PATH_MAX];
    snprintf(
        text, sizeof(text),
        "prefix=%s\nlibdir=${prefix}/%s\nName: llama\nDescription: a test\nVersion: 0.0.0\nLibs: -L${libdir} -lllama\n",
        root, folder);
    write_file("llama.pc", text);
}

static int set_up(void ** state) {
    (void) state;
    snprintf(root, sizeof(root), "%s/ggscope-installed-XXXXXX", getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    unsetenv("GGSCOPE_ENGINE");
    if (mkdtemp(root) == NULL || setenv("PKG_CONFIG_LIBDIR", root, 1) != 0 || setenv("HOME", root, 1) != 0) return -1;
    unsetenv("PKG_CONFIG_PATH");
    return 0;
}

static int remove_entry(const char * path, const struct stat * status, int type, struct FTW * walk) {
    (void) status, (void) type, (void) walk;
    return remove(path);
}

static int tear_down(void ** state) {
    (void) state;
    return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void test_pkg_config_names_the_folder(void ** state) {
    (void) state;
    struct ggs_engine_paths paths;
    struct ggs_error        error;
    char                    expected[PATH_MAX + 64];
    if (system("pkg-config --version >/dev/null 2>&1") != 0) skip();
    make_folder("libraries");
    write_file("libraries/libllama.so", "");
    write_file("libraries/libggml-cpu.so", "");
    make_folder("llama.cpp"); // also there, and later in the order
    write_file("llama.cpp/libllama.so", "");
    write_pc("libraries");
    assert_int_equal(ggs_engine_locate(NULL, &paths, &error), 0);
    snprintf(expected, sizeof(expected), "%s/libraries/libllama.so", root);
    assert_string_equal(paths.llama, expected);
    snprintf(expected, sizeof(expected), "%s/libraries", root);
    assert_string_equal(paths.directory, expected);
    assert_string_equal(paths.backends, expected);
}

// A file that names a folder without libraries, one that is broken, and a PATH without pkg-config:
// the search goes on.
static void test_a_wrong_answer_is_passed_over(void ** state) {
    (void) state;
    static const char * const prefixes[] = {"/usr/local", "/usr", "/opt/llama.cpp", "/opt/llama"};
    struct ggs_engine_paths   paths;
    struct ggs_error          error;
    char                      expected[PATH_MAX + 64];
    for (size_t i = 0; i < COUNT(prefixes); i++) {
        if (locate_below(prefixes[i], &paths)) skip(); // this machine has one, and it comes before the home folder
    }
    make_folder("llama.cpp");
    write_file("llama.cpp/libllama.so", "");
    snprintf(expected, sizeof(expected), "%s/llama.cpp/libllama.so", root);
    write_pc("nothing");
    assert_int_equal(ggs_engine_locate(NULL, &paths, &error), 0);
    assert_string_equal(paths.llama, expected);
    write_file("llama.pc", "this is no such file\n");
    assert_int_equal(ggs_engine_locate(NULL, &paths, &error), 0);
    assert_string_equal(paths.llama, expected);
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", getenv("PATH"));
    setenv("PATH", root, 1);
    assert_int_equal(ggs_engine_locate(NULL, &paths, &error), 0);
    setenv("PATH", path, 1);
    assert_string_equal(paths.llama, expected);
    setenv("HOME", "/nowhere", 1);
    assert_int_equal(ggs_engine_locate(NULL, &paths, &error), GGS_ABSENT);
    assert_non_null(strstr(error.text, "asked pkg-config"));
    assert_non_null(strstr(error.text, "--engine DIR or GGSCOPE_ENGINE"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pkg_config_names_the_folder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_wrong_answer_is_passed_over, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
