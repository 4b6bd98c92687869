// --types: the type of each tensor.
//
//     q4_k                                    everything
//     default=q4_k,output=q6_k,attn_v=q6_k    by component, the middle part of a tensor's name
//     output=f16                              the default mix, except for the output
//
// A tensor without a given type gets the default mix: q4_k, with q6_k for the output and for attn_v
// and ffn_down of every second layer. Rows that are not a multiple of 256 get q4_0 or q8_0, and
// those that are not a multiple of 32 get f16. Norms, biases and routers are always f32. `default`
// does not apply to position_embd (f32) and attn_k_b, whose rows are as short as a head.
#pragma once

struct ggs_error;
struct ggs_synth_plan;

// Sets type and size of every tensor. `spec` may be NULL. The engine must be loaded, because block
// sizes come from the running library. GGS_USAGE with a sentence for unknown components or types,
// and for rows that do not divide into blocks.
int ggs_synth_types_apply(struct ggs_synth_plan * plan, const char * spec, struct ggs_error * error);
