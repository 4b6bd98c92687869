// The options of llama.cpp's own programs, for the runner: people type what they know. Some have
// one dash and several letters, which argp reads as "-n gl" and "-o t"; so words are rewritten
// before it sees them.
#pragma once

struct ggs_error;

// Replaces llama.cpp's names by the runner's (-ngl by --gpu-layers, -c by --ctx, ...), takes out
// what the runner does anyway (-no-cnv, ...), up to "--". The word behind an option that takes a
// text is a value and stays. An option that the runner does not have is GGS_USAGE, and the sentence
// says what to type instead.
int ggs_spell_options(int * argc, char ** argv, struct ggs_error * error);
