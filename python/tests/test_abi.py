"""The ctypes declarations against msda/msda.h of the source tree."""

import ctypes
import pathlib
import re

import pytest

from msda import _library

HEADER = pathlib.Path(__file__).resolve().parents[2] / "runtime/include/msda/msda.h"
TYPES = {
    "size_t": ctypes.c_size_t,
    "int64_t": ctypes.c_int64,
    "int32_t": ctypes.c_int32,
    "const char*": ctypes.c_char_p,
    "void*": ctypes.c_void_p,
}


@pytest.fixture(scope="module")
def header():
    return re.sub(r"//[^\n]*", "", HEADER.read_text())


def fields_of(header, name):
    (body,) = re.findall(rf"typedef struct {name} \{{(.*?)\}} {name};", header, re.S)
    return re.findall(r"([\w ]+?\*?)\s+(\w+)(\[\d+\])?;", body)


def constants(header):
    return {name: int(value) for name, value in re.findall(r"\b(MSDA_\w+) = (-?\d+)", header)}


@pytest.mark.parametrize(
    ("name", "structure"), [("msda_problem_fields", _library.ProblemFields), ("msda_prepare_options", _library.PrepareOptions)]
)
def test_structures(header, name, structure):
    declared = fields_of(header, name)
    assert [field.rstrip("_") for field, _ in structure._fields_] == [field for _, field, _ in declared]
    for (_, kind), (text, _, array) in zip(structure._fields_, declared, strict=True):
        text = text.strip()
        if array:
            assert kind is TYPES[text] * int(array[1:-1])
        elif text == "const int64_t*":
            assert kind is ctypes.POINTER(ctypes.c_int64)
        else:
            assert kind is TYPES[text]


def test_tensors(header):
    declared = fields_of(header, "msda_tensors")
    assert [name for _, name, _ in declared] == ["struct_size", *_library.TENSORS]
    assert all(text.strip() in ("void*", "const void*") for text, _, _ in declared[1:])


def test_constants(header):
    known = constants(header)
    assert (known["MSDA_FORWARD"], known["MSDA_BACKWARD"], known["MSDA_CPU"]) == (_library.FORWARD, _library.BACKWARD, _library.CPU)
    for name, number in _library.TYPES.items():
        assert known[f"MSDA_{name.upper()}"] == number
    for name, number in _library.SAMPLING.items():
        assert known[f"MSDA_{name.upper()}"] == number
    for name, number in _library.ACCUMULATE.items():
        assert known["MSDA_SUM_F32" if name == "f32" else f"MSDA_{name.upper()}"] == number
    for name in ("OK", "INVALID_PROBLEM", "INVALID_ARGUMENT", "GRADIENT_VALUE", "GRADIENT_LOCATION", "GRADIENT_WEIGHT"):
        assert known[f"MSDA_{name}"] == getattr(_library, name)
    assert int(re.search(r"#define MSDA_ABI_VERSION (\d+)", header)[1]) == _library.ABI_VERSION


def test_functions(header):
    for name, (_, arguments) in _library._SIGNATURES.items():
        declared = re.search(rf"\b{name}\((.*?)\);", header, re.S)
        assert declared, name
        text = declared[1].strip()
        assert len(arguments) == (0 if text == "void" else text.count(",") + 1), name


def test_version_and_doctor():
    import msda

    assert msda.__version__ == _library.version()
    assert "nvrtc:" in msda.doctor()
