"""Logs of many trainers as their frameworks print them: what is read, and that a fault is named at its step.

Every row is one format with made-up numbers. A healthy log is read whole and without alarm; the same log with NaN, or
with a jump of the loss, from point `BAD` on is found there.
"""

# One format per line, however long.
# ruff: noqa: E501
# fmt: off

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pytest

from triage.tools.discover import discover
from triage.tools.logs.scan import read_run, scan

BAD = 80


@dataclass(frozen=True)
class P:
    """One logged point of a run."""

    i: int
    step: int
    loss: float
    norm: float
    lr: float
    time: float
    tps: float
    reward: float
    kl: float
    entropy: float
    length: float
    clip: float = 0.002

    @property
    def val(self):
        return self.loss + 0.08

    @property
    def evaluated(self):
        return self.i % 10 == 0

    @property
    def epoch(self):
        return self.step / 1000


def points(stride):
    r = random.Random(1)
    return [
        P(
            i, i * stride, round(2.2 + 6 * math.exp(-i / 25) + r.gauss(0, 0.02), 4), round(1 + r.uniform(-0.2, 0.2), 3),
            3e-4 * min(1, i / 10), round(2.2 + r.uniform(-0.05, 0.05), 3), round(3500 + r.uniform(-40, 40), 1),
            round(0.6 - 0.3 * math.exp(-i / 40) + r.gauss(0, 0.01), 4), round(0.0005 * i + 0.001, 5),
            round(0.4 + 0.5 * math.exp(-i / 40) + r.gauss(0, 0.01), 4), round(600 + r.gauss(0, 15), 2),
        )
        for i in range(1, 121)
    ]


def with_nan(run):
    return [replace(p, loss=math.nan, norm=math.nan) if p.i >= BAD else p for p in run]


def with_jump(run):
    return [replace(p, loss=round(p.loss + 4, 4)) if p.i >= BAD else p for p in run]


@dataclass(frozen=True)
class Row:
    """One format: how it prints the points, and which metric must be read as what."""

    name: str
    render: Callable[[Sequence[P]], str]
    reads: Mapping[str, Callable]
    """Metric -> its value at a point, None where it is not printed."""
    file: str = "train.log"
    stride: int = 10
    nan: str = "loss-nonfinite"
    """The finding of a NaN, empty where the format prints neither loss nor gradient norm."""
    jump: bool = True
    """Whether the loss has a level that can jump."""


def lines(f):
    return lambda run: "".join(f(p) + "\n" for p in run)


def L(p): return p.loss
def N(p): return p.norm
def R(p): return p.lr
def T(p): return p.time
def TPS(p): return p.tps
def V(p): return p.val if p.evaluated else None
def clock(p): return f"{10 + p.i // 60:02d}:{p.i % 60:02d}:01"
ROWS: list[Row] = []


def row(name, render, reads, **more):
    ROWS.append(Row(name, render, reads, **more))

LN = {"loss": L, "grad_norm": N, "learning_rate": R}

row("megatron-core", lines(lambda p: f" [2026-03-02 {clock(p)}.123456] iteration {p.step:8}/  500000 | consumed samples: {p.step*1024:12} | elapsed time per iteration (ms): {p.time*1000:.1f} | throughput per GPU (TFLOP/s/GPU): 412.3 | learning rate: {p.lr:.6E} | global batch size:  1024 | lm loss: {p.loss:.6E} | loss scale: 1.0 | grad norm: {p.norm:.3f} | num zeros: 0 | params norm: 1000.123 | number of skipped iterations:   0 | number of nan iterations:   0 |" + (f"\n(min, max) time across ranks (ms):\n    evaluate .......................................: (1234.56, 1235.01)\n----------------------------------------------------------\n validation loss at iteration {p.step} on validation set | lm loss value: {p.val:.6E} | lm loss PPL: {math.exp(p.val):.6E} | \n----------------------------------------------------------" if p.evaluated else "")),
    LN | {"step_time": T, "eval_loss": V, "tflops": lambda p: 412.3})
row("megatron-moe", lines(lambda p: f"[default7]: [2026-03-02 {clock(p)}] iteration {p.step:8}/  500000 | consumed samples: {p.step*1024:12} | elapsed time per iteration (ms): {p.time*1000:.1f} | learning rate: {p.lr:.6E} | global batch size:  1024 | lm loss: {p.loss:.6E} | load_balancing_loss: 1.000203E+00 | z_loss: 2.1E-03 | mtp_1 loss: {p.loss+.4:.6E} | loss scale: 1.0 | grad norm: {p.norm:.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |"),
    LN | {"aux_loss": lambda p: 1.000203})
row("megatron-running-average", lines(lambda p: f"[20251202 {clock(p)}][rank-7/8][INFO ] [--------trainer.py:2560] : iteration {p.step}/ 5000 | consumed samples: 16128 | elapsed time per iteration (ms): {p.time*1000:.1f}/2201.0 | hip mem usage/free/total/usage_ratio: 153.81GB/102.17GB/255.98GB/60.09% | throughput per GPU (TFLOP/s/GPU): 567.6/568.0 | tokens per GPU (tokens/s/GPU): {p.tps:.1f}/3501.0 | learning rate: {p.lr:.6E} | global batch size: 128 | lm loss: {p.loss:.6E} | loss scale: 1.0 | grad norm: {p.norm:.3f} | number of skipped iterations: 0 | number of nan iterations: 0 |"),
    LN | {"step_time": T, "tokens_per_second": TPS, "tflops": lambda p: 567.6})
row("megatron-deepspeed", lines(lambda p: f"[default7]: iteration {p.step:8}/   95367 | consumed samples: {p.step*2048:12} | consumed tokens:   13967032320 | elapsed time per iteration (s): {p.time:.2f} | learning rate: {p.lr:.3E} | global batch size:  2048 | lm loss: {p.loss:.6E} | loss scale: 4096.0 | grad norm: {p.norm:.3f} | num zeros: 0.0 | number of skipped iterations:   0 | number of nan iterations:   0 | samples per second: 88.256 | TFLOPs: 148.25 |\n[default7]:time (ms)"),
    {"loss": L, "grad_norm": N, "step_time": T, "samples_per_second": lambda p: 88.256, "tflops": lambda p: 148.25})
