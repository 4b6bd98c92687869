// Accepts the options of llama.cpp's programs in the runner. Some have one dash and several
// letters, which argp would parse as "-n gl" and "-o t", so words are rewritten before argp sees
// them.
#pragma once

struct ggs_error;

// Replaces llama.cpp's names by the runner's (-ngl by --gpu-layers, -c by --ctx, ...) and removes
// options that are the runner's default (-no-cnv, ...), up to "--". The word after an option that
// takes a value stays. An option that the runner lacks is GGS_USAGE, and the sentence says what to
// type instead.
int ggs_spell_options(int * argc, char ** argv, struct ggs_error * error);
