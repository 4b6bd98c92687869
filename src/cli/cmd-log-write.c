#include <inttypes.h>
#include <string.h>

#include "analyze/walk/words.h"
#include "base/number.h"
#include "base/terminal.h"
#include "cli/cmd-log.h"
#include "cli/verb.h"

// ---- text: columns of fixed width, because entries are printed as they come ----

enum column { NUMBER, TIME, TOKEN, OP, TENSOR, LAYER, THREADS, BYTES, SOURCE, DURATION, WAIT };

static const struct {
    const char * title;
    bool         left;
} columns[GGS_LOG_COLUMNS] = {
    [NUMBER] = {"#", false},     [TIME] = {"time", false},     [TOKEN] = {"token", false}, [OP] = {"op", true},
    [TENSOR] = {"tensor", true}, [LAYER] = {"L", false},       [THREADS] = {"T", false},   [BYTES] = {"bytes", false},
    [SOURCE] = {"source", true}, [DURATION] = {"took", false}, [WAIT] = {"wait", false},
};

static unsigned digits(uint64_t number) {
    unsigned n = 1;
    while (number >= 10) number /= 10, n++;
    return n;
}

static unsigned at_least(unsigned a, unsigned b) {
    return a > b ? a : b;
}

// Widths from what the trace holds, without walking it. What does not fit is left out, least useful first; the tensor's name
// takes what remains.
static void lay_out(struct ggs_log_writer * writer, unsigned width) {
    static const enum column order[] = {NUMBER, THREADS, WAIT};
    enum { LEAST_NAME = 14, MOST_NAME = 48, WIDE = 110 };
    const struct ggs_trace * trace  = writer->trace;
    struct ggs_reader *      reader = trace->reader;
    unsigned *               w      = writer->widths;
    uint64_t                 size = 0, nodes = 0;
    for (uint64_t i = 0; i < trace->n_files; i++) {
        if (trace->files[i].size > size) size = trace->files[i].size;
    }
    uint64_t runs = ggs_reader_rows(reader, GGS_TABLE_RUNS), op_runs = ggs_reader_rows(reader, GGS_TABLE_OP_RUNS);
    nodes       = runs == 0 ? 0 : 2 * op_runs / runs;
    w[NUMBER]   = digits(runs) + 1 + digits(nodes);
    w[TIME]     = 8;
    w[TOKEN]    = at_least(5, digits(ggs_reader_rows(reader, GGS_TABLE_STEPS)) + 1);
    w[OP]       = width >= WIDE ? 16 : 10;
    w[LAYER]    = 2;
    w[THREADS]  = 2;
    w[BYTES]    = 5;
    w[SOURCE]   = at_least(6, 1 + digits(size));
    w[DURATION] = 6;
    w[WAIT]     = 6;
    for (unsigned dropped = 0;; dropped++) {
        unsigned used = 0;
        w[TENSOR]     = 0;
        for (int i = 0; i < GGS_LOG_COLUMNS; i++) used += w[i] == 0 ? 0 : w[i] + 1;
        unsigned left = used < width ? width - used : 0;
        w[TENSOR]     = left > MOST_NAME ? MOST_NAME : at_least(left, LEAST_NAME);
        if (left >= LEAST_NAME || dropped == sizeof(order) / sizeof(order[0])) return;
        w[order[dropped]] = 0;
    }
}

static void print_cell(FILE * file, unsigned width, bool left, bool last, const char * text) {
    size_t   taken  = ggs_terminal_columns(text);
    unsigned blanks = taken < width ? width - (unsigned) taken : 0;
    if (left) {
        fprintf(file, "%s%*s", text, last ? 0 : (int) blanks, "");
    } else {
        fprintf(file, "%*s%s", (int) blanks, "", text);
    }
    fputc(last ? '\n' : ' ', file);
}