row("gpt-neox", lines(lambda p: f"[2026-03-02 {clock(p)},123] [INFO] [logging.py:96:log_dist] [Rank 0] step={p.step}, skipped=0, lr=[{p.lr}, {p.lr}], mom=[[0.9, 0.95], [0.9, 0.95]]\n samples/sec: 9.490 | iteration {p.step:8}/  320000 | elapsed time per iteration (ms): {p.time*1000:.1f} | learning rate: {p.lr:.3E} | approx flops per GPU: 30.9TFLOPS | lm_loss: {p.loss:.6E} | loss scale: 65536.0 | number of skipped iterations:   0 | number of nan iterations:   0 |"),
    {"loss": L, "step_time": T, "samples_per_second": lambda p: 9.49})
row("nemo2", lines(lambda p: f"Training epoch 0, iteration {p.step}/999999 | lr: {p.lr:.3e} | global_batch_size: 512 | global_step: {p.step} | reduced_train_loss: {p.loss:.4f} | train_step_timing in s: {p.time:.3f} | consumed_samples: {p.step*512}" + (f" | val_loss: {p.val:.4f}" if p.evaluated else "")),
    {"loss": L, "learning_rate": R, "step_time": T, "eval_loss": V})
row("nemo1-bar", lambda ps: "\r".join(f"Epoch 0:   5%|▍         | {p.step}/301501 [59:12<1573:03:24, 18.79s/it, loss={p.loss:.3f}, v_num=3-16, reduced_train_loss={p.loss:.3f}, lr={p.lr:.2e}, global_step={p.step}.0, consumed_samples=24064.0, train_step_timing in s={p.time:.3f}]" for p in ps) + "\n",
    {"loss": L, "learning_rate": R, "step_time": T})
row("torchtitan", lines(lambda p: f"[rank0]:[titan] 2026-03-02 {clock(p)},001 - root - INFO - \x1b[31mstep: {p.step:2}  \x1b[32mloss: {p.loss:7.4f}  \x1b[38;2;180;60;0mgrad_norm: {p.norm:7.4f}  \x1b[38;2;54;234;195mmemory: 42.31GiB(53.46%)  \x1b[34mtps: {p.tps:,.0f}  \x1b[36mtflops: 310.20  \x1b[35mmfu: 31.37%\x1b[39m" + (f"\n[rank0]:[titan] 2026-03-02 {clock(p)},001 - root - INFO - validate step: {p.step:2}  loss: {p.val:7.4f}  memory: 42.31GiB(53.46%)  tps: 9,000" if p.evaluated else "")),
    {"loss": L, "grad_norm": N, "tokens_per_second": TPS, "eval_loss": V})
row("torchtune-disk", lines(lambda p: f"Step {p.step} | loss:{p.loss} lr:{p.lr} tokens_per_second_per_gpu:{p.tps} grad_norm:{p.norm} peak_memory_active:12.5 peak_memory_alloc:12.4 peak_memory_reserved:14.1 "),
    LN | {"tokens_per_second": TPS}, file="log_1772445.txt")
row("torchtune-bar", lambda ps: "\r".join(f"1|{p.step}|Loss: {p.loss}: 10%|█         | {p.step}/5000 [01:00<09:00,  1.60it/s]" for p in ps) + "\n", {"loss": L})
row("litgpt", lines(lambda p: f"Epoch 1 | iter {p.step*4} step {p.step} | loss train: {p.loss:.3f}, val: {f'{p.val:.3f}' if p.evaluated else 'n/a'} | iter time: {p.time*1000:.2f} ms (step) remaining time: 0:10:11"),
    {"loss": L, "eval_loss": V, "step_time": T})
row("nanogpt", lines(lambda p: f"iter {p.step}: loss {p.loss:.4f}, time {p.time*1000:.2f}ms, mfu 41.20%" + (f"\nstep {p.step}: train loss {p.loss:.4f}, val loss {p.val:.4f}\nsaving checkpoint to out" if p.evaluated else "")),
    {"loss": L, "step_time": T, "eval_loss": V})
row("nanochat", lines(lambda p: f"step {p.step:05d}/21400 (0.05%) | loss: {p.loss:.6f} | grad norm: {p.norm:.4f} | lrm: 1.00 | dt: {p.time*1000:.2f}ms | tok/sec: {p.tps:,.0f} | mfu: 47.25 | total time: 1.01m" + (f"\nStep {p.step:05d} | Validation bpb: {p.val/3:.4f}" if p.evaluated else "")),
    {"loss": L, "grad_norm": N, "step_time": T, "tokens_per_second": TPS, "eval_bpb": lambda p: p.val/3 if p.evaluated else None})
row("nanotron", lines(lambda p: f"[default0]:03/02/2026 {clock(p)} [INFO|DP=0|PP=0|TP=0|ip-10-0-0-1]: iteration: {p.step} / 10000 | consumed_tokens: 10.5M | elapsed_time_per_iteration_ms: {p.time:.3f}K | tokens_per_sec: 266K | tokens_per_sec_per_gpu: {p.tps/1000:.3f}K | global_batch_size: 1.02K | lm_loss: {p.loss:.4f} | lr: {p.lr:.3g} | model_tflops_per_gpu: 312 | hardware_tflops_per_gpu: 312 | grad_norm: {p.norm:.3f} | cuda_memory_allocated: 12.3G | cuda_max_memory_reserved: 20.1G"),
    LN | {"step_time": T})
row("llama-factory-jsonl", lines(lambda p: json.dumps({"current_steps": p.step, "total_steps": 1200, "loss": p.loss, "lr": p.lr, "epoch": p.epoch, "percentage": 0.8, "elapsed_time": "0:00:20", "remaining_time": "0:50:00", "throughput": p.tps, "total_tokens": 123456}) + (("\n" + json.dumps({"current_steps": p.step, "total_steps": 1200, "eval_loss": p.val, "epoch": p.epoch, "percentage": 0.8, "elapsed_time": "0:00:20", "remaining_time": "0:50:00"})) if p.evaluated else "")),
    {"loss": L, "learning_rate": R, "eval_loss": V}, file="trainer_log.jsonl")
