#include <inttypes.h>
#include <string.h>

#include "analyze/walk/words.h"
#include "answer/answer.h"
#include "base/number.h"
#include "base/system/terminal.h"
#include "cli/log/cmd-log.h"
#include "cli/scaffold/verb.h"

// ---- text: fixed columns, because entries are printed as they come ----

enum column { NUMBER, TIME, TOKEN, OP, TENSOR, LAYER, THREADS, BYTES, SOURCE, DURATION, WAIT };

static const struct {
    const char * title;
    bool         left;
} columns[GGS_LOG_CELLS] = {
    [NUMBER] = {"#", false},     [TIME] = {"time", false},     [TOKEN] = {"token", false}, [OP] = {"op", true},
    [TENSOR] = {"tensor", true}, [LAYER] = {"L", false},       [THREADS] = {"T", false},   [BYTES] = {"bytes", false},
    [SOURCE] = {"source", true}, [DURATION] = {"took", false}, [WAIT] = {"wait", false},
};

// The letter before the number of a step: P, G, M, V.
static char step_letter(uint64_t phase) {
    return phase == GGS_PHASE_NONE || phase == GGS_PHASE_GRAPH ? ' ' : ggs_word_phase(phase)[0];
}

static unsigned digits(uint64_t number) {
    unsigned n = 1;
    while (number >= 10) number /= 10, n++;
    return n;
}

static unsigned at_least(unsigned a, unsigned b) {
    return a > b ? a : b;
}

// Chooses column widths from the trace's tables, without a walk. Columns that do not fit are
// omitted, least useful first; the tensor's name takes the rest.
static void lay_out(struct ggs_log_writer * writer, unsigned width) {
    static const enum column order[] = {NUMBER, THREADS, WAIT};
    enum { LEAST_NAME = 14, MOST_NAME = 48, WIDE = 110, PIPED = 140 };
    const struct ggs_trace * trace  = writer->trace;
    struct ggs_reader *      reader = trace->reader;
    unsigned *               w      = writer->widths;
    uint64_t                 size = 0, nodes = 0;
    if (width == 0) width = PIPED;
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
        for (int i = 0; i < GGS_LOG_CELLS; i++) used += w[i] == 0 ? 0 : w[i] + 1;
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
        snprintf(buffer, GGS_NUMBER_LENGTH, "%c%" PRIu64, t->source == GGS_SOURCE_VRAM ? 'V' : 'B', t->buffer);
    } else {
        snprintf(buffer, GGS_NUMBER_LENGTH, "B?");
    }
}

enum { SIZE = 200 };

// `names`: of op and tensor, which may be longer than a cell.
static void format_cells(const struct ggs_log_writer * writer, char cells[][SIZE], const char * names[2],
                         const struct ggs_log_entry * e) {
    uint64_t taken = e->end_ns > e->begin_ns ? (uint64_t) (e->end_ns - e->begin_ns) : 0;
    snprintf(cells[NUMBER], SIZE, "%" PRIu64 ".%" PRIu64, e->run, e->node);
    // The digits are limited to the width of the cell.
    double seconds = (double) (e->opaque && e->submit_ns >= 0 ? e->submit_ns : e->begin_ns) / 1e9;
    snprintf(cells[TIME], SIZE, "%.*f", seconds < 10 ? 6 : seconds < 100 ? 5 : seconds < 1000 ? 4 : 3, seconds);
    if (e->opaque && e->submit_ns < 0) snprintf(cells[TIME], SIZE, "-");
    if (e->token < 0) {
        snprintf(cells[TOKEN], SIZE, "%s", e->phase == GGS_PHASE_WARMUP ? "W" : "-");
    } else {
        snprintf(cells[TOKEN], SIZE, "%c%" PRId64, step_letter(e->phase), e->token);
    }
    names[0] = ggs_verb_fit(cells[OP], SIZE, e->op, writer->widths[OP]);
    names[1] = ggs_verb_fit(cells[TENSOR], SIZE, e->tensor, writer->widths[TENSOR]);
    snprintf(cells[LAYER], SIZE, e->layer < 0 ? "-" : "%d", e->layer);
    snprintf(cells[THREADS], SIZE, "%" PRIu64, e->threads);
    short_bytes(cells[BYTES], e->read + e->written);
    short_source(cells[SOURCE], &e->main);
    if (e->cut || e->fused >= 0 || e->opaque) {
        snprintf(cells[DURATION], SIZE, "%s", e->cut ? "cut" : e->fused >= 0 ? "fused" : "-");
        snprintf(cells[WAIT], SIZE, "-");
    } else {
        short_time(cells[DURATION], taken);
        if (e->unwaited)
            snprintf(cells[WAIT], SIZE, "-");
        else
            short_time(cells[WAIT], e->wait_ns);
    }
}

static int last_column(const struct ggs_log_writer * writer) {
    int last = 0;
    for (int i = 0; i < GGS_LOG_CELLS; i++) {
        if (writer->widths[i] > 0) last = i;
    }
    return last;
}

static void write_text(struct ggs_log_writer * writer, const struct ggs_log_entry * entry) {
    char         cells[GGS_LOG_CELLS][SIZE];
    const char * names[2];
    int          last = last_column(writer);
    format_cells(writer, cells, names, entry);
    for (int i = 0; i < GGS_LOG_CELLS; i++) {
        const char * text = i == OP ? names[0] : i == TENSOR ? names[1] : cells[i];
        if (writer->widths[i] > 0) print_cell(writer->file, writer->widths[i], columns[i].left, i == last, text);
    }
}