// "1.12 MiB" as "1.12M", "512 B" as "512".
static void short_bytes(char buffer[GGS_NUMBER_LENGTH], uint64_t bytes) {
    char * blank = strchr(ggs_format_bytes(buffer, bytes), ' ');
    if (blank == NULL) return;
    blank[0] = blank[1] == 'B' ? '\0' : blank[1];
    if (blank[0] != '\0') blank[1] = '\0';
}

// "34.5 us" as "34.5us".
static void short_time(char buffer[GGS_NUMBER_LENGTH], uint64_t ns) {
    char *from = ggs_format_nanoseconds(buffer, ns), *to = from;
    for (; *from != '\0'; from++) {
        if (*from != ' ') *to++ = *from;
    }
    *to = '\0';
}

static void short_source(char buffer[GGS_NUMBER_LENGTH], const struct ggs_log_operand * operand) {
    const struct ggs_tensor * t = operand->tensor;
    if (t == NULL) {
        snprintf(buffer, GGS_NUMBER_LENGTH, "-");
    } else if (t->source == GGS_SOURCE_DISK) {
        snprintf(buffer, GGS_NUMBER_LENGTH, "D%" PRIu64, t->file_offset + operand->first);
    } else if (t->buffer != 0) {
        snprintf(buffer, GGS_NUMBER_LENGTH, "B%" PRIu64, t->buffer);
    } else {
        snprintf(buffer, GGS_NUMBER_LENGTH, "B?");
    }
}

static void format_cells(const struct ggs_log_writer * writer, char cells[][200], const struct ggs_log_entry * e) {
    enum { SIZE = 200 };
    uint64_t taken = e->end_ns > e->begin_ns ? (uint64_t) (e->end_ns - e->begin_ns) : 0;
    snprintf(cells[NUMBER], SIZE, "%" PRIu64 ".%" PRIu64, e->run, e->node);
    double seconds = (double) e->begin_ns / 1e9; // as many digits as fit the column
    snprintf(cells[TIME], SIZE, "%.*f", seconds < 10 ? 6 : seconds < 100 ? 5 : seconds < 1000 ? 4 : 3, seconds);
    if (e->token < 0) {
        snprintf(cells[TOKEN], SIZE, "%s", e->phase == GGS_PHASE_WARMUP ? "W" : "-");
    } else {
        snprintf(cells[TOKEN], SIZE, "%c%" PRId64, e->phase == GGS_PHASE_NONE ? ' ' : ggs_word_phase(e->phase)[0],
                 e->token);
    }
    ggs_verb_fit(cells[OP], SIZE, e->op, writer->widths[OP]);
    ggs_verb_fit(cells[TENSOR], SIZE, e->tensor, writer->widths[TENSOR]);
    snprintf(cells[LAYER], SIZE, e->layer < 0 ? "-" : "%d", e->layer);
    snprintf(cells[THREADS], SIZE, "%" PRIu64, e->threads);
    short_bytes(cells[BYTES], e->read + e->written);
    short_source(cells[SOURCE], &e->main);
    if (e->cut || e->fused >= 0 || e->opaque) {
        snprintf(cells[DURATION], SIZE, "%s", e->cut ? "cut" : e->fused >= 0 ? "fused" : "-");
        snprintf(cells[WAIT], SIZE, "-");
    } else {
        short_time(cells[DURATION], taken);
        short_time(cells[WAIT], e->wait_ns);
    }
}

static int last_column(const struct ggs_log_writer * writer) {
    int last = 0;
    for (int i = 0; i < GGS_LOG_COLUMNS; i++) {
        if (writer->widths[i] > 0) last = i;
    }
    return last;
}

static void write_text(struct ggs_log_writer * writer, const struct ggs_log_entry * entry) {
    char cells[GGS_LOG_COLUMNS][200];
    int  last = last_column(writer);
    format_cells(writer, cells, entry);
    for (int i = 0; i < GGS_LOG_COLUMNS; i++) {
        if (writer->widths[i] > 0) print_cell(writer->file, writer->widths[i], columns[i].left, i == last, cells[i]);
    }
}

