// Where the llama.cpp libraries are.
//
// A user points at an engine with a directory: a build tree, an install prefix, or a plain folder
// of shared libraries. The names differ as well (libllama.so, libllama.so.0, libllama.v0.5.0.so).
// This file turns such a directory into paths. It opens no library and needs no header of the
// engine, so that programs which never run one can still say which one they would use.
#pragma once

#include <limits.h>

struct ggs_error;

struct ggs_engine_paths {
    char directory[PATH_MAX]; // the folder that holds libllama, absolute
    char llama[PATH_MAX];     // libllama itself
    char ggml[PATH_MAX];      // libggml, "" if it is part of libllama
    char ggml_base[PATH_MAX]; // libggml-base, "" if it is part of another one
    char backends[PATH_MAX];  // the folder that holds libggml-cpu*, "" if the CPU backend is part of another one
};

// Looks in `directory` and in the usual places below it (bin, lib, build/bin, ...). With NULL it
// takes, in this order, the directory that GGSCOPE_ENGINE names (then only that one), the engine
// installed beside this program (../lib/ggscope/engine), the one this program was built with, what
// pkg-config knows as llama, and what lies below /usr/local, /usr, /opt/llama.cpp, /opt/llama and
// ~/llama.cpp. Returns 0, or GGS_ABSENT with a sentence that says where it looked.
int ggs_engine_locate(const char * directory, struct ggs_engine_paths * paths, struct ggs_error * error);

// Opens no file: is `name` a file name of the library `stem` ("libllama")? True for "libllama.so",
// "libllama.so.0" and "libllama.v0.5.0.so", false for "libllama-common.so". The lower the returned
// rank, the better the name (plain .so first); -1 for no match.
int ggs_engine_library_rank(const char * name, const char * stem);
