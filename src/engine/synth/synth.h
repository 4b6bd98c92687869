// `ggscope-engine synth`: writes GGUF models of any shape with a real vocabulary and random
// weights.
//
//     ggscope-engine synth tiny -o tiny.gguf
//     ggscope-engine synth moe --experts 64 --types default=q8_0,output=f16 --split 3 -o moe.gguf
//
// Data flow:
//     synth.c             command line -> struct ggs_synth_shape
//     synth-shape.c       presets, defaults, consistency
//     synth-arch.c        shape -> struct ggs_synth_plan (the tensors) and their key-values
//     synth-types.c       --types -> the type of each tensor of the plan
//     vocabulary-files.c  the tokenizer's key-values, copied from a vocabulary GGUF
//     synth-weights.c     the bytes of each tensor, from the seed and the tensor's name alone
//     synth-write.c       plan -> one file, or several with --split
//
// The same command line gives the same bytes: nothing depends on time, threads or the CPU, and a
// tensor has the same bytes in a split model.
#pragma once

// argv[0] is the name in usage messages. Returns the exit code: 0, 1 (failed) or 2 (usage).
int ggs_synth_main(int argc, char ** argv);
