// ggscope gguf --csv. docs/man/ggscope-gguf.1 describes the layout.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/gguf/cmd-gguf.h"
#include "gguf/gguf-entry.h"
#include "gguf/gguf-type.h"

// RFC 4180: a field with a comma, a quote or a line end is quoted, and its quotes are doubled.
static void put_field(const char * data, size_t length) {
    bool quoted = false;
    for (size_t i = 0; i < length && !quoted; i++) quoted = data[i] == '\0' || strchr(",\"\r\n", data[i]) != NULL;
    if (!quoted) {
        fwrite(data, 1, length, stdout);
        return;
    }
    putchar('"');
    for (size_t i = 0; i < length; i++) {
        if (data[i] == '"') putchar('"');
        putchar(data[i]);
    }
    putchar('"');
}

// ",2,4096x32000,q4_K,131072000,model.gguf,4096,32000,1,1"
static void put_full(const struct ggs_entry * entry, const char * path) {
    char         type[GGS_TYPE_NAME_LENGTH];
    const char * slash = strrchr(path, '/');
    const char * file  = slash == NULL ? path : slash + 1;
    printf(",%u,", entry->n_dims);
    for (unsigned i = 0; i < entry->n_dims; i++) printf("%s%" PRIu64, i == 0 ? "" : "x", entry->ne[i]);
    printf(",%s,%" PRIu64 ",", ggs_type_name(type, sizeof type, entry->tensor->type), entry->elements);
    put_field(file, strlen(file));
    for (unsigned i = 0; i < GGS_GGUF_DIMS_MAX; i++) printf(",%" PRIu64, i < entry->n_dims ? entry->ne[i] : 1);
}

int gguf_csv_map(const struct gguf_report * report, struct ggs_error * error) {
    struct ggs_text name = {0};
    printf("tensor_name,file_offset,size_bytes,layer_id,component_type%s\n",
           report->full ? ",n_dims,shape,dtype,n_elements,file,dim0,dim1,dim2,dim3" : "");
    for (size_t i = 0; i < report->model->n_files; i++) {
        struct ggs_entries entries = ggs_entries(report->model->files[i], &report->maps[i], report->experts);
        struct ggs_entry   entry;
        while (ggs_entries_next(&entries, &entry)) {
            char component[GGS_COMPONENT_LENGTH];
            ggs_text_clear(&name);
            ggs_entry_append_name(&name, &entry);
            put_field(ggs_text_string(&name), name.length);
            printf(",%" PRIu64 ",%" PRIu64 ",%d,%s", entry.offset, entry.size, entry.name.layer,
                   ggs_name_component(component, sizeof component, &entry.name, entry.expert));
            if (report->full) put_full(&entry, report->model->files[i]->path);
            putchar('\n');
        }
    }
    bool failed = name.failed;
    ggs_text_release(&name);
    return failed ? ggs_fail_memory(error) : 0;
}
