// Stores which experts a model's tokens chose, so that the next run fills slots with the likeliest
// ones before a token needs them.
//
// There is one file per model file, $XDG_CACHE_HOME/ggscope/history-HASH.json (else below
// ~/.cache), of at most 1 MiB. Invalid parts are ignored.
//
// All functions need the stream's lock, and do nothing without settings.history.
#pragma once

struct ggs_stream;

// Gives experts of new groups the scores of earlier runs.
void ggs_history_load(struct ggs_stream * stream);

// Saves the choices for models that are still mapped.
void ggs_history_save(struct ggs_stream * stream);