static void write_titles(struct ggs_log_writer * writer) {
    bool colour = ggs_terminal_colour(writer->file);
    int  last   = last_column(writer);
    if (colour) fputs("\x1b[1m", writer->file);
    for (int i = 0; i < GGS_LOG_CELLS; i++) {
        if (writer->widths[i] > 0)
            print_cell(writer->file, writer->widths[i], columns[i].left, i == last,
                       i == TOKEN && writer->trace->tokenless ? "step" : columns[i].title);
    }
    if (colour) fputs("\x1b[0m", writer->file);
}

// ---- CSV: its columns are the JSON's keys ----

static const char csv_titles[] =
    "row,run,node,token,op,name,layer,absorbed,fused_with,threads,bytes_read,bytes_written,bytes_disk,cut,phase,begin_ns,"
    "duration_ns,busy_ns,wait_ns,submit_ns,host_ns,source_name,source,file,file_offset,buffer,buffer_offset,origin_file,origin_offset\r\n";

void ggs_csv_field(FILE * file, const char * text, const char * after) {
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    if (quoted) fputc('"', file);
    for (const char * p = text; *p != '\0'; p++) {
        if (quoted && *p == '"') fputc('"', file);
        fputc(*p, file);
    }
    if (quoted) fputc('"', file);
    fputs(after, file);
}

void ggs_csv_natural(FILE * file, int64_t number, const char * after) {
    if (number >= 0) fprintf(file, "%" PRId64, number);
    fputs(after, file);
}

static void write_place(FILE * file, const struct ggs_tensor * t, uint64_t first) {
    bool disk = t != NULL && t->source == GGS_SOURCE_DISK, buffer = t != NULL && t->buffer != 0;
    bool origin = t != NULL && !disk && t->origin_file != 0;
    fprintf(file, "%s,", t == NULL ? "" : ggs_word_source(t->source));
    ggs_csv_natural(file, disk ? (int64_t) t->file : -1, ",");
    ggs_csv_natural(file, disk ? (int64_t) (t->file_offset + first) : -1, ",");
    ggs_csv_natural(file, buffer ? (int64_t) t->buffer : -1, ",");
    ggs_csv_natural(file, buffer ? (int64_t) (t->buffer_offset + first) : -1, ",");
    ggs_csv_natural(file, origin ? (int64_t) t->origin_file : -1, ",");
    ggs_csv_natural(file, origin ? (int64_t) (t->origin_offset + first) : -1, "\r\n");
}

static void write_csv(struct ggs_log_writer * writer, uint64_t row, const struct ggs_log_entry * e) {
    FILE *                    file = writer->file;
    const struct ggs_tensor * t    = e->main.tensor;
    fprintf(file, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", row, e->run, e->node);
    ggs_csv_natural(file, e->token, ",");
    ggs_csv_field(file, e->op, ",");
    ggs_csv_field(file, e->tensor, ",");
    ggs_csv_natural(file, e->layer, ",");
    fprintf(file, "%" PRIu64 ",", e->absorbed);
    ggs_csv_natural(file, e->fused, ",");
    fprintf(file, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%d,%s,", e->threads, e->read, e->written, e->disk,
            e->cut, ggs_word_phase(e->phase));
    ggs_csv_natural(file, e->opaque ? -1 : e->begin_ns, ",");
    ggs_csv_natural(file, e->opaque ? -1 : e->end_ns - e->begin_ns, ",");
    ggs_csv_natural(file, e->opaque ? -1 : (int64_t) e->busy_ns, ",");
    ggs_csv_natural(file, e->opaque || e->unwaited ? -1 : (int64_t) e->wait_ns, ",");
    ggs_csv_natural(file, e->submit_ns, ",");
    ggs_csv_natural(file, e->host_ns, ",");
    ggs_csv_field(file, t == NULL ? "" : ggs_reader_string(writer->trace->reader, t->name), ",");
    write_place(file, t, e->main.first);
}

// ---- interface ----

void ggs_log_writer_begin(struct ggs_log_writer * writer, const struct ggs_trace * trace, uint64_t of, FILE * file,
                          enum ggs_log_form form) {
    writer->trace = trace;
    writer->file  = file;
    writer->form  = form;
    writer->total = -1;
    switch (form) {
        case GGS_LOG_TEXT:
            lay_out(writer, ggs_terminal_limit(file));
            write_titles(writer);
            return;
        case GGS_LOG_CSV:
            fputs(csv_titles, file);
            return;
        case GGS_LOG_JSON:
            ggs_json_init(&writer->json, ggs_json_to_file, file, true);
            ggs_log_write_begin(&writer->json, trace, of, 0);
            return;
    }
}

void ggs_log_writer_add(struct ggs_log_writer * writer, uint64_t row, const struct ggs_log_entry * entry) {
    switch (writer->form) {
        case GGS_LOG_TEXT:
            write_text(writer, entry);
            return;
        case GGS_LOG_CSV:
            write_csv(writer, row, entry);
            return;
        case GGS_LOG_JSON:
            ggs_log_write_row(&writer->json, writer->trace, row, entry, true);
            return;
    }
}

int ggs_log_writer_end(struct ggs_log_writer * writer) {
    if (writer->form == GGS_LOG_JSON) {
        ggs_log_write_end(&writer->json, writer->total);
        if (ggs_json_finish(&writer->json) != 0) return -1;
    }
    return fflush(writer->file) != 0 || ferror(writer->file) ? -1 : 0;
}
