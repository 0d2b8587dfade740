# SPDX-License-Identifier: MIT
"""Model files."""

import json
import os
from typing import Any

from ._core import ModelConfig, model_from_json

__all__ = ["read_hf_config"]


def read_hf_config(source: Any, *, layout: str | None = None) -> ModelConfig:
    """Reads a config.json: its path or that of its folder, its text, a dict, or a configuration object of transformers.

    layout: of the weights, where it is another than that of the model's code. Raises ValueError with a sentence for what
    cannot be used, and OSError for what cannot be read."""
    if hasattr(source, "to_json_string"):
        source = source.to_json_string(use_diff=False)
    if isinstance(source, dict):
        source = json.dumps(source)
    if isinstance(source, os.PathLike) or not str(source).lstrip().startswith("{"):
        path = os.path.join(source, "config.json") if os.path.isdir(source) else source
        with open(path, encoding="utf-8") as file:
            source = file.read()
    return model_from_json(source, layout)
