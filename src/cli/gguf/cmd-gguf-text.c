// Text output of ggscope gguf: tensors, regions, metadata, extents.
#include "answer/gguf.h"
#include "base/error.h"
#include "base/number.h"
#include "base/system/file.h"
#include "base/system/terminal.h"
#include "base/table.h"
#include "base/text.h"
#include "cli/gguf/cmd-gguf.h"
#include "gguf/extents.h"
#include "gguf/gguf-entry.h"
#include "gguf/gguf-slice.h"
#include "gguf/gguf-type.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Adds a name of any length as a table cell. "%s" would stop at a NUL byte, so these become "?"
// too.
static void put_name(struct ggs_table * table, const char * data, size_t length) {
    char * name = malloc(length + 4);
    if (name != NULL) ggs_printable(name, length + 4, data, length);
    ggs_table_cell(table, "%s", name == NULL ? "?" : name);
    free(name);
}

// Prints and frees the table. Write failures stay in stdout's error flag.
static int print_table(struct ggs_table * table, unsigned width, struct ggs_error * error) {
    if (table == NULL) return ggs_fail_memory(error);
    int result = ggs_table_end(table, stdout, width);
    return result != 0 && !ferror(stdout) ? ggs_fail_memory(error) : 0;
}

static void put_number(struct ggs_table * table, uint64_t number) {
    char buffer[GGS_NUMBER_LENGTH];
    ggs_table_cell(table, "%s", ggs_format_count(buffer, number));
}

static void put_bytes(struct ggs_table * table, uint64_t bytes) {
    char buffer[GGS_NUMBER_LENGTH];
    ggs_table_cell(table, "%s", ggs_format_bytes(buffer, bytes));
}

static void print_file_title(const struct gguf_report * report, size_t i) {
    char name[512];
    if (report->model->n_files < 2) return;
    const char * path = ggs_file_name(report->model->files[i]->path);
    printf("%s%s\n", i == 0 ? "" : "\n", ggs_printable(name, sizeof name, path, strlen(path)));
}

// ---- tensors ----

// A narrow terminal has room only for the name, which implies the component.
static bool shows_component(const struct gguf_report * report) {
    return report->width == 0 || report->width >= 100;
}

static void put_entry(struct ggs_table * table, const struct ggs_entry * entry, bool with_component,
                      struct ggs_text * text) {
    char type[GGS_TYPE_NAME_LENGTH];
    char component[GGS_COMPONENT_LENGTH];
    put_number(table, entry->offset);
    put_bytes(table, entry->size);
    ggs_table_cell(table, "%s", ggs_type_name(type, sizeof type, entry->tensor->type));
    ggs_text_clear(text);
    for (unsigned i = 0; i < entry->n_dims; i++) ggs_text_printf(text, "%s%" PRIu64, i > 0 ? " x " : "", entry->ne[i]);
    ggs_table_cell(table, "%s", entry->n_dims == 0 ? "1" : ggs_text_string(text));
    if (entry->name.layer >= 0) {
        ggs_table_cell(table, "%d", entry->name.layer);
    } else {
        ggs_table_cell(table, "-");
    }
    if (with_component) {
        ggs_table_cell(table, "%s", ggs_name_component(component, sizeof component, &entry->name, entry->expert));
    }
    ggs_text_clear(text);
    ggs_entry_append_name(text, entry);
    put_name(table, ggs_text_string(text), text->length);
}

static int print_tensors(const struct gguf_report * report, size_t i, struct ggs_error * error) {
    struct ggs_table * table = ggs_table_new();
    struct ggs_text    text  = {0};
    ggs_table_columns(table, ">offset|>size|type|shape|>layer");
    if (shows_component(report)) ggs_table_column(table, "component", GGS_LEFT);
    ggs_table_column(table, "name", GGS_LEFT);
    struct ggs_entries entries = ggs_entries(report->model->files[i], &report->maps[i], report->experts);
    struct ggs_entry   entry;
    while (ggs_entries_next(&entries, &entry)) put_entry(table, &entry, shows_component(report), &text);
    bool failed = text.failed;
    ggs_text_release(&text);
    int status = print_table(table, report->width, error);
    return failed ? ggs_fail_memory(error) : status;
}

