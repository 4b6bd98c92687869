// ggscope-engine replay FILE: computes an op written by ggscope extract on every available backend.
#pragma once

// argv[0] is the program's name in the usage. Returns the exit status.
int ggs_replay_main(int argc, char ** argv);
