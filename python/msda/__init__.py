"""Multi-scale deformable attention for PyTorch, compiled at run time for the shape and the GPU at hand.

multi_scale_deformable_attention is the operator; patch() makes existing models use it; msda.mmcv and msda.deformable_detr hold functions
with the signatures of those projects. Importing touches no GPU, starts no thread and loads no library but the optional extension.
"""

from ._extension import backend
from ._library import has_gpu
from .errors import Error, InvalidInput
from .functional import multi_scale_deformable_attention
from .modules import MSDeformAttn
from .patching import patch, unpatch

__all__ = [
    "Error",
    "InvalidInput",
    "MSDeformAttn",
    "backend",
    "doctor",
    "has_gpu",
    "multi_scale_deformable_attention",
    "patch",
    "unpatch",
]


def doctor() -> str:
    """Each library path tried and what came of it, driver and NVRTC versions, devices, the cache, the kernels of torch.ops.msda."""
    from . import _library

    return f"{_library.doctor()}torch.ops.msda: {backend()}\n"


def __getattr__(name: str):
    if name == "__version__":
        from ._library import version

        return version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
