// llama.cpp spells some options with one dash and several letters. argp reads "-ngl 99" as "-n gl" and "-ot x" as "-o t":
// so they are rewritten before it sees them.
#pragma once

// Replaces -ngl (and --n-gpu-layers), -dev, -sm, -mg, -ot and -fa in argv by --gpu-layers, --device, --split-mode, --main-gpu,
// --override-tensor and --flash-attn,
// up to "--". The word behind -p, --prompt, -f or --file is a value and stays.
void ggs_spell_options(int argc, char ** argv);
