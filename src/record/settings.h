// A whole experiment in a file, for `ggscope run --settings FILE`:
//
//     {
//       "experiment": {"model_path": "models/tiny.gguf", "prompt": "Hello",
//                      "tokens_to_generate": 8, "threads": 2},
//       "paths": {"engine": "llama.cpp/build", "output_dir": "experiments/hello"}
//     }
//
// and the form that users of tensor-tracing have, which names the program to be recorded:
//
//     {
//       "paths": {"llama_cpp_dir": "llama.cpp", "llama_binary": "llama.cpp/build/bin/llama-cli",
//           "webui_data_dir": "webui/data"},
//       "temp_files": {"buffer_stats": "/tmp/buffer_stats.jsonl", "graphs_dir": "/tmp/graphs"},
//       "experiment": {"model_path": "models/tiny.gguf", "prompt": "Hello",
//                      "tokens_to_generate": 8}
//     }
//
// Files named in temp_files are written after the run; its other keys are ignored.
//
// Relative paths start at the folder of the file; model_path starts at llama_cpp_dir if that is
// given. llama_binary may start at either. The names that llama.cpp's own programs have for a key
// (n_predict, n_ctx, ...) are known, and
// comments (two slashes to the end of a line) are skipped.
#pragma once

#include "engine/runner-options.h"

struct ggs_error;

enum ggs_setting { // the runner's come first: enum ggs_runner_option
    GGS_SETTING_ENGINE = GGS_RUN_OPTIONS,
    GGS_SETTING_OUTPUT,
    GGS_SETTING_LLAMA_DIRECTORY,
    GGS_SETTING_LLAMA_BINARY,
    GGS_SETTING_WEBUI_DIRECTORY,
    GGS_SETTING_BUFFER_STATS,
    GGS_SETTING_GRAPHS_DIRECTORY,
    GGS_SETTINGS,
};

// Values as text for a command line; NULL if missing. A switch that is on is "1".
struct ggs_settings {
    char * values[GGS_SETTINGS];
};

// Reads a file. Errors name the key, and the nearest known one for an unknown key; syntax errors
// name the line.
int  ggs_settings_read(struct ggs_settings * settings, const char * path, struct ggs_error * error);
void ggs_settings_release(struct ggs_settings * settings);

// Reads the user's config file, $XDG_CONFIG_HOME/ggscope/config (~/.config/ggscope/config), in the
// same format. A missing file is empty. Its output_dir is the folder for recordings, not a
// recording.
int ggs_settings_config(struct ggs_settings * settings, struct ggs_error * error);
// Adds missing values from `defaults`; of prompt and prompt_file, either one of its own excludes
// both.
int ggs_settings_complete(struct ggs_settings * settings, const struct ggs_settings * defaults,
                          struct ggs_error * error);
// The default folder for recordings: the config file's output_dir, else "experiments".
// folder[PATH_MAX].
int ggs_settings_folder(char * folder, struct ggs_error * error);