static void print_heading(const struct ggs_model * model) {
    const struct ggs_gguf * first = model->files[0];
    char                    text[256];
    char                    number[GGS_NUMBER_LENGTH];
    size_t                  length;
    const char *            name = ggs_gguf_model_name(model, &length);
    uint64_t                layers, experts, used;
    bool                    bold = ggs_terminal_colour(stdout);
    printf("%s%s%s\n", bold ? "\033[1m" : "", ggs_printable(text, sizeof text, name, length), bold ? "\033[0m" : "");
    if (ggs_gguf_get_string(first, "general.architecture", &name, &length)) {
        printf("  architecture  %s", ggs_printable(text, sizeof text, name, length));
        if (ggs_gguf_get_hparam(first, "block_count", &layers))
            printf(", %" PRIu64 " layer%s", layers, layers == 1 ? "" : "s");
        if (ggs_gguf_get_hparam(first, "expert_count", &experts) && experts > 0) {
            printf(", %" PRIu64 " experts", experts);
            if (ggs_gguf_get_hparam(first, "expert_used_count", &used)) printf(" (%" PRIu64 " used)", used);
        }
        putchar('\n');
    }
    for (size_t i = 0; i < model->n_files; i++) {
        const struct ggs_gguf * gguf = model->files[i];
        const char *            path = ggs_file_name(gguf->path);
        printf("  %-13s %s, %s", i == 0 ? model->n_files == 1 ? "file" : "files" : "",
               ggs_printable(text, sizeof text, path, strlen(path)), ggs_format_bytes(number, gguf->size));
        printf(" (%s bytes)", ggs_format_count(number, gguf->size));
        printf(", %zu tensor%s, GGUF version %" PRIu32 ", alignment %" PRIu32 "\n", gguf->n_tensors,
               gguf->n_tensors == 1 ? "" : "s", gguf->version, gguf->alignment);
    }
}

int gguf_text_summary(const struct gguf_report * report, struct ggs_error * error) {
    print_heading(report->model);
    int status = gguf_text_totals(report, GGUF_TOTALS_MIX, error);
    return status < 0 ? status : gguf_text_totals(report, GGUF_TOTALS_TABLES, error);
}

int gguf_text_map(const struct gguf_report * report, struct ggs_error * error) {
    print_heading(report->model);
    int status = gguf_text_totals(report, GGUF_TOTALS_MIX, error);
    for (size_t i = 0; status == 0 && i < report->model->n_files; i++) {
        if (report->model->files[i]->n_tensors == 0) continue;
        putchar('\n');
        print_file_title(report, i);
        status = print_tensors(report, i, error);
    }
    return status < 0 ? status : gguf_text_totals(report, GGUF_TOTALS_TABLES, error);
}

// ---- regions ----

int gguf_text_regions(const struct gguf_report * report, struct ggs_error * error) {
    int status = 0;
    for (size_t i = 0; status == 0 && i < report->model->n_files; i++) {
        const struct ggs_gguf * gguf  = report->model->files[i];
        struct ggs_table *      table = ggs_table_new();
        ggs_table_columns(table, ">offset|>end|>bytes|region|name");
        for (size_t j = 0; j < report->maps[i].n_regions; j++) {
            const struct ggs_region * region = &report->maps[i].regions[j];
            put_number(table, region->offset);
            put_number(table, region->offset + region->size);
            put_number(table, region->size);
            ggs_table_cell(table, "%s", ggs_region_name(region->kind));
            if (region->kind == GGS_REGION_TENSOR) {
                put_name(table, gguf->tensors[region->tensor].name, gguf->tensors[region->tensor].name_length);
            } else {
                ggs_table_cell(table, "%s", "");
            }
        }
        print_file_title(report, i);
        status = print_table(table, report->width, error);
    }
    return status;
}

// ---- metadata ----

enum { SHOWN_ELEMENTS = 8 };

// Appends one element, with line ends and quotes of strings escaped.
static void append_value(struct ggs_text * text, const struct ggs_gguf_value * value, bool quoted) {
    switch (value->type) {
        case GGS_GGUF_STRING:
            if (quoted) ggs_text_putc(text, '"');
            for (size_t i = 0; i < value->length; i++) {
                switch (value->string[i]) {
                    case '\n':
                        ggs_text_puts(text, "\\n");
                        break;
                    case '\r':
                        ggs_text_puts(text, "\\r");
                        break;
                    case '\t':
                        ggs_text_puts(text, "\\t");
                        break;
                    default:
                        ggs_text_putc(text, value->string[i]);
                        break;
                }
            }
            if (quoted) ggs_text_putc(text, '"');
            break;
        case GGS_GGUF_BOOL:
            ggs_text_puts(text, value->u64 != 0 ? "true" : "false");
            break;
        case GGS_GGUF_F32:
            ggs_text_printf(text, "%.9g", ggs_gguf_float(value));
            break;
        case GGS_GGUF_F64:
            ggs_text_printf(text, "%.17g", value->f64);
            break;
        case GGS_GGUF_I8:
        case GGS_GGUF_I16:
        case GGS_GGUF_I32:
        case GGS_GGUF_I64:
            ggs_text_printf(text, "%" PRId64, value->i64);
            break;
        default:
            ggs_text_printf(text, "%" PRIu64, value->u64);
            break;
    }
}

