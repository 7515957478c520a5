"""python -m msda: says which driver, compiler and devices were found, and where they were looked for."""

from . import doctor

print(doctor(), end="")
