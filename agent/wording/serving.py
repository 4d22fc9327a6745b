"""Which model to serve on which memory, with which flags: the command that `triage serve-model` prints and starts.

Chosen on 2026-11-21 from the models' licences and cards; nothing here was measured on a GPU by this project.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

CHOSEN_ON = "2026-11-21"
LONGEST = 16_384
"""Context that the agent needs at most: evidence, tools, eight messages and an answer fit into half of it."""


@dataclass(frozen=True)
class Served:
    """One recommended model."""

    gpu: int
    """Memory from which it is recommended, in GB, on one device."""
    name: str
    """Name on the Hugging Face Hub."""
    licence: str
    context: int
    note: str


MODELS: tuple[Served, ...] = (
    Served(8, "Qwen/Qwen3-4B-Instruct-2507-FP8", "Apache-2.0", 8_192, "explains; choose tools rarely"),
    Served(16, "Qwen/Qwen3-8B-AWQ", "Apache-2.0", 12_288, "thinking is switched off by the flags below"),
    Served(24, "Qwen/Qwen3-14B-AWQ", "Apache-2.0", LONGEST, "thinking is switched off by the flags below"),
    Served(48, "Qwen/Qwen3-30B-A3B-Instruct-2507-FP8", "Apache-2.0", LONGEST, "3B active parameters, so quick"),
    Served(80, "Qwen/Qwen3-32B-FP8", "Apache-2.0", LONGEST, "thinking is switched off by the flags below"),
    Served(141, "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8", "Apache-2.0", LONGEST, "the best Chinese of this list"),
)
"""By memory, smallest first."""

UNTHINKING = ("--default-chat-template-kwargs", '{"enable_thinking": false}')
"""For Qwen3, and no reasoning parser beside it: some versions of vLLM decode nothing by a schema where a parser waits
for the end of thoughts that are switched off (vLLM issues 18819, 27447)."""
FAMILIES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("qwen3-coder", ("--tool-call-parser", "qwen3_coder")),
    ("qwen3.5", ("--tool-call-parser", "qwen3_coder", *UNTHINKING)),
    ("qwen3.6", ("--tool-call-parser", "qwen3_coder", *UNTHINKING)),
    ("instruct-2507", ("--tool-call-parser", "hermes")),
    ("qwen3-next-80b-a3b-instruct", ("--tool-call-parser", "hermes")),
    ("qwen3", ("--tool-call-parser", "hermes", *UNTHINKING)),
    ("qwen2.5", ("--tool-call-parser", "hermes")),
    ("qwq", ("--tool-call-parser", "hermes", "--reasoning-parser", "deepseek_r1")),
    ("gpt-oss", ("--tool-call-parser", "openai", "--reasoning-parser", "openai_gptoss")),
    ("glm-4.5", ("--tool-call-parser", "glm45", "--reasoning-parser", "glm45")),
    ("glm-4.7", ("--tool-call-parser", "glm47", "--reasoning-parser", "glm47")),
    ("deepseek-v3.1", ("--tool-call-parser", "deepseek_v31", "--reasoning-parser", "deepseek_v3")),
    ("mistral", ("--tool-call-parser", "mistral")),
    ("llama-3", ("--tool-call-parser", "llama3_json")),
    ("granite", ("--tool-call-parser", "granite")),
    ("gemma-4", ("--tool-call-parser", "gemma4", "--reasoning-parser", "gemma4")),
)
"""Part of a model's name, lower case -> its parsers in vLLM 0.32; the first that fits."""


def recommended(gigabytes: int) -> Served | None:
    """The largest recommended model for one device of this memory."""
    return next((m for m in reversed(MODELS) if m.gpu <= gigabytes), None)


def command(
    name: str, host: str = "127.0.0.1", port: int = 8000, context: int = 0, more: tuple[str, ...] = ()
) -> list[str]:
    """The server's command with the flags that the agent needs.

    Args:
        name: a model's name or folder.
        host: address to listen on.
        port: port to listen on.
        context: longest prompt and answer, in tokens; 0 for the table's.
        more: further arguments of vLLM, put last so that they win.
    """
    low = name.lower()
    parsers = next((flags for part, flags in FAMILIES if part in low), ("--tool-call-parser", "hermes"))
    listed = next((m.context for m in MODELS if m.name == name), LONGEST)
    thoughts = UNTHINKING if "--reasoning-parser" in parsers else ()
    return [
        *(sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", name),
        *("--host", host, "--port", str(port), "--max-model-len", str(context or listed)),
        *("--enable-auto-tool-choice", *parsers, *thoughts, "--enable-prefix-caching"),
        *("--structured-outputs-config", '{"backend": "xgrammar", "disable_any_whitespace": true}'),
        *more,
    ]
