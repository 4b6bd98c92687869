// Runs the recorded command again, with a dump of one op.
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/explain/invocation.h"
#include "analyze/values/value-ops.h"
#include "base/error.h"
#include "base/secrets.h"
#include "cli/extract/extract.h"
#include "trials/attempt.h"
#include "trials/child.h"

enum { MOST_WORDS = 512 };

// ---- the command ----

static int check_command(const struct ggs_invocation * program, struct ggs_error * error) {
    if (program->n == 0)
        return ggs_fail(error, GGS_ABSENT,
                        "the recording has no command that could run again: record with "
                        "--values-dump");
    if (program->n > MOST_WORDS - 16)
        return ggs_fail(error, GGS_UNSUPPORTED, "the recorded command has %u words, too many to run again", program->n);
    for (unsigned i = 0; i < program->n; i++) {
        if (strstr(program->words[i], GGS_SECRET) != NULL)
            return ggs_fail(error, GGS_UNSUPPORTED,
                            "word %u of the recorded command is hidden, so it cannot run again: record with "
                            "--values-dump",
                            i + 1);
    }
    return 0;
}

static int run(const struct ggs_invocation * program, const char * pattern, const char * directory, int log,
               struct ggs_error * error) {
    const char *         words[MOST_WORDS] = {"ggscope",       "record", "-q", "--force", "--values",
                                              "--values-dump", pattern,  "-o", directory, "--"};
    struct ggs_halt      halt;
    struct ggs_child_end end   = {0};
    struct ggs_child     child = {.path = "/proc/self/exe", .words = words, .log = log};
    char                 line[256];
    memcpy(words + 10, program->words, program->n * sizeof(words[0]));
    ggs_halt_begin(&halt);
    int status = ggs_child_run(&halt, &child, &end, error);
    ggs_halt_end(&halt);
    if (status != 0 || (WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0)) return status;
    ggs_child_log_line(log, line, sizeof(line));
    return ggs_fail(error, GGS_UNSUPPORTED, "the recorded command failed when it ran again: %s",
                    line[0] == '\0' ? "it said nothing" : line);
}

int ggs_extract_again(const struct ggs_extract * e, char directory[PATH_MAX], struct ggs_error * error) {
    const char *          text = ggs_reader_experiment(e->trace->reader);
    struct ggs_json_value root = ggs_json_read(text, strlen(text));
    struct ggs_invocation program;
    char                  folder[PATH_MAX] = ".", pattern[256];
    const char *          home             = getenv("TMPDIR");
    ggs_invocation_read(&program, ggs_json_member(root, "command"), ggs_json_member(root, "executable"));
    ggs_json_to_buffer(ggs_json_member(root, "working_directory"), folder, sizeof(folder));
    ggs_extract_pattern(e->key, pattern, sizeof(pattern));
    snprintf(directory, PATH_MAX, "%s/ggscope-extract-XXXXXX", home == NULL ? "/tmp" : home);
    int status = check_command(&program, error);
    int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), log = memfd_create("ggscope-extract", MFD_CLOEXEC);
    if (status == 0 && mkdtemp(directory) == NULL) status = ggs_fail_errno(error, "cannot make %s", directory);
    if (status != 0) directory[0] = '\0';
    if (status == 0 && (here < 0 || log < 0 || chdir(folder) != 0))
        status = ggs_fail_errno(error, "cannot run the recorded command again in %s", folder);
    if (status == 0) status = run(&program, pattern, directory, log, error);
    if (here >= 0 && fchdir(here) != 0 && status == 0) status = ggs_fail_errno(error, "cannot go back to the folder");
    if (here >= 0) close(here);
    if (log >= 0) close(log);
    ggs_invocation_release(&program);
    return status;
}

// ---- inputs and outputs ----

// Marks the nodes whose outputs the group reads. Returns how many.
static unsigned mark_inputs(const struct ggs_extract * e, const struct ggs_value_ops * ops, bool * wanted) {
    unsigned n = 0;
    for (unsigned i = 0; i < e->n_nodes; i++) {
        const struct ggs_value_node * known = &ops->nodes[ops->index[e->nodes[i]]];
        for (unsigned s = 0; s < known->n_sources; s++) {
            for (uint64_t k = 0; known->sources[s].op != 0 && k < ops->n_index; k++) {
                if (ops->index[k] != known->sources[s].op - 1 || ops->nodes[ops->index[k]].empty) continue;
                n += !wanted[k];
                wanted[k] = true;
            }
        }
    }
    for (unsigned i = 0; i < e->n_nodes; i++) {
        n -= wanted[e->nodes[i]];
        wanted[e->nodes[i]] = false;
    }
    return n;
}

struct hashes {
    uint64_t rows, hash;
};

// The known values of the group.
struct group {
    unsigned      input_nodes;
    struct hashes inputs, outputs;
};

static bool is_of_group(const struct ggs_extract * e, uint64_t node) {
    for (unsigned i = 0; i < e->n_nodes; i++)
        if (e->nodes[i] == node) return true;
    return false;
}

static void add_hash(struct hashes * hashes, uint64_t hash) {
    hashes->hash = (hashes->hash ^ hash) * 0x9e3779b97f4a7c15ull;
    hashes->rows++;
}

static int read_group(const struct ggs_extract * e, struct group * group, struct ggs_error * error) {
    struct ggs_value_ops ops    = {.trace = e->trace};
    struct ggs_cursor *  cursor = NULL;
    struct ggs_op_value  value;
    *group        = (struct group){0};
    int    status = ggs_value_ops_graph(&ops, &e->run, error);
    bool * wanted = status != 0 ? NULL : calloc(ops.n_index + 1, sizeof(*wanted));
    if (status == 0 && wanted == NULL) status = ggs_fail_memory(error);
    if (status == 0) group->input_nodes = mark_inputs(e, &ops, wanted);
    if (status == 0) status = ggs_cursor_open(&cursor, e->trace->reader, GGS_TABLE_OP_VALUES, error);
    if (status == 0) ggs_cursor_keys(cursor, (int64_t) e->run.run, (int64_t) e->run.run);
    while (status == 0 && (status = ggs_cursor_next(cursor, &value, error)) > 0) {
        status = 0;
        if (value.run != e->run.run || value.node >= ops.n_index || value.flags != 0) continue;
        if (wanted[value.node]) add_hash(&group->inputs, value.hash);
        if (is_of_group(e, value.node)) add_hash(&group->outputs, value.hash);
    }
    ggs_cursor_close(cursor);
    free(wanted);
    ggs_value_ops_release(&ops);
    return status < 0 ? status : 0;
}

// True if nothing is known of one, or they are the same.
static bool agree(const struct hashes * a, const struct hashes * b) {
    return a->rows == 0 || (a->rows == b->rows && a->hash == b->hash);
}

int ggs_extract_compare(const struct ggs_extract * first, const struct ggs_extract * second, bool * known,
                        bool * same_output, struct ggs_error * error) {
    struct group a, b;
    int          status = read_group(first, &a, error);
    if (status == 0) status = read_group(second, &b, error);
    if (status != 0) return status;
    *known       = a.input_nodes == 0 || a.inputs.rows > 0;
    *same_output = b.outputs.rows == 0 || agree(&a.outputs, &b.outputs);
    if (first->run.step == second->run.step && agree(&a.inputs, &b.inputs)) return 0;
    return ggs_fail(error, GGS_UNSUPPORTED,
                    "the inputs of %s differ when the command runs again: record it with --values-dump", first->key);
}
