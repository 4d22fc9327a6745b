"""The kinds of files that runs, checkpoints and data sets are made of, each with the commands that read it.

Every kind is valid, small and made here at run time, with the libraries that write it in practice. Nothing is damaged
here: see `damage`. Where a format can carry a command, it carries one that makes the canary file.
"""

import bz2
import gzip
import io
import json
import lzma
import pickle
import tarfile
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

CANARY = Path(tempfile.gettempdir()) / "triage-security-canary"
"""Whoever runs what a file holds makes this file."""

SCAN = ("scan", "{victim}")
ASK = ("ask", "loss is nan at step 40", "--run", "{run}", "--json")
LINT = ("lint", "{victim}")
CHECK = ("data", "check", "{victim}", "--workers", "1")
PII = ("data", "pii", "{victim}", "--workers", "1", "--json")
DEDUP = ("data", "dedup", "{victim}", "--workers", "1")
LABELS = ("data", "labels", "{victim}")
CODEBOOK = ("data", "codebook", "{victim}")
PREFERENCE = ("data", "preference", "{victim}")
GENERATIONS = ("data", "generations", "{victim}")
SOUND = ("checkpoint", "check", "{folder}")
REPORT = ("report", "{run}", "--bug", "trl")

LOG, CONFIG, CODE = (SCAN, ASK), (LINT, ASK), (LINT, REPORT)
DATA, CHECKPOINT = (CHECK, PII, DEDUP), (SOUND, ASK)


@dataclass(frozen=True)
class Kind:
    name: str
    path: str
    """Where it lies under the run."""
    make: Callable[[], bytes]
    commands: tuple[tuple[str, ...], ...]
    structured: bool = False
    """A part that is cut off, zeroed or moved makes the rest unreadable, or shows."""
    beside: tuple[str, ...] = ()
    """Kinds that must lie beside it."""


KINDS: dict[str, Kind] = {}


def kind(name: str, path: str, commands: tuple, structured: bool = False, beside: tuple[str, ...] = ()):
    def keep(make: Callable[[], bytes]) -> Callable[[], bytes]:
        assert name not in KINDS, name
        KINDS[name] = Kind(name, path, lru_cache(1)(make), commands, structured, beside)
        return KINDS[name].make

    return keep


def text(name: str, path: str, commands: tuple, content: str, **more) -> None:
    kind(name, path, commands, **more)(lambda: content.replace("CANARY", str(CANARY)).encode())


def document(name: str, path: str, commands: tuple, value: object, **more) -> None:
    kind(name, path, commands, structured=True, **more)(lambda: json.dumps(value, indent=1).encode())


def lines(name: str, path: str, commands: tuple, values: list[dict], **more) -> None:
    kind(name, path, commands, **more)(lambda: "".join(json.dumps(v) + "\n" for v in values).encode())


def losses(n: int = 60) -> list[dict]:
    """A training that ends in NaN."""
    return [
        {"step": i * 10, "loss": 3.0 / (i + 1) if i < 50 else float("nan"), "grad_norm": 1.0 + i % 7, "lr": 1e-4}
        for i in range(1, n)
    ]


WORDS = "the model reads every line of this record and writes what it finds into the next one".split()  # noqa: SIM905
TEXTS = [" ".join([*WORDS[i % 7 :], f"item {i}", *WORDS[: i % 5]]) for i in range(30)]

