"""The exceptions of this package: one class for what the library reports, with its code, its sentence and the log that explains it."""

from __future__ import annotations


class Error(RuntimeError):
    """Raised where the library reports an error.

    ``code`` is the name of its kind ("unsupported", "compile_failed", ... as in msda/msda.h) and ``log`` the compiler's log, the list of
    paths that were tried, or "".
    """

    def __init__(self, message: str, code: str = "", log: str = ""):
        super().__init__(message)
        self.code = code
        self.log = log
        if log and hasattr(self, "add_note"):  # Python 3.11: shown below the message in a traceback
            self.add_note(log)

    def __reduce__(self):
        return type(self), (self.args[0], self.code, self.log)


class InvalidInput(Error, ValueError):
    """An Error whose cause is an argument: a shape, a type or an option outside the operator's rules."""
