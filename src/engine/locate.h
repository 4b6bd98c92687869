// Finds the llama.cpp libraries.
//
// The user gives a directory: a build tree, an install prefix, or a folder of shared libraries.
// File names vary too (libllama.so, libllama.so.0, libllama.v0.5.0.so). This file resolves such a
// directory to paths. It opens no library and needs no header of the engine, so programs that never
// run an engine can tell which one would be used.
#pragma once

#include <limits.h>

struct ggs_error;

struct ggs_engine_paths {
    char directory[PATH_MAX]; // the folder of libllama, absolute
    char llama[PATH_MAX];     // libllama itself
    char ggml[PATH_MAX];      // libggml, "" if it is part of libllama
    char ggml_base[PATH_MAX]; // libggml-base, "" if it is part of another library
    char backends[PATH_MAX];  // the folder of libggml-cpu*, "" if the CPU backend is part of another library
};

// Searches `directory` and the usual places below it (bin, lib, build/bin, ...). With NULL it uses,
// in this order: the directory in GGSCOPE_ENGINE (only that one if set), the engine installed with
// this program (../lib/ggscope/engine), the one this program was built with, pkg-config's llama,
// and /usr/local, /usr, /opt/llama.cpp, /opt/llama and ~/llama.cpp. Returns 0, or GGS_ABSENT with a
// sentence that lists the places.
int ggs_engine_locate(const char * directory, struct ggs_engine_paths * paths, struct ggs_error * error);

// Ranks `name` as a file name of the library `stem` ("libllama"), without opening files. Lower
// ranks are better (plain .so first): "libllama.so", "libllama.so.0" and "libllama.v0.5.0.so"
// match, "libllama-common.so" returns -1.
int ggs_engine_library_rank(const char * name, const char * stem);
