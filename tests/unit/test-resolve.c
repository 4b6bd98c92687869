// Finding real functions while libraries are loaded and unloaded, and removing variables from the
// environment while other threads read it.
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system/ticks.h"
#include "preload/environment.h"
#include "preload/resolve.h"

static struct ggs_hook hook = GGS_HOOK(hook, "getppid");
static bool            at_once; // the last call found its function without looking for it

static __attribute__((noinline)) void * call_hook(void) {
    const void * caller = __builtin_return_address(0);
    at_once             = ggs_binding_of(hook.last, caller) && hook.last->function != NULL;
    return ggs_resolve(&hook, caller);
}

// However often a library is reloaded, its second call needs no search.
static void test_loaded_again(void ** state) {
    (void) state;
    void * real = dlsym(RTLD_NEXT, "getppid");
    for (int load = 0; load < 100; load++) {
        void * library = dlopen(GGSCOPE_TESTS "/libresolve-caller.so", RTLD_NOW | RTLD_LOCAL);
        assert_non_null(library);
        void * (*call)(void * (*) (void) ) = (void * (*) (void * (*) (void) )) dlsym(library, "resolve_caller");
        assert_non_null(call);
        assert_ptr_equal(call(call_hook), real);
        assert_false(at_once);
        call(call_hook);
        assert_ptr_equal(call(call_hook), real);
        assert_true(at_once);
        assert_int_equal(dlclose(library), 0);
        assert_null(hook.bindings); // of a library that is gone nothing is searched
    }
}

// A library that wraps the function gets the next definition, not its own again.
static void test_wrapper(void ** state) {
    (void) state;
    void * library = dlopen(GGSCOPE_TESTS "/libresolve-wrapper.so", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    void * (*wrapper)(void * (*) (void) ) = (void * (*) (void * (*) (void) )) dlsym(library, "getppid");
    assert_non_null(wrapper);
    assert_ptr_equal(wrapper(call_hook), dlsym(RTLD_NEXT, "getppid"));
    assert_int_equal(dlclose(library), 0);
}

// ---- the environment ----

enum { OTHERS = 9 };

static const char * const settings[] = {"GGSCOPE_A", "GGSCOPE_B"};
static bool               stop;
static unsigned           missed, asked;

static void * read_environment(void * unused) {
    (void) unused;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        const char * value = getenv("OTHER_8");
        if (value == NULL || strcmp(value, "8") != 0) missed++;
        __atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

// Memory that another thread may be reading is never freed, here and in the library.
__attribute__((visibility("default"))) const char * __lsan_default_suppressions(void);
const char *                                        __lsan_default_suppressions(void) {
                                           return "leak:make_environment\nleak:ggs_environment_leave\nleak:ggs_resolve_slow\n";
}

// The environment of a program that is preloaded.
static char ** make_environment(void) {
    static char *             others[OTHERS];
    static const char * const ours[] = {"GGSCOPE_A=1", "LD_PRELOAD=/a/libfirst.so:/b/libggscope-test.so:/c/liblast.so",
                                        "GGSCOPE_B=2"};
    char **                   list   = calloc(OTHERS + 4, sizeof(*list));
    size_t                    n      = 0;
    for (int i = 0; i < OTHERS; i++) {
        if (i % 3 == 0) list[n++] = (char *) ours[i / 3];
        if (others[i] == NULL) assert_true(asprintf(&others[i], "OTHER_%d=%d", i, i) > 0);
        list[n++] = others[i];
    }
    return list;
}

static void test_environment(void ** state) {
    (void) state;
    char **   before = environ;
    pthread_t reader;
    // The list that a thread may be reading stays unchanged.
    char **list = make_environment(), **same = make_environment();
    environ = list;
    ggs_environment_leave("libggscope-test", settings, 2);
    assert_memory_equal(list, same, (OTHERS + 4) * sizeof(*list));
    assert_int_equal(pthread_create(&reader, NULL, read_environment, NULL), 0);
    for (int i = 0; i < 200000 || __atomic_load_n(&asked, __ATOMIC_RELAXED) < 100000; i++) {
        __atomic_store_n(&environ, make_environment(), __ATOMIC_RELEASE);
        ggs_environment_leave("libggscope-test", settings, 2);
        assert_null(getenv("GGSCOPE_A"));
        assert_null(getenv("GGSCOPE_B"));
        assert_string_equal(getenv("LD_PRELOAD"), "/a/libfirst.so:/c/liblast.so");
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(reader, NULL);
    assert_int_equal(missed, 0);
    assert_string_equal(getenv("OTHER_0"), "0");

    // If it is the only entry, the variable is removed; the program can change its environment as
    // usual.
    assert_int_equal(setenv("LD_PRELOAD", "/b/libggscope-test.so", 1), 0);
    ggs_environment_leave("libggscope-test", settings, 2);
    assert_null(getenv("LD_PRELOAD"));
    assert_int_equal(setenv("NEW", "value", 1), 0);
    assert_string_equal(getenv("NEW"), "value");
    assert_int_equal(unsetenv("OTHER_8"), 0);
    assert_null(getenv("OTHER_8"));
    environ = before;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_loaded_again), cmocka_unit_test(test_wrapper),
                                       cmocka_unit_test(test_environment)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
