# Generates a few tokens through ctypes, which finds the engine's functions with dlsym: no hook sees its calls of llama_decode.
#     ctypes-host.py LIBRARIES MODEL SIZES TOKENS [PROBES]     SIZES: what `host sizes` prints; TOKENS: of the prompt; PROBES: [[1, 2], ...], decoded
#                                                              first, with the memory cleared after each
# Prints a JSON line per decode, as host does.
import ctypes
import glob
import json
import sys

directory, model_path, sizes = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])


def library(stem):
    return ctypes.CDLL(sorted(glob.glob(f"{directory}/{stem}.so*") + glob.glob(f"{directory}/{stem}.v*.so"))[0])


class ModelParams(ctypes.Structure):
    _fields_ = [("words", ctypes.c_uint64 * (sizes["model_params"] // 8))]


class ContextParams(ctypes.Structure):
    _fields_ = [("words", ctypes.c_uint64 * (sizes["context_params"] // 8))]


class Batch(ctypes.Structure):
    _fields_ = [("n_tokens", ctypes.c_int32)] + [(name, ctypes.c_void_p) for name in ("token", "embd", "pos", "n_seq_id", "seq_id", "logits")]


def put(params, field, value):
    ctypes.memmove(ctypes.addressof(params) + sizes[field], ctypes.byref(ctypes.c_int32(value)), 4)


ggml, llama = library("libggml"), library("libllama")
ggml.ggml_backend_load_all_from_path(directory.encode())
llama.llama_model_default_params.restype = ModelParams
llama.llama_context_default_params.restype = ContextParams
llama.llama_batch_get_one.restype = Batch
for name in ("llama_model_load_from_file", "llama_init_from_model", "llama_model_get_vocab"):
    getattr(llama, name).restype = ctypes.c_void_p
llama.llama_model_load_from_file.argtypes = [ctypes.c_char_p, ModelParams]
llama.llama_init_from_model.argtypes = [ctypes.c_void_p, ContextParams]
llama.llama_decode.argtypes = [ctypes.c_void_p, Batch]
llama.llama_get_logits_ith.argtypes = [ctypes.c_void_p, ctypes.c_int32]
llama.llama_get_logits_ith.restype = ctypes.POINTER(ctypes.c_float)
for name in ("llama_free", "llama_model_free", "llama_model_get_vocab", "llama_vocab_n_tokens"):
    getattr(llama, name).argtypes = [ctypes.c_void_p]

model = llama.llama_model_load_from_file(model_path.encode(), llama.llama_model_default_params())
params = llama.llama_context_default_params()
put(params, "n_ctx", 1024)
put(params, "n_threads", 1)
put(params, "n_threads_batch", 1)
context = llama.llama_init_from_model(model, params)
vocabulary = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))

llama.llama_get_memory.restype = ctypes.c_void_p
llama.llama_get_memory.argtypes = [ctypes.c_void_p]
llama.llama_memory_clear.argtypes = [ctypes.c_void_p, ctypes.c_bool]
for probe in json.loads(sys.argv[5]) if len(sys.argv) > 5 else []:
    if llama.llama_decode(context, llama.llama_batch_get_one((ctypes.c_int32 * len(probe))(*probe), len(probe))) != 0:
        sys.exit("llama_decode failed")
    llama.llama_memory_clear(llama.llama_get_memory(context), True)

position = 0
tokens = [3 + 37 * i % 5000 for i in range(int(sys.argv[4]))]
for kind in ("PROMPT", "GENERATE", "GENERATE"):
    array = (ctypes.c_int32 * len(tokens))(*tokens)
    if llama.llama_decode(context, llama.llama_batch_get_one(array, len(tokens))) != 0:
        sys.exit("llama_decode failed")
    print(json.dumps({"decode": kind, "tokens": tokens, "positions": list(range(position, position + len(tokens)))}), flush=True)
    position += len(tokens)
    logits = llama.llama_get_logits_ith(context, -1)[:vocabulary]
    tokens = [max(range(vocabulary), key=logits.__getitem__)]
llama.llama_free(context)
llama.llama_model_free(model)
