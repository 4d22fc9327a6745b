"""Failures that one file shows beside another, or one line beside the next: each leads; nearly the same says nothing."""

# ruff: noqa: E501  records and lines of files are kept whole

import json

import pytest
from making import fill
from planted import Files, g, lines, rows, said, table, texts, trace, training

from triage.agent.session import ask


def told(folder, files: Files):
    return ask("what happened here?", [fill(folder, files)]).diagnosis


def starts(ranks, world=8, port=lambda r: 29511) -> Files:
    return {
        f"logs/proc_{i}.txt": f"2026-06-11 09:00:0{i} env RANK={r} WORLD_SIZE={world} MASTER_ADDR=10.2.0.4 MASTER_PORT={port(i)}\n"
        "calling dist.init_process_group ...\n"
        for i, r in enumerate(ranks)
    }


def nodes(ranks) -> Files:
    return {
        f"node-{i}/launch.log": f"+ torchrun --nnodes={len(ranks)} --node_rank={r} --nproc_per_node=8 --master_addr=10.0.3.1 t.py\nwaiting for rendezvous\n"
        for i, r in enumerate(ranks)
    }


def evaluated(ids, whole=200) -> Files:
    answers = texts(whole, "ans", 6)
    return {
        "test.csv": table({"id": i, "question": q} for i, q in enumerate(texts(whole, "q", 5))),
        "merged.jsonl": lines({"id": i, "predict": answers[i], "gold": "x"} for i in ids),
    }


def beams(outside: int) -> Files:
    known = [f"<a_{i % 20}><b_{i % 13}><c_{i % 7}>" for i in range(300)]
    return {
        "info/Office.txt": "".join(f"{k}\titem {i}\t{i}\n" for i, k in enumerate(sorted(set(known)))),
        "pred.json": json.dumps([{"input": "q", "output": known[i], "predict": [known[i + 3], "<a_77><b_1><c_1>" if i < outside else known[i + 5]]} for i in range(100)]),
    }  # fmt: skip


def index(items: int) -> Files:
    return {
        "data/Office.index.json": json.dumps({str(i): [f"<a_{i % 32}>", f"<b_{i % 17}>"] for i in range(400)}),
        "data/train.csv": table({"user": u, "item_id": (u * 7) % items} for u in range(900)),
    }


def set_path(path: str) -> Files:
    return {"run.sh": f"python sft.py --sid_index_path ./data/{path}\n", **index(400)}


def kernels(name: str) -> Files:
    return {
        "k.csv": f"name,total_ms,calls\n{name},2210.4,9600\nflash_fwd_kernel,410.0,3200\nvectorized_elementwise_kernel,150.2,18000\n",
        "train.yaml": "bf16: true\nper_device_train_batch_size: 4\n",
    }


def copies(share: float) -> Files:
    return {
        "mem.csv": f"Time (%),Total Time (ns),Count,Operation\n96.1,{share * 1e10:.0f},12800,[CUDA memcpy Host-to-Device]\n2.1,1800345,900,[CUDA memset]\n",
        "kern.csv": "Time (%),Total Time (ns),Instances,Name\n61.2,6000000000,9600,ampere_bf16_s16816gemm_bf16_128x128\n38.8,4000000000,3200,flash_fwd_kernel\n",
    }


def profile(loader: float) -> Files:
    rule = "-" * 40 + "  " + "-" * 12 + "  " + "-" * 12 + "\n"
    cells = (("enumerate(DataLoader)#_Iter.__next__", f"{loader}s"), ("aten::mm", "2.940s"), ("aten::add", "580.0ms"))
    return {
        "profile.txt": f"{rule}{'Name':>40}  {'Self CPU':>12}  {'# of Calls':>12}\n{rule}"
        + "".join(f"{n:>40}  {t:>12}  {10:>12}\n" for n, t in cells)
    }


def scaling(last: int) -> Files:
    return {
        "env.sh": "export NCCL_DEBUG=WARN\n",
        "scaling.md": f"| 节点数 | tokens/s |\n|--|--|\n| 1 | 88200 |\n| 2 | {88200 + last // 7} |\n| 4 | {88200 + last // 3} |\n| 8 | {88200 + last} |\n",
    }


def card(name: str, log: str = "", precision: str = "bf16: true\n") -> Files:
    return {
        "train.yaml": precision + "learning_rate: 1.0e-5\n",
        "gpu.txt": f"GPU 0: NVIDIA {name} (UUID: GPU-1a)\n",
        "out.log": log or said(training(60)),
    }


def driver(version: str) -> Files:
    return {
        "collect_env.txt": "PyTorch version: 2.6.0+cu124\nIs CUDA available: False\n",
        "smi.txt": f"| NVIDIA-SMI 470.57.02    Driver Version: 470.57.02    CUDA Version: {version}     |\n",
    }