static void write_titles(struct ggs_log_writer * writer) {
    bool colour = ggs_terminal_colour(writer->file);
    int  last   = last_column(writer);
    if (colour) fputs("\x1b[1m", writer->file);
    for (int i = 0; i < GGS_LOG_COLUMNS; i++) {
        if (writer->widths[i] > 0)
            print_cell(writer->file, writer->widths[i], columns[i].left, i == last, columns[i].title);
    }
    if (colour) fputs("\x1b[0m", writer->file);
}

// ---- CSV ----

static void write_field(FILE * file, const char * text) {
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (const char * p = text; *p != '\0'; p++) {
        if (*p == '"') fputc('"', file);
        fputc(*p, file);
    }
    fputc('"', file);
}

static const char * source_name(const struct ggs_tensor * tensor) {
    return tensor == NULL ? "" : tensor->source == GGS_SOURCE_DISK ? "DISK" : "BUFFER";
}

// A number, or nothing.
static void write_optional(FILE * file, bool there, uint64_t number) {
    if (there) fprintf(file, "%" PRIu64, number);
    fputc(',', file);
}

static void write_csv(struct ggs_log_writer * writer, const struct ggs_log_entry * e) {
    FILE *                    file = writer->file;
    const struct ggs_tensor * t    = e->main.tensor;
    bool disk = t != NULL && t->source == GGS_SOURCE_DISK, origin = t != NULL && t->origin_file != 0;
    fprintf(file, "%" PRIu64 ",%" PRIu64 ",%" PRId64 ",", e->run, e->node, e->begin_ns);
    write_optional(file, e->token >= 0, (uint64_t) e->token);
    fprintf(file, "%s,", ggs_word_phase(e->phase));
    write_field(file, e->op);
    fputc(',', file);
    write_field(file, e->tensor);
    fputc(',', file);
    write_optional(file, e->layer >= 0, (uint64_t) e->layer);
    fprintf(file, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,", e->threads, e->read, e->written, e->disk,
            source_name(t));
    write_field(file, t == NULL ? "" : ggs_reader_string(writer->trace->reader, t->name));
    fputc(',', file);
    write_optional(file, disk, disk ? t->file_offset + e->main.first : 0);
    write_optional(file, t != NULL && t->buffer != 0, t == NULL ? 0 : t->buffer);
    write_optional(file, origin, origin ? t->origin_offset + e->main.first : 0);
    fprintf(file, "%" PRId64 ",%" PRIu64 ",%" PRIu64 "\r\n", e->end_ns - e->begin_ns, e->busy_ns, e->wait_ns);
}

// ---- JSON ----

static void write_operand(struct ggs_log_writer * writer, const char * key, const struct ggs_log_operand * operand) {
    struct ggs_json *         json = &writer->json;
    const struct ggs_tensor * t    = operand->tensor;
    if (t == NULL) {
        ggs_json_null(json, key);
        return;
    }
    ggs_json_object_inline(json, key);
    ggs_json_string(json, "name", ggs_reader_string(writer->trace->reader, t->name));
    ggs_json_string(json, "access", operand->write ? "write" : "read");
    if (operand->slot == GGS_ACCESS_RESULT) {
        ggs_json_null(json, "slot");
    } else {
        ggs_json_u64(json, "slot", operand->slot);
    }
    ggs_json_u64(json, "bytes", operand->bytes);
    ggs_json_string(json, "memory_source", source_name(t));
    if (t->source == GGS_SOURCE_DISK) {
        ggs_json_u64(json, "file", t->file);
        ggs_json_u64(json, "disk_offset", t->file_offset + operand->first);
    }
    if (t->buffer != 0) ggs_json_u64(json, "buffer_id", t->buffer);
    if (t->origin_file != 0) {
        ggs_json_u64(json, "origin_file", t->origin_file);
        ggs_json_u64(json, "origin_offset", t->origin_offset + operand->first);
    }
    ggs_json_bool(json, "exact", operand->exact);
    ggs_json_u64(json, "ranges", operand->ranges);
    ggs_json_end(json);
}

