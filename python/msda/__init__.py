"""Multi-scale deformable attention for PyTorch, compiled at run time for the shape and the GPU at hand.

multi_scale_deformable_attention is the operator; patch() makes existing models use it; msda.mmcv and msda.deformable_detr hold functions
with the signatures of those projects. Importing loads no library, touches no GPU and starts no thread.
"""

from ._library import doctor, has_gpu
from .errors import Error, InvalidInput
from .functional import multi_scale_deformable_attention
from .modules import MSDeformAttn
from .patching import patch, unpatch

__all__ = [
    "Error",
    "InvalidInput",
    "MSDeformAttn",
    "doctor",
    "has_gpu",
    "multi_scale_deformable_attention",
    "patch",
    "unpatch",
]


def __getattr__(name: str):
    if name == "__version__":
        from ._library import version

        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
