"""The optional C++ kernels of torch.ops.msda (extension.cpp): compiled once by `python -m msda build`, loaded where they are there.

A file belongs to one version of PyTorch and one text of the source, which its name tells. Without one all works, through Python.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

import torch

from .errors import Error

_here = Path(__file__).absolute().parent
_source = _here / "extension.cpp"
_headers = _here / "include"

_backend = ""


def backend() -> str:
    """Which kernels torch.ops.msda has in this process, "Python" or "C++", then where they come from or why they are not others."""
    return _backend


def path() -> Path:
    """Where the extension for this PyTorch and this package is kept: beside the compiled kernels of the library."""
    cache = os.environ.get("MSDA_CACHE_DIR")
    if not cache:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "msda-jit"
    digest = hashlib.sha256(_source.read_bytes() + (_headers / "msda/msda.h").read_bytes()).hexdigest()[:16]
    return Path(cache) / "torch" / f"{torch.__version__}-{platform.machine()}-{digest}.so"


def _is_trusted(file: Path) -> bool:
    """As for the library's own cache: what is loaded belongs to this user or root, and nobody else can write it."""
    states = (file.stat(), file.parent.stat())
    return all(state.st_uid in (0, os.geteuid()) and not state.st_mode & 0o022 for state in states)


def load() -> bool:
    """Registers the C++ kernels if they are there. Call it once, after the operators are defined; backend() tells what came of it."""
    global _backend
    setting = os.environ.get("MSDA_TORCH_EXTENSION", "")
    if setting not in ("", "0", "1"):
        raise Error(f"MSDA_TORCH_EXTENSION: expected 0 or 1, got '{setting}'", "invalid_argument")
    if setting == "0":
        _backend = "Python, since MSDA_TORCH_EXTENSION is 0"
        return False
    try:
        file = path()
        if not file.is_file():
            _backend = f"Python; `python -m msda build` makes faster kernels for PyTorch {torch.__version__}"
        elif not _is_trusted(file):
            _backend = f"Python, since others than this user can write {file} or its folder"
        else:
            torch.ops.load_library(str(file))
            _backend = f"C++, {file}"
            return True
    except (OSError, RuntimeError) as reason:  # no home directory, no permission, a file of another machine
        _backend = f"Python, since the extension cannot be loaded: {reason}"
    return False


def build() -> Path:
    """Compiles the extension for the PyTorch that is installed, for processes that start from then on, and returns its path; at once where
    that was done before.

    Takes about a minute and the C++20 compiler of CXX, or c++. Raises Error with the compiler's log.
    """
    if path().is_file():
        return path()
    compiler = shutil.which(os.environ.get("CXX") or "c++")
    if compiler is None:
        raise Error("expected a C++20 compiler in CXX, or c++ on PATH, found none", "unsupported")
    of_torch, file = Path(torch.__file__).parent, path()
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(dir=file.parent) as work:
        made = Path(work) / "extension.so"
        command = [
            compiler, "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden",
            f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
            "-isystem", of_torch / "include", "-I", _headers, _source, "-o", made,
            "-L", of_torch / "lib", "-Wl,--no-as-needed", "-ltorch", "-ltorch_cpu", "-lc10",
        ]  # fmt: skip
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise Error(f"{compiler} does not compile the extension against PyTorch {torch.__version__}", "compile_failed", done.stdout)
        made.chmod(0o700)
        made.replace(file)
    return file