def shared(cards: str, processes: int) -> Files:
    return {
        "start.sh": f"CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7 accelerate launch --num_processes {processes} grpo.py &\n"
        f"CUDA_VISIBLE_DEVICES={cards} trl vllm-serve --model m --gpu-memory-utilization 0.9\n",
        "out.log": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 6 has a total capacity of 79.15 GiB of which 0.8 GiB is free.\n",
    }


def nested(tasks: int) -> Files:
    return {
        "job.sbatch": f"#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --ntasks-per-node={tasks}\nsrun torchrun --nnodes 4 --nproc_per_node 8 t.py\n",
        "slurm-7.out": "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError\n",
    }


def engine(wakes: bool) -> Files:
    out = []
    for e in range(4):
        out += [
            f"09:{e:02d}:00 engine wake_up",
            f"09:{e:02d}:05 engine generate 512 prompts",
            f"09:{e:02d}:30 engine sleep level=1",
        ]
    out += ["09:05:00 engine wake_up"] * wakes + ["09:05:01 engine generate 512 prompts"]
    return {"rollout.log": "\n".join(out) + "\n"}


def one_node(other: str) -> Files:
    error = "FileNotFoundError: [Errno 2] No such file or directory: '/data/pile/train.bin'"
    files = {f"n{k}.log": f"node {k} of 4 start\nloading {other} ok\nwaiting at barrier\n" for k in (0, 1, 3)}
    return files | {"n2.log": "node 2 of 4 start\n" + trace('/app/data.py", line 31, in open_bin', error=error)}


def dumped(stage: int, block: str = "zero_optimization", named: str = "", **more: str) -> Files:
    begun = f"cmd = python -u t.py --deepspeed --deepspeed_config conf/{named}\n" if named else ""
    return {
        "ds.json": f'{{"{block}": {{"stage": 3}}, "bf16": {{"enabled": true}}}}',
        "out.log": f"{begun}[INFO] [config.py:1004:print]   zero_optimization_stage ...... {stage}\n"
        + said(training(40)),
        **more,
    }


OFF = {"plain.json": '{"train_batch_size": 8, "bf16": {"enabled": true}}'}


def fragmented(idle: float) -> Files:
    return {
        "err.log": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.11 GiB is free. "
        f"Of the allocated memory {77 - idle:.2f} GiB is allocated by PyTorch, and {idle:.2f} GiB is reserved by PyTorch but unallocated.\n"
    }


def parts(data: float) -> Files:
    return {
        "耗时.csv": table(
            rows(
                200,
                axis="迭代",
                **{
                    "取数耗时": lambda s: data + g(s, 0.01, "d"),
                    "计算耗时": lambda s: 0.9 + g(s, 0.01, "c"),
                    "loss": lambda s: 2 - s / 500,
                },
            )
        )
    }


def clipped(grows: float) -> Files:
    return {
        "log.csv": table(
            rows(
                300,
                **{
                    "损失": lambda s: 2.4 - s / 500,
                    "被裁剪的步占比": lambda s: abs(0.01 + max(0, s - 100) * grows + g(s, 0.003, "clip")),
                },
                axis="步数",
            )
        )
    }


def counted(each: int) -> Files:
    return {
        "train.yaml": "global_batch_size: 512\nmicro_batch_size: 2\nmax_steps: 4000\n",
        "log.csv": table(rows(150, samples_seen=lambda s: s * each, loss=lambda s: 2.4 - s / 500 + g(s, 0.02, "b"))),
    }