# logs and metrics
text(
    "log", "train.log", LOG,
    "torchrun --nproc_per_node 2 train.py --learning_rate 0.3\n" + "".join(f"{r}\n" for r in losses()),
)  # fmt: skip
text(
    "traceback", "error.log", LOG,
    "step 10 loss 2.5 grad_norm 1.0\n" * 20
    + 'Traceback (most recent call last):\n  File "/w/train.py", line 12, in main\n    trainer.train()\n'
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 79.10"
    " GiB of which 1.50 GiB is free.\n[rank1]: Watchdog caught collective operation timeout: WorkNCCL(SeqNum=15173,"
    " OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600123 milliseconds before timing out.\n",
)  # fmt: skip
text(
    "vllm-log", "vllm.log", LOG,
    "INFO 07-01 10:00:00 engine.py:310] Avg prompt throughput: 10.0 tokens/s, Avg generation throughput: 90.1 tokens/s,"
    " Running: 5 reqs, Waiting: 2 reqs, GPU KV cache usage: 93.4%, Prefix cache hit rate: 0.0%\n" * 20
    + "WARNING 07-01 10:01:00 scheduler.py:1] Sequence group 1 is preempted by PreemptionMode.RECOMPUTE\n",
)  # fmt: skip
text(
    "slurm-log", "slurm-1.out", LOG,
    "+ srun torchrun train.py\n" + "".join(f"[{i:04d}] loss={3 - i / 90:.3f} lr=1e-4\n" for i in range(80))
    + "slurmstepd: error: Detected 1 oom_kill event in StepId=1.0.\n",
)  # fmt: skip
text(
    "pyspy", "pyspy-rank0.txt", LOG,
    'Process 12: python train.py\nPython v3.11.7\n\nThread 12 (idle): "MainThread"\n    all_reduce (torch/distributed/'
    "distributed_c10d.py:2501)\n    step (train.py:40)\n    <module> (train.py:90)\n",
)  # fmt: skip
lines("metrics-jsonl", "metrics.jsonl", LOG, losses())
text("metrics-csv", "metrics.csv", LOG, "step,loss,grad_norm\n" + "".join(
    f"{r['step']},{r['loss']},{r['grad_norm']}\n" for r in losses()
))  # fmt: skip
document("trainer-state", "trainer_state.json", LOG, {"global_step": 590, "max_steps": 600, "log_history": losses()})
document("all-results", "all_results.json", (ASK, SCAN), {"epoch": 1.0, "eval_loss": 2.1, "eval_accuracy": 0.4})
document(
    "lm-eval", "results_2026-01-01T00-00-00.json", (ASK, SCAN),
    {"results": {"gsm8k": {"alias": "gsm8k", "exact_match,strict-match": 0.1, "exact_match_stderr,strict-match": 0.01}},
     "n-samples": {"gsm8k": {"original": 1319, "effective": 1319}}, "config": {"model": "hf", "batch_size": 8}},
)  # fmt: skip
lines(
    "lm-eval-samples", "samples_gsm8k.jsonl", (ASK, CHECK),
    [{"doc_id": i, "doc": {"question": t}, "target": "4", "resps": [["4"]], "exact_match": 1.0}
     for i, t in enumerate(TEXTS)],
)  # fmt: skip
document(
    "flight-recorder-json", "nccl_trace_rank_0.json", LOG,
    {"version": "2.4", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
     "pg_status": {"0": {"last_enqueued_collective": 9, "last_completed_collective": 8}},
     "entries": [{"record_id": i, "pg_id": 0, "process_group": ["0", "default_pg"], "collective_seq_id": i,
                  "profiling_name": "nccl:all_reduce", "input_sizes": [[1024]], "input_dtypes": ["Float"],
                  "output_sizes": [[1024]], "output_dtypes": ["Float"], "state": "scheduled", "frames": [],
                  "time_created_ns": 1, "timeout_ms": 600000, "is_p2p": False} for i in range(1, 10)]},
)  # fmt: skip
kind("flight-recorder", "nccl_trace_rank_1", LOG, structured=True)(
    lambda: pickle.dumps(json.loads(KINDS["flight-recorder-json"].make()))
)
document(
    "profiler-trace", "trace.json", (ASK, SCAN),
    {"traceEvents": [{"ph": "X", "name": "aten::mm", "ts": i, "dur": 5, "pid": 1, "tid": 1} for i in range(50)]},
)  # fmt: skip
document("wandb-summary", "wandb/run-1/files/wandb-summary.json", (ASK,), {"loss": 2.5, "_step": 100, "_runtime": 60})

