#include "answer/notes.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/error.h"
#include "base/system/file.h"
#include "base/system/terminal.h"

// True if the line begins with a time such as "2026-11-15T20:42:31Z".
static bool has_time(const char * line) {
    static const char form[] = "dddd-dd-ddTdd:dd:ddZ";
    for (size_t i = 0; form[i] != '\0'; i++) {
        bool digit = line[i] >= '0' && line[i] <= '9';
        if (form[i] == 'd' ? !digit : line[i] != form[i]) return false;
    }
    return line[sizeof(form) - 1] == ' ' || line[sizeof(form) - 1] == '\0';
}

static int parse_lines(struct ggs_notes * notes, struct ggs_error * error) {
    uint64_t capacity = 0;
    for (char *line = notes->data, *next; line != NULL; line = next) {
        struct ggs_note note = {0};
        next                 = strchr(line, '\n');
        if (next != NULL) *next++ = '\0';
        if (has_time(line)) {
            memcpy(note.when, line, sizeof(note.when) - 1);
            line += sizeof(note.when) - 1;
        }
        note.text = line + strspn(line, " \t\r");
        if (note.text[0] != '\0' && !ggs_array_push(notes->note, notes->n, capacity, note))
            return ggs_fail_memory(error);
    }
    return 0;
}

int ggs_notes_read(struct ggs_notes * notes, const char * directory, struct ggs_error * error) {
    char               path[PATH_MAX];
    struct ggs_mapping file;
    *notes = (struct ggs_notes){0};
    if (snprintf(path, sizeof(path), "%s/" GGS_NOTES_FILE, directory) >= (int) sizeof(path)) return 0;
    struct stat info;
    if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode))
        return ggs_fail(error, GGS_FORMAT, "%s is a link: notes are kept in a file of the experiment", path);
    errno      = 0;
    int status = ggs_mapping_open(&file, path, error);
    if (status < 0) return errno == ENOENT || errno == ENOTDIR ? 0 : status;
    if (file.size > GGS_NOTES_MOST)
        status = ggs_fail(error, GGS_FORMAT, "%s is larger than 1 MiB, the most that notes may take", path);
    else if ((notes->data = calloc(1, (size_t) file.size + 1)) == NULL)
        status = ggs_fail_memory(error);
    else if (file.size > 0)
        memcpy(notes->data, file.data, (size_t) file.size);
    ggs_mapping_close(&file);
    if (status == 0) status = parse_lines(notes, error);
    if (status < 0) ggs_notes_release(notes);
    return status;
}

void ggs_notes_disarm(struct ggs_notes * notes) {
    for (uint64_t i = 0; i < notes->n; i++) ggs_terminal_disarm(notes->note[i].text);
}

void ggs_notes_release(struct ggs_notes * notes) {
    free(notes->note);
    free(notes->data);
    *notes = (struct ggs_notes){0};
}

static const struct ggs_field note_fields[] = {
    GGS_FIELD_OR_NULL(struct ggs_note, when, "time_utc", "when it was written; null if that is not known"),
    GGS_FIELD(struct ggs_note, text, "text"),
    {0},
};
static const struct ggs_object note = {.fields = note_fields};

static const struct ggs_field fields[] = {
    GGS_ROWS(struct ggs_notes, note, n, "notes", &note, "what people noted, oldest first (ggscope note)"),
    {0},
};
const struct ggs_object ggs_notes_object = {
    .name = "Notes", .text = "What people noted about an experiment.", .fields = fields, .lines = true};
