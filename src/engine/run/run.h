// `ggscope-engine run`: plain inference on libllama's C API, without any code of ggscope in its
// path.
//
// run.c           the command: options -> engine -> session -> tokens -> report
// run-options.c   the command line
// run-session.c   a loaded model with a context, a thread pool and a sampler
// run-text.c      assembles token pieces into whole UTF-8 characters
#pragma once

// argv[0] is the name in messages ("ggscope-engine run"). Returns the exit status: 0, 1 on failure,
// 2 for an invalid command line, 130 after SIGINT.
int ggs_run_main(int argc, char ** argv);
