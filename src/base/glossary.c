#include "base/glossary.h"

#include <stddef.h>
#include <strings.h>

// clang-format off
const struct ggs_term ggs_glossary[] = {
    {"absorbed", "A node computed together with another one (fused). It has no time of its own."},
    {"access", "Byte ranges that one op reads or writes of one operand."},
    {"addressed", "Named by an op as its operand, whether the bytes were in memory or had to come from the disk."},
    {"backend", "The part of ggml that computes graphs on one kind of hardware: CPU, Vulkan, CUDA and others."},
    {"BUFFER", "Memory of the process outside of mapped files: KV cache, compute buffers, copied weights."},
    {"context", "One llama_context. A draft model and its target are two."},
    {"coverage", "nodes = executed + absorbed + empty + skipped + opaque + unseen. Unseen must be 0."},
    {"DISK", "An address inside a mapping of a file. Reading it touches the disk only if the page is not resident."},
    {"empty", "A node that computes nothing: view, reshape, permute, transpose."},
    {"experiment", "A directory with one recording: trace, metadata, output."},
    {"graph run", "One computation of one graph by one backend: mostly one per token, more if a batch is cut into "
                  "parts or spread over devices."},
    {"inner wait", "Waiting inside an op: threads that meet at a barrier within a matrix product."},
    {"lane", "Where op runs follow each other: a CPU thread, or a queue of a device."},
    {"loss", "Records that could not be kept, counted with their reason."},
    {"not seen", "The value of what no hook observed. Never shown as 0, never guessed."},
    {"op", "One node executed in one graph run. Bytes are counted per op."},
    {"op run", "One op on one thread, with begin, end and wait: an op that two threads compute has two op runs."},
    {"opaque", "A node that ran on a backend seen only as a whole graph. It has no time of its own."},
    {"origin", "File and offset that a copied weight came from."},
    {"phase", "What a step does: PROMPT, GENERATE, MIXED, VERIFY (checks drafts), WARMUP, or GRAPH (no tokens)."},
    {"repack", "The engine copies weights at load into a layout that its kernels prefer. They are then BUFFER."},
    {"request", "What one sequence computes from its first prompt token to its last generated token."},
    {"routing weight", "The value that multiplies the output of a chosen expert."},
    {"seal", "Turn a spool into trace.ggs."},
    {"slot", "A server's place for one conversation; in llama.cpp, one sequence of the context."},
    {"spool", "Segments in shared memory that the capture library writes while the program runs."},
    {"step", "Step 0 is the prompt; each decode of a generated token is one more. Users say token."},
    {"VRAM", "Memory of a device."},
    {"wait", "Time of a thread in the barrier after its share of an op."},
    {"window", "The span in which graph runs are recorded (ggscope control), or have op times (--gpu-ops)."},
    {NULL, NULL},
};
// clang-format on

const struct ggs_term * ggs_glossary_find(const char * word) {
    for (const struct ggs_term * term = ggs_glossary; term->word != NULL; term++)
        if (strcasecmp(term->word, word) == 0) return term;
    return NULL;
}
