// Unit tests of src/base.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/json.h"
#include "base/map.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/system/lock.h"
#include "base/system/maps.h"
#include "base/system/terminal.h"
#include "base/table.h"
#include "base/text.h"
#include "base/utf8.h"
#include "base/uuid.h"

// ---- errors ----

static void test_error_sentence(void ** state) {
    (void) state;
    struct ggs_error error = {0};
    assert_int_equal(ggs_fail(&error, GGS_FORMAT, "%s: bad magic at offset %d", "x.gguf", 4), GGS_FORMAT);
    assert_int_equal(error.status, GGS_FORMAT);
    assert_string_equal(error.text, "x.gguf: bad magic at offset 4");
    errno = ENOENT;
    assert_int_equal(ggs_fail_errno(&error, "cannot open %s", "y"), GGS_IO);
    assert_string_equal(error.text, "cannot open y: No such file or directory");
    errno = ENOMEM;
    assert_int_equal(ggs_fail_errno(&error, "z"), GGS_MEMORY);
    assert_int_equal(ggs_fail(NULL, GGS_USAGE, "nobody listens"), GGS_USAGE);
}

static void test_error_is_cut_not_overrun(void ** state) {
    (void) state;
    struct ggs_error error;
    char             longer[2 * sizeof(error.text)];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    errno                      = EIO;
    ggs_fail_errno(&error, "%s", longer);
    assert_int_equal(strlen(error.text), sizeof(error.text) - 1);
}

// ---- checked arithmetic ----

static void test_checked(void ** state) {
    (void) state;
    uint64_t r = 7;
    assert_true(ggs_add(UINT64_MAX - 1, 1, &r) && r == UINT64_MAX);
    r = 7;
    assert_false(ggs_add(UINT64_MAX, 1, &r));
    assert_int_equal(r, 7);
    assert_true(ggs_mul(1ull << 32, 1ull << 31, &r) && r == 1ull << 63);
    assert_false(ggs_mul(1ull << 32, 1ull << 32, &r));
    assert_true(ggs_align(33, 32, &r) && r == 64);
    assert_true(ggs_align(64, 32, &r) && r == 64);
    assert_true(ggs_align(10, 3, &r) && r == 12);
    assert_false(ggs_align(UINT64_MAX, 32, &r));
    assert_true(ggs_inside(10, 0, 10));
    assert_false(ggs_inside(10, 1, 10));
    assert_false(ggs_inside(11, 0, 10));
    assert_false(ggs_inside(5, UINT64_MAX, 10));
}

// ---- arrays and ids ----

static void test_array(void ** state) {
    (void) state;
    uint32_t * numbers = NULL;
    size_t     n = 0, capacity = 0;
    for (uint32_t i = 0; i < 1000; i++) assert_true(ggs_array_push(numbers, n, capacity, 7 * i));
    assert_int_equal(n, 1000);
    assert_true(capacity >= n && capacity < 4 * n);
    for (uint32_t i = 0; i < 1000; i++) assert_int_equal(numbers[i], 7 * i);
    uint32_t * before = numbers;
    assert_false(ggs_array_reserve(numbers, capacity, UINT64_MAX / 2)); // more than there can be: all stays
    assert_ptr_equal(numbers, before);
    assert_int_equal(numbers[999], 7 * 999);
    free(numbers);
}

// Compared with an array of all keys, after each of many random steps.
static void test_map(void ** state) {
    (void) state;
    enum { KEYS = 300, STEPS = 200000 };
    struct ggs_map map          = {0};
    uint64_t       values[KEYS] = {0}, random = 1, used = 0;
    ggs_map_remove(&map, ggs_map_key_number(1));
    for (uint64_t step = 1; step <= STEPS; step++) {
        random                 = random * 6364136223846793005ull + 1442695040888963407ull;
        uint64_t           key = (random >> 33) % KEYS;
        struct ggs_map_key k   = key % 2 == 0 ? ggs_map_key_number(key << 40) : ggs_map_key_pointer(&values[key]);
        assert_int_equal(ggs_map_get(&map, k), values[key]);
        if ((random >> 32 & 1) != 0) {
            uint64_t * value = ggs_map_put(&map, k);
            assert_int_equal(*value, values[key]);
            used += values[key] == 0;
            *value = values[key] = step;
        } else {
            ggs_map_remove(&map, k);
            used -= values[key] != 0;
            values[key] = 0;
        }
        assert_int_equal(map.used, used);
    }
    ggs_map_release(&map);
}