row("hf-dict-and-bar", lines(lambda p: f"  1%|▏         | {p.step}/1200 [00:10<20:00,  1.00s/it]\r                                                   \r{{'loss': {p.loss}, 'grad_norm': {p.norm}, 'learning_rate': {p.lr}, 'epoch': {p.epoch:.2f}}}\r  1%|▏         | {p.step}/1200 [00:10<20:00,  1.00s/it]"), LN)
row("ms-swift", lines(lambda p: f"{{'loss': {p.loss}, 'token_acc': 0.63554502, 'grad_norm': {p.norm}, 'learning_rate': {p.lr}, 'memory(GiB)': 13.31, 'train_speed(s/it)': {p.time}, 'epoch': {p.epoch}, 'global_step/max_steps': '{p.step}/1200', 'percentage': '0.01%', 'elapsed_time': '3s', 'remaining_time': '9h 30m 16s'}}"),
    LN | {"step_time": T, "gpu_memory": lambda p: 13.31})
row("ms-swift-megatron", lines(lambda p: f"{{'loss': {p.loss}, 'grad_norm': {p.norm}, 'learning_rate': {p.lr}, 'elapsed_time': '2m 19s', 'remaining_time': '1h', 'iteration': '{p.step}/1200', 'memory(GiB)': 40.84, 'train_speed(s/it)': {p.time}}}"), LN)
row("xtuner-v1", lines(lambda p: f"[XTuner][RANK 0][2025-08-28 {clock(p)}][INFO] Step {p.step}/3200 data_time: 0.0039 lr: {p.lr:.6f} time: {p.time:.4f} text_tokens: 1125.0 total_loss: {p.loss:.3f} reduced_llm_loss: {p.loss:.3f} max_memory: 4.86 GB reserved_memory: 6.86 GB grad_norm: {p.norm:.3f} tgs: {p.tps:.1f} e2e_tgs: 2003.2 "),
    {"loss": L, "grad_norm": N, "step_time": T, "tokens_per_second": TPS, "gpu_memory": lambda p: 4.86})
row("mmengine", lines(lambda p: f"2026/03/02 {clock(p)} - mmengine - INFO - Iter(train) [{p.step:5}/2500]  lr: {p.lr:.4e}  eta: 0:10:00  time: {p.time:.4f}  data_time: 0.0101  memory: 12288  loss: {p.loss:.4f}  grad_norm: {p.norm:.4f}"), LN | {"step_time": T, "gpu_memory": lambda p: 12.0})
row("internevo", lines(lambda p: f"2026-03-02 {clock(p)},123\tINFO training_metrics.py:300 in record_current_batch_training_metrics -- tflops=61.3 step={p.step} loss={p.loss} real_tgs=1999.0 tgs (tokens/gpu/second)={p.tps} tgs/last_tgs_1={p.tps} lr={p.lr} loss_scale=65536.0 grad_norm={{'0_default': {p.norm}}} micro_num=4 num_consumed_tokens=131072 inf_nan_skip_batches=0 num_samples_in_batch=16 largest_length=2048 fwd_bwd_time=1.5 perplexity=12.1 acc=0.31"),
    LN | {"tokens_per_second": TPS})
row("colossalai-bar", lambda ps: "\r".join(f"Epoch 0:  10%|█         | {p.step}/5000 [00:10<01:30, 5.00it/s, Loss={p.loss:.4f}]" for p in ps) + "\n", {"loss": L})
row("deepspeed-engine", lines(lambda p: f"[2026-01-02 {clock(p)},222] [INFO] [logging.py:96:log_dist] [Rank 0] step={p.step}, skipped=0, lr=[{p.lr}], mom=[[0.9, 0.999]]\nsteps: {p.step} loss: {p.loss:.4f} iter time (s): {p.time:.3f} samples/sec: 70.2"),
    {"loss": L, "learning_rate": R, "step_time": T, "samples_per_second": lambda p: 70.2})
row("fairseq-json", lines(lambda p: f"2026-03-02 {clock(p)} | INFO | train_inner | " + json.dumps({"epoch": 1, "update": round(p.epoch, 3), "loss": f"{p.loss:.3f}", "nll_loss": f"{p.loss-.3:.3f}", "ppl": "460.11", "wps": f"{p.tps:.1f}", "ups": "0.5", "wpb": "28201.6", "bsz": "1117.8", "num_updates": str(p.step), "lr": f"{p.lr:.6g}", "gnorm": f"{p.norm:.3f}", "loss_scale": "128", "train_wall": "93", "wall": "0"}) + (f"\n2026-03-02 {clock(p)} | INFO | valid | " + json.dumps({"epoch": 1, "valid_loss": f"{p.val:.3f}", "valid_ppl": f"{2**p.val:.2f}", "valid_num_updates": str(p.step), "valid_best_loss": "3.1"}) if p.evaluated else "")),
    LN | {"tokens_per_second": TPS, "eval_loss": V})
row("fairseq-simple", lines(lambda p: f"2026-03-02 {clock(p)} | INFO | train_inner | epoch 001: {p.step:6} / 31900 loss={p.loss:.3f}, nll_loss={p.loss-.3:.3f}, ppl=338.5, wps={p.tps:.1f}, ups=0.5, wpb=28201.6, bsz=1117.8, num_updates={p.step}, lr={p.lr:.6g}, gnorm={p.norm:.3f}, clip=0, loss_scale=128, train_wall=93, gb_free=9.3, wall=105"), LN | {"tokens_per_second": TPS})
row("composer", lines(lambda p: f"[batch={p.step}/5000]:\n\t Train time/batch: {p.step-1}\n\t Train time/sample: 4096\n\t Train trainer/device_train_microbatch_size: 8\n\t Train loss/train/total: {p.loss:.4f}\n\t Train metrics/train/LanguageCrossEntropy: {p.loss:.4f}\n\t Train metrics/train/LanguagePerplexity: 56817.2148\n\t Train lr-DecoupledAdamW/group0: {p.lr:.8f}\n\t Train l2_norm/grad/global: {p.norm:.4f}\n\t Train throughput/device/tokens_per_sec: {p.tps:.4f}" + (f"\n[Eval batch=1/10] Eval on eval data\n[Eval batch=10/10] Eval on eval data:\n\t Eval metrics/eval/LanguageCrossEntropy: {p.val:.4f}\n\t Eval metrics/eval/LanguagePerplexity: 9.1" if p.evaluated else "")),
    LN | {"tokens_per_second": TPS, "eval_loss": V})
