"""Reads recordings of ggscope: the tables of trace.ggs, column by column, through libggscope. Needs nothing but Python.

    import ggscope
    with ggscope.open("experiments/...") as recording:
        runs = recording.table("op_runs")          # {"run": Column, "node": Column, ...}
        print(sum(runs["duration_ns"]) / 1e6, "ms")
        recording.string(runs_name_number)          # the text of a string column
        recording.experiment["command"]             # experiment.json

A Column is a sequence of numbers in one block of memory: numpy.asarray(column) and memoryview(column.data) use it without a copy.
Columns of texts hold numbers of strings; column.texts() gives the texts. The tables are those of ggscope-trace(5); `ggscope export` and
`ggscope sql` have the joined ones of docs/tables.md.
"""
import array
import ctypes
import ctypes.util
import json
import os
import warnings

__all__ = ["open", "Recording", "Column", "Error", "Incomplete"]

_U64, _I64, _TIME, _SPAN, _STRING, _BYTES, _REAL = range(1, 8)
_OK = 0


class Error(Exception):
    """What went wrong, as one sentence."""


class Incomplete(UserWarning):
    """The recording is incomplete: every figure covers the intact part."""


class _Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("text", ctypes.c_char * 768)]


class _Column(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("encoding", ctypes.c_uint8), ("role", ctypes.c_uint8)]


class _Schema(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("columns", ctypes.POINTER(_Column)), ("n_columns", ctypes.c_uint32),
                ("n_words", ctypes.c_uint32), ("key", ctypes.c_int32), ("sorted", ctypes.c_uint8)]


def _load():
    here = os.path.dirname(os.path.abspath(__file__))
    names = [os.environ.get("GGSCOPE_LIBRARY")]
    for up in ("../..", "../../.."):  # PREFIX/lib/python3*/dist-packages
        for folder in ("", *sorted(name for name in _entries(os.path.join(here, up)) if name.endswith("-linux-gnu"))):
            names.append(os.path.normpath(os.path.join(here, up, folder, "libggscope.so.0")))
    names += ["libggscope.so.0", ctypes.util.find_library("ggscope")]
    for name in names:
        if name and (os.sep not in name or os.path.exists(name)):
            try:
                return ctypes.CDLL(name)
            except OSError:
                continue
    raise ImportError("libggscope.so.0 was not found: install ggscope, or name it with GGSCOPE_LIBRARY")