# configuration
text(
    "yaml", "train.yaml", CONFIG,
    "model: tiny\nlearning_rate: 0.3\nmax_grad_norm: 0\nwarmup_steps: 4000\nmax_steps: 600\noptim: adamw\nbf16: true\n"
    "name: &n exp\nagain: *n\n",
)  # fmt: skip
text(
    "toml", "train.toml", CONFIG, '[training]\nlearning_rate = 0.3\nsteps = 600\n[optim]\nname = "adamw"\nclip = 0.0\n'
)
text("ini", "train.ini", CONFIG, "[train]\nlearning_rate = 0.3\nmax_steps = 600\nseed = %(nothing)s\n")
text(
    "launch", "launch.sh", CONFIG,
    '#!/bin/bash\nset -e\nLR=0.3\nexport NCCL_DEBUG=INFO X=$(touch CANARY) Y=`touch CANARY`\nA=${LR:-$(touch CANARY)}\n'
    'torchrun --nproc_per_node 8 train.py --learning_rate "$LR" --max_grad_norm 0 \\\n  --bf16 True --fp16 True\n',
)  # fmt: skip
text(
    "makefile", "Makefile", CONFIG,
    "X := $(shell touch CANARY)\nLR ?= 0.3\ntrain:\n\ttorchrun train.py --learning_rate $(LR) --max_grad_norm 0\n",
)  # fmt: skip
text(
    "sbatch", "job.sbatch", CONFIG,
    "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gres=gpu:8\n#SBATCH --time=1:00:00\nsrun torchrun --nnodes 4 train.py"
    " --lr 0.3\n",
)  # fmt: skip
text(
    "python", "train.py", CONFIG,
    "import os\nos.system('touch CANARY')\nfrom transformers import TrainingArguments\n"
    "args = TrainingArguments(output_dir='o', learning_rate=0.3, max_grad_norm=0, bf16=True, fp16=True)\n",
)  # fmt: skip
document(
    "notebook", "train.ipynb", CONFIG,
    {"cells": [{"cell_type": "code", "source": [f"!touch {CANARY}\n", "args = TrainingArguments(learning_rate=0.3,"
     " max_grad_norm=0)\n"], "outputs": [], "metadata": {}, "execution_count": 1}], "metadata": {}, "nbformat": 4,
     "nbformat_minor": 5},
)  # fmt: skip
document(
    "deepspeed", "ds_config.json", CONFIG,
    {"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 1,
     "fp16": {"enabled": True, "loss_scale": 0}, "bf16": {"enabled": True},
     "zero_optimization": {"stage": 3, "offload_param": {"device": "cpu"}}},
)  # fmt: skip
text(
    "accelerate", "accelerate_config.yaml", CONFIG,
    "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n"
    "mixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\n",
)  # fmt: skip
text(
    "k8s", "job.yaml", CONFIG,
    "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: t}\nspec:\n  pytorchReplicaSpecs:\n    Worker:\n"
    "      replicas: 2\n      template:\n        spec:\n          containers:\n          - name: pytorch\n"
    "            image: x\n            command: [torchrun, train.py, --learning_rate, '0.3']\n"
    "            env: [{name: NCCL_DEBUG, value: INFO}]\n            resources: {limits: {nvidia.com/gpu: 8}}\n"
    "          volumes: [{name: dshm, emptyDir: {medium: Memory, sizeLimit: 64Mi}}]\n",
)  # fmt: skip
text(
    "compose", "docker-compose.yaml", CONFIG,
    "services:\n  vllm:\n    image: vllm/vllm-openai\n    shm_size: 64mb\n    command: --model m --max-model-len 32768"
    " --gpu-memory-utilization 0.99\n",
)  # fmt: skip
text(
    "dockerfile",
    "Dockerfile",
    CONFIG,
    "FROM pytorch\nENV NCCL_P2P_DISABLE=1\nRUN touch CANARY\nCMD torchrun train.py\n",
)
text("dotenv", ".env", CONFIG, "NCCL_DEBUG=INFO\nLEARNING_RATE=0.3\nX=$(touch CANARY)\n")
text("requirements", "requirements.txt", CONFIG, "torch==2.1.0\ntransformers==5.0.0\ndeepspeed>=0.9\n")
text(
    "yaml-tags", "tags.yaml", CONFIG,
    "learning_rate: 0.3\nx: !!python/object/apply:os.system ['touch CANARY']\nmax_grad_norm: 0\n",
)  # fmt: skip


# checkpoints
def tensors() -> dict:
    import numpy

    rng = numpy.random.default_rng(7)
    return {f"model.layers.{i}.mlp.up_proj.weight": rng.normal(size=(16, 8)).astype("float32") for i in range(4)} | {
        "model.embed_tokens.weight": rng.normal(size=(32, 8)).astype("float32")
    }


@kind("safetensors", "checkpoint-100/model.safetensors", CHECKPOINT, structured=True, beside=("config-json",))
def _safetensors() -> bytes:
    from safetensors.numpy import save

    return save(tensors(), metadata={"format": "pt"})


