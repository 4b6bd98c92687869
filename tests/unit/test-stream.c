// Unit tests of src/stream/memory and src/stream/disk/model-disk-speed.c: limits of control groups,
// on trees that look like /proc and /sys of machines that are not this one.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/stream-plan.h"
#include "base/system/file.h"
#include "stream/disk/disk.h"
#include "stream/disk/model-disk-speed.h"
#include "stream/memory/available-memory.h"
#include "stream/memory/engine-buffers.h"
#include "stream/memory/machine-memory.h"
#include "stream/memory/pressure.h"

static char root[64], proc[96], groups[96];

static void put(const char * path, const char * text) {
    char whole[512], folder[512];
    snprintf(whole, sizeof(whole), "%s%s", root, path);
    snprintf(folder, sizeof(folder), "%s", whole);
    *strrchr(folder, '/') = '\0';
    assert_int_equal(ggs_make_directories(folder, NULL), 0);
    FILE * file = fopen(whole, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int begin(void ** state) {
    (void) state;
    snprintf(root, sizeof(root), "/tmp/ggscope-stream-XXXXXX");
    if (mkdtemp(root) == NULL) return -1;
    snprintf(proc, sizeof(proc), "%s/proc", root);
    snprintf(groups, sizeof(groups), "%s/sys", root);
    put("/proc/meminfo", "MemTotal: 67108864 kB\nMemAvailable:   33554432 kB\n");
    return 0;
}

static int end(void ** state) {
    (void) state;
    char command[128];
    snprintf(command, sizeof(command), "rm -r '%s'", root);
    return system(command) == 0 ? 0 : -1;
}

static uint64_t limit(void) {
    return ggs_memory_limit(proc, groups);
}

static void test_version_2(void ** state) {
    (void) state;
    put("/proc/self/cgroup", "0::/user.slice/job.scope\n");
    put("/sys/user.slice/job.scope/memory.max", "max\n");
    put("/sys/user.slice/memory.max", "1073741824\n");
    assert_int_equal(limit(), 1 << 30);
    put("/sys/user.slice/job.scope/memory.max", "536870912\n");
    assert_int_equal(limit(), 1 << 29);
    put("/sys/user.slice/job.scope/memory.high", "268435456\n"); // from there on everybody is slowed down
    assert_int_equal(limit(), 1 << 28);
}

static void test_version_1(void ** state) {
    (void) state;
    put("/proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a/b\n1:name=systemd:/a\n0::/a\n");
    put("/sys/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    put("/sys/memory/a/memory.limit_in_bytes", "268435456\n");
    assert_int_equal(limit(), 1 << 28);
}

static void test_version_2_beside_1(void ** state) {
    (void) state;
    put("/proc/self/cgroup", "3:cpu:/\n0::/x\n");
    put("/sys/unified/x/memory.max", "134217728\n");
    assert_int_equal(limit(), 1 << 27);
}

// Without a limit: what the machine has left, less something for other programs.
static void test_no_limit(void ** state) {
    (void) state;
    put("/proc/self/cgroup", "0::/\n");
    uint64_t left = 32ull << 30;
    assert_true(limit() > left - left / 8 && limit() < left + (1ull << 30));
}

// What others in the group have taken is gone; what the page cache holds is not.
static void test_left(void ** state) {
    (void) state;
    put("/proc/self/cgroup", "0::/box/job\n");
    put("/sys/box/memory.max", "1073741824\n");
    put("/sys/box/memory.current", "1000000000\n");
    put("/sys/box/memory.stat",
        "anon 600000000\nactive_file 300000000\ninactive_file 50000000\nworkingset_activate 7\n");
    put("/sys/box/job/memory.max", "max\n");
    assert_int_equal(ggs_memory_left(proc, groups), 1073741824 - 650000000);
    put("/sys/box/job/memory.max", "536870912\n");
    put("/sys/box/job/memory.current", "500000000\n");
    put("/sys/box/job/memory.stat", "inactive_file 0\nactive_file 0\n");
    assert_int_equal(ggs_memory_left(proc, groups), 36870912);
    put("/sys/box/job/memory.current", "536870913\n");
    assert_int_equal(ggs_memory_left(proc, groups), 0);
}

static void test_left_version_1(void ** state) {
    (void) state;
    put("/proc/self/cgroup", "4:memory:/a\n");
    assert_true(ggs_memory_left(proc, groups) == UINT64_MAX);
    put("/sys/memory/a/memory.limit_in_bytes", "100000000\n");
    put("/sys/memory/a/memory.usage_in_bytes", "90000000\n");
    put("/sys/memory/a/memory.stat",
        "cache 5\ninactive_file 1\ntotal_inactive_file 20000000\ntotal_active_file 30000000\n");
    assert_int_equal(ggs_memory_left(proc, groups), 60000000);
}

static void test_stalled(void ** state) {
    (void) state;
    put("/proc/self/cgroup", "0::/job\n");
    assert_true(ggs_memory_stalled(proc, groups) == 0);
    put("/proc/pressure/memory",
        "some avg10=9.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=2.50 avg60=0.00 avg300=0.00 total=1\n");
    assert_true(ggs_memory_stalled(proc, groups) == 2.5);
    put("/sys/job/memory.pressure",
        "some avg10=90.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=40.25 avg60=0.00 avg300=0.00 total=1\n");
    assert_true(ggs_memory_stalled(proc, groups) == 40.25);
}

// What is kept open tells the same as what is opened anew, also of a group that has nothing to wait
// for.
static void test_pressure(void ** state) {
    (void) state;
    struct ggs_pressure pressure;
    bool                told = true;
    put("/proc/self/cgroup", "0::/box\n");
    put("/proc/meminfo", "MemTotal: 67108864 kB\nMemAvailable:   33554432 kB\n");
    put("/sys/box/memory.max", "1073741824\n");
    put("/sys/box/memory.high", "max\n");
    put("/sys/box/memory.current", "1000000000\n");
    put("/sys/box/memory.stat", "anon 600000000\nactive_file 300000000\ninactive_file 50000000\n");
    put("/sys/box/memory.events", "low 0\nhigh 0\nmax 0\n");
    ggs_pressure_open(&pressure, proc, groups, 1 << 20);
    assert_int_equal(pressure.n_groups, 1);
    assert_int_equal(ggs_pressure_left(&pressure, &told), 1073741824 - 650000000);
    assert_false(told);                        // version 2 has no thresholds: it has to be looked at
    put("/sys/box/memory.max", "800000000\n"); // a limit may change at any time
    assert_int_equal(ggs_pressure_left(&pressure, &told), 800000000 - 650000000);
    put("/sys/box/memory.high", "700000000\n");
    assert_int_equal(ggs_pressure_left(&pressure, &told), 700000000 - 650000000);
    put("/sys/box/memory.high", "max\n");
    put("/sys/box/memory.max", "1073741824\n");
    put("/sys/box/memory.current", "1073741824\n");
    put("/sys/box/memory.stat", "anon 1073741824\nactive_file 0\ninactive_file 0\n");
    assert_int_equal(ggs_pressure_left(&pressure, &told), 0);
    put("/proc/meminfo", "MemTotal: 67108864 kB\nMemAvailable:   1024 kB\n");
    put("/sys/box/memory.current", "1000000\n");
    put("/sys/box/memory.stat", "anon 1000000\nactive_file 0\ninactive_file 0\n");
    assert_int_equal(ggs_pressure_left(&pressure, &told), 1 << 20); // the machine has less than the group
    assert_false(ggs_pressure_wait(&pressure, 0));
    ggs_pressure_close(&pressure);
}

static void test_pages(void ** state) {
    (void) state;
    struct ggs_kernel_memory * machine = ggs_kernel_memory_create();
    struct ggs_memory *        m       = ggs_kernel_memory_face(machine);
    size_t                     bytes   = 8 << 20;
    char *                     memory  = m->reserve(m, bytes);
    assert_non_null(memory);
    assert_int_equal((uintptr_t) memory % GGS_HUGE_PAGE, 0);
    assert_int_equal(m->empty(m), 0);
    assert_true(m->commit(m, memory, bytes / 2, false));
    assert_int_equal(m->empty(m), bytes / 2);
    memset(memory, 7, bytes / 2);
    assert_int_equal(m->empty(m), 0);
    assert_int_equal(m->let_go(m, memory + 1, 3 << 20), (3 << 20) - 4096); // whole pages
    assert_int_equal(m->empty(m), (3 << 20) - 4096);
    assert_int_equal(memory[0], 7);
    assert_int_equal(memory[bytes / 2 - 1], 7);
    // Pages move to where none are, and leave an empty place.
    assert_true(m->move(m, memory + (3 << 20), memory + (6 << 20), 1 << 20));
    assert_int_equal(memory[6 << 20], 7);
    assert_int_equal(memory[(7 << 20) - 1], 7);
    assert_int_equal(memory[3 << 20], 0);
    m->release(m, memory, bytes);
    assert_int_equal(m->empty(m), 0);
    ggs_kernel_memory_destroy(machine);
}

static void test_buffers(void ** state) {
    (void) state;
    struct ggs_kernel_memory * machine = ggs_kernel_memory_create();
    struct ggs_memory *        m       = ggs_kernel_memory_face(machine);
    struct ggs_engine_buffers  buffers = {.lock = PTHREAD_MUTEX_INITIALIZER};
    size_t                     bytes   = 64 << 12;
    char *                     memory  = m->reserve(m, bytes);
    int                        key;
    assert_true(memory != NULL && m->commit(m, memory, bytes, false));
    ggs_engine_buffers_add(&buffers, &key, memory, bytes);
    assert_int_equal(ggs_engine_buffers_untouched(&buffers), bytes); // nobody knows what of it will be used
    assert_true(ggs_engine_buffers_reach(&buffers, memory + 4096, 3 * 4096));
    assert_false(ggs_engine_buffers_reach(&buffers, memory + 4096, 4096));
    assert_int_equal(ggs_engine_buffers_untouched(&buffers), 3 * 4096);
    ggs_engine_buffers_remove(&buffers, &key);
    assert_int_equal(ggs_engine_buffers_untouched(&buffers), 0);
    ggs_engine_buffers_release(&buffers);
    m->release(m, memory, bytes);
    ggs_kernel_memory_destroy(machine);
}

// Graphs reach into buffers while others are freed.
static void * add_and_remove(void * argument) {
    struct ggs_engine_buffers * buffers = argument;
    for (uintptr_t i = 0; i < 2000; i++) {
        ggs_engine_buffers_add(buffers, (void *) (i + 1), (void *) (4096 * (i % 7 + 1)), 4096 * 64);
        ggs_engine_buffers_remove(buffers, (void *) (i + 1));
    }
    return NULL;
}

static void test_buffers_that_are_freed(void ** state) {
    (void) state;
    struct ggs_engine_buffers buffers = {.lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t                 thread;
    assert_int_equal(pthread_create(&thread, NULL, add_and_remove, &buffers), 0);
    for (int i = 0; i < 2000; i++) ggs_engine_buffers_reach(&buffers, (void *) (4096 * (uintptr_t) (i % 64 + 1)), 8192);
    pthread_join(thread, NULL);
    ggs_engine_buffers_release(&buffers);
}

// ---- disks ----

static void test_disk_identity(void ** state) {
    (void) state;
    char   before[512], text[512], line[256], place[160];
    FILE * file = fopen("/proc/self/exe", "re");
    assert_non_null(file);
    struct stat status;
    assert_int_equal(fstat(fileno(file), &status), 0);
    unsigned a = major(status.st_dev), b = minor(status.st_dev);
    snprintf(line, sizeof(line),
             "1 0 0:99 / / rw - tmpfs none rw\n27 1 %u:%u / /data rw,relatime shared:1 - ext4 /dev/sd\"a1 rw\n", a, b);
    put("/proc/self/mountinfo", line);
    snprintf(place, sizeof(place), "/sys/dev/block/%u:%u/size", a, b);
    put(place, "1000\n");
    ggs_speed_identity(fileno(file), proc, groups, before, sizeof(before));
    assert_non_null(strstr(before, " ext4 /dev/sd_a1 1000")); // nothing that JSON would mind
    // The same numbers, another disk.
    snprintf(place, sizeof(place), "/sys/dev/block/%u:%u/device/serial", a, b);
    put(place, "S3X9\n");
    ggs_speed_identity(fileno(file), proc, groups, text, sizeof(text));
    assert_non_null(strstr(text, " S3X9"));
    assert_string_not_equal(text, before);
    // A partition's disk is the one around it.
    snprintf(place, sizeof(place), "/sys/dev/block/%u:%u/partition", a, b);
    put(place, "1\n");
    put("/sys/dev/block/serial", "WHOLE\n");
    ggs_speed_identity(fileno(file), proc, groups, text, sizeof(text));
    assert_non_null(strstr(text, " WHOLE"));
    fclose(file);
}

static void test_disk_file(void ** state) {
    (void) state;
    char             path[PATH_MAX], other[PATH_MAX];
    struct ggs_speed disk = {3000000000u, 2500000000u, 8, 1 << 20, 1200000000u}, found;
    setenv("XDG_CACHE_HOME", root, 1);
    assert_true(ggs_speed_path("host ext4 /dev/sda1 1000", path));
    assert_true(ggs_speed_path("host ext4 /dev/sda1 1001", other));
    assert_string_not_equal(path, other);
    assert_false(ggs_speed_read(path, "host ext4 /dev/sda1 1000", &found));
    assert_true(ggs_speed_write(path, "host ext4 /dev/sda1 1000", &disk));
    assert_true(ggs_speed_read(path, "host ext4 /dev/sda1 1000", &found));
    assert_memory_equal(&found, &disk, sizeof(disk));
    assert_false(ggs_speed_read(path, "host ext4 /dev/sda1 1001", &found)); // another device
    // Buffers cost a copy: they must gain a third.
    assert_true(ggs_speed_wants_buffer(&disk));
    disk.in_place = 2000000000u;
    assert_false(ggs_speed_wants_buffer(&disk));
    disk.in_place = 0; // not known
    assert_false(ggs_speed_wants_buffer(&disk));
    // Every damage is seen: what it begins with, and numbers that cannot be.
    char   text[512];
    FILE * file = fopen(path, "re");
    size_t size = fread(text, 1, sizeof(text), file);
    fclose(file);
    for (size_t cut = 0; cut < size; cut++) {
        file = fopen(path, "we");
        fwrite(text, 1, cut, file);
        fclose(file);
        assert_false(ggs_speed_read(path, "host ext4 /dev/sda1 1000", &found));
    }
    const struct ggs_speed bad[] = {{0, 1, 8, 1 << 20, 0},    {1, 0, 8, 1 << 20, 0}, {1, 1, 0, 1 << 20, 0},
                                    {1, 1, 1000, 1 << 20, 0}, {1, 1, 8, 0, 0},       {1, 1, 8, 1000000, 0},
                                    {1, 1, 8, 1 << 30, 0}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_true(ggs_speed_write(path, "host ext4 /dev/sda1 1000", &bad[i]));
        assert_false(ggs_speed_read(path, "host ext4 /dev/sda1 1000", &found));
    }
    setenv("XDG_CACHE_HOME", "relative", 1); // is not one
    setenv("HOME", "/nowhere", 1);
    assert_true(ggs_speed_path("x", path));
    assert_int_equal(strncmp(path, "/nowhere/.cache/ggscope/disk-", 29), 0);
    assert_false(ggs_speed_write(path, "x", &disk));
    unsetenv("HOME");
    assert_false(ggs_speed_path("x", path));
}

// Slots that are left over go to layers here and there; which expert gives way.
static void test_plan(void ** state) {
    (void) state;
    uint64_t used    = 0;
    char     more[9] = "";
    for (uint64_t i = 0; i < 8; i++) more[i] = ggs_stream_one_more(410, &used, i, 8, 100) ? '1' : '0';
    assert_string_equal(more, "01010101");
    assert_int_equal(used, 400);
    // Chosen twice long ago is less than once lately; scores stay finite.
    double weight = 1, score[2] = {2, 0};
    for (int i = 0; i < 100; i++) ggs_stream_age(&weight, score, 2);
    score[1] += weight;
    assert_true(score[1] > score[0] && score[0] > 0);
    for (int i = 0; i < 100000; i++) ggs_stream_age(&weight, score, 2);
    assert_true(weight >= 1 && weight < 1e101 && score[1] < weight);
}

// How memory is divided, from much to little: slots of its own for each layer, spare memory alone,
// a weight too large for all of it left to the mapping, nothing.
static void test_division(void ** state) {
    (void) state;
    const uint64_t         mib     = 1 << 20;
    uint64_t               dense[] = {50 * mib, 6 * mib, 6 * mib, 6 * mib, 6 * mib};
    struct ggs_stream_plan plan    = {.dense           = dense + 1,
                                      .n_dense         = 4,
                                      .largest_experts = 10 * mib,
                                      .one_slot_each   = 24 * mib,
                                      .all_slots       = 24 * 10 * mib,
                                      .least_slots     = 120 * mib};
    assert_true(ggs_stream_plan(&plan, 200 * mib));
    assert_true(plan.slots == 120 * mib && plan.mapped_above == UINT64_MAX);
    assert_true(plan.spare >= 10 * mib * 8 / 24 && plan.spare <= 10 * mib);
    assert_int_equal(plan.ring + plan.kept + plan.slots + plan.spare, 200 * mib);
    for (uint64_t budget = 120 * mib; budget >= 40 * mib; budget -= 20 * mib) {
        assert_true(ggs_stream_plan(&plan, budget));
        assert_true(plan.slots == 0 && plan.spare >= 10 * mib);
        assert_int_equal(plan.ring + plan.kept + plan.spare, budget);
    }
    assert_false(ggs_stream_plan(&plan, 11 * mib)); // not even what a prompt reads of a layer
    // A token reads all dense weights and few of the experts: slots do not displace those.
    uint64_t half[50];
    for (int i = 0; i < 50; i++) half[i] = 4 * mib;
    struct ggs_stream_plan both = plan;
    both.dense                  = half;
    both.n_dense                = 50;
    both.all_slots              = 2400 * mib;
    both.largest_experts        = 20 * mib;
    assert_true(ggs_stream_plan(&both, 250 * mib));
    assert_true(both.slots == 0 && both.kept > 150 * mib);
    assert_true(ggs_stream_plan(&both, 400 * mib));
    assert_true(both.slots == 120 * mib && both.kept >= 200 * mib && both.ring == 0);
    struct ggs_stream_plan large = {.dense = dense, .n_dense = 5};
    assert_false(ggs_stream_plan(&large, 40 * mib)); // most of it would come through the page cache
    uint64_t many[51];
    for (int i = 0; i < 51; i++) many[i] = i == 0 ? 50 * mib : 6 * mib;
    large = (struct ggs_stream_plan){.dense = many, .n_dense = 51};
    assert_true(ggs_stream_plan(&large, 80 * mib) && large.mapped_above == UINT64_MAX);
    assert_true(ggs_stream_plan(&large, 40 * mib) && large.mapped_above == 20 * mib);
    assert_true(large.ring >= 6 * mib && large.ring + large.kept <= 30 * mib);
    assert_false(ggs_stream_plan(&large, 6 * mib));
    assert_true(ggs_stream_nearly_all(128, 8, 40) && !ggs_stream_nearly_all(128, 8, 11));
}

// A disk whose reads take as long as they are told, by a clock that only they advance.
static struct {
    uint64_t     now, ns_per_mib, far_ns_per_mib, fail_at, reads;
    const char * memory; // reads behind the first GGS_SPEED_MEMORY bytes are far
} slow;

static uint64_t slow_clock(void) {
    return slow.now;
}

static void slow_submit(struct ggs_disk * disk, struct ggs_disk_read * read, enum ggs_urgency urgency) {
    (void) disk, (void) urgency;
    assert_true(read->offset + read->bytes <= 64u << 20);
    assert_true(read->to >= slow.memory && !read->buffered);
    bool far = read->to >= slow.memory + GGS_SPEED_MEMORY;
    slow.now += (far ? slow.far_ns_per_mib : slow.ns_per_mib) * read->bytes >> 20;
    read->done(read, ++slow.reads != slow.fail_at);
}

// Reads take `ns` for each MiB, and `far_ns` into memory that is not in the caches.
static bool measure_slow(uint64_t ns, uint64_t far_ns, size_t bytes, struct ggs_speed * speed) {
    struct ggs_disk disk   = {.submit = slow_submit};
    char *          memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    slow.memory = memory, slow.ns_per_mib = ns, slow.far_ns_per_mib = far_ns, slow.now = 1, slow.reads = 0;
    *speed                       = (struct ggs_speed){0};
    struct ggs_speed_bench bench = {&disk, slow_clock, -1, 64 << 20, memory, bytes};
    bool                   ok    = ggs_speed_measure(speed, &bench);
    munmap(memory, bytes);
    return ok;
}

static void test_disk_measured(void ** state) {
    (void) state;
    struct ggs_speed speed;
    const double     gb = 1e9 / (1 << 20); // 1 GB/s in MiB
    // 4 GB/s into the caches, 2 GB/s beside them: a copy pays.
    assert_true(measure_slow((uint64_t) (1e9 / (4 * gb)), (uint64_t) (1e9 / (2 * gb)), GGS_SPEED_PLACES, &speed));
    assert_true(speed.random > 3900000000u && speed.random < 4100000000u && speed.sequential == speed.random);
    assert_true(speed.in_place > 1950000000u && speed.in_place < 2100000000u);
    assert_true(ggs_speed_wants_buffer(&speed));
    assert_int_equal(speed.piece, GGS_SPEED_MOST_PIECE);
    assert_int_equal(speed.depth, 2); // deeper is no faster
    // The same speed everywhere: read in place.
    assert_true(measure_slow((uint64_t) (1e9 / (4 * gb)), (uint64_t) (1e9 / (4 * gb)), GGS_SPEED_PLACES, &speed));
    assert_true(speed.in_place > 0 && !ggs_speed_wants_buffer(&speed));
    // Too little memory to know: read in place.
    assert_true(measure_slow((uint64_t) (1e9 / (4 * gb)), 0, GGS_SPEED_MEMORY, &speed));
    assert_true(speed.in_place == 0 && !ggs_speed_wants_buffer(&speed));
    // A slow disk is measured by fewer reads: 10 MB/s, one second at most.
    assert_true(measure_slow(100000000, 100000000, GGS_SPEED_PLACES, &speed));
    assert_true(slow.now < 2500000000u);
    // A read that fails, whichever it is: nothing is known.
    assert_true(measure_slow(100000000, 0, GGS_SPEED_MEMORY, &speed));
    uint64_t reads = slow.reads;
    for (slow.fail_at = 1; slow.fail_at <= reads; slow.fail_at++)
        assert_false(measure_slow(100000000, 0, GGS_SPEED_MEMORY, &speed));
    slow.fail_at = 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_version_2, begin, end),
        cmocka_unit_test_setup_teardown(test_version_1, begin, end),
        cmocka_unit_test_setup_teardown(test_version_2_beside_1, begin, end),
        cmocka_unit_test_setup_teardown(test_no_limit, begin, end),
        cmocka_unit_test_setup_teardown(test_left, begin, end),
        cmocka_unit_test_setup_teardown(test_left_version_1, begin, end),
        cmocka_unit_test_setup_teardown(test_stalled, begin, end),
        cmocka_unit_test_setup_teardown(test_pressure, begin, end),
        cmocka_unit_test_setup_teardown(test_disk_identity, begin, end),
        cmocka_unit_test_setup_teardown(test_disk_file, begin, end),
        cmocka_unit_test(test_disk_measured),
        cmocka_unit_test(test_plan),
        cmocka_unit_test(test_division),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_buffers),
        cmocka_unit_test(test_buffers_that_are_freed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