SHOWN = [
    ("dist-init-hang", "ranks-duplicated", starts([0, 1, 2, 3, 4, 5, 5, 7])),
    ("dist-init-hang", "ranks-short-of-world", starts(range(4))),
    ("dist-init-hang", "master-ports-differ", starts(range(8), port=lambda i: 29511 + (i == 6))),
    ("multinode-failure", "node-ranks-duplicated", nodes([0, 1, 1, 3])),
    ("multinode-failure", "launchers-nested", nested(8)),
    ("multinode-failure", "path-missing-on-one", one_node("/data/pile/train.bin")),
    ("eval-split-merge-failure", "merged-rows-missing", evaluated([*range(100), *range(150, 200)])),
    ("eval-split-merge-failure", "merged-rows-repeated", evaluated([*range(200), *range(50, 100)])),
    ("eval-metrics-empty", "scored-nothing", {"r.json": '{"task": "gsm8k", "n_scored": 0, "accuracy": NaN}'}),
    ("constrained-decoding-failure", "answers-outside-catalogue", beams(40)),
    ("sid-index-missing", "index-short-of-items", index(430)),
    ("sid-index-missing", "index-path-not-there", set_path("Ofice.index.json")),
    ("kernel-not-optimized", "kernels-contradict-precision", kernels("ampere_sgemm_128x64_tn")),
    ("h2d-transfer-bottleneck", "copies-fill-time", copies(0.8)),
    ("dataloader-bottleneck", "loader-fills-profile", profile(7.11)),
    ("dataloader-bottleneck", "sign-above-data-share-0-3", parts(0.8)),
    ("comm-bottleneck", "scaling-falls", scaling(174000)),
    ("bf16-unsupported", "card-without-bf16", card("Tesla V100-SXM2-32GB")),
    ("cuda-version-mismatch", "bf16-refused-on-capable-card", card("A100-SXM4-80GB", "ValueError: Your setup doesn't support bf16/gpu.\n")),
    ("cuda-version-mismatch", "driver-below-cuda", driver("11.4")),
    ("vllm-device-conflict", "devices-overlap", shared("6,7", 8)),
    ("engine-sleep-failure", "engine-used-asleep", engine(False)),
    ("deepspeed-zero-misconfig", "zero-not-as-dumped", dumped(0)),
    ("deepspeed-zero-misconfig", "deepspeed-key-misspelt", dumped(0, "zero_optimisation")),
    ("deepspeed-zero-misconfig", "zero-not-as-dumped", dumped(0, "zero_optimizations", "ds.json", **OFF)),
    ("memory-leak", "memory-fragmented", fragmented(46.3)),
    ("grad-clip-saturation", "metric-changed", clipped(0.003)),
    ("gbs-miscalculation", "batch-contradicts-log", counted(256)),
]  # fmt: skip
SILENT = [
    ("ranks-duplicated", starts(range(8))),
    ("ranks-duplicated", starts([0, 0])),  # two starts of which rank 0 was kept
    ("ranks-short-of-world", starts(range(8))),
    ("master-ports-differ", starts(range(8))),
    ("node-ranks-duplicated", nodes([0, 1, 2, 3])),
    ("launchers-nested", nested(1)),
    ("path-missing-on-one", one_node("/data/other/train.bin")),
    ("merged-rows-missing", evaluated(range(200))),
    ("merged-rows-missing", evaluated(range(100))),  # the first hundred, by intention
    ("merged-rows-repeated", evaluated([*range(200), *range(200)])),  # each asked twice
    ("scored-nothing", {"r.json": '{"task": "gsm8k", "n_scored": 1319, "accuracy": 0.31}'}),
    ("answers-outside-catalogue", beams(0)),
    ("index-short-of-items", index(400)),
    ("index-path-not-there", set_path("Office.index.json")),
    ("kernels-contradict-precision", kernels("ampere_bf16_s16816gemm_bf16_128x128")),
    ("copies-fill-time", copies(0.05)),
    ("loader-fills-profile", profile(0.4)),
    ("sign-above-data-share-0-3", parts(0.05)),
    ("scaling-falls", scaling(580000)),
    ("card-without-bf16", card("A100-SXM4-80GB")),
    ("card-without-bf16", card("Tesla V100-SXM2-32GB", precision="fp16: true\n")),
    ("bf16-refused-on-capable-card", card("Tesla V100-SXM2-32GB", "ValueError: Your setup doesn't support bf16/gpu.\n")),
    ("driver-below-cuda", driver("12.2")),
    ("devices-overlap", shared("6,7", 6)),
    ("engine-used-asleep", engine(True)),
    ("zero-not-as-dumped", dumped(3)),
    ("zero-not-as-dumped", dumped(0, named="plain.json", **OFF)),  # a start that was not asked to shard
    ("deepspeed-key-misspelt", dumped(0, named="plain.json", **OFF)),
    ("memory-fragmented", fragmented(4.2)),
    ("sign-above-grad-clip-rate-0-05-and-rises-grad-clip-rate", clipped(0.0)),
    ("batch-contradicts-log", counted(512)),
]  # fmt: skip


@pytest.mark.parametrize(("key", "code", "files"), SHOWN, ids=[f"{code}-{i}" for i, (_, code, _) in enumerate(SHOWN)])
def test_what_the_files_show_leads(tmp_path, key, code, files):
    found = told(tmp_path / "run", files)
    assert found.top is not None
    assert (found.top.entry.id, found.state) == (key, "diagnosed")
    assert code in {f.code for f in found.findings}


@pytest.mark.parametrize(("code", "files"), SILENT, ids=[f"{code}-{i}" for i, (code, _) in enumerate(SILENT)])
def test_what_is_as_it_should_be_says_nothing(tmp_path, code, files):
    assert code not in {f.code for f in told(tmp_path / "run", files).findings}


def test_a_time_is_no_score(tmp_path):
    files = {"phases.csv": table(rows(80, score_s=lambda s: 4 + g(s, 0.2, "s"), loss=lambda s: 2 - s / 100))}
    assert "reward-flat" not in {f.code for f in told(tmp_path / "run", files).findings}