row("maxtext", lines(lambda p: f"I0302 {clock(p)}.000000 140 metric_logger.py:196] completed step: {p.step}, seconds: {p.time:.3f}, TFLOP/s/device: 187.407, Tokens/s/device: {p.tps:.3f}, total_weights: 262144, loss: {p.loss:.3f}" + (f"\neval metrics after step: {p.step}, loss={p.val:.3f}, total_weights=100000.0" if p.evaluated else "")),
    {"loss": L, "step_time": T, "tokens_per_second": TPS, "tflops": lambda p: 187.407, "eval_loss": V})
row("easylm-pprint", lines(lambda p: f"\n{{'accuracy': 0.3511,\n 'gradient_norm': {p.norm},\n 'learning_rate': {p.lr},\n 'loss': {p.loss},\n 'param_norm': 1021.5,\n 'step': {p.step}}}\n"), LN)
row("levanter", lines(lambda p: f"2026-03-02T{clock(p)} - 0 - levanter.tracker - train - INFO :: Progress on:train {p.step}it/10.0kit rate:2.1it/s remaining:0:06:21 elapsed:01:40 postfix:loss={p.loss:.3f}"), {"loss": L})
row("paddlenlp", lines(lambda p: f"[2026-03-02 {clock(p)},008] [    INFO] - loss: {p.loss:.8f}, learning_rate: {p.lr:.6g}, global_step: {p.step}, current_memory_allocated: 7.549170255661011, max_memory_allocated: 7.9, interval_runtime: 22.5, interval_samples_per_second: 3.541, interval_tokens_per_second_per_device: {p.tps}, interval_steps_per_second: 4.427, progress_or_epoch: 0.0265"),
    {"loss": L, "learning_rate": R, "tokens_per_second": TPS, "samples_per_second": lambda p: 3.541})
row("mindformers", lines(lambda p: f"2026-03-02 {clock(p)},308 - mindformers[core/callback/callback.py:529] - INFO - {{ Epoch:[  1/  2], step:[{p.step:5}/ 6500], loss: {p.loss:.3f}, per_step_time: {p.time*1000:.0f}ms, lr: {p.lr}, overflow cond: False, loss_scale: 1.0, global_norm: [{p.norm}], train_throughput_per_npu: 2.896T\n2026-03-02 {clock(p)},309 - mindformers[core/callback/callback.py:539] - INFO -    0.0% |                                                  | 0.00600 samples/s/p  25 days, 2:07:47 }}"),
    LN | {"step_time": T})
row("keras-verbose2", lambda ps: "".join(f"Epoch {p.step}/120\n25/25 - 2s - {p.time*1000:.0f}ms/step - accuracy: 0.8205 - loss: {p.loss:.4f} - val_accuracy: {1/p.val:.4f} - val_loss: {p.val:.4f} - learning_rate: {p.lr:.4e}\n" for p in ps), {"loss": L, "eval_loss": lambda p: p.val, "learning_rate": R}, stride=1)
row("lightning-bar", lambda ps: "\r".join(f"Epoch 0:  10%|█         | {p.step}/5000 [00:10<01:30,  5.00it/s, v_num=0, train_loss_step={p.loss:.3f}, grad_norm={p.norm}]" for p in ps) + "\n", {"loss": L, "grad_norm": N})
row("diffusers-bar", lambda ps: "\r".join(f"Steps:  10%|█         | {p.step}/5000 [00:10<01:30,  5.00it/s, lr={p.lr}, step_loss={p.loss:.3f}]" for p in ps) + "\n", {"loss": L, "learning_rate": R})
row("wandb-csv", lambda ps: '"Step","sft-7b - train/loss","sft-7b - train/loss__MIN","sft-7b - train/loss__MAX","sft-7b - train/grad_norm"\n' + "".join(f'"{p.step}","{p.loss}","{p.loss}","{p.loss}","{p.norm}"\n' for p in ps), {"loss": L, "grad_norm": N}, file="wandb_export_2026-03-02.csv")
row("wandb-history-csv", lambda ps: "train/grad_norm,_runtime,train/loss,_timestamp,_step,train/learning_rate,eval/loss,train/global_step\n" + "".join(f"{p.norm},{p.i},{p.loss},17000{p.i},{p.i},{p.lr},{p.val if p.evaluated else ''},{p.step}\n" for p in ps), LN | {"eval_loss": V}, file="history.csv")
row("wandb-history-jsonl", lines(lambda p: json.dumps({"_step": p.i, "_runtime": p.i * 2.1, "_timestamp": 1.7e9 + p.i, "train/loss": p.loss, "train/grad_norm": p.norm, "train/learning_rate": p.lr, "train/global_step": p.step, "train/epoch": p.epoch})), LN, file="wandb-history.jsonl")
row("tensorboard-csv", lambda ps: "Wall time,Step,Value\n" + "".join(f"17000{p.i}.5,{p.step},{p.loss}\n" for p in ps), {"loss": L}, file="run-sft_7b-tag-train_loss.csv")
row("mlflow", lambda ps: "".join(f"{1700000000000+p.i} {p.loss} {p.step}\n" for p in ps), {"loss": L}, file="mlruns/0/4f2a/metrics/train_loss")
row("structlog-kv", lines(lambda p: f"2026-03-02 {clock(p)} [info     ] train_step                     epoch=0 grad_norm={p.norm} loss={p.loss} lr={p.lr} step={p.step} tokens_per_sec={p.tps}"), LN | {"tokens_per_second": TPS})
row("logfmt", lines(lambda p: f'time="2026-03-02T{clock(p)}Z" level=info msg="train step" step={p.step} loss={p.loss} grad_norm={p.norm} lr={p.lr}'), LN)
row("structlog-json", lines(lambda p: json.dumps({"event": "train_step", "level": "info", "timestamp": "2026-03-02T10:11:12Z", "step": p.step, "loss": p.loss, "grad_norm": p.norm, "lr": p.lr})), LN)
row("json-message", lines(lambda p: json.dumps({"asctime": "2026-03-02 10:11:12", "levelname": "INFO", "message": f"step {p.step} | loss {p.loss} | grad_norm {p.norm} | lr {p.lr}"})), LN)
row("docker-json-log", lines(lambda p: json.dumps({"log": f"{{'loss': {p.loss}, 'grad_norm': {p.norm}, 'learning_rate': {p.lr}, 'step': {p.step}}}\n", "stream": "stdout", "time": "2026-03-02T10:11:12.123456789Z"})), LN, file="container-json.log")
row("loguru-serialized", lines(lambda p: json.dumps({"text": f"2026-03-02 10:11:12.123 | INFO     | __main__:train:12 - step={p.step} loss={p.loss} grad_norm={p.norm} lr={p.lr}\n", "record": {"elapsed": {"repr": "0:00:01", "seconds": 1.2}, "extra": {}, "level": {"name": "INFO", "no": 20}, "line": 12, "message": f"step={p.step} loss={p.loss} grad_norm={p.norm} lr={p.lr}", "process": {"id": 1, "name": "MainProcess"}}})), LN, file="train.json.log")
row("loguru", lines(lambda p: f"2026-03-02 {clock(p)}.123 | INFO     | train:train_step:123 - step {p.step}: loss={p.loss} lr={p.lr:.2e} grad_norm={p.norm}"), LN)
row("kubectl-timestamps", lines(lambda p: f"[pod/sft-worker-0/trainer] 2026-03-02T{clock(p)}.123456789Z {{'loss': {p.loss}, 'grad_norm': {p.norm}, 'learning_rate': {p.lr}, 'step': {p.step}}}"), LN)
row("ray-train", lines(lambda p: f"\x1b[36m(RayTrainWorker pid=12345, ip=10.0.0.12)\x1b[0m {{'loss': {p.loss}, 'grad_norm': {p.norm}, 'learning_rate': {p.lr}, 'epoch': {p.epoch}, 'step': {p.step}}}"), LN)
row("chinese", lines(lambda p: f"2026-03-02 {clock(p)} 信息 第 {p.step} 步，训练损失：{p.loss}，梯度范数：{p.norm}，学习率：{p.lr}" + (f"\n2026-03-02 {clock(p)} 信息 第 {p.step} 步，验证损失：{p.val}" if p.evaluated else "")), LN | {"eval_loss": V})
row("chinese-colon", lines(lambda p: f"[INFO] 轮次: 1/3, 步数: {p.step}/1200, 损失: {p.loss}, 学习率: {p.lr}, 梯度范数: {p.norm}, 吞吐: {p.tps} tokens/s"), LN)
row("llm.c", lines(lambda p: f"step {p.step:4}/18865 | loss {p.loss:.6f} (+0.12z)| norm {p.norm:.4f} (-0.31z)| lr {p.lr:.2e} | {p.time*1000:.2f} ms | 41.2% bf16 MFU | {p.tps:.0f} tok/s" + (f"\nval loss {p.val:.6f}" if p.evaluated else "")),
    LN | {"tokens_per_second": TPS, "step_time": T, "eval_loss": V})
