// ggscope attach PID: records a running program.
#include <argp.h>
#include <limits.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/scaffold/recording-summary.h"
#include "cli/scaffold/verb.h"
#include "record/recording.h"

struct arguments {
    struct ggs_input     input;
    struct ggs_recording recording;
};
#define AT(member) offsetof(struct arguments, member)

static int attach(void * input, struct ggs_trace * traces, struct ggs_error * error) {
    struct arguments * arguments = input;
    (void) traces, (void) error;
    arguments->recording.process = arguments->input.paths[0];
    return ggs_recording_make(&arguments->recording, NULL, 0);
}

// The recording options that apply to a running program.
enum { MOST = 16 };
static void choose(struct ggs_option * chosen, const struct ggs_option * options, const char * const * names) {
    size_t n = 0;
    for (; options->name != NULL; options++)
        for (const char * const * name = names; *name != NULL; name++)
            if (strcmp(*name, options->name) == 0 && n + 1 < MOST) chosen[n++] = *options;
    chosen[n] = (struct ggs_option){0};
}

int cmd_attach(int argc, char ** argv) {
    static const struct ggs_option own[] = {GGS_OPTION("model", 'm', "FILE", "The model file, if it cannot be detected",
                                                       0, AT(recording.model), ggs_set_path, "a file"),
                                            {0}};
    static const char * const      recording_names[] = {"output",  "force", "max-size", "policy",   "follow", "spool",
                                                        "gpu-ops", "for",   "steps",    "requests", "quiet",  NULL};
    static const char * const      machine_names[]   = {"faults", "no-faults", "residency", "io", NULL};
    static struct ggs_option       recording[MOST], machine[MOST];
    choose(recording, ggs_recording_options, recording_names);
    choose(machine, ggs_machine_options, machine_names);
    static const struct ggs_verb verb = {
        .operands = "PID|NAME",
        .least    = 1,
        .most     = 1,
        .options  = own,
        .more     = {{"Recording:", recording, AT(recording)}, {"The machine:", machine, AT(recording)}},
        .run      = attach,
        .text =
            "Record a running program, given by its process id or its name. One of its threads stops, usually for less "
            "than a millisecond. Ctrl-C, ggscope control DIR stop, or the end of --for, --steps or --requests detach, "
            "and the program runs on. Its standard error says once that it is recorded."};
    struct arguments arguments = {.recording = {.summarise = ggs_summary_print}};
    return ggs_verb_run(&verb, argc, argv, &arguments);
}