document(
    "config-json", "checkpoint-100/config.json", CHECKPOINT,
    {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 8, "intermediate_size": 16,
     "num_hidden_layers": 4, "num_attention_heads": 2, "vocab_size": 32, "torch_dtype": "float32"},
    beside=("safetensors",),
)  # fmt: skip
document(
    "index-json", "checkpoint-100/model.safetensors.index.json", CHECKPOINT,
    {"metadata": {"total_size": 3072}, "weight_map": {name: "model-00001-of-00001.safetensors" for name in (
        [f"model.layers.{i}.mlp.up_proj.weight" for i in range(4)] + ["model.embed_tokens.weight"])}},
    beside=("shard", "config-json"),
)  # fmt: skip
kind("shard", "checkpoint-100/model-00001-of-00001.safetensors", CHECKPOINT, True, ("index-json", "config-json"))(
    lambda: KINDS["safetensors"].make()
)
document(
    "tokenizer-json", "checkpoint-100/tokenizer.json", CHECKPOINT,
    {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
     "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
     "model": {"type": "WordLevel", "vocab": {f"w{i}": i for i in range(32)}, "unk_token": "w0"}},
    beside=("safetensors", "config-json"),
)  # fmt: skip
document(
    "tokenizer-config", "checkpoint-100/tokenizer_config.json", CHECKPOINT,
    {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "w1", "pad_token": "w1", "model_max_length": 128,
     "chat_template": "{% for m in messages %}{{ m.content }}{% endfor %}"},
    beside=("safetensors", "config-json", "tokenizer-json"),
)  # fmt: skip
document(
    "adapter-config", "checkpoint-100/adapter_config.json", CHECKPOINT,
    {"peft_type": "LORA", "r": 4, "lora_alpha": 8, "target_modules": ["up_proj"], "task_type": "CAUSAL_LM",
     "base_model_name_or_path": "base"},
    beside=("adapter-model",),
)  # fmt: skip


@kind("adapter-model", "checkpoint-100/adapter_model.safetensors", CHECKPOINT, True, ("adapter-config",))
def _adapter() -> bytes:
    import numpy
    from safetensors.numpy import save

    base = "base_model.model.model.layers.0.mlp.up_proj"
    rng = numpy.random.default_rng(7)
    return save({
        f"{base}.lora_A.weight": rng.normal(size=(4, 8)).astype("float32"),
        f"{base}.lora_B.weight": rng.normal(size=(16, 4)).astype("float32"),
    })  # fmt: skip


def saved(value: Callable[[], object], legacy: bool = False) -> Callable[[], bytes]:
    def make() -> bytes:
        import torch

        out = io.BytesIO()
        torch.save(value(), out, _use_new_zipfile_serialization=not legacy)
        return out.getvalue()

    return make


def state() -> dict:
    import torch

    return {name: torch.from_numpy(value) for name, value in tensors().items()}


class Command:
    """Acts when it is unpickled."""

    def __reduce__(self):
        import os

        return os.system, (f"touch {CANARY}",)


def optimizer() -> dict:
    import torch

    weight = torch.nn.Parameter(torch.ones(4, 4))
    adam = torch.optim.AdamW([weight])
    weight.sum().backward()
    adam.step()
    return adam.state_dict()


NEAR = ("safetensors", "config-json")
kind("bin", "checkpoint-100/pytorch_model.bin", CHECKPOINT, True, ("config-json",))(saved(state))
kind("pt-legacy", "checkpoint-100/model.pt", CHECKPOINT, True)(saved(state, legacy=True))
kind("pt-command", "checkpoint-100/weights.pt", CHECKPOINT, True)(saved(lambda: state() | {"x": Command()}))
kind("optimizer", "checkpoint-100/optimizer.pt", CHECKPOINT, True, NEAR)(saved(optimizer))
kind("training-args", "checkpoint-100/training_args.bin", CHECKPOINT, True, NEAR)(saved(lambda: {"learning_rate": 0.3}))
kind("rng-state", "checkpoint-100/rng_state.pth", CHECKPOINT, True, NEAR)(saved(lambda: {"python": (3, (1, 2), None)}))
kind("scheduler-command", "checkpoint-100/scheduler.pt", CHECKPOINT, True, NEAR)(saved(lambda: {"x": Command()}))
kind("deepspeed-states", "checkpoint-100/global_step100/mp_rank_00_model_states.pt", CHECKPOINT, True)(
    saved(lambda: {"module": state(), "global_steps": 100, "dp_world_size": 2})
)


# data
def table():
    import pyarrow

    return pyarrow.table({"id": list(range(30)), "text": TEXTS, "score": [i / 30 for i in range(30)]})


RECORDS = [{"id": i, "text": t} for i, t in enumerate(TEXTS)]
PLAIN = "".join(json.dumps(r) + "\n" for r in RECORDS).encode()