static void test_uuid(void ** state) {
    (void) state;
    static const uint8_t bytes[16] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
                                      0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10};
    char                 text[GGS_UUID_LENGTH];
    uint8_t              back[16], other[16];
    assert_string_equal(ggs_uuid_format(text, bytes), "01234567-89ab-cdef-fedc-ba9876543210");
    assert_true(ggs_uuid_parse("01234567-89AB-cdef-fedc-ba9876543210", back));
    assert_memory_equal(back, bytes, 16);
    static const char * const wrong[] = {"",
                                         "01234567",
                                         "01234567-89ab-cdef-fedc-ba987654321",
                                         "0123456789abcdeffedcba9876543210",
                                         "01234567-89ab-cdef-fedc-ba98765432100",
                                         "g1234567-89ab-cdef-fedc-ba9876543210"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) assert_false(ggs_uuid_parse(wrong[i], back));
    assert_true(ggs_uuid_make(back) && ggs_uuid_make(other));
    assert_memory_not_equal(back, other, 16);
    assert_int_equal(back[6] >> 4, 4);
}

// ---- text ----

static void test_text(void ** state) {
    (void) state;
    struct ggs_text text = {0};
    assert_string_equal(ggs_text_string(&text), "");
    ggs_text_puts(&text, "a");
    ggs_text_putc(&text, 'b');
    ggs_text_repeat(&text, "xy", 3);
    ggs_text_printf(&text, "%0500d", 7);
    assert_int_equal(text.length, 8 + 500);
    assert_memory_equal(text.data, "abxyxyxy000", 11);
    ggs_text_clear(&text);
    assert_string_equal(ggs_text_string(&text), "");
    ggs_text_append(&text, "q\0r", 3);
    assert_int_equal(text.length, 3);
    ggs_text_release(&text);
    assert_null(text.data);
}

static void test_text_paragraph(void ** state) {
    (void) state;
    struct ggs_text text = {0};
    char            long_word[121];
    memset(long_word, 'x', 120);
    long_word[120] = '\0';
    ggs_text_puts(&text, "- ");
    ggs_text_paragraph(&text,
                       "123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 "
                       "12345678 next",
                       2);
    assert_string_equal(ggs_text_string(&text),
                        "- 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 "
                        "12345678\n  next\n");
    ggs_text_clear(&text);
    ggs_text_paragraph(&text, long_word, 0);
    ggs_text_paragraph(&text, "short", 0);
    assert_int_equal(text.length, 121 + 6);
    ggs_text_release(&text);
}

static void test_text_failure_sticks(void ** state) {
    (void) state;
    struct ggs_text text = {.length = SIZE_MAX - 2};
    ggs_text_puts(&text, "too much");
    assert_true(text.failed);
    assert_null(text.data);
}

// ---- UTF-8 ----

