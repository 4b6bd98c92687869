// Which experts a model's tokens chose, kept from run to run: slots are filled with the likeliest
// ones before a token asks for them.
//
// One file for each model file, $XDG_CACHE_HOME/ggscope/history-HASH.json (else below ~/.cache), of
// 1 MiB at most. What cannot be understood in it is left out.
//
// All functions: with the stream's lock held; nothing happens without settings.history.
#pragma once

struct ggs_stream;

// Gives experts of groups that are new the scores that earlier runs have left.
void ggs_history_load(struct ggs_stream * stream);

// Keeps what was chosen, of models that are still mapped.
void ggs_history_save(struct ggs_stream * stream);
