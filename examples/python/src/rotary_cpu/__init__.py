# SPDX-License-Identifier: MIT
"""Rotary position embedding on the CPU: in place, on arrays of numpy, torch and others, in any layout, for every model file.

    import numpy, rotary_cpu
    table = rotary_cpu.CosSinCache(rotary_cpu.Config(128, layout="half_split"), 4096)
    q = numpy.random.randn(16, 32, 128).astype("float32")  # [seq, heads, head_dim]
    rotary_cpu.apply(q, table, positions=100)              # tokens at positions 100, 101, ...

rotary_cpu.torch has an operator with gradients, rotary_cpu.transformers makes models of transformers use it.
"""

from ._core import *  # noqa: F403
from ._core import version as _version
from .models import read_hf_config as read_hf_config
from .schedules import *  # noqa: F403

__version__ = _version()