static void test_utf8(void ** state) {
    (void) state;
    static const struct {
        const char * bytes;
        size_t       length, size;
        uint32_t     point;
    } cases[] = {
        {"A", 1, 1, 'A'},
        {"\xc3\xa9", 2, 2, 0xe9},
        {"\xe2\x96\x81", 3, 3, 0x2581},
        {"\xf0\x9f\x98\x80", 4, 4, 0x1f600},
        {"\xc3", 1, 0, 0},
        {"\xc0\x80", 2, 0, 0},
        {"\xe0\x80\x80", 3, 0, 0},
        {"\xed\xa0\x80", 3, 0, 0},
        {"\xf4\x90\x80\x80", 4, 0, 0},
        {"\x80", 1, 0, 0},
        {"\xff", 1, 0, 0},
        {"\xe2\x28\xa1", 3, 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t point = 0;
        assert_int_equal(ggs_utf8_decode(cases[i].bytes, cases[i].length, &point), cases[i].size);
        if (cases[i].size > 0) assert_int_equal(point, cases[i].point);
    }
}

// ---- JSON ----

static void check_json(bool pretty, void (*write)(struct ggs_json *), const char * expected) {
    struct ggs_text text = {0};
    struct ggs_json json;
    ggs_json_init(&json, ggs_json_to_text, &text, pretty);
    write(&json);
    assert_int_equal(ggs_json_finish(&json), 0);
    assert_string_equal(ggs_text_string(&text), expected);
    ggs_text_release(&text);
}

static void write_nested(struct ggs_json * json) {
    ggs_json_object(json, NULL);
    ggs_json_string(json, "name", "blk.0");
    ggs_json_array_inline(json, "shape");
    ggs_json_u64(json, NULL, 4096);
    ggs_json_u64(json, NULL, 1);
    ggs_json_end(json);
    ggs_json_array(json, "none");
    ggs_json_end(json);
    ggs_json_object(json, "inner");
    ggs_json_bool(json, "yes", true);
    ggs_json_null(json, "nothing");
    ggs_json_end(json);
    ggs_json_end(json);
}

static void test_json_layout(void ** state) {
    (void) state;
    check_json(false, write_nested,
               "{\"name\":\"blk.0\",\"shape\":[4096,1],\"none\":[],\"inner\":{\"yes\":true,\"nothing\":null}}");
    check_json(
        true, write_nested,
        "{\n  \"name\": \"blk.0\",\n  \"shape\": [4096, 1],\n  \"none\": [],\n  \"inner\": {\n    \"yes\": true,\n    \"nothing\": null\n  }\n}\n");
}

static void write_strings(struct ggs_json * json) {
    ggs_json_array(json, NULL);
    ggs_json_string(json, NULL, "q\" b\\ n\n t\t \x01 \x7f </script>");
    ggs_json_string(json, NULL, "ok \xe2\x96\x81 bad \xff\xc3 end");
    ggs_json_string_n(json, NULL, "a\0b", 3);
    ggs_json_string(json, NULL, NULL);
    ggs_json_end(json);
}

static void test_json_strings(void ** state) {
    (void) state;
    check_json(
        false, write_strings,
        "[\"q\\\" b\\\\ n\\n t\\t \\u0001 \\u007f </script>\",\"ok \xe2\x96\x81 bad \xef\xbf\xbd\xef\xbf\xbd end\",\"a\\u0000b\",null]");
}

static void write_numbers(struct ggs_json * json) {
    ggs_json_array(json, NULL);
    ggs_json_u64(json, NULL, UINT64_MAX);
    ggs_json_i64(json, NULL, INT64_MIN);
    ggs_json_i64(json, NULL, 0);
    ggs_json_double(json, NULL, 0.1);
    ggs_json_double(json, NULL, 1.0 / 3);
    ggs_json_double(json, NULL, NAN);
    ggs_json_double(json, NULL, -INFINITY);
    ggs_json_double(json, NULL, 2.5e300);
    ggs_json_end(json);
}

static void test_json_numbers(void ** state) {
    (void) state;
    check_json(false, write_numbers,
               "[18446744073709551615,-9223372036854775808,0,0.1,0.3333333333333333,null,null,2.5e+300]");
}

static void test_json_streams_past_its_buffer(void ** state) {
    (void) state;
    struct ggs_text text = {0};
    struct ggs_json json;
    ggs_json_init(&json, ggs_json_to_text, &text, false);
    ggs_json_array(&json, NULL);
    for (int i = 0; i < 20000; i++) ggs_json_string(&json, NULL, "0123456789");
    ggs_json_end(&json);
    assert_int_equal(ggs_json_finish(&json), 0);
    assert_int_equal(text.length, 2 + 20000 * 12 + 19999);
    ggs_text_release(&text);
}

static int refuse(void * context, const char * data, size_t length) {
    (void) context, (void) data, (void) length;
    return -1;
}

static void test_json_failure_sticks(void ** state) {
    (void) state;
    struct ggs_json json;
    ggs_json_init(&json, refuse, NULL, false);
    ggs_json_u64(&json, NULL, 1);
    assert_int_equal(ggs_json_finish(&json), -1);

    struct ggs_text text = {0};
    ggs_json_init(&json, ggs_json_to_text, &text, false);
    for (int i = 0; i <= GGS_JSON_DEPTH; i++) ggs_json_array(&json, NULL);
    assert_int_equal(ggs_json_finish(&json), -1);
    ggs_json_init(&json, ggs_json_to_text, &text, false);
    ggs_json_end(&json);
    assert_int_equal(ggs_json_finish(&json), -1);
    ggs_text_release(&text);
}

// ---- numbers ----

static void test_format_numbers(void ** state) {
    (void) state;
    char b[GGS_NUMBER_LENGTH];
    assert_string_equal(ggs_format_bytes(b, 0), "0 B");
    assert_string_equal(ggs_format_bytes(b, 1023), "1023 B");
    assert_string_equal(ggs_format_bytes(b, 1024), "1.00 KiB");
    assert_string_equal(ggs_format_bytes(b, 1048575), "1.00 MiB");
    assert_string_equal(ggs_format_bytes(b, 702545920), "670 MiB");
    assert_string_equal(ggs_format_bytes(b, UINT64_MAX), "16.0 EiB");
    assert_string_equal(ggs_format_count(b, 999), "999");
    assert_string_equal(ggs_format_count(b, 1234567), "1,234,567");
    assert_string_equal(ggs_format_count(b, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(ggs_format_nanoseconds(b, 999), "999 ns");
    assert_string_equal(ggs_format_nanoseconds(b, 34500), "34.5 us");
    assert_string_equal(ggs_format_nanoseconds(b, 999600), "1.00 ms");
    assert_string_equal(ggs_format_nanoseconds(b, 1200000000), "1.20 s");
    assert_string_equal(ggs_format_nanoseconds(b, 3723000000000), "62 min 03 s");
    assert_string_equal(ggs_format_percent(b, 1, 3), "33.3 %");
    assert_string_equal(ggs_format_percent(b, 1, 0), "-");
}

static void test_parse_numbers(void ** state) {
    (void) state;
    uint64_t u = 99;
    int64_t  i = 99;
    assert_true(ggs_parse_u64("18446744073709551615", 0, UINT64_MAX, &u) && u == UINT64_MAX);
    assert_true(ggs_parse_u64("0x10", 0, 100, &u) && u == 16);
    u                               = 99;
    static const char * const bad[] = {"", " 1", "-1", "+1", "1 ", "1x", "18446744073709551616", "x", "0x", "101"};
    for (size_t n = 0; n < sizeof(bad) / sizeof(bad[0]); n++) assert_false(ggs_parse_u64(bad[n], 0, 100, &u));
    assert_false(ggs_parse_u64(NULL, 0, 100, &u));
    assert_int_equal(u, 99);
    assert_true(ggs_parse_i64("-5", -10, 10, &i) && i == -5);
    assert_false(ggs_parse_i64("-11", -10, 10, &i));
    assert_false(ggs_parse_i64("--5", -10, 10, &i));
    assert_true(ggs_parse_time("30s", &u) && u == 30000000000u);
    assert_true(ggs_parse_time("1.5m", &u) && u == 90000000000u);
    assert_true(ggs_parse_time("500ms", &u) && u == 500000000u);
    assert_true(ggs_parse_time("2", &u) && u == 2000000000u);
    assert_false(ggs_parse_time("0s", &u));
    assert_false(ggs_parse_time("-1s", &u));
    assert_false(ggs_parse_time("1e300s", &u));
    assert_false(ggs_parse_time("3 days", &u));
    assert_true(ggs_parse_bytes("4096", &u) && u == 4096);
    assert_true(ggs_parse_bytes("64M", &u) && u == 64u << 20);
    assert_true(ggs_parse_bytes("1.5GiB", &u) && u == 3ull << 29);
    assert_true(ggs_parse_bytes("16kB", &u) && u == 16384);
    assert_true(ggs_parse_bytes("12B", &u) && u == 12);
    assert_false(ggs_parse_bytes("1Q", &u));
    assert_false(ggs_parse_bytes("M", &u));
    assert_false(ggs_parse_bytes("1MM", &u));
    assert_false(ggs_parse_bytes("99999999E", &u));
    assert_false(ggs_parse_bytes("-1", &u));
}

// ---- files ----

static char * scratch_path(const char * name) {
    static char directory[64];
    static char path[128];
    if (directory[0] == '\0') {
        snprintf(directory, sizeof(directory), "%s", "/tmp/ggscope-unit-XXXXXX");
        assert_non_null(mkdtemp(directory));
    }
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    return path;
}

// How many names in the folder begin with `prefix`?
static int names_with(const char * folder, const char * prefix) {
    DIR * dir = opendir(folder);
    int   n   = 0;
    assert_non_null(dir);
    for (struct dirent * entry; (entry = readdir(dir)) != NULL;)
        n += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    closedir(dir);
    return n;
}

static void assert_contents(const char * path, const char * text) {
    struct ggs_mapping mapping;
    assert_int_equal(ggs_mapping_open(&mapping, path, NULL), 0);
    assert_int_equal(mapping.size, strlen(text));
    assert_memory_equal(mapping.data, text, strlen(text));
    ggs_mapping_close(&mapping);
}

static void test_output_appears_whole(void ** state) {
    (void) state;
    struct ggs_error  error;
    struct ggs_output output;
    struct stat       before, after;
    bool              unchanged;
    char *            path   = strdup(scratch_path("out.txt"));
    char *            folder = strndup(path, strlen(path) - 8);
    for (int named = 0; named < 2; named++) {
        int (*open_output)(struct ggs_output *, const char *, struct ggs_error *) =
            named ? ggs_output_open_named : ggs_output_open;
        assert_int_equal(open_output(&output, path, &error), 0);
        fputs("hello", output.file);
        assert_int_equal(access(path, F_OK), -1); // not there before commit
        assert_int_equal(ggs_output_commit(&output, &error), 0);
        assert_contents(path, "hello");

        assert_int_equal(open_output(&output, path, &error), 0);
        fputs("other", output.file);
        ggs_output_discard(&output);
        assert_contents(path, "hello"); // the old one is untouched

        assert_int_equal(stat(path, &before), 0);
        assert_int_equal(open_output(&output, path, &error), 0);
        fputs("hello", output.file);
        assert_int_equal(ggs_output_commit_changed(&output, &unchanged, &error), 0);
        assert_true(unchanged && stat(path, &after) == 0 && before.st_ino == after.st_ino);

        assert_int_equal(open_output(&output, path, &error), 0);
        fputs("new", output.file);
        assert_int_equal(ggs_output_commit_changed(&output, &unchanged, &error), 0);
        assert_false(unchanged);
        assert_contents(path, "new");
        assert_int_equal(names_with(folder, "out.txt"), 1);
        unlink(path);
    }
    free(folder);
    free(path);
}

static void test_output_keeps_links_and_devices(void ** state) {
    (void) state;
    struct ggs_error  error;
    struct ggs_output output;
    struct stat       facts;
    char *            path = strdup(scratch_path("linked.txt"));
    char *            link = strdup(scratch_path("link"));
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(symlink(path, link), 0);
    assert_int_equal(ggs_output_open(&output, link, &error), 0);
    fputs("through", output.file);
    assert_int_equal(ggs_output_commit(&output, &error), 0);
    assert_true(lstat(link, &facts) == 0 && S_ISLNK(facts.st_mode));
    assert_contents(path, "through");

    assert_int_equal(ggs_output_open(&output, "/dev/full", &error), 0);
    fputs("does not fit", output.file);
    assert_int_equal(ggs_output_commit(&output, &error), GGS_IO);
    assert_string_equal(error.text, "cannot write /dev/full: No space left on device");
    assert_true(stat("/dev/full", &facts) == 0 && S_ISCHR(facts.st_mode));
    assert_int_equal(ggs_output_open_named(&output, "/dev/full", &error), GGS_USAGE);
    unlink(link), unlink(path);
    free(link), free(path);
}

// A writer that is killed leaves nothing, or a file that the next one removes; the file of a living
// one stays.
static void test_output_of_a_killed_writer(void ** state) {
    (void) state;
    struct ggs_error  error;
    struct ggs_output output, living;
    char *            path   = strdup(scratch_path("killed.txt"));
    char *            folder = strndup(path, strlen(path) - 11);
    for (int named = 0; named < 2; named++) {
        pid_t child = fork();
        if (child == 0) {
            int failed = named ? ggs_output_open_named(&output, path, &error) : ggs_output_open(&output, path, &error);
            if (failed == 0) fputs("half", output.file), fflush(output.file);
            raise(SIGKILL);
        }
        assert_int_equal(waitpid(child, NULL, 0), child);
        assert_true(names_with(folder, "killed.txt") == 0 || named);
    }
    assert_int_equal(names_with(folder, "killed.txt.tmp-"), 1);
    close(open(scratch_path("killed.txt.tmp-mine"), O_CREAT | O_WRONLY, 0600)); // not of that form
    assert_int_equal(ggs_output_open_named(&living, path, &error), 0);
    assert_int_equal(names_with(folder, "killed.txt.tmp-"), 2); // mine, and the living one's
    ggs_output_sweep(path);
    assert_int_equal(access(living.temporary, F_OK), 0);
    ggs_output_discard(&living);
    assert_int_equal(names_with(folder, "killed.txt"), 1);
    unlink(scratch_path("killed.txt.tmp-mine"));
    free(folder), free(path);
}

static void test_output_reports_a_full_disk(void ** state) {
    (void) state;
    struct ggs_error  error;
    struct ggs_output output;
    char *            path = strdup(scratch_path("full.txt"));
    assert_int_equal(ggs_output_open(&output, path, &error), 0);
    FILE * full = freopen("/dev/full", "w", output.file);
    assert_non_null(full);
    output.file = full;
    for (int i = 0; i < 10000; i++) fputs("does not fit", output.file); // fails here already, and errno is forgotten
    errno = ENOTTY;
    assert_int_equal(ggs_output_commit(&output, &error), GGS_IO);
    assert_non_null(strstr(error.text, "No space left on device"));
    assert_int_equal(access(path, F_OK), -1);
    free(path);
}

// Those who look whether a spool can be removed are no writers to others.
static void test_locks(void ** state) {
    (void) state;
    const char * directory = scratch_path("locked");
    assert_int_equal(mkdir(directory, 0700), 0);
    int excluded = ggs_lock_exclude(directory), reader = open(directory, O_RDONLY | O_DIRECTORY);
    assert_true(excluded >= 0 && reader >= 0);
    assert_false(ggs_lock_is_held(directory));
    assert_false(ggs_lock_is_written(reader));
    assert_int_equal(ggs_lock_acquire(directory), -1);
    assert_int_equal(errno, EWOULDBLOCK);
    close(excluded);
    int acquired = ggs_lock_acquire(directory);
    assert_true(acquired >= 0);
    assert_true(ggs_lock_is_held(directory) && ggs_lock_is_written(reader));
    assert_int_equal(ggs_lock_exclude(directory), -1);
    ggs_lock_release(&acquired);
    assert_false(ggs_lock_is_held(directory));
    close(reader);
    rmdir(directory);
    assert_int_equal(ggs_lock_exclude(directory), -1);
}

static void test_mapping_refuses_what_is_no_file(void ** state) {
    (void) state;
    struct ggs_error   error;
    struct ggs_mapping mapping;
    assert_int_equal(ggs_mapping_open(&mapping, scratch_path("absent"), &error), GGS_IO);
    assert_int_equal(ggs_mapping_open(&mapping, "/", &error), GGS_USAGE);
    assert_string_equal(error.text, "/ is a directory, not a regular file");
    char * fifo = strdup(scratch_path("fifo"));
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(ggs_mapping_open(&mapping, fifo, &error), GGS_USAGE); // and does not hang
    unlink(fifo);
    free(fifo);
    char * empty = strdup(scratch_path("empty"));
    close(open(empty, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(ggs_mapping_open(&mapping, empty, &error), 0);
    assert_int_equal(mapping.size, 0);
    ggs_mapping_close(&mapping);
    unlink(empty);
    free(empty);
    char * directory = scratch_path("");
    assert_int_equal(rmdir(directory), 0); // nothing was left behind
}

// ---- terminal ----

// A file whose name has a blank and a newline, mapped from its second page on.
static void test_maps(void ** state) {
    (void) state;
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    char * path = strdup(scratch_path("a b\nc"));
    int    fd   = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t) (3 * page)), 0);
    char *                data = mmap(NULL, 2 * page, PROT_READ, MAP_SHARED, fd, (off_t) page);
    struct stat           info;
    struct ggs_maps       maps;
    struct ggs_maps_entry entry;
    unsigned              found = 0, anonymous = 0, code = 0;
    assert_ptr_not_equal(data, MAP_FAILED);
    assert_int_equal(fstat(fd, &info), 0);
    assert_true(ggs_maps_open(&maps, "self"));
    while (ggs_maps_next(&maps, &entry)) {
        assert_true(entry.start < entry.end);
        anonymous += entry.inode == 0;
        code += entry.executable && (uintptr_t) test_map >= entry.start && (uintptr_t) test_map < entry.end;
        if (entry.start != (uintptr_t) data) continue;
        found++;
        assert_int_equal(entry.end, (uintptr_t) data + 2 * page);
        assert_int_equal(entry.offset, page);
        assert_int_equal(entry.inode, info.st_ino);
        assert_int_equal(entry.device, info.st_dev);
        assert_true(entry.readable && !entry.writable && !entry.executable);
        assert_non_null(strstr(entry.path, "/a b\\012c"));
    }
    ggs_maps_close(&maps);
    assert_int_equal(found, 1);
    assert_int_equal(code, 1);
    assert_true(anonymous > 0);
    assert_false(ggs_maps_open(&maps, "0"));
    munmap(data, 2 * page);
    close(fd);
    unlink(path);
    free(path);
}

static void test_columns(void ** state) {
    (void) state;
    assert_int_equal(ggs_terminal_columns("abc"), 3);
    assert_int_equal(ggs_terminal_columns("\xc3\xa9"), 1);
    assert_int_equal(ggs_terminal_columns("e\xcc\x81"), 1);        // combining accent
    assert_int_equal(ggs_terminal_columns("\xe6\xbc\xa2"), 2);     // a CJK character
    assert_int_equal(ggs_terminal_columns("\x1b[1mab\x1b[0m"), 2); // escape sequences
    assert_int_equal(ggs_terminal_columns("\xff"), 1);
}

static void assert_wrapped(const char * text, unsigned width, const char * expected) {
    char * out = NULL, *copy = strdup(text);
    size_t length;
    FILE * memory = open_memstream(&out, &length);
    ggs_terminal_wrap(copy, width, memory);
    fclose(memory);
    assert_string_equal(out, expected);
    free(copy);
    free(out);
}

static void test_wrap(void ** state) {
    (void) state;
    assert_wrapped("as it is, whatever its width\n", 0, "as it is, whatever its width\n");
    assert_wrapped("\nfits\n\n", 20, "\nfits\n\n");
    assert_wrapped("label     one two three four\n          five six seven eight\n", 20,
                   "label     one two\n          three four\n          five six\n          seven\n          eight\n");
    assert_wrapped("label     one two three\n", 19, "label     one two\n  three\n"); // too narrow for labels
    assert_wrapped("  name-of-a-tensor     12.0 MiB  3 reads\n", 20,
                   "  name-of-a-tensor\n    12.0 MiB  3\n    reads\n");
    assert_wrapped("a-word-that-is-wider-than-all and more\n", 20, "a-word-that-is-wider-than-all\n  and more\n");
    assert_wrapped("\x1b[1mbold\x1b[0m \xc3\xa9\xc3\xa9\xc3\xa9 four five six\n", 20,
                   "\x1b[1mbold\x1b[0m \xc3\xa9\xc3\xa9\xc3\xa9 four five\n  six\n");
    assert_wrapped("hot: most bytes read by all\n", 20, "hot: most bytes read\n  by all\n"); // no label
    assert_wrapped("processes 2 on 1 host\n", 20, "processes 2 on 1\n          host\n");
    for (unsigned width = 0; width <= 80; width += 80)
        assert_wrapped("label     one two\vthree\n", width, "label     one two\n          three\n");
    assert_wrapped("label     one two\vthree\n", 30, "label     one two three\n");
    assert_wrapped("no end of line", 20, "no end of line\n");
}

static void test_bar(void ** state) {
    (void) state;
    char bar[64];
    ggs_terminal_bar(bar, sizeof(bar), 4, 0.5);
    assert_string_equal(bar, "██  ");
    ggs_terminal_bar(bar, sizeof(bar), 4, 1e-9); // something is never shown as nothing
    assert_string_equal(bar, "▏   ");
    ggs_terminal_bar(bar, sizeof(bar), 2, NAN);
    assert_string_equal(bar, "  ");
    ggs_terminal_bar(bar, sizeof(bar), 2, 7);
    assert_string_equal(bar, "██");
    ggs_terminal_bar(bar, 4, 8, 1);
    assert_string_equal(bar, "█"); // cut at a character, not inside one
}

static char * printed(struct ggs_table * table, unsigned width) {
    char * data;
    size_t size;
    FILE * file = open_memstream(&data, &size);
    assert_int_equal(ggs_table_print(table, file, width), 0);
    fclose(file);
    return data;
}

static void test_table(void ** state) {
    (void) state;
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, "name|>size");
    ggs_table_cell(table, "%s", "token_embd.weight");
    ggs_table_cell(table, "%d", 7);
    ggs_table_rule(table);
    ggs_table_cell(table, "evil\x1b[2J");
    ggs_table_cell(table, "123456");
    char * text = printed(table, 0);
    assert_string_equal(text, "name                 size\n"
                              "token_embd.weight       7\n"
                              "─────────────────────────\n"
                              "evil?[2J           123456\n");
    free(text);
    text = printed(table, 18);
    assert_string_equal(text, "name          size\n"
                              "token…ight       7\n"
                              "──────────────────\n"
                              "evil?[2J    123456\n");
    free(text);
    ggs_table_free(table);
    assert_int_equal(ggs_table_print(NULL, stdout, 0), -1);
}

static void test_columns_that_can_be_spared(void ** state) {
    (void) state;
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, "name|~>ops|>wall|~>rate");
    for (int i = 0; i < 4; i++) ggs_table_cell(table, "%s", (const char *[]){"token_embd", "12", "3 ms", "4.5"}[i]);
    static const struct {
        unsigned     width;
        const char * text;
    } expected[] = {
        {0, "name        ops  wall  rate\ntoken_embd   12  3 ms   4.5\n"},
        {27, "name        ops  wall  rate\ntoken_embd   12  3 ms   4.5\n"},
        {26, "name        ops  wall\ntoken_embd   12  3 ms\n"},
        {20, "name        wall\ntoken_embd  3 ms\n"},
        {15, "name       wall\ntoke…embd  3 ms\n"},
    };
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        char * text = printed(table, expected[i].width);
        assert_string_equal(text, expected[i].text);
        free(text);
    }
    ggs_table_free(table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_that_can_be_spared),
        cmocka_unit_test(test_error_sentence),
        cmocka_unit_test(test_error_is_cut_not_overrun),
        cmocka_unit_test(test_checked),
        cmocka_unit_test(test_array),
        cmocka_unit_test(test_map),
        cmocka_unit_test(test_uuid),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_paragraph),
        cmocka_unit_test(test_text_failure_sticks),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_json_layout),
        cmocka_unit_test(test_json_strings),
        cmocka_unit_test(test_json_numbers),
        cmocka_unit_test(test_json_streams_past_its_buffer),
        cmocka_unit_test(test_json_failure_sticks),
        cmocka_unit_test(test_format_numbers),
        cmocka_unit_test(test_parse_numbers),
        cmocka_unit_test(test_output_appears_whole),
        cmocka_unit_test(test_output_keeps_links_and_devices),
        cmocka_unit_test(test_output_of_a_killed_writer),
        cmocka_unit_test(test_output_reports_a_full_disk),
        cmocka_unit_test(test_maps),
        cmocka_unit_test(test_locks),
        cmocka_unit_test(test_mapping_refuses_what_is_no_file), // removes the scratch directory
        cmocka_unit_test(test_columns),
        cmocka_unit_test(test_wrap),
        cmocka_unit_test(test_bar),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
