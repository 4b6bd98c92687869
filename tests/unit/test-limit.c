// Unit tests of src/record/memory/limit-group.c, on trees that look like /proc and /sys of machines
// that are not this one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/system/file.h"
#include "record/memory/limit-group.h"

static char root[64];

static const char * at(const char * path) {
    static char whole[512];
    snprintf(whole, sizeof(whole), "%s%s", root, path);
    return whole;
}

static void put(const char * path, const char * text) {
    char folder[512];
    snprintf(folder, sizeof(folder), "%s", at(path));
    *strrchr(folder, '/') = '\0';
    assert_int_equal(ggs_make_directories(folder, NULL), 0);
    FILE * file = fopen(at(path), "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static const char * get(const char * path) {
    static char text[256];
    FILE *      file = fopen(at(path), "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof(text) - 1, file);
    text[n]  = '\0';
    fclose(file);
    return text;
}

static int make_root(void ** state) {
    (void) state;
    snprintf(root, sizeof(root), "/tmp/ggscope-limit-XXXXXX");
    return mkdtemp(root) == NULL ? -1 : 0;
}

static int remove_root(void ** state) {
    (void) state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", root);
    return system(command);
}

static void expect_place(const struct ggs_limit_place * place, int version, const char * path) {
    assert_int_equal(place->version, version);
    assert_string_equal(place->folder, at(path));
}

// A session of systemd: what is above our own group hands the controller on, our own does not.
static void test_version_2(void ** state) {
    (void) state;
    struct ggs_limit_place places[8];
    put("/proc/self/cgroup", "0::/user.slice/user-1000.slice/user@1000.service/app.slice/shell.scope\n");
    put("/proc/self/mountinfo", "24 30 0:22 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
    put("/sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu io memory pids\n");
    put("/sys/fs/cgroup/user.slice/cgroup.subtree_control", "cpu memory_recursive pids\n"); // not the same word
    put("/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/cgroup.subtree_control",
        "cpu memory pids\n");
    put("/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/shell.scope/cgroup.subtree_control",
        "\n");
    assert_int_equal(ggs_limit_places(root, places, 8), 2);
    expect_place(&places[0], 2, "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice");
    expect_place(&places[1], 2, "/sys/fs/cgroup");
    assert_int_equal(ggs_limit_places(root, places, 1), 1);
}

// Version 1 has the controller, and version 2 is there without it.
static void test_version_1(void ** state) {
    (void) state;
    struct ggs_limit_place places[8];
    put("/proc/self/cgroup", "5:name=systemd:/\n4:cpu,memory:/jobs/7\n1:memoryless:/wrong\n0::/\n");
    put("/proc/self/mountinfo", "24 30 0:22 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n"
                                "25 30 0:23 / /sys/fs/cgroup/pids rw shared:10 - cgroup cgroup rw,pids\n"
                                "26 30 0:24 / /sys/fs/cgroup/memory rw shared:11 - cgroup cgroup rw,cpu,memory\n");
    put("/sys/fs/cgroup/unified/cgroup.subtree_control", "hugetlb\n");
    put("/sys/fs/cgroup/memory/jobs/7/cgroup.procs", "");
    assert_int_equal(ggs_limit_places(root, places, 8), 1);
    expect_place(&places[0], 1, "/sys/fs/cgroup/memory/jobs/7");
}

// A container sees its own group as the root of the mount, under the name that it has outside.
static void test_container(void ** state) {
    (void) state;
    struct ggs_limit_place places[8];
    put("/proc/self/cgroup", "4:memory:/docker/abc/inner\n");
    put("/proc/self/mountinfo", "26 30 0:24 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
    put("/sys/fs/cgroup/memory/inner/cgroup.procs", "");
    assert_int_equal(ggs_limit_places(root, places, 8), 1);
    expect_place(&places[0], 1, "/sys/fs/cgroup/memory/inner");
    put("/proc/self/cgroup", "4:memory:/docker/abc\n");
    assert_int_equal(ggs_limit_places(root, places, 8), 1);
    expect_place(&places[0], 1, "/sys/fs/cgroup/memory");
}

static void test_nothing(void ** state) {
    (void) state;
    struct ggs_limit_place places[8];
    assert_int_equal(ggs_limit_places(root, places, 8), 0);
    put("/proc/self/cgroup", "0::/gone\nnonsense\n:\n");
    put("/proc/self/mountinfo", "x\n24 30 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n1 2 3 4 5 6 7\n");
    assert_int_equal(ggs_limit_places(root, places, 8), 0); // our own group is not to be seen
}

static void test_group_of_process(void ** state) {
    (void) state;
    struct ggs_limit_place place;
    put("/proc/42/cgroup", "0::/system.slice/run-1.scope\n");
    put("/proc/self/mountinfo", "24 30 0:22 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/system.slice/run-1.scope/memory.current", "1\n");
    assert_true(ggs_limit_group_of(root, 42, &place));
    expect_place(&place, 2, "/sys/fs/cgroup/system.slice/run-1.scope");
    assert_false(ggs_limit_group_of(root, 43, &place));
}

static void test_set_and_read_version_2(void ** state) {
    (void) state;
    struct ggs_limit_use use;
    struct ggs_error     error;
    put("/g/memory.max", "");
    put("/g/memory.swap.max", "");
    put("/g/cgroup.procs", "");
    assert_int_equal(ggs_limit_group_set(at("/g"), 2, 67108864, &error), 0);
    assert_string_equal(get("/g/memory.max"), "67108864");
    assert_string_equal(get("/g/memory.swap.max"), "0");
    assert_int_equal(ggs_limit_group_join(at("/g"), 42), 0);
    assert_string_equal(get("/g/cgroup.procs"), "42");
    put("/g/memory.current", "1000\n");
    put("/g/memory.stat", "anon_thp 9\nanon 600\nfile 300\nshmem 77\n");
    put("/g/memory.events", "low 0\nhigh 0\nmax 12\noom 1\noom_kill 1\noom_group_kill 0\n");
    put("/g/cgroup.procs", "42\n43\n44\n");
    put("/proc/42/status", "Name:\tengine\nRssAnon:\t     500 kB\nRssFile:\t   9 kB\n");
    put("/proc/43/status", "Name:\tchild\nRssAnon:\t     100 kB\n"); // 44 is gone meanwhile
    ggs_limit_group_read(root, at("/g"), 2, &use);
    assert_int_equal(use.peak, 1000); // a kernel without memory.peak
    assert_int_equal(use.anonymous, 600 << 10);
    assert_int_equal(ggs_limit_group_shared(at("/g")), 77);
    assert_int_equal(use.hits, 12);
    assert_int_equal(use.kills, 1);
    put("/g/memory.peak", "5000\n");
    ggs_limit_group_read(root, at("/g"), 2, &use);
    assert_int_equal(use.peak, 5000);
}

static void test_set_and_read_version_1(void ** state) {
    (void) state;
    struct ggs_limit_use use;
    struct ggs_error     error = {0};
    assert_true(ggs_limit_group_set(at("/absent"), 1, 4096, &error) < 0);
    assert_non_null(strstr(error.text, "No such file"));
    put("/g/memory.limit_in_bytes", "");
    put("/g/memory.swappiness", "6");
    assert_int_equal(ggs_limit_group_set(at("/g"), 1, 4096, &error), 0); // a kernel without memsw
    assert_string_equal(get("/g/memory.limit_in_bytes"), "4096");
    assert_string_equal(get("/g/memory.swappiness"), "0");
    put("/g/memory.max_usage_in_bytes", "4096\n");
    put("/g/memory.stat", "cache 10\nrss 2048\nrss_huge 0\nshmem 5\ntotal_rss 9999\n");
    put("/g/memory.failcnt", "3\n");
    put("/g/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    ggs_limit_group_read(root, at("/g"), 1, &use);
    assert_int_equal(use.peak, 4096);
    assert_int_equal(use.anonymous, 0); // nobody is in it
    assert_int_equal(ggs_limit_group_shared(at("/g")), 5);
    assert_int_equal(use.hits, 3);
    assert_int_equal(use.kills, 2);
}

static void test_room(void ** state) {
    (void) state;
    struct ggs_limit_place place = {.version = 2};
    snprintf(place.folder, sizeof(place.folder), "%s", at("/g/pod/server"));
    assert_true(ggs_limit_group_room(&place) == UINT64_MAX); // no such group
    put("/g/pod/server/memory.current", "900\n");
    put("/g/pod/server/memory.max", "max\n");
    put("/g/pod/server/memory.stat", "anon 500\nactive_file 300\ninactive_file 100\n");
    assert_true(ggs_limit_group_room(&place) == UINT64_MAX);
    put("/g/pod/memory.current", "1900\n");
    put("/g/pod/memory.max", "2000\n");
    put("/g/pod/memory.stat", "anon 1500\nactive_file 300\ninactive_file 100\n");
    assert_int_equal(ggs_limit_group_room(&place), 500);
    put("/g/pod/server/memory.max", "700\n");
    assert_int_equal(ggs_limit_group_room(&place), 200);
    put("/g/pod/server/memory.max", "400\n");
    assert_int_equal(ggs_limit_group_room(&place), 0);

    place.version = 1;
    snprintf(place.folder, sizeof(place.folder), "%s", at("/first"));
    put("/first/memory.usage_in_bytes", "900\n");
    put("/first/memory.limit_in_bytes", "9223372036854771712\n");
    assert_true(ggs_limit_group_room(&place) > UINT64_C(1) << 60);
    put("/first/memory.limit_in_bytes", "1000\n");
    put("/first/memory.stat", "cache 0\ntotal_inactive_file 50\ntotal_active_file 5\n");
    assert_int_equal(ggs_limit_group_room(&place), 155);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)
    const struct CMUnitTest tests[] = {
        TEST(test_version_2),
        TEST(test_version_1),
        TEST(test_container),
        TEST(test_nothing),
        TEST(test_group_of_process),
        TEST(test_set_and_read_version_2),
        TEST(test_set_and_read_version_1),
        TEST(test_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
