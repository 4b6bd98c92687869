// `ggscope-engine run`: plain inference on the C API of libllama, with nothing of ggscope in its
// way.
//
// run.c           the command: options -> engine -> session -> tokens -> report
// run-options.c   the command line
// run-session.c   a loaded model with a context, a thread pool and a sampler
// run-text.c      token pieces in, whole UTF-8 characters out
#pragma once

// argv[0] is the name to show in messages ("ggscope-engine run"). Returns the exit status: 0, 1 if
// the work failed, 2 for a wrong command line, 130 if SIGINT ended it.
int ggs_run_main(int argc, char ** argv);
