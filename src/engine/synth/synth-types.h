// --types: which tensor is stored as which type.
//
//     q4_k                                    everything
//     default=q4_k,output=q6_k,attn_v=q6_k    by component, the middle of a tensor's name
//     output=f16                              the usual mix, but for the output
// If nothing is said for a tensor it gets the usual mix: q4_k, with q6_k for the output and for
// attn_v and ffn_down of every second layer; rows that are no multiple of 256 get q4_0 or q8_0
// instead, those that are no multiple of 32 f16. Norms, biases and routers are always f32.
// `default` leaves out two components: position_embd (f32) and attn_k_b, whose rows are as short as
// a head.
#pragma once

struct ggs_error;
struct ggs_synth_plan;

// Sets type and size of every tensor. `spec` may be NULL. The engine must be loaded: block sizes
// are the running library's. GGS_USAGE with a sentence for unknown components or types, and for
// rows that cannot be cut into blocks.
int ggs_synth_types_apply(struct ggs_synth_plan * plan, const char * spec, struct ggs_error * error);
