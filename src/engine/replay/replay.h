// ggscope-engine replay FILE: computes an op that ggscope extract wrote on every backend there is.
#pragma once

// argv[0] is what the usage calls the program. Returns its exit status.
int ggs_replay_main(int argc, char ** argv);