lines("data-jsonl", "data/train.jsonl", DATA, RECORDS)
lines(
    "chat-jsonl", "data/chat.jsonl", DATA,
    [{"messages": [{"role": "user", "content": t}, {"role": "assistant", "content": t[::-1]}]} for t in TEXTS],
)  # fmt: skip
lines(
    "preference", "data/preference.jsonl", (PREFERENCE, CHECK),
    [{"prompt": t, "chosen": t + " yes", "rejected": "no"} for t in TEXTS],
)  # fmt: skip
lines(
    "generations", "data/generations.jsonl", (GENERATIONS, CHECK),
    [{"step": i, "prompt": t, "completion": t + " and so on", "reward": i / 30} for i, t in enumerate(TEXTS)],
)  # fmt: skip
lines(
    "labels", "data/labels.jsonl", (LABELS,),
    [{"input_ids": [1, 5, 6, 7, 2], "labels": [-100, -100, 6, 7, 2], "attention_mask": [1] * 5} for _ in range(20)],
)  # fmt: skip
document("data-json", "data/train.json", DATA, RECORDS)
text("data-csv", "data/train.csv", DATA, "id,text\n" + "".join(f'{i},"{t}"\n' for i, t in enumerate(TEXTS)))
text("data-tsv", "data/train.tsv", DATA, "id\ttext\n" + "".join(f"{i}\t{t}\n" for i, t in enumerate(TEXTS)))
text("data-txt", "data/train.txt", DATA, "".join(f"{t}.\n\n" for t in TEXTS))
kind("gz", "data/train.jsonl.gz", DATA, structured=True)(lambda: gzip.compress(PLAIN, mtime=0))
kind("bz2", "data/train.jsonl.bz2", DATA, structured=True)(lambda: bz2.compress(PLAIN))
kind("xz", "data/train.jsonl.xz", DATA, structured=True)(lambda: lzma.compress(PLAIN))


@kind("zst", "data/train.jsonl.zst", DATA, structured=True)
def _zst() -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(write_checksum=True).compress(PLAIN)


@kind("parquet", "data/train.parquet", DATA, structured=True)
def _parquet() -> bytes:
    from pyarrow import parquet

    out = io.BytesIO()
    parquet.write_table(table(), out, row_group_size=10)
    return out.getvalue()


@kind("arrow-file", "data/train.arrow", DATA, structured=True)
def _arrow_file() -> bytes:
    import pyarrow

    out = io.BytesIO()
    with pyarrow.ipc.new_file(out, table().schema) as writer:
        writer.write_table(table(), max_chunksize=10)
    return out.getvalue()


@kind("arrow-stream", "data/ds/data-00000-of-00001.arrow", DATA, structured=True)
def _arrow_stream() -> bytes:
    import pyarrow

    out = io.BytesIO()
    with pyarrow.ipc.new_stream(out, table().schema) as writer:
        writer.write_table(table(), max_chunksize=10)
    return out.getvalue()


@kind("webdataset", "data/shard-000000.tar", DATA, structured=True)
def _tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for i, one in enumerate(TEXTS[:9]):  # so that the padding is less than what a cut takes away
            for suffix, content in (("txt", one.encode()), ("json", json.dumps({"i": i, "text": one}).encode())):
                info = tarfile.TarInfo(f"{i:06d}.{suffix}")
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


@kind("npy", "data/codes.npy", (CODEBOOK,), structured=True)
def _npy() -> bytes:
    import numpy

    out = io.BytesIO()
    numpy.save(out, numpy.random.default_rng(7).integers(0, 64, size=(30, 4)))
    return out.getvalue()


@kind("npz", "data/codes.npz", (CODEBOOK,), structured=True)
def _npz() -> bytes:
    import numpy

    out = io.BytesIO()
    numpy.savez_compressed(out, codes=numpy.random.default_rng(7).integers(0, 64, size=(30, 4)))
    return out.getvalue()


@kind("npy-objects", "data/objects.npy", (CODEBOOK,), structured=True)
def _npy_objects() -> bytes:
    import numpy

    out = io.BytesIO()
    numpy.save(out, numpy.array([Command()], dtype=object), allow_pickle=True)
    return out.getvalue()


def lay(kind: Kind, run: Path) -> Path:
    """Write a kind and what lies beside it; the path of the kind itself."""
    for one in (*(KINDS[name] for name in kind.beside), kind):
        path = run / one.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(one.make())
    return run / kind.path
