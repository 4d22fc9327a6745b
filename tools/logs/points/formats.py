"""The metric formats of training logs, as declarations that carry their own samples.

To add a format, add one `Format` to `FORMATS` with sample lines; the test runs every sample. A line is read by them in
`parse`; what belongs together over several lines, ranks and restarts is `tools.logs.points.lines`.
"""

# ruff: noqa: E501  sample lines are kept whole

from __future__ import annotations

import re

from ...patterns import bounded
from ...registry import table
from .format import Format, Sample
from .grammar import (
    AFTER_KEY,
    BAR_PAIR,
    CLAUSE_PAIR,
    COUNTER_HINT,
    DASH_PAIR,
    DICT_PAIR,
    INDENTED_PAIR,
    PIPE_PAIR,
    VALUE,
)

LOSS = "loss"
"""`own_hint` of the formats that look for `oss`, which is Loss and LOSS too."""

_FORMATS = (
    Format(
        "verl",
        ("step:", " - "),
        DASH_PAIR,
        bounded(r"(?<![\w/])(step):(\d+) - "),
        keeps_unknown=True,
        always=True,
        samples=(
            Sample(
                "step:9 - actor/entropy:0.22 - actor/grad_norm:np.float64(17.4) - critic/score/mean:-1.0 - num_turns/min:np.int32(2)",
                9,
                {"entropy": 0.22, "grad_norm": 17.4, "reward": -1.0, "num_turns/min": 2},
            ),
            Sample("step:1 - train/loss:nan - train/lr(1e-3):0.02", 1, {"loss": float("nan"), "learning_rate": 2e-5}),
        ),
    ),
    Format(
        "dict",
        ("{", ":"),
        DICT_PAIR,
        step_from="keys",
        keeps_unknown=True,
        opens=bounded(r"\{\s*['\"][\w/]{1,80}['\"]\s*:"),
        closes=bounded(r"\}"),
        a_key_a_line=bounded(r"^\s*[{,]?\s*['\"][^'\"]{1,100}['\"]\s*:|^\s*}"),
        counts_alone=True,
        keyed=True,
        samples=(
            Sample("{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-06, 'epoch': 0.8}", None, {"loss": 0.0, "grad_norm": float("nan")}),
            Sample("{'loss': '5.728', 'grad_norm': '3.377', 'learning_rate': '2e-05', 'epoch': '0.0625'}", None, {"loss": 5.728, "learning_rate": 2e-5}),
            Sample("{'loss': 1.2, 'memory(GiB)': 13.31, 'global_step/max_steps': '5/1000'}", 5, {"loss": 1.2, "gpu_memory": 13.31}),
            Sample('{"current_steps": 10, "total_steps": 100, "loss": 1.25, "lr": 1e-05, "epoch": 0.1}', 10, {"loss": 1.25}),
            Sample("step 3: {'train/loss': 0.5, 'train/grad_norm': Infinity}", 3, {"loss": 0.5, "grad_norm": float("inf")}),
            Sample("{'train_batch_size': 8, 'learning_rate': 1e-4, 'loss_scale': 0}", -1),
            Sample("{'loss': array([1, 2]), 'shape': (3, 4)}", -1),
        ),
    ),
    Format(
        "nemo",
        ("global_step:", "|"),
        PIPE_PAIR,
        bounded(r"\|\s*(global_step):\s*(\d+)\s*(?:\||$)"),
        samples=(
            Sample(
                "Training epoch 0, iteration 5/999 | lr: 5.000e-06 | global_batch_size: 512 | global_step: 1005 | reduced_train_loss: 7.98"
                " | train_step_timing in s: 7.2 | consumed_samples: 2560 | val_loss: 2.861",
                1005,
                {"loss": 7.98, "step_time": 7.2, "learning_rate": 5e-6, "eval_loss": 2.861},
            ),
        ),
    ),
    Format(
        "megatron",
        ("iteration", "|"),
        PIPE_PAIR,
        bounded(r"(?<!at )(iteration):?\s+(\d+)\s*/\s*\d+\s*\|", re.IGNORECASE),
        opens=bounded(r"(?<!at )iteration:?\s+\d+\s*/\s*\d+\s*\|"),
        closes=bounded(r"\|\s*$"),
        samples=(
            Sample(
                " iteration    29050/  311541 | elapsed time per iteration (ms): 22148.5 | learning rate: 9.849E-05 | lm loss: 7.343709E+00"
                " | loss scale: 8192.0 | grad norm: 0.150 | number of skipped iterations:   0 |",
                29050,
                {"loss": 7.343709, "step_time": 22.1485, "learning_rate": 9.849e-5, "loss_scale": 8192, "grad_norm": 0.15},
            ),
            Sample(
                "samples/sec: 9.490 | iteration    10/ 320000 | elapsed time per iteration (ms): 1234.1 | lm_loss: 1.08E+01 |",
                10,
                {"loss": 10.8, "samples_per_second": 9.49},
            ),
            Sample(
                "[INFO|DP=0]: iteration: 10 / 1000 | tokens_per_sec: 1.2K | lm_loss: 10.4 | lr: 0.0003 | grad_norm: 12.3",
                10,
                {"loss": 10.4, "tokens_per_second": 1200, "grad_norm": 12.3},
            ),
        ),
    ),
    Format(
        "olmo",
        ("[step=", "/"),
        BAR_PAIR,
        bounded(r"\[(step)=(\d+)/\d+,"),
        always=True,
        samples=(Sample("2025-12-12 11:05:02.009 host:0 olmo.train:979 INFO [step=2/15000,epoch=0]", 2, {"epoch": 0}),),
    ),
    Format(
        "olmo-metric",
        ("=", "/", "  "),
        INDENTED_PAIR,
        step_from="last",
        always=True,
        own_hint=r"  [a-z]\S*/[^=\n]*=",
        samples=(
            Sample("    train/CrossEntropyLoss=2.998", None, {"loss": 2.998}),
            Sample("    throughput/device/tokens_per_second=68,289", None, {"tokens_per_second": 68289}),
            Sample("    learning_rate=0.1", -1),
        ),
    ),
    Format(
        "megatron-timers",
        (".: (",),
        bounded(r"^\s{1,20}([a-z][a-z0-9-]{2,40}) ?\.{3,80}: ?\(\d{1,12}(?:\.\d{1,6})?, (\d{1,12}(?:\.\d{1,6})?)()\)"),
        bounded(r"\.{3,80}: ?\(\d"),
        step_from="last",
        rename={"batch-generator": "data_time_ms", "forward-backward": "compute_time_ms", "all-grads-sync": "comm_time_ms",
                "grads-all-reduce": "comm_time_ms", "grads-reduce-scatter": "comm_time_ms"},
        samples=(
            Sample("    batch-generator ................................: (880.10, 912.40)", None, {"data_time": 0.9124}),
            Sample("    forward-backward ...............................: (1180.20, 1190.00)", None, {"compute_time": 1.19}),
        ),
    ),
    Format(
        "megatron-eval",
        ("iteration", "loss", "valid"),
        PIPE_PAIR,
        bounded(r"validation (?:loss|results) at (iteration) (\d+)"),
        rename={"lm loss value": "eval_loss", "lm_loss value": "eval_loss", "lm loss PPL": "eval_ppl"},
        samples=(
            Sample(" validation loss at iteration 7000 | lm loss value: 7.174200E+00 | lm loss PPL: 1.3E+03 |", 7000, {"eval_loss": 7.1742}),
        ),
    ),
    Format(
        "torchtune-bar",
        ("|", "oss"),
        AFTER_KEY,
        bounded(r"^\s*\d+\|(\d+)\|(?=[A-Za-z])"),
        own_hint=LOSS,
        samples=(Sample("1|100|Loss: 0.9543: 10%|#    | 100/1000 [01:00<09:00, 1.6it/s]", 100, {"loss": 0.9543}),),
    ),
    Format(
        "mmengine",
        ("(train)", "["),
        AFTER_KEY,
        bounded(r"\(train\)\s*(?:\[\d+\]\s*)?\[\s*(\d+)/"),
        rename={"time": "step_time", "memory": "memory_mb"},
        samples=(
            Sample("mmengine - INFO - Iter(train) [  10/1000]  lr: 2.0e-05  eta: 0:10:00  time: 1.25  memory: 12288  loss: 1.5", 10, {"loss": 1.5, "step_time": 1.25, "gpu_memory": 12.0}),
        ),
    ),
    Format(
        "bar",
        ("%|", "="),
        BAR_PAIR,
        bounded(r"%\|[^|\n]{0,400}\|\s*(\d+)/\d+\s*\["),
        training_only=True,
        samples=(
            Sample("Epoch 0:  10%|#   | 50/500 [00:10<01:30, 5.00it/s, v_num=0, train_loss_step=2.3, lr=1e-5]", 50, {"loss": 2.3, "learning_rate": 1e-5}),
            Sample(" 10%|#   | 100/1000 [00:10<01:30, 5.00it/s]", -1),
        ),
    ),
    Format(
        "levanter",
        ("Progress on:", "it/"),
        AFTER_KEY,
        bounded(r"Progress on:\s*(train)\s+(\d{1,15}(?:\.\d{1,6})?[kM]?)it/"),
        samples=(Sample("INFO :: Progress on:train 1.25kit/10.0kit rate:2.1it/s remaining:0:06:21 elapsed:01:40 postfix:loss=3.45", 1250, {"loss": 3.45}),),
    ),
    Format(
        "bar-description",
        ("%|", "/"),
        AFTER_KEY,
        bounded(r"%\|[^|\n]{0,400}\|\s*(\d+)/\d+\s*\["),
        before="%|",
        training_only=True,
        samples=(
            Sample("loss 2.31 lr 1.00e-05:  10%|#   | 50/500 [00:10<01:30, 5.00it/s]", 50, {"loss": 2.31, "learning_rate": 1e-5}),
            Sample("Evaluating loss 2.31:  10%|#   | 50/500 [00:10<01:30, 5.00it/s]", -1),
            Sample("Epoch 1:  10%|#   | 50/500 [00:10<01:30, 2.00s/it]", -1),
        ),
    ),
    Format(
        "bar-rich",
        ("━", "/"),
        AFTER_KEY,
        bounded(r"[━╸╺]\s+(?:\d+%\s+)?(\d+)/\d+\s"),
        training_only=True,
        samples=(Sample("Training ━━━━━━━━━━ 10/5000 0:10:00 • 0:50:00 1.23it/s loss: 2.310 grad_norm: 1.2", 10, {"loss": 2.31, "grad_norm": 1.2}),),
    ),
    Format(
        "clu",
        ("] [", "="),
        AFTER_KEY,
        bounded(r"\]\s\[(\d+)\]\s(?=[A-Za-z])"),
        own_hint=r"\] \[[0-9]+\] [a-z]",
        samples=(
            Sample("I0302 10:11:12.123 99 logging_writer.py:48] [250] accuracy=0.31, learning_rate=0.01, loss=2.5", 250, {"loss": 2.5, "learning_rate": 0.01}),
        ),
    ),
    Format(
        "batch-of-epoch",
        ("]", "oss"),
        AFTER_KEY,
        bounded(r"^\s*\[\s*\d+,\s*(\d+)\]\s"),
        epoch=bounded(r"^\s*\[\s*(\d+),\s*\d+\]\s"),
        own_hint=LOSS,
        samples=(Sample("[1,  2000] loss: 2.173", 2000, {"loss": 2.173}),),
    ),
    Format(
        "wenet",
        ("TRAIN Batch", "/", "oss"),
        AFTER_KEY,
        bounded(r"\bTRAIN Batch \d+/(\d+) (?=loss)"),
        epoch=bounded(r"\bTRAIN Batch (\d+)/\d+ (?=loss)"),
        own_hint=LOSS,
        samples=(
            Sample("2025-01-02 10:11:12,134 DEBUG TRAIN Batch 3/200 loss 41.25 loss_ctc 44.1 lr 0.001 rank 0", 200, {"loss": 41.25, "learning_rate": 1e-3}),
        ),
    ),
    Format(
        "keras",
        ("/", "step", "oss"),
        AFTER_KEY,
        re.compile(r"^[\s\x08]*(\d+)/\1\s"),
        step_from="last",
        own_hint=LOSS,
        samples=(
            Sample("25/25 - 2s - 80ms/step - accuracy: 0.82 - loss: 0.49 - val_loss: 0.51", None, {"loss": 0.49, "eval_loss": 0.51, "accuracy": 0.82, "step_time": 0.08}),
            Sample("782/782 [==============================] - 61s 75ms/step - loss: 0.4697", None, {"loss": 0.4697}),
            Sample("24/25 - 2s - 80ms/step - accuracy: 0.82 - loss: 0.49", -1),
        ),
    ),
    Format(
        "nanogpt",
        ("iter ", "loss"),
        AFTER_KEY,
        bounded(r"^\s*(iter)\s+(\d+):"),
        rename={"time": "step_time"},
        samples=(Sample("iter 100: loss 2.3012, time 512.25ms, mfu 41.20%", 100, {"loss": 2.3012, "step_time": 0.51225, "mfu": 0.412}),),
    ),
    Format(
        "image-classifier",
        ("oss", "/"),
        AFTER_KEY,
        bounded(r"(?:Epoch|Train):?\s*[\[(]?\d+(?:\s?/\s?\d+)?[\])]?:?\s*[\[(]\s*(\d+)\s*/\s*\d"),
        own_hint=LOSS,
        samples=(
            Sample("Epoch: [0][ 10/1251] Time 0.5 (0.6) Loss 6.91 (6.95)", 10, {"loss": 6.91}),
            Sample("Epoch:[1/1](10/39695), loss: 8.92, lr: 0.0005", 10, {"loss": 8.92, "learning_rate": 5e-4}),
            Sample("Train Epoch: 1 (640/60000 (1%)) Loss: 0.31", 640, {"loss": 0.31}),
        ),
    ),
    Format(
        "vllm",
        ("Avg prompt throughput:", "Running:"),
        CLAUSE_PAIR,
        step_from="keys",
        keeps_unknown=True,
        always=True,
        counts_alone=True,
        rename={"Avg generation throughput": "tokens_per_second"},
        samples=(
            Sample(
                "INFO 11-20 10:00:00 [loggers.py:123] Engine 000: Avg prompt throughput: 812.3 tokens/s, Avg generation throughput: 210.5 tokens/s, Running: 12 reqs, Waiting: 3 reqs, GPU KV cache usage: 31.2%, Prefix cache hit rate: 12.0%",
                None,
                {"Avg prompt throughput": 812.3, "tokens_per_second": 210.5, "Running": 12, "Waiting": 3, "GPU KV cache usage": 0.312},
            ),
        ),
    ),
    Format(
        "generic",
        (),
        AFTER_KEY,
        own_hint=COUNTER_HINT,
        samples=(
            Sample("step:20/1000, tokens seen:1.25M, avg_train_loss:nan time:182/1147s step_avg:1147ms", 20, {"loss": float("nan"), "step_time": 1.147}),
            Sample("step:10/1000, avg_train_loss:10.0153 time:125/nans step_avg:nanms", 10, {"loss": 10.0153}),
            Sample("step:0/20000 val_loss:6.9342 val_bpb:4.1068 train_time:0ms step_avg:0.02ms", 0, {"eval_loss": 6.9342, "eval_bpb": 4.1068}),
            Sample("step 250: train loss 2.1, val loss 2.2", 250, {"loss": 2.1, "eval_loss": 2.2}),
            Sample("[2025-01-02 15:57:15,187] [INFO] [logging.py:128:log_dist] step=840, skipped=9, lr=[3.6e-05, 3.6e-05], mom=[(0.9, 0.95)]", 840, {"skipped_steps": 9, "learning_rate": 3.6e-5}),
            Sample("[INFO] [timer.py:264:stop] epoch=0/micro_step=1680/global_step=840, RunningAvgSamplesPerSec=46.4, CurrSamplesPerSec=46.3, MaxMemAllocated=8.61GB", 840, {"samples_per_second": 46.3, "gpu_memory": 8.61}),
            Sample("epoch: 0|step: 12|ppo_ep: 1|act_loss: 0.2099|cri_loss: 0.12|unsuper_loss: 0.0", 12, {"policy_loss": 0.2099, "value_loss": 0.12}),
            Sample("Step 1 | loss:0.9 lr:2e-5 tokens_per_second_per_gpu:1234 peak_memory_active:12.5", 1, {"loss": 0.9, "learning_rate": 2e-5, "tokens_per_second": 1234}),
            Sample("root - INFO - step:  1  loss: 12.2537  memory:  9.53GiB(12.05%)  tps: 1,234  mfu: 12.30%", 1, {"loss": 12.2537, "tokens_per_second": 1234, "mfu": 0.123, "gpu_memory": 9.53}),
            Sample("step   10/1000 | loss: 6.5 | lr 6e-4 | norm: -nan | dt: 123.4ms | tok/sec: 12345.6", 10, {"loss": 6.5, "grad_norm": float("nan"), "step_time": 0.1234}),
            Sample("Epoch [1/10], Step [100/500], Loss: 2.3012", 100, {"loss": 2.3012}),
            Sample("training INFO global_step: 10, loss: 3.25, learning_rate: 1e-05, interval_runtime: 1.2", 10, {"loss": 3.25}),
            Sample("{ Epoch:[  1/  2], step:[   10/  500], loss: 10.6, lr: 1e-5, global_norm: [1.2] }", 10, {"loss": 10.6}),
            Sample("warmup_step:1/20", -1),
            Sample("steps_per_print: inf, loss_scale: 0", -1),
            Sample("    and (torch.isnan(tr_loss_step) or torch.isinf(tr_loss_step))", -1),
            Sample("max_steps: 1000 learning_rate: 1e-4", -1),
        ),
    ),
    Format(
        "loss-scale",
        ("oss scale",),
        bounded(rf"(loss scale):? (?:\d+(?:\.\d+)?, reducing|from \d+(?:\.\d+)?) to {VALUE}", re.IGNORECASE),
        step_from="last",
        samples=(
            Sample("[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768", None, {"loss_scale": 32768}),
            Sample("Increasing dynamic loss scale from 2048.0 to 4096.0", None, {"loss_scale": 4096}),
        ),
    ),
    Format(
        "deepspeed-chat",
        ("average reward score",),
        bounded(rf"(average reward score):\s*{VALUE}", re.IGNORECASE),
        step_from="last",
        samples=(Sample("average reward score: -0.67919921875", None, {"reward": -0.67919921875}),),
    ),
    Format(
        "deepspeed-chat-time",
        ("E2E latency",),
        bounded(rf"\|\s*(E2E latency|CurSamplesPerSec)=\s*{VALUE}"),
        step_from="last",
        samples=(
            Sample("|E2E latency=7.99s |Gather latency=0.00s (0.00%) |CurSamplesPerSec=8.01 |AvgSamplesPerSec=8.01", None, {"step_time": 7.99, "samples_per_second": 8.01}),
        ),
    ),
    Format(
        "evaluation",
        ("al",),
        bounded(
            rf"^[\W_]*((?:val\w*|eval\w*)[ _/](?:loss|acc(?:uracy)?|ppl|perplexity|bpb))\s*[:=]?\s*{VALUE}\s*$", re.IGNORECASE
        ),
        step_from="last",
        own_hint=r"(?:val|eval)[a-z0-9_]*[ _/](?:loss|acc|ppl|perplexity|bpb)",
        samples=(
            Sample("val loss 2.5", None, {"eval_loss": 2.5}),
            Sample("Validation loss: 2.31", None, {"eval_loss": 2.31}),
            Sample("eval loss at the end: 3", -1),
        ),
    ),
    Format(
        "epoch",
        ("poch", "oss"),
        AFTER_KEY,
        step_from="epoch",
        samples=(
            Sample("Epoch 3/10 - train_loss: 1.5 - val_loss: 1.7", 3, {"loss": 1.5, "eval_loss": 1.7}),
        ),
    ),
)  # fmt: skip
FORMATS: tuple[Format, ...] = tuple(table("FORMATS", ((f.name, f if f.samples else None) for f in _FORMATS)).values())
