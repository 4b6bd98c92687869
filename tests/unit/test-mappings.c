// Unit tests of src/record/memory/mappings.c: smaps and numa_maps as kernels write them, and the
// mappings of this process.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record/memory/mappings.h"

static const char smaps[]     = "55f000000000-55f000001000 r--p 00000000 fe:00 12  /usr/bin/llama-cli\n"
                                "Size:                  4 kB\n"
                                "Rss:                   4 kB\n"
                                "7f0000000000-7f0040000000 r--s 00000000 fe:00 13  /m.gguf\n"
                                "Size:            1048576 kB\n"
                                "Rss:              524288 kB\n"
                                "Pss:              524288 kB\n"
                                "FilePmdMapped:      4096 kB\n"
                                "Swap:                  0 kB\n"
                                "SwapPss:               0 kB\n"
                                "VmFlags: rd sh mr mw me ms sd\n"
                                "7f1000000000-7f1010000000 rw-p 00000000 00:00 0\n"
                                "Rss:              131072 kB\n"
                                "AnonHugePages:    122880 kB\n"
                                "Swap:              65536 kB\n";
static const char numa_maps[] = "55f000000000 default file=/usr/bin/llama-cli mapped=1 N0=1 kernelpagesize_kB=4\n"
                                "7f0000000000 default file=/m.gguf mapped=131072 N0=131000 N1=72 kernelpagesize_kB=4\n"
                                "7f1000000000 default anon=64 dirty=64 N1=64 kernelpagesize_kB=2048\n"
                                "7f2000000000 default\n";

static FILE * file_of(const char * text) {
    FILE * file = fmemopen((void *) text, strlen(text), "r");
    assert_non_null(file);
    return file;
}

static void test_files(void ** state) {
    (void) state;
    struct ggs_mapping_list list;
    FILE *                  file = file_of(smaps);
    assert_true(ggs_mapping_list_read(&list, file));
    fclose(file);
    assert_int_equal(list.n, 2); // the program's own page is small
    assert_int_equal(list.resident, (4 + 524288 + 131072) * 1024ull);
    const struct ggs_mapping_pages *model = &list.mapping[0], *own = &list.mapping[1];
    assert_int_equal(model->start, 0x7f0000000000);
    assert_int_equal(model->bytes, 1ull << 30);
    assert_int_equal(model->resident, 512ull << 20);
    assert_int_equal(model->huge, 4ull << 20);
    assert_int_equal(model->swapped, 0);
    assert_int_equal(own->huge, 120ull << 20);
    assert_int_equal(own->swapped, 64ull << 20); // SwapPss is another figure
    file = file_of(numa_maps);
    ggs_mapping_list_read_nodes(&list, file, 2);
    fclose(file);
    assert_int_equal(list.nodes, 2);
    assert_int_equal(model->node[0], 131000 * 4096ull);
    assert_int_equal(model->node[1], 72 * 4096ull);
    assert_int_equal(own->node[1], 128ull << 20);
    ggs_mapping_list_release(&list);
}

// Memory that this process has is in its own list.
static void test_this_process(void ** state) {
    (void) state;
    const size_t            size   = 32 << 20;
    char *                  memory = malloc(size);
    struct ggs_mapping_list list;
    bool                    found = false;
    assert_non_null(memory);
    memset(memory, 1, size);
    FILE * file = fopen("/proc/self/smaps", "re");
    assert_non_null(file);
    assert_true(ggs_mapping_list_read(&list, file));
    fclose(file);
    for (size_t i = 0; i < list.n; i++) {
        const struct ggs_mapping_pages * m = &list.mapping[i];
        found |= (uintptr_t) memory - m->start < m->bytes && m->resident + m->swapped >= size;
        assert_true(m->huge <= m->resident);
    }
    assert_true(found);
    ggs_mapping_list_release(&list);
    free(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files), cmocka_unit_test(test_this_process)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