static void write_json(struct ggs_log_writer * writer, const struct ggs_log_entry * e) {
    struct ggs_json * json = &writer->json;
    ggs_json_object_inline(json, NULL);
    ggs_json_u64(json, "run", e->run);
    ggs_json_u64(json, "node", e->node);
    ggs_json_u64(json, "absorbed", e->absorbed);
    if (e->fused < 0)
        ggs_json_null(json, "fused");
    else
        ggs_json_i64(json, "fused", e->fused);
    ggs_json_i64(json, "begin_ns", e->begin_ns);
    ggs_json_i64(json, "duration_ns", e->end_ns - e->begin_ns);
    ggs_json_u64(json, "busy_ns", e->busy_ns);
    ggs_json_u64(json, "wait_ns", e->wait_ns);
    if (e->token < 0) {
        ggs_json_null(json, "token");
    } else {
        ggs_json_i64(json, "token", e->token);
    }
    ggs_json_string(json, "phase", ggs_word_phase(e->phase));
    ggs_json_string(json, "op", e->op);
    ggs_json_string(json, "tensor", e->tensor);
    if (e->layer < 0) {
        ggs_json_null(json, "layer");
    } else {
        ggs_json_i64(json, "layer", e->layer);
    }
    ggs_json_u64(json, "threads", e->threads);
    ggs_json_u64(json, "bytes_read", e->read);
    ggs_json_u64(json, "bytes_written", e->written);
    ggs_json_u64(json, "bytes_disk", e->disk);
    ggs_json_bool(json, "cut", e->cut);
    write_operand(writer, "source", &e->main);
    ggs_json_array_inline(json, "operands");
    for (uint64_t i = 0; i < e->n_operands; i++) write_operand(writer, NULL, &e->operands[i]);
    ggs_json_end(json);
    ggs_json_end(json);
}

// ---- all of them ----

void ggs_log_writer_begin(struct ggs_log_writer * writer, const struct ggs_trace * trace, FILE * file,
                          enum ggs_log_form form) {
    char id[GGS_UUID_LENGTH];
    writer->trace = trace;
    writer->file  = file;
    writer->form  = form;
    switch (form) {
        case GGS_LOG_TEXT:
            lay_out(writer, ggs_terminal_width(file));
            write_titles(writer);
            return;
        case GGS_LOG_CSV:
            fputs("run,node,begin_ns,token,phase,op,tensor,layer,threads,bytes_read,bytes_written,bytes_disk,"
                  "source,source_tensor,disk_offset,buffer_id,origin_offset,duration_ns,busy_ns,wait_ns\r\n",
                  file);
            return;
        case GGS_LOG_JSON:
            ggs_json_init(&writer->json, ggs_json_to_file, file, true);
            ggs_json_object(&writer->json, NULL);
            ggs_json_string(&writer->json, "experiment_id", ggs_verb_uuid(id, trace));
            ggs_json_array(&writer->json, "ops");
            return;
    }
}

void ggs_log_writer_add(struct ggs_log_writer * writer, const struct ggs_log_entry * entry) {
    switch (writer->form) {
        case GGS_LOG_TEXT:
            write_text(writer, entry);
            return;
        case GGS_LOG_CSV:
            write_csv(writer, entry);
            return;
        case GGS_LOG_JSON:
            write_json(writer, entry);
            return;
    }
}

int ggs_log_writer_end(struct ggs_log_writer * writer) {
    if (writer->form == GGS_LOG_JSON) {
        ggs_json_end(&writer->json);
        ggs_json_end(&writer->json);
        if (ggs_json_finish(&writer->json) != 0) return -1;
    }
    return fflush(writer->file) != 0 || ferror(writer->file) ? -1 : 0;
}
