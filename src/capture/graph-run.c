#include "capture/graph-run.h"

#include <stdbool.h>
#include <string.h>

#include "base/system/ticks.h"
#include "capture/capture.h"
#include "capture/device/backends.h"
#include "capture/existing.h"
#include "capture/journal.h"
#include "capture/losses.h"
#include "capture/memory/reads.h"
#include "capture/memory/residency.h"
#include "capture/memory/touched-pages.h"
#include "capture/thread.h"
#include "capture/values/values.h"
#include "capture/window.h"

static uint64_t newest_graph; // the newest graph that has run

// Identifies the graph of a run that began with a guess.
static void identify_guessed(const struct abi_graph * graph) {
    ggs_in.guessed = false;
    ggs_in.graph   = ggs_capture_recording() ? ggs_graphs_identify(graph, &ggs_engine) : NULL;
    if (ggs_in.graph == NULL && ggs_capture_recording()) ggs_capture_stop_full();
}

void ggs_graph_run_enter(const struct abi_graph * graph, void * backend, const void * caller) {
    if (ggs_in.depth++ > 0) {
        if (ggs_in.guessed) identify_guessed(graph); // a run of the CPU after all
        return;
    }
    if (__builtin_expect(__atomic_load_n(&ggs_reads_loading, __ATOMIC_RELAXED) != 0, 0) && ggs_reads_settle())
        ggs_residency_emit(GGS_MOMENT_LOAD); // for a load whose end no hook observed
    ggs_in.run     = 0;
    ggs_in.flags   = 0;
    ggs_in.guessed = false;
    if (ggs_touched_pages_wanted) ggs_touched_pages_enter();
    bool awake = ggs_capture_wake(caller); // maps the window
    if (!awake) ggs_capture_count_unrecorded();
    if (!ggs_window_enter() || !awake || graph == NULL || graph->n_nodes <= 0) return;
    if (ggs_engine.graph_n_nodes((void *) graph) != graph->n_nodes ||
        ggs_engine.graph_node((void *) graph, 0) != graph->nodes[0]) {
        ggs_capture_disable("this ggml's graph is not laid out as expected: the program runs on, recording ends here");
        return;
    }
    if (ggs_capture.attached) ggs_existing_files();
    // Identifying a graph takes 15 us, in which a device would idle. So the graph of a GPU is
    // guessed, and identified while the device computes. The guess stands only if the process dies
    // during the call. Values are read during the call and need the right graph.
    ggs_in.graph   = !ggs_values_wanted && ggs_backend_is_gpu(backend) ? ggs_graphs_guess(graph) : NULL;
    ggs_in.guessed = ggs_in.graph != NULL;
    if (!ggs_in.guessed) ggs_in.graph = ggs_graphs_identify(graph, &ggs_engine);
    if (ggs_in.graph == NULL) {
        ggs_capture_stop_full();
        return;
    }
    if (__builtin_expect(ggs_in.graph->id > __atomic_load_n(&newest_graph, __ATOMIC_RELAXED), 0)) {
        __atomic_store_n(&newest_graph, ggs_in.graph->id, __ATOMIC_RELAXED);
        ggs_capture_emit_libraries();
    }
    const char *           name = backend == NULL ? "CPU" : ggs_engine.backend_name(backend);
    struct ggs_journal_run run  = {.graph     = ggs_in.graph->id,
                                   .schedule  = ggs_in.schedule,
                                   .decode    = ggs_in.decode,
                                   .os_thread = ggs_thread_id(),
                                   .host      = backend == NULL};
    ggs_ticks_pair(&run.ticks, &run.monotonic_ns);
    struct ggs_piece pieces[] = {{&run, sizeof(run)}, {name, strlen(name) + 1}};
    if (ggs_journal_append_next(GGS_JOURNAL_RUN, pieces, 2, &run.run, GGS_COUNT_RUNS) != 0) {
        ggs_capture_stop_full();
        return;
    }
    ggs_in.run = run.run;
    ggs_in.ran = run.decode;
}

void ggs_graph_run_leave(const struct abi_graph * graph, int64_t status) {
    if (--ggs_in.depth > 0) return;
    if (ggs_touched_pages_wanted) ggs_touched_pages_leave();
    if (ggs_in.run == 0) { // not recorded; ends of recorded runs are written even into a full spool
        ggs_window_leave();
        return;
    }
    struct ggs_journal_run_end end = {.run = ggs_in.run, .status = status, .flags = ggs_in.flags};
    ggs_ticks_pair(&end.ticks, &end.monotonic_ns);
    if (ggs_in.guessed) identify_guessed(graph);
    end.graph              = ggs_in.graph == NULL ? 0 : ggs_in.graph->id;
    struct ggs_piece piece = {&end, sizeof(end)};
    ggs_journal_append(GGS_JOURNAL_RUN_END, &piece, 1);
    ggs_in.run = 0;
    if (ggs_in.schedule == 0) ggs_residency_emit(GGS_MOMENT_GRAPH);
    ggs_window_leave();
}

void ggs_graph_run_reset(void) {
    newest_graph = 0;
}

void ggs_graph_run_lost(unsigned reason, uint64_t count, uint64_t begin) {
    if (ggs_in.run == 0 || ggs_journal_append_loss(reason, count, ggs_in.run, begin, ggs_ticks_now()) == NULL)
        ggs_losses_count(reason, count);
}

__attribute__((visibility("default"))) void ggscope_note_streamed(const struct ggs_journal_streamed_use * uses,
                                                                  uint64_t                                count) {
    if (ggs_in.run == 0 || count == 0 || !ggs_capture_recording()) return;
    struct ggs_journal_streamed head     = {.run = ggs_in.run, .count = count};
    struct ggs_piece            pieces[] = {{&head, sizeof(head)}, {uses, count * sizeof(*uses)}};
    ggs_journal_append(GGS_JOURNAL_STREAMED, pieces, 2);
}