row("mlx-lm", lines(lambda p: f"Iter {p.step}: Train loss {p.loss:.3f}, Learning Rate {p.lr:.3e}, It/sec 0.512, Tokens/sec {p.tps:.3f}, Trained Tokens 4200, Peak mem 14.200 GB" + (f"\nIter {p.step}: Val loss {p.val:.3f}, Val took 10.201s" if p.evaluated else "")),
    {"loss": L, "learning_rate": R, "tokens_per_second": TPS, "eval_loss": V, "gpu_memory": lambda p: 14.2})
row("hf-notebook-table", lambda ps: "Step\tTraining Loss\tValidation Loss\n" + "".join(f"{p.step}\t{p.loss}\t{p.val}\n" for p in ps), {"loss": L, "eval_loss": lambda p: p.val})
row("markdown-table", lambda ps: "| Step | Training Loss | Validation Loss |\n|------|---------------|-----------------|\n" + "".join(f"| {p.step} | {p.loss} | {p.val} |\n" for p in ps), {"loss": L, "eval_loss": lambda p: p.val})

# reinforcement learning and preference tuning
RL = {"reward": lambda p: p.reward, "kl": lambda p: p.kl, "entropy": lambda p: p.entropy, "response_length": lambda p: p.length, "grad_norm": N}
def only(*names): return {name: RL[name] for name in names}
K = {"stride": 1, "jump": False, "nan": "grad-norm-nonfinite"}
row("verl", lines(lambda p: f"\x1b[36m(TaskRunner pid=2213)\x1b[0m step:{p.step} - global_seqlen/mean:54381.5 - actor/entropy:{p.entropy} - actor/kl_loss:{p.kl} - actor/pg_loss:np.float64(0.01) - actor/pg_clipfrac:{p.clip} - actor/ppo_kl:0.0001 - actor/grad_norm:{p.norm} - actor/lr:1e-06 - critic/score/mean:{p.reward} - critic/rewards/mean:{p.reward} - response_length/mean:{p.length} - response_length/clip_ratio:0.02 - perf/throughput:{p.tps} - timing_s/step:{p.time}"), RL | {"tokens_per_second": TPS, "step_time": T}, **K)
row("openrlhf-bar", lambda ps: "\r".join(f"Episode [1/1]:  10%|█         | {p.step}/500 [1:01:10<9:01:30, 60.00s/it, policy_loss=0.012, kl={p.kl}, reward={p.reward}, response_length={p.length}, total_length=900, act_lr=5e-7]" for p in ps) + "\n", only("kl", "reward", "response_length"), stride=1, jump=False, nan="")
row("openrlhf-status", lines(lambda p: f"(PPOTrainer pid=991) 2026-03-02 {clock(p)} INFO     ✨ Global step {p.step}: {{'policy_loss': 0.012, 'actor_lr': 5e-07, 'ppo_clip_ratio': {p.clip}, 'ppo_kl': 0.0001, 'kl': {p.kl}, 'reward': {p.reward}, 'response_length': {p.length}, 'total_length': 900.1, 'actor_grad_norm': {p.norm}, 'timing/step_total': {p.time}}}"), only("kl", "reward", "response_length", "grad_norm"), **K)
row("trl-grpo", lines(lambda p: f"{{'loss': 0.0, 'grad_norm': {p.norm}, 'learning_rate': 1e-06, 'num_tokens': 190000.0, 'completions/mean_length': {p.length}, 'completions/min_length': 100.0, 'completions/max_length': 1024.0, 'completions/clipped_ratio': 0.02, 'rewards/accuracy_reward/mean': 0.3, 'rewards/accuracy_reward/std': 0.4, 'reward': {p.reward}, 'reward_std': 0.2, 'frac_reward_zero_std': 0.1, 'kl': {p.kl}, 'entropy': {p.entropy}, 'clip_ratio/region_mean': {p.clip}, 'epoch': {p.epoch:.3f}}}\n  1%|▏         | {p.step}/1200 [00:10<20:00,  1.00s/it]"), RL, **K)
row("trl-dpo", lines(lambda p: f"{{'loss': {0.2+p.loss/10:.4f}, 'grad_norm': {p.norm}, 'learning_rate': {p.lr}, 'rewards/chosen': 0.1, 'rewards/rejected': -0.2, 'rewards/accuracies': 0.61, 'rewards/margins': 0.3, 'logps/chosen': -300.1, 'logps/rejected': -310.2, 'logits/chosen': -1.5, 'logits/rejected': -1.6, 'epoch': {p.epoch:.2f}}}\n  1%|▏         | {p.step}/1200 [00:10<20:00,  1.00s/it]"), {"loss": lambda p: 0.2+p.loss/10, "grad_norm": N, "reward_accuracy": lambda p: .61}, jump=False)
row("trl-ppo", lines(lambda p: f"{{'eps': 1, 'objective/kl': {p.kl}, 'objective/entropy': {p.entropy*50:.4f}, 'objective/non_score_reward': -0.1, 'objective/rlhf_reward': {p.reward}, 'objective/scores': {p.reward}, 'policy/approxkl_avg': 0.002, 'policy/clipfrac_avg': {p.clip}, 'loss/policy_avg': -0.01, 'loss/value_avg': 0.2, 'val/clipfrac_avg': 0.0, 'policy/entropy_avg': {p.entropy}, 'val/ratio': 1.0, 'lr': 3e-06, 'episode': {p.step*512}, 'epoch': {p.epoch:.3f}}}\n  1%|▏         | {p.step}/1200 [00:10<20:00,  1.00s/it]"), only("kl", "entropy", "reward"), stride=1, jump=False, nan="")
row("nemo-rl", lines(lambda p: f"========================= Step {p.step}/1000 =========================\n▶ Preparing batch...\n▶ Generating responses for batch of size 512...\n▶ Training policy...\nLogged data to logs/exp_001/train_data_step{p.step}.jsonl\n\n📊 Training Results:\n  • Loss: 0.0123\n  • Avg Reward: {p.reward:.4f}\n  • Mean Generation Length: {p.length:.4f}\n\n⏱️  Timing:\n  • Total step time: {p.time:.2f}s\n  • generation: 1.00s (45.0%)\n  • policy_training: 0.50s (22.0%)\n\n🔍 Performance Metrics:\n  • Throughputs (per GPU):\n    - E2E (Samples/sec/gpu): 0.2\n    - E2E (Tokens/sec/gpu): {p.tps:.2f}"), only("reward", "response_length") | {"step_time": T}, stride=1, jump=False, nan="")
row("slime", lines(lambda p: f"[2026-03-02 {clock(p)}] rollout.py:312 - rollout {p.step}: {{'rollout/response_len/mean': {p.length}, 'rollout/raw_reward': {p.reward}, 'rollout/truncated_ratio': 0.02}}\n\x1b[36m(MegatronTrainRayActor pid=3111)\x1b[0m [2026-03-02 {clock(p)}] model.py:591 - step {p.step}: {{'train/loss': 0.01, 'train/pg_loss': 0.01, 'train/entropy_loss': {p.entropy}, 'train/ppo_kl': 0.0, 'train/grad_norm': {p.norm}, 'train/lr-pg_0': 1e-06}}\n(RolloutManager pid=22) perf {p.step}: {{'perf/step_time': {p.time}, 'perf/rollout_time': 30.1}}"), only("reward", "response_length", "entropy", "grad_norm") | {"step_time": T}, **K)
BOX = "├────────────────────────────────────┼────────────┤"
row("areal-table", lines(lambda p: f"(AReaL) 20260302-{clock(p)}.123 StatsLogger INFO: Epoch 1/2 Step {p.step}/600 Train step {p.step}/1200 done.\n(AReaL) 20260302-{clock(p)}.124 StatsLogger INFO: Stats:\n╒════════════════════════════════════╤════════════╕\n│ ppo_actor/task_reward/avg          │ {p.reward:.4e} │\n{BOX}\n│ ppo_actor/update/entropy/avg       │ {p.entropy:.4e} │\n{BOX}\n│ ppo_actor/update/grad_norm         │ {p.norm:.4e} │\n{BOX}\n│ ppo_actor/update/lr                │ 1.0000e-06 │\n{BOX}\n│ ppo_actor/seq_len/avg              │ {p.length:.4e} │\n╘════════════════════════════════════╧════════════╛"), only("reward", "entropy", "grad_norm"), **K)
row("rich-table", lines(lambda p: f"╭──────────────────────┬──────────────╮\n│ Metric               │ Value        │\n├──────────────────────┼──────────────┤\n│ training_step        │ {p.step}           │\n│ episode              │ {p.step*512}        │\n│ objective/kl         │ {p.kl}       │\n│ objective/scores     │ {p.reward}       │\n│ policy/entropy_avg   │ {p.entropy}       │\n│ optim/grad_norm      │ {p.norm}       │\n╰──────────────────────┴──────────────╯"), only("kl", "reward", "entropy", "grad_norm"), **K)
row("roll", lines(lambda p: f"[2026-03-02 {clock(p)}] [rlvr_pipeline.py (512)] [INFO] [DRIVER 0 / 1]: " + json.dumps({"time/step_total": p.time, "critic/kl": p.kl, "critic/score/mean": p.reward, "actor/pg_loss": 0.01, "actor/entropy": p.entropy, "actor/grad_norm": p.norm, "tokens/response_length/mean": p.length, "system/samples": 512}) + f"\n[2026-03-02 {clock(p)}] [rlvr_pipeline.py (514)] [INFO] [DRIVER 0 / 1]: pipeline step {p.step} finished"), only("kl", "reward", "entropy", "grad_norm", "response_length"), **K)
row("skyrl", lines(lambda p: f"2026-03-02 {clock(p)}.123 | INFO     | skyrl_train.trainer:train:310 - {{'policy/policy_loss': 0.01, 'policy/policy_entropy': {p.entropy}, 'policy/raw_grad_norm': {p.norm}, 'reward/avg_raw_reward': {p.reward}, 'generate/avg_num_tokens': {p.length}, 'trainer/global_step': {p.step}, 'timing/step': {p.time}}}"), only("reward", "entropy", "grad_norm"), **K)
row("sb3-table", lines(lambda p: f"| rollout/                |              |\n|    ep_rew_mean          | {p.reward}          |\n| time/                   |              |\n|    fps                  | 512          |\n|    iterations           | {p.step}            |\n| train/                  |              |\n|    approx_kl            | 0.0123       |\n|    loss                 | 0.5          |\n|    value_loss           | 0.9          |\n-----------------------------------------"), only("reward"), stride=1, jump=False, nan="")
row("mosaic-llmfoundry-prefix", lines(lambda p: f"2026-03-02 {clock(p)},123: rank0[1234][MainThread]: INFO: composer.trainer: x\n0: [batch={p.step}/5000]:\n0: \t Train time/epoch: 0\n0: \t Train time/token: 29254495\n0: \t Train loss/train/total: {p.loss:.4f}\n0: \t Train metrics/train/TokenAccuracy: 0.0445\n0: \t Train throughput/batches_per_sec: 0.0027\n0: \t Train lr-LionW/group0: {p.lr:.8f}"), {"loss": L, "learning_rate": R})
row("megatron-bridge", lines(lambda p: f"Step Time : {p.time:.2f}s GPU utilization: 412.1MODEL_TFLOP/s/GPU\n [2026-03-02 {clock(p)}] iteration {p.step:8}/     500 | consumed samples: {p.step*64:12} | elapsed time per iteration (ms): {p.time*1000:.1f} | learning rate: {p.lr:.6E} | global batch size:    64 | lm loss: {p.loss:.6E} | loss scale: 1.0 | grad norm: {p.norm:.3f} | number of skipped iterations:   0 | number of nan iterations:   0 |"), LN | {"step_time": T})
row("mindspeed", lines(lambda p: f"worker-3: [2025-10-21T16:18:59+08:00] iteration {p.step:8}/   20000 | consumed samples: {p.step*64:12} | elapsed time per iteration (ms): {p.time*1000:.1f} | throughput per GPU (TFLOP/s/GPU): 513.9 | learning rate: {p.lr:.6E} | global batch size:    64 | lm loss: {p.loss:.6E} | loss scale: 1.0 | grad norm: {p.norm:.3f} | tokens/sec/gpu: {p.tps} | number of skipped iterations:   0 | number of nan iterations:   0 |"), LN | {"tokens_per_second": TPS})
row("hf-accelerate-prints", lines(lambda p: f"03/02/2026 {clock(p)} - INFO - __main__ - Epoch 0, Step {p.step}: train_loss = {p.loss:.4f}, lr = {p.lr:.2e}" + (f"\n03/02/2026 {clock(p)} - INFO - __main__ - epoch 0 step {p.step}: perplexity: 9.1 eval_loss: {p.val:.4f}" if p.evaluated else "")), {"loss": L, "learning_rate": R, "eval_loss": V})
row("pytorch-tutorial", lines(lambda p: f"[{p.i // 500}, {p.step:5d}] step loss: {p.loss:.3f}"), {"loss": L})
row("timm", lines(lambda p: f"Train: 0 [{p.step:4d}/5004 (  1%)]  Loss: {p.loss:.3f} (7.1)  Time: {p.time:.3f}s,  117.55/s  ({p.time:.3f}s,  117.55/s)  LR: {p.lr:.3e}  Data: 0.010 (0.010)"), {"loss": L, "learning_rate": R})
row("detectron2", lines(lambda p: f"[03/02 {clock(p)} d2.utils.events]:  eta: 5:21:12  iter: {p.step}  total_loss: {p.loss:.3f}  loss_cls: 0.2  time: {p.time:.4f}  data_time: 0.0101  lr: {p.lr:.4e}  max_mem: 9021M"), {"loss": L, "learning_rate": R, "step_time": T})
row("lightning-csvlogger", lambda ps: "epoch,step,train_loss_step,grad_norm,val_loss\n" + "".join(f"0,{p.step},{p.loss},{p.norm},\n" + (f"0,{p.step},,,{p.val}\n" if p.evaluated else "") for p in ps), {"loss": L, "grad_norm": N, "eval_loss": V}, file="metrics.csv")
row("lightning-epoch-bar", lambda ps: "\r".join(f"Epoch {p.i//40}: 10%|█ | {p.step}/1200 [00:10<01:30,  5.00it/s, v_num=x1, train/loss={p.loss:.3f}, train/grad_norm={p.norm}]" for p in ps)+"\n", {"loss": L, "grad_norm": N})
row("allennlp-bar", lambda ps: "\r".join(f"batch_loss: {p.loss:.4f}, loss: {p.loss:.4f} ||:  10%|#         | {p.step}/5000 [00:10<01:30, 5.00it/s]" for p in ps)+"\n", {"loss": L})
row("tqdm-description", lambda ps: "\r".join(f"loss {p.loss:.4f} lr {p.lr:.2e}:  10%|#         | {p.step}/5000 [00:10<01:30, 5.00it/s]" for p in ps)+"\n", {"loss": L, "learning_rate": R})
row("rich-progress", lines(lambda p: f"Training ━━━━━━━━━━━━━━━━━━━━ {p.step}/5000 0:10:00 • 0:50:00 1.23it/s loss: {p.loss:.3f} grad_norm: {p.norm}"), {"loss": L, "grad_norm": N})
row("emoji-script", lines(lambda p: f"🚀 Step {p.step:,} | 📉 Loss: {p.loss:.4f} | 📊 LR: {p.lr:.2e} | ⚡ {p.tps:.0f} tok/s | 🧮 Grad: {p.norm:.2f}"), {"loss": L, "learning_rate": R, "tokens_per_second": TPS})
row("key-value-block", lambda ps: "".join(f"----- Iteration {p.step} -----\ntrain/loss = {p.loss}\ntrain/grad_norm = {p.norm}\noptim/lr = {p.lr}\n\n" for p in ps), LN)
row("step-header-percent", lines(lambda p: f"[Step {p.step}/5000 ({p.step/50:.1f}%)] loss={p.loss} | gnorm={p.norm} | lr={p.lr} | {p.time:.2f} s/step"), LN | {"step_time": T})
row("openmind-json-nested", lines(lambda p: json.dumps({"ts": "2026-03-02T10:11:12Z", "global_step": p.step, "metrics": {"train": {"loss": p.loss, "grad_norm": p.norm}, "lr": p.lr}})), LN, file="metrics.jsonl")
row("python-logging-default", lines(lambda p: f"INFO:root:step {p.step} - loss: {p.loss} - grad norm: {p.norm} - learning rate: {p.lr}"), LN)
row("absl", lines(lambda p: f"I0302 {clock(p)}.123456 139812 train_utils.py:371] [{p.step}] train/loss={p.loss}, train/grad_norm={p.norm}, learning_rate={p.lr}"), LN)
row("t5x-clu", lines(lambda p: f"I0302 {clock(p)}.123456 139812 logging_writer.py:48] [{p.step}] accuracy=0.31, cross_ent_loss=1.2, learning_rate={p.lr}, loss={p.loss}, timing/steps_per_second=1.2"), {"loss": L, "learning_rate": R})
row("gpt-neox-eval", lines(lambda p: f" samples/sec: 9.490 | iteration {p.step:8}/  320000 | elapsed time per iteration (ms): {p.time*1000:.1f} | learning rate: {p.lr:.3E} | approx flops per GPU: 30.9TFLOPS | lm_loss: {p.loss:.6E} | number of skipped iterations:   0 | number of nan iterations:   0 |" + (f"\n---------------------------------------------------------------------------\n validation results at iteration {p.step} | lm_loss value: {p.val:.6E} | lm_loss_ppl value: 9.1E+00 | \n---------------------" if p.evaluated else "")), {"loss": L, "eval_loss": V})
row("aim-csv-tabs", lambda ps: "step\ttrain loss\tval loss\tlr\n" + "".join(f"{p.step}\t{p.loss}\t{p.val if p.evaluated else ''}\t{p.lr}\n" for p in ps), {"loss": L, "eval_loss": V, "learning_rate": R}, file="history.tsv")
row("ascii-table", lambda ps: "starting\n+-------+--------+-----------+\n|  step |  loss  | grad_norm |\n+-------+--------+-----------+\n" + "".join(f"| {p.step:5} | {p.loss} | {p.norm} |\n" for p in ps), {"loss": L, "grad_norm": N})
row("openrlhf-dpo-bar", lambda ps: "\r".join(f"Train step of epoch 0:  10%|█         | {p.step}/5000 [01:10<9:01, 6.00s/it, loss={p.loss:.3f}, acc=0.61, chosen_reward=0.1, reject_reward=-0.2, lr={p.lr:.2e}]" for p in ps)+"\n", {"loss": L, "learning_rate": R})
row("open-instruct", lines(lambda p: f"2026-03-02 {clock(p)} - INFO - grpo_fast.py:1201 - step: {p.step}, {{'episode': {p.step*256}, 'training_step': {p.step}, 'objective/kl': {p.kl}, 'scores': {p.reward}, 'val/sequence_lengths': {p.length}, 'lr': 1e-06, 'optim/grad_norm': {p.norm}}}"), only("kl", "grad_norm"), **K)
row("verl-ansi-timestamps", lines(lambda p: f"2026-03-02T{clock(p)}.123456789Z \x1b[36m(main_task pid=99)\x1b[0m step:{p.step} - actor/entropy_loss:{p.entropy} - actor/grad_norm:{p.norm} - critic/rewards/mean:{p.reward} - response_length/mean:{p.length} - timing_s/step:{p.time}"), only("entropy", "grad_norm", "reward", "response_length"), **K)
row("rl-chinese", lines(lambda p: f"步骤: {p.step} 奖励: {p.reward} KL散度: {p.kl} 熵: {p.entropy} 梯度范数: {p.norm}"), only("reward", "grad_norm"), **K)
row("prime-rl", lines(lambda p: f"{clock(p)} SUCCESS Step {p.step} | Time: {p.time:.2f}s | Loss: 0.0012 | Entropy: {p.entropy} | Importance Ratio: 1.00 | Grad. Norm: {p.norm} | LR: 1.00e-06 | Throughput: {p.tps:.0f} tokens/s | Reward: {p.reward}"), only("entropy", "grad_norm", "reward") | {"tokens_per_second": TPS, "step_time": T}, **K)


