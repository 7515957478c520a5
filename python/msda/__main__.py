"""python -m msda: says which driver, compiler, devices and kernels were found, and where they were looked for.

python -m msda build: compiles the extension (_extension.py).
"""

import sys

from . import _extension, doctor

if sys.argv[1:] == ["build"]:
    print(_extension.build())
elif sys.argv[1:]:
    sys.exit(f"usage: python -m msda [build], got {' '.join(sys.argv[1:])}")
else:
    print(doctor(), end="")
