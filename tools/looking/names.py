# ruff: noqa: E501  (patterns are read as rows)
"""Files, keys and names in people's sentences, by their form; which of them exist is not told here."""

from __future__ import annotations

import re

from ..patterns import bounded

FILE = bounded(r"(?<![\w@:/.%>}*$-])(?:~?/)?(?:[\w@.+-]+/)*[\w@+-][\w@.+-]*\.(?:py|log|ya?ml|json|jsonl|csv|tsv|txt|sh|md|toml|cfg|ini|pt|pth|bin|safetensors"
               r"|out|err|parquet|npz|ckpt|ipynb|conf|diff|patch|wandb|db)\b|(?<![\w/.>}*])~?/(?:[\w.@+-]+/)*[\w.@+-]{2,}")  # fmt: skip
NAME = bounded(r"(?<![\w-])--?[a-z][\w-]{2,}|\b[A-Za-z]\w*_\w+\b|\b[A-Za-z]\w*(?:\.[A-Za-z_]\w*)+\b|\b[A-Z]\w*(?:Error|Exception|Warning)\b"
               r"|\b[A-Za-z]+(?:-[A-Za-z]+){0,3}-\d[\w-]*\b|(?<![\w-])(?=[A-Za-z]*\d)[A-Za-z]+\d[\w-]*\b", re.ASCII)  # fmt: skip
COMMON = bounded(r"(?i)fp?\d+(?:_?e\d+m\d+)?|bf16|tf32|u?int\d+|float\d+|bfloat16|l[12]|s[0-3]|log(?:2|10)|zero-?[0-3]|top-\d+|p\d\d|v\d|x86|step-\d+"
                  r"|gpt-?\d\w*|llama-?\d\w*|e\.g|i\.e|a\.k\.a|u\.s|adam\w?\d?|beta[12]|[a-z]\d?|pass@\d+|rank-?\d+|k8s|utf-?\d+|base64|sha256|md5|cuda\d*")  # fmt: skip
"""Names of formats, norms and methods: words, no references."""