def scanned(tmp_path, row, run):
    path = tmp_path / row.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(row.render(run), "utf-8")
    found = discover(tmp_path)
    read = read_run(found)
    return read.table, scan(found, read=read)


EVERY = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


@EVERY
def test_a_healthy_log_is_read_whole_and_without_alarm(row, tmp_path):
    run = points(row.stride)
    table, report = scanned(tmp_path, row, run)
    for metric, value in row.reads.items():
        wanted = [(p.step, value(p)) for p in run if value(p) is not None]
        series = table.get(metric)
        assert series is not None, metric
        assert series.steps.tolist() == [step for step, _ in wanted], metric
        assert series.values.tolist() == pytest.approx([v for _, v in wanted], rel=0.01), metric
    assert [f.code for f in report.findings if f.severity != "S3"] == []


@pytest.mark.parametrize("row", [r for r in ROWS if r.nan], ids=lambda row: row.name)
def test_a_nan_is_found_at_its_step(row, tmp_path):
    _, report = scanned(tmp_path, row, with_nan(points(row.stride)))
    assert [f.data["first_step"] for f in report.findings if f.code == row.nan] == [BAD * row.stride]


@pytest.mark.parametrize("row", [r for r in ROWS if r.jump], ids=lambda row: row.name)
def test_a_jump_of_the_loss_is_found_at_its_step(row, tmp_path):
    _, report = scanned(tmp_path, row, with_jump(points(row.stride)))
    serious = {f.code: f.data["first_step"] for f in report.findings if f.severity == "S1"}
    assert serious.get("loss-divergence") == BAD * row.stride