static void append_values(struct ggs_text * text, const struct ggs_gguf_kv * kv) {
    struct ggs_gguf_values values = ggs_gguf_values(kv);
    struct ggs_gguf_value  value;
    if (!kv->array) {
        if (ggs_gguf_next(&values, &value)) append_value(text, &value, false);
        return;
    }
    ggs_text_putc(text, '[');
    while (values.index < SHOWN_ELEMENTS && ggs_gguf_next(&values, &value)) {
        if (values.index > 1) ggs_text_puts(text, ", ");
        append_value(text, &value, true);
    }
    if (kv->count > SHOWN_ELEMENTS) {
        char number[GGS_NUMBER_LENGTH];
        ggs_text_printf(text, ", ...] %s in all", ggs_format_count(number, kv->count));
    } else {
        ggs_text_putc(text, ']');
    }
}

int gguf_text_kv(const struct gguf_report * report, struct ggs_error * error) {
    struct ggs_text text   = {0};
    int             status = 0;
    for (size_t i = 0; status == 0 && i < report->model->n_files; i++) {
        const struct ggs_gguf * gguf  = report->model->files[i];
        struct ggs_table *      table = ggs_table_new();
        ggs_table_columns(table, "key|type|value");
        for (size_t j = 0; j < gguf->n_kvs; j++) {
            const struct ggs_gguf_kv * kv = &gguf->kvs[j];
            put_name(table, kv->key, kv->key_length);
            ggs_table_cell(table, "%s%s", ggs_gguf_value_type_name(kv->type), kv->array ? "[]" : "");
            ggs_text_clear(&text);
            append_values(&text, kv);
            put_name(table, ggs_text_string(&text), text.length);
        }
        print_file_title(report, i);
        status = print_table(table, report->width, error);
    }
    bool failed = text.failed;
    ggs_text_release(&text);
    return failed ? ggs_fail_memory(error) : status;
}

// ---- extents ----

static int print_fragments(const struct gguf_report * report, const struct ggs_extents * extents,
                           struct ggs_error * error) {
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, ">fragment|>file offset|>device offset|>length");
    for (size_t i = 0; i < extents->n_extents; i++) {
        const struct ggs_extent * extent = &extents->extents[i];
        put_number(table, i + 1);
        put_number(table, extent->logical);
        if (extent->placed) {
            put_number(table, extent->physical);
        } else {
            ggs_table_cell(table, "-");
        }
        put_bytes(table, extent->length);
    }
    return print_table(table, report->width, error);
}

static int print_fragments_of_tensors(const struct gguf_report * report, size_t i, const struct ggs_extents * extents,
                                      struct ggs_error * error) {
    struct ggs_table * table = ggs_table_new();
    ggs_table_columns(table, ">fragments|>offset|>size|tensor");
    struct ggs_entries entries = ggs_entries(report->model->files[i], &report->maps[i], false);
    struct ggs_entry   entry;
    while (ggs_entries_next(&entries, &entry)) {
        put_number(table, ggs_extents_count(extents, entry.offset, entry.size));
        put_number(table, entry.offset);
        put_bytes(table, entry.size);
        put_name(table, entry.tensor->name, entry.tensor->name_length);
    }
    return print_table(table, report->width, error);
}

int gguf_text_extents(const struct gguf_report * report, struct ggs_error * error) {
    int status = 0;
    for (size_t i = 0; status == 0 && i < report->model->n_files; i++) {
        const struct ggs_gguf * gguf = report->model->files[i];
        struct ggs_extents      extents;
        status = ggs_extents_init(&extents, gguf->path, error);
        if (status < 0) break;
        char         bytes[GGS_NUMBER_LENGTH], fragments[GGS_NUMBER_LENGTH], name[512];
        const char * path = ggs_file_name(gguf->path);
        printf("%s%s: %s in %s fragment%s\n\n", i > 0 ? "\n" : "", ggs_printable(name, sizeof name, path, strlen(path)),
               ggs_format_bytes(bytes, gguf->size), ggs_format_count(fragments, extents.n_extents),
               extents.n_extents == 1 ? "" : "s");
        status = print_fragments(report, &extents, error);
        if (status == 0 && gguf->n_tensors > 0) {
            putchar('\n');
            status = print_fragments_of_tensors(report, i, &extents, error);
        }
        ggs_extents_release(&extents);
    }
    return status;
}