def _entries(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []


_library = _load()
_pointer = ctypes.c_void_p
for _name, _result, _arguments in [
    ("ggs_trace_schema", ctypes.POINTER(_Schema), [ctypes.c_int]),
    ("ggs_reader_open", ctypes.c_int, [ctypes.POINTER(_pointer), ctypes.c_char_p, ctypes.POINTER(_Error)]),
    ("ggs_reader_close", None, [_pointer]),
    ("ggs_reader_warning", ctypes.c_char_p, [_pointer]),
    ("ggs_reader_rows", ctypes.c_uint64, [_pointer, ctypes.c_int]),
    ("ggs_reader_experiment", ctypes.c_char_p, [_pointer]),
    ("ggs_reader_string", ctypes.c_char_p, [_pointer, ctypes.c_uint64]),
    ("ggs_cursor_open", ctypes.c_int, [ctypes.POINTER(_pointer), _pointer, ctypes.c_int, ctypes.POINTER(_Error)]),
    ("ggs_cursor_close", None, [_pointer]),
    ("ggs_cursor_range", None, [_pointer, ctypes.c_uint64, ctypes.c_uint64]),
    ("ggs_cursor_next_chunk", ctypes.c_int, [_pointer, ctypes.POINTER(ctypes.POINTER(_pointer)), ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(_Error)]),
]:
    _function = getattr(_library, _name)
    _function.restype, _function.argtypes = _result, _arguments


def _tables():
    found, number = {}, 1
    while True:
        schema = _library.ggs_trace_schema(number)
        if not schema:
            return found
        found[schema.contents.name.decode()] = (number, schema.contents)
        number += 1


class Column:
    """Numbers of one column. `data` is an array.array of 64-bit integers, or of doubles: numpy.asarray(column) shares its memory."""

    def __init__(self, recording, name, kind):
        self.name, self.kind = name, {_U64: "u64", _I64: "i64", _TIME: "time", _SPAN: "span", _STRING: "string", _REAL: "real"}[kind]
        self.data = array.array("d" if kind == _REAL else "q" if kind in (_I64, _TIME) else "Q")
        self._recording = recording

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.data[index]

    def __iter__(self):
        return iter(self.data)

    @property
    def __array_interface__(self):
        address, length = self.data.buffer_info()
        return {"version": 3, "shape": (length,), "typestr": {"d": "<f8", "q": "<i8", "Q": "<u8"}[self.data.typecode], "data": (address, True)}

    def texts(self):
        """The texts of a column of strings, one for each row."""
        if self.kind != "string":
            raise TypeError(f"{self.name} is no column of texts")
        known = {number: self._recording.string(number) for number in set(self.data)}
        return [known[number] for number in self.data]


class Recording:
    def __init__(self, path):
        self._reader, error = _pointer(), _Error()
        if _library.ggs_reader_open(ctypes.byref(self._reader), os.fsencode(path), ctypes.byref(error)) != _OK:
            self._reader = None
            raise Error(error.text.decode(errors="replace"))
        warning = _library.ggs_reader_warning(self._reader)
        self.warning = warning.decode(errors="replace") if warning else None  # what is missing of the trace
        if self.warning:
            warnings.warn(self.warning, Incomplete, stacklevel=3)

    def close(self):
        if self._reader:
            _library.ggs_reader_close(self._reader)
        self._reader = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    __del__ = close

    def _open(self):
        if not self._reader:
            raise Error("the recording is closed")
        return self._reader

    @property
    def experiment(self):
        """experiment.json: what was run, where, with what, and how it ended."""
        text = _library.ggs_reader_experiment(self._open())
        return json.loads(text) if text else {}

    def tables(self):
        """Names of the tables and how many rows each has."""
        reader = self._open()
        return {name: _library.ggs_reader_rows(reader, number) for name, (number, _) in _tables().items()}

    def string(self, number):
        return _library.ggs_reader_string(self._open(), number).decode(errors="replace")

    def table(self, name, columns=None, first=0, rows=None):
        """Columns of a table by name: all, or those that are named, of all rows or of `rows` rows from `first` on. A column of bytes is
        a list, and is read only if it is named."""
        if name not in _tables():
            raise Error(f"there is no table {name}; there are {', '.join(_tables())}")
        number, schema = _tables()[name]
        shape = [(i, schema.columns[i].name.decode(), schema.columns[i].type) for i in range(schema.n_columns)]
        missing = set(columns or []) - {column for _, column, _ in shape}
        if missing:
            raise Error(f"{name} has no column {', '.join(sorted(missing))}; it has {', '.join(column for _, column, _ in shape)}")
        wanted = [(i, Column(self, column, kind)) for i, column, kind in shape if kind != _BYTES and (columns is None or column in columns)]
        wanted_bytes = [(i, column, []) for i, column, kind in shape if kind == _BYTES and columns is not None and column in columns]
        cursor, error = _pointer(), _Error()
        if _library.ggs_cursor_open(ctypes.byref(cursor), self._open(), number, ctypes.byref(error)) != _OK:
            raise Error(error.text.decode(errors="replace"))
        try:
            total = _library.ggs_reader_rows(self._reader, number)
            left = max(0, total - first) if rows is None else rows
            _library.ggs_cursor_range(cursor, first, left)
            words, count = ctypes.POINTER(_pointer)(), ctypes.c_uint64()
            while True:
                more = _library.ggs_cursor_next_chunk(cursor, ctypes.byref(words), ctypes.byref(count), ctypes.byref(error))
                if more < 0:
                    raise Error(error.text.decode(errors="replace"))
                if more == 0:
                    break
                for i, column in wanted:
                    column.data.frombytes(ctypes.string_at(words[i], 8 * count.value))
                for i, _, values in wanted_bytes:  # addresses, and behind them lengths
                    at, length = (ctypes.cast(words[i + k], ctypes.POINTER(ctypes.c_uint64)) for k in (0, 1))
                    values.extend(ctypes.string_at(at[k], length[k]) for k in range(count.value))
        finally:
            _library.ggs_cursor_close(cursor)
        return {**{column.name: column for _, column in wanted}, **{name: values for _, name, values in wanted_bytes}}

    def dumps(self):
        """What record --values-dump kept: {(run, node, source)}; source -1 is the output of the node."""
        pieces = self.table("op_dumps", ["run", "node", "slot"])
        return set(zip(pieces["run"], pieces["node"], pieces["slot"]))

    def dump(self, run, node, source=-1):
        """The bytes of one tensor of those, as they lay in memory."""
        keys = self.table("op_dumps", ["run", "node", "slot", "offset", "total"])
        found = None
        for row, (a, b, c) in enumerate(zip(keys["run"], keys["node"], keys["slot"])):
            if (a, b, c) != (run, node, source):
                continue
            piece, offset = self.table("op_dumps", ["data"], row, 1)["data"][0], keys["offset"][row]
            found = found or bytearray(keys["total"][row])
            found[offset:offset + len(piece)] = piece  # of the same piece the last one holds
        if found is None:
            raise Error(f"of graph run {run}, node {node}, source {source} nothing was kept; dumps() lists what was")
        return bytes(found)


def open(path):
    """Opens a recording: its folder, or its trace.ggs."""
    return Recording(path)
