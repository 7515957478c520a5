"""How each kind of block is checked: one method a mode, each raising AssertionError (or what it ran into) with what went wrong."""
import ctypes
import json
import os
import re
import subprocess
from pathlib import Path

from nvrtc import compile_cuda

SECONDS = 600  # longest a block may take


class Skip(Exception):
    """What the block needs is not on this machine."""


class Machine:
    """Where the build, the compilers and the CUDA headers are."""

    def __init__(self, root, build):
        self.root, self.build = root, build
        self.cxx = os.environ.get("CXX", "c++")
        libraries = [p for p in os.environ.get("MSDA_TEST_NVRTC", "").split(":") if p]
        self.nvrtc = [Path(p) for p in libraries]
        self.cuda_include = next(iter(root.glob(".venv/nvrtc-13/nvidia/*/include")), Path("/usr/local/cuda/include"))
        self.options = {}  # of `msda SUBCOMMAND`, read from its --help


class Page:
    """The folder that the blocks of one page share, and what the last of them printed."""

    def __init__(self, machine, folder):
        self.machine, self.folder, self.printed = machine, folder, None
        (folder / "home").mkdir()
        for name in ("templates", "tools", "labs", "docs", "tuning_db"):
            if (machine.root / name).exists():
                (folder / name).symlink_to(machine.root / name)
        self.torch_code = ""  # of the torch blocks so far
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("MSDA_", "XDG_"))}
        self.environment.update(HOME=str(folder / "home"), LC_ALL="C.UTF-8",
                                PATH=f"{machine.build / 'bin'}:{machine.root / '.venv/bin'}:{os.environ['PATH']}")
        if machine.nvrtc:
            self.environment["MSDA_NVRTC"] = str(machine.nvrtc[-1])
        for tool in ("MSDA_TEST_NVDISASM", "MSDA_TEST_CUOBJDUMP"):
            if tool in os.environ:
                self.environment.setdefault("MSDA_CUOBJDUMP", os.environ[tool])

    def check(self, block):
        method = getattr(self, f"{block.mode}_{block.language}", None) or getattr(self, f"{block.mode}_any", None)
        assert method, f"no way to check {block.language or 'a fence without language'} as '{block.mode}' (docs/writing.md)"
        method(block)

    def execute(self, command, **environment):
        done = subprocess.run(command, cwd=self.folder, env={**self.environment, **environment}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=SECONDS)
        return done

    def succeed(self, command, **environment):
        done = self.execute(command, **environment)
        assert done.returncode == 0, f"exit status {done.returncode} of: {' '.join(map(str, command))[:400]}\n{done.stdout}{done.stderr}"
        return done.stdout

    # --- modes of any language ---------------------------------------------------------------------------------------------------

    def quote_any(self, block):
        """The lines stand in the named file, whatever their indentation; a line … leaves out some."""
        path = self.machine.root / block.arguments[0]
        assert path.is_file(), f"no file {block.arguments[0]}"
        source = [line.strip() for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
        at, part = 0, []
        for line in [*(line.strip() for line in block.text.split("\n") if line.strip()), "…"]:
            if line.removeprefix("//").strip() not in ("…", "..."):
                part.append(line)
                continue
            found = next((i for i in range(at, len(source) - len(part) + 1) if source[i:i + len(part)] == part), None)
            assert found is not None, f"{block.arguments[0]} does not have these lines (any more):\n" + "\n".join(part)
            at, part = found + len(part), []

    def lines_any(self, block):
        """Each line, without a comment at its end, stands in the named file, in this order; ${a_variable} there is any word."""
        source = [line.strip() for line in (self.machine.root / block.arguments[0]).read_text(encoding="utf-8").split("\n")]
        at = 0
        for line in filter(None, (re.sub(r"\s+#.*", "", line).strip() for line in block.text.split("\n"))):
            found = next((i for i in range(at, len(source)) if re.fullmatch(re.sub(r"\\\$\\{\w+\\}", r"\\w+", re.escape(source[i])), line)), None)
            assert found is not None, f"{block.arguments[0]} does not have this line (there): {line}"
            at = found + 1

    def parse_json(self, block):
        json.loads(block.text)

    def plain_text(self, block):
        """No code: a formula, a layout, a message."""

    def output_text(self, block):
        """What the block before printed; … stands for anything within a line, alone on its line for any lines."""
        assert self.printed is not None, "no block before this one was run"
        if self.printed is Skip:
            raise Skip("so was the block before")
        pattern = "".join("(?:.*\n)*?" if line.strip() == "…" else ".*?".join(map(re.escape, line.rstrip().split("…"))) + " *\n"
                          for line in block.text.rstrip("\n").split("\n"))
        assert re.fullmatch(pattern, self.printed.rstrip() + "\n"), f"printed instead:\n{self.printed}"

    # --- shell -------------------------------------------------------------------------------------------------------------------

    def run_sh(self, block):
        self.printed = self.succeed(["bash", "-euo", "pipefail", "-c", block.text])

    def gpu_sh(self, block):
        """Commands that need a GPU: each must get as far as asking for the driver, which is kept from it."""
        for command in block.text.replace("\\\n", " ").split("\n"):
            if not command.split("#")[0].strip():
                continue
            done = self.execute(["bash", "-c", command], MSDA_DRIVER=str(self.folder / "none"))
            assert done.returncode == 4, f"expected exit status 4 (no driver), got {done.returncode}: {command}\n{done.stdout}{done.stderr}"

    def syntax_sh(self, block):
        """Commands for another machine: the shell can read them, and `msda SUBCOMMAND --help` knows every option."""
        self.succeed(["bash", "-n", "-c", block.text])
        for line in block.text.replace("\\\n", " ").split("\n"):
            for subcommand, rest in re.findall(r"\bmsda ([a-z]+)([^|;&#]*)", line.split(" #")[0]):
                if subcommand not in self.machine.options:
                    self.machine.options[subcommand] = set(re.findall(r"--[\w-]+|(?<!\S)-\w\b", self.succeed(["msda", subcommand, "--help"])))
                for option in re.findall(r"(?<!\S)(--[\w-]+|-\w\b)", rest):
                    assert option in self.machine.options[subcommand], f"msda {subcommand} has no option {option}"

    # --- programs ----------------------------------------------------------------------------------------------------------------

    def compiler(self, block):
        m = self.machine
        flags = ["-Wall", "-Wextra", "-Werror", f"-I{m.root}/generator/include", f"-I{m.root}/runtime/include", f"-isystem{m.cuda_include}"]
        if block.language == "c":
            return [os.environ.get("CC", "cc"), "-std=c11", "-xc", *flags]
        return [m.cxx, "-std=c++20", "-O1", "-xc++", *flags]

    def object_of(self, block):
        source, result = self.folder / f"block{block.line}.{block.language}", self.folder / f"block{block.line}.o"
        source.write_text(block.text, encoding="utf-8")
        self.succeed([*self.compiler(block), "-c", str(source), "-o", str(result)])
        return result

    def run_cpp(self, block):
        """A whole program, linked with libmsda; `link=cuda` adds NVRTC and the CUDA driver."""
        m, program = self.machine, self.folder / f"block{block.line}"
        link, variables = [str(m.build / "libmsda.a"), "-pthread", "-ldl"], {}
        if "link=cuda" in block.arguments:
            if not m.nvrtc:
                raise Skip("no NVRTC here (tools/setup)")
            link += [str(m.nvrtc[-1]), *self.driver()]
            variables["LD_LIBRARY_PATH"] = f"{m.nvrtc[-1].parent}:{self.folder}"
        self.succeed([m.cxx, str(self.object_of(block)), *link, "-o", str(program)])
        self.printed = self.succeed([str(program)], **variables)

    run_c = run_cpp

    def compile_cpp(self, block):
        self.object_of(block)

    compile_c = compile_cpp

    def driver(self):
        """Linker options for the CUDA driver: the one that is here, else a stub whose every function says CUDA_ERROR_NO_DEVICE."""
        try:
            ctypes.CDLL("libcuda.so.1")
            return ["-l:libcuda.so.1"]
        except OSError:
            pass
        header = (self.machine.cuda_include / "cuda.h").read_text(errors="replace")
        names = set(re.findall(r"\bCUDAAPI\s+(cu\w+)\s*\(", header)) | set(re.findall(r"\b(cu[A-Z]\w*_v\d)\b", header))
        source, library = self.folder / "driver.c", self.folder / "libcuda.so.1"
        source.write_text("".join(f"int {name}(void) {{ return 100; }}\n" for name in sorted(names)))
        self.succeed([os.environ.get("CC", "cc"), "-w", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", str(source), "-o", str(library)])
        return [str(library)]

    def run_python(self, block):
        source = self.folder / f"block{block.line}.py"
        source.write_text(block.text, encoding="utf-8")
        self.printed = self.succeed(["python3", str(source)])

    def torch_python(self, block):
        """After the page's torch blocks before it, with PyTorch and the package as it was built; prints only what it prints itself."""
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        python = Path(os.environ.get("MSDA_TORCH_VENV") or cache / "msda-jit/venv-torch") / "bin/python"
        package = self.machine.build / "python"
        if not python.exists() or not (package / "msda/libmsda.so").exists():
            self.printed = Skip
            raise Skip("no PyTorch here (tools/setup_torch)")
        source = self.folder / f"block{block.line}.py"
        mark = "-- this block --"
        source.write_text(f"{self.torch_code}\nprint({mark!r})\n{block.text}", encoding="utf-8")
        printed = self.succeed([str(python), str(source)], PYTHONPATH=str(package), OMP_NUM_THREADS="1")
        self.printed = printed.split(mark + "\n", 1)[1]
        self.torch_code += block.text

    def nvrtc_cuda(self, block):
        """Device code that NVRTC compiles for sm_90 (or `arch=sm_NN`) with nothing on its include path."""
        if not self.machine.nvrtc:
            raise Skip("no NVRTC here (tools/setup)")
        arch = next((a.removeprefix("arch=") for a in block.arguments if a.startswith("arch=")), "sm_90")
        log = compile_cuda(self.machine.nvrtc[-1], block.text, arch)
        assert not log, log
