// Unit tests of src/engine/locate.c: directories of empty files that are named like an engine.
#include <fcntl.h>
#include <ftw.h>
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

#include "base/error.h"
#include "engine/locate.h"

struct fixture {
    char root[PATH_MAX];
};

static int set_up(void ** state) {
    struct fixture * fixture = calloc(1, sizeof(*fixture));
    const char *     place   = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    char template[PATH_MAX];
    // Characters that mean something to glob must mean nothing in a directory's name.
    snprintf(template, sizeof(template), "%s/ggscope-[locate]*-XXXXXX", place);
    if (fixture == NULL || mkdtemp(template) == NULL || realpath(template, fixture->root) == NULL) return -1;
    unsetenv("GGSCOPE_ENGINE");
    *state = fixture;
    return 0;
}

static int remove_entry(const char * path, const struct stat * status, int type, struct FTW * walk) {
    (void) status, (void) type, (void) walk;
    return remove(path);
}

static int tear_down(void ** state) {
    struct fixture * fixture = *state;
    nftw(fixture->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(fixture);
    return 0;
}

// Makes ROOT/path an empty file, with the directories that it needs.
static void make_file(const struct fixture * fixture, const char * path) {
    char full[2 * PATH_MAX];
    snprintf(full, sizeof(full), "%s/%s", fixture->root, path);
    for (char * slash = full + strlen(fixture->root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(full, 0777);
        *slash = '/';
    }
    int file = open(full, O_CREAT | O_WRONLY, 0666);
    assert_true(file >= 0);
    close(file);
}

static void assert_below(const struct fixture * fixture, const char * path, const char * expected) {
    char full[2 * PATH_MAX];
    snprintf(full, sizeof(full), "%s/%s", fixture->root, expected);
    assert_string_equal(path, full);
}

static void test_rank_knows_the_names(void ** state) {
    (void) state;
    assert_int_equal(ggs_engine_library_rank("libllama.so", "libllama"), 0);
    assert_int_equal(ggs_engine_library_rank("libllama.so.0", "libllama"), 1);
    assert_int_equal(ggs_engine_library_rank("libllama.so.0.5.0", "libllama"), 1);
    assert_int_equal(ggs_engine_library_rank("libllama.v0.5.0.so", "libllama"), 2);
    assert_int_equal(ggs_engine_library_rank("libllama-common.so", "libllama"), -1);
    assert_int_equal(ggs_engine_library_rank("libllama.so.debug", "libllama"), -1);
    assert_int_equal(ggs_engine_library_rank("libllama.a", "libllama"), -1);
    assert_int_equal(ggs_engine_library_rank("libggml-base.so", "libggml"), -1);
    assert_int_equal(ggs_engine_library_rank("libggml", "libggml"), -1);
}

static void test_folder_of_libraries(void ** state) {
    const struct fixture *  fixture = *state;
    struct ggs_engine_paths paths;
    struct ggs_error        error;
    make_file(fixture, "libllama-common.so");
    make_file(fixture, "libllama.v0.5.0.so");
    make_file(fixture, "libggml.v0.5.0.so");
    make_file(fixture, "libggml-base.so");
    make_file(fixture, "libggml-cpu-haswell.so");
    assert_int_equal(ggs_engine_locate(fixture->root, &paths, &error), 0);
    assert_string_equal(paths.directory, fixture->root);
    assert_below(fixture, paths.llama, "libllama.v0.5.0.so");
    assert_below(fixture, paths.ggml, "libggml.v0.5.0.so");
    assert_below(fixture, paths.ggml_base, "libggml-base.so");
    assert_string_equal(paths.backends, fixture->root);
}

static void test_plain_name_wins_then_the_newest(void ** state) {
    const struct fixture *  fixture = *state;
    struct ggs_engine_paths paths;
    struct ggs_error        error;
    make_file(fixture, "libllama.so.0.9.2");
    make_file(fixture, "libllama.so.0.10.1");
    assert_int_equal(ggs_engine_locate(fixture->root, &paths, &error), 0);
    assert_below(fixture, paths.llama, "libllama.so.0.10.1");
    make_file(fixture, "libllama.so");
    assert_int_equal(ggs_engine_locate(fixture->root, &paths, &error), 0);
    assert_below(fixture, paths.llama, "libllama.so");
}

static void test_places_below(void ** state) {
    static const char * const places[] = {"bin",       "lib", "lib64",    "lib/x86_64-linux-gnu",
                                          "build/bin", "src", "build/src"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        const struct fixture *  fixture = *state;
        struct ggs_engine_paths paths;
        struct ggs_error        error;
        char                    root[2 * PATH_MAX], file[PATH_MAX], folder[PATH_MAX];
        snprintf(root, sizeof(root), "%s/%zu", fixture->root, i);
        snprintf(file, sizeof(file), "%zu/%s/libllama.so.0", i, places[i]);
        snprintf(folder, sizeof(folder), "%zu/%s", i, places[i]);
        make_file(fixture, file);
        assert_int_equal(ggs_engine_locate(root, &paths, &error), 0);
        assert_below(fixture, paths.llama, file);
        assert_below(fixture, paths.directory, folder);
        assert_string_equal(paths.ggml, "");
        assert_string_equal(paths.backends, "");
    }
}

static void test_ggml_apart_from_llama(void ** state) {
    const struct fixture *  fixture = *state;
    struct ggs_engine_paths paths;
    struct ggs_error        error;
    make_file(fixture, "build/src/libllama.so");
    make_file(fixture, "build/ggml/src/libggml.so");
    make_file(fixture, "build/ggml/src/libggml-base.so");
    make_file(fixture, "build/ggml/src/libggml-cpu.so");
    assert_int_equal(ggs_engine_locate(fixture->root, &paths, &error), 0);
    assert_below(fixture, paths.ggml, "build/ggml/src/libggml.so");
    assert_below(fixture, paths.ggml_base, "build/ggml/src/libggml-base.so");
    assert_below(fixture, paths.backends, "build/ggml/src");
}

static void test_a_link_to_nothing_is_no_library(void ** state) {
    const struct fixture *  fixture = *state;
    struct ggs_engine_paths paths;
    struct ggs_error        error;
    char                    link[2 * PATH_MAX];
    snprintf(link, sizeof(link), "%s/libllama.so", fixture->root);
    assert_int_equal(symlink("absent", link), 0);
    assert_int_equal(ggs_engine_locate(fixture->root, &paths, &error), GGS_ABSENT);
    make_file(fixture, "libllama.so.0");
    assert_int_equal(ggs_engine_locate(fixture->root, &paths, &error), 0);
    assert_below(fixture, paths.llama, "libllama.so.0");
}

static void test_absent_says_where_it_looked(void ** state) {
    const struct fixture *  fixture = *state;
    struct ggs_engine_paths paths;
    struct ggs_error        error;
    assert_int_equal(ggs_engine_locate(fixture->root, &paths, &error), GGS_ABSENT);
    assert_non_null(strstr(error.text, fixture->root));
    assert_non_null(strstr(error.text, "--engine"));
    make_file(fixture, "file");
    char file[2 * PATH_MAX];
    snprintf(file, sizeof(file), "%s/file", fixture->root);
    assert_int_equal(ggs_engine_locate(file, &paths, &error), GGS_ABSENT);
    assert_non_null(strstr(error.text, "not a directory"));
    snprintf(file, sizeof(file), "%s/absent", fixture->root);
    assert_int_equal(ggs_engine_locate(file, &paths, &error), GGS_ABSENT);
    assert_non_null(strstr(error.text, "No such file"));
}

static void test_environment_and_its_rank(void ** state) {
    const struct fixture *  fixture = *state;
    struct ggs_engine_paths paths;
    struct ggs_error        error;
    make_file(fixture, "one/libllama.so");
    make_file(fixture, "two/lib/libllama.so");
    char one[2 * PATH_MAX], two[2 * PATH_MAX];
    snprintf(one, sizeof(one), "%s/one", fixture->root);
    snprintf(two, sizeof(two), "%s/two", fixture->root);
    setenv("GGSCOPE_ENGINE", one, 1);
    assert_int_equal(ggs_engine_locate(NULL, &paths, &error), 0);
    assert_below(fixture, paths.llama, "one/libllama.so");
    // What the command line names comes before the environment ...
    assert_int_equal(ggs_engine_locate(two, &paths, &error), 0);
    assert_below(fixture, paths.llama, "two/lib/libllama.so");
    // ... and a wrong name is told, not passed over.
    setenv("GGSCOPE_ENGINE", "/nowhere", 1);
    assert_int_equal(ggs_engine_locate(NULL, &paths, &error), GGS_ABSENT);
    assert_non_null(strstr(error.text, "GGSCOPE_ENGINE"));
    unsetenv("GGSCOPE_ENGINE");
}

#ifdef GGSCOPE_DEFAULT_ENGINE
static void test_the_engine_of_the_build(void ** state) {
    (void) state;
    struct ggs_engine_paths paths;
    struct ggs_error        error;
    assert_int_equal(ggs_engine_locate(NULL, &paths, &error), 0);
    assert_int_equal(access(paths.llama, R_OK), 0);
    assert_int_equal(paths.llama[0], '/');
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rank_knows_the_names),
        cmocka_unit_test_setup_teardown(test_folder_of_libraries, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_plain_name_wins_then_the_newest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_places_below, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ggml_apart_from_llama, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_link_to_nothing_is_no_library, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_absent_says_where_it_looked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_environment_and_its_rank, set_up, tear_down),
#ifdef GGSCOPE_DEFAULT_ENGINE
        cmocka_unit_test_setup_teardown(test_the_engine_of_the_build, set_up, tear_down),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
