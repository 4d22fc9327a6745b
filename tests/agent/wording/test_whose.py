# ruff: noqa: E501  (rows are read as rows)
"""Whose a number is, in what unit, and out of which rows: statements of a good model and of a bad one, by class."""

import pytest

from triage.agent.session import ask
from triage.agent.wording.ledger import Ledger, Row
from triage.agent.wording.marks import marks
from triage.agent.wording.reply import Said

ROWS = {
    "F1": ("S0 cache-small: 21.75 GiB of cache are needed for one request, larger than the available memory (9.40 GiB).", "serve.log:88"),
    "F2": ("S1 rank-slow: rank 5 computes 0.812 s a step, the other ranks 0.46 s (16 ranks).", "steps.csv:40"),
    "F3": ("S2 rate-sweep: loss 5.12 at learning rate 1e-5, 4.08 at 4e-5, 3.77 at 1.6e-4.", "sweep.csv:2"),
    "F4": ("S2 pairs-close: 5100 of 15000 pairs are too close (34%).", "pairs.jsonl:1"),
    "F5": ("S1 step-slow: step_time goes from 1.26 to 2.94 at step 12400.", "metrics.jsonl:124"),
    "F6": ("S2 回答变长：response_length 从 412 升到 1630，奖励从 0.31 升到 0.78。", "rl.log:55"),
    "F7": ("S2 file-short: adapter.bin has 2621440 bytes, the header says 5242880 bytes.", "adapter.bin"),
    "F8": ("S1 score-drop: arc 0.63 -> 0.48 between two evaluations (2400 items each).", "eval_a.json:3"),
    "F9": ("S2 内存：seq_len 2048 时峰值 28.4 GiB，seq_len 12288 时峰值 71.6 GiB。", "shapes.csv:9"),
    "M1": ("loss: 210 points, step 10 to 2100, first 9.21, last 2.87, lowest 2.64, highest 9.21", "train.log"),
    "M2": ("grad_norm: 210 points, step 10 to 2100, first 3.9, last 0.74, lowest 0.58, highest 41.3", "train.log"),
    "M3": ("data_time: 210 points, step 10 to 2100, first 0.021, last 0.034, lowest 0.017, highest 0.052", "train.log"),
    "M4": ("loss_scale: 180 points, step 1 to 180, first 32768, last 1, lowest 1, highest 32768", "scale.log"),
    "V1": ("learning_rate = «3e-4» (lr)", "train.yaml:4"),
    "V2": ("warmup_steps = «150» (warmup)", "train.yaml:5"),
    "V3": ("micro_batch_size = «12» (batch)", "train.yaml:6"),
    "V4": ("gpu_memory_utilization = «0.35» (util)", "serve.yaml:3"),
    "R1": ("card = 80: memory of the card 80.00 GiB", ""),
    "T1": ("read(file=slurm.out):\n«slurm.out:12: 2026-03-04 21:14:50 job starts on lyra-node-03\nslurm.out:840: 2026-03-05 00:52:31 CANCELLED, exit -15\nout/Mar04_21-14-50/events»", "slurm.out"),
    "T2": ("read(file=conf.yaml):\n«conf.yaml:7: updates_per_batch: 4\nconf.yaml:8: rollouts: 16\nconf.yaml:9: gradient_checkpointing: false»", "conf.yaml"),
    "B1": ("runbook on loss-nan: grad_norm above 1.0 before a NaN; fp16 ends at 65504. Check 300 steps back.", ""),
}  # fmt: skip


@pytest.fixture(scope="module")
def case():
    ledger = Ledger(ask("why?", []))
    ledger.rows = {id: Row(id, *told) for id, told in ROWS.items()}
    return ledger


def found(case, text, cites, kind="because"):
    return [text[m.start : m.end].strip() for m in marks(Said(kind=kind, text=text, cites=cites.split()), (), case)]


SILENT = {
    "rows that share words with the sentence": [
        ("The loss was still 2.87 at the end, and grad_norm fell to 0.74.", "M1"),
        ("warmup_steps is only 150, so the rate of 3e-4 comes early.", "F5"),
        ("fp16 would end at 65504.", "M2"),
        ("没有看到 12400 步前后的 step_time 以外的记录。", "M1"),
        ("A threshold for grad_norm of 1.0 is named by the runbook.", "M2"),
        ("step_time 从 1.26 升到 2.94。", "M1"),
        ("data_time stays under 0.052 s.", "F5"),
        ("micro_batch_size 12 与此无关。", "F6"),
    ],
    "clocks and dates": [
        ("It was cancelled at 00:52, 3 h 37 min after the start at 21:14.", "T1"),
        ("作业 21:14 开始，次日 00:52 取消。", "T1"),
        ("It ran for about 3 hours 40 minutes.", "T1"),
        ("前后约 218 分钟。", "T1"),
        ("从 21:14:50 到 00:52:31，共 3 小时 37 分。", "T1"),
        ("The job began on 4 March and ended on 5 March.", "T1"),
        ("It began on 03-04 at 21:14.", "T1"),
        ("Roughly three and a half hours lie between them.", "T1"),
        ("It ended before 1 o'clock, at 00:52:31.", "T1"),
        ("2026-03 的日志就是这一份。", "T1"),
    ],
    "others, rests and counts": [
        ("The other 15 ranks wait for rank 5.", "F2"),
        ("其余 15 张卡都在等 rank 5。", "F2"),
        ("9900 pairs are left, 66%.", "F4"),
        ("剩下的 9900 对占 66%。", "F4"),
        ("两次评测之间 arc 从 0.63 降到 0.48。", "F8"),
        ("Three rates were tried: 1e-5, 4e-5 and 1.6e-4.", "F3"),
        ("In two evaluations it got 0.63 and 0.48.", "F8"),
        ("The other 30 or so of 180 reports come later, after the first 150.", "M4 V2"),
        ("32768 is 2^15, so 15 halvings lead to 1.", "M4"),
        ("一万五千对里有 5100 对太接近。", "F4"),
    ],
    "points and per cent": [
        ("arc fell by 15 points, from 63 to 48.", "F8"),
        ("arc 从 63.0 降到 48.0，差 15 分。", "F8"),
        ("It lost 24% of its score.", "F8"),
        ("arc 下降了 15 个百分点，相对下降约 24%。", "F8"),
        ("15 points over 2400 items are no chance: the standard error is about 1 point.", "F8"),
        ("rank 5 is 0.352 s slower, +77% (0.812 against 0.46).", "F2"),
        ("step_time rose by 133%, from 1.26 to 2.94.", "F5"),
        ("step_time 涨了 1.3 倍多，从 1.26 到 2.94。", "F5"),
        ("The rest of the ranks waits 43% of the step.", "F2"),
        ("grad_norm fell to 0.74, 81% below the first 3.9.", "M2"),
    ],
    "products and chains": [
        ("At 0.35 the engine gets 28 GiB of the 80 GiB.", "V4 R1"),
        ("0.35 of the card is 28 GiB; less than 9.40 GiB of it is the cache's, so 18.6 GiB go elsewhere.", "V4 R1 F1"),
        ("In 300 steps with 4 updates each there are 1200 updates.", "T2 B1"),
        ("seq_len 多 10240，峰值多 43.2 GiB。", "F9"),
        ("The bad step is somewhere in 12301 to 12400.", "F5"),
        ("差 12.35 GiB，需要的是现有的 2.3 倍。", "F1"),
        ("Halved to 10.9 GiB it would still not fit into 9.40 GiB.", "F1"),
    ],
    "what is not known, and what everybody knows": [
        ("The values at step 5000 or 6000 are not in the ledger.", "M1"),
        ("-15 is SIGTERM; -9 would be SIGKILL, -11 a segmentation fault.", "T1"),
        ("没有读第 300 行到第 800 行。", "T1"),
        ("Whether 8 or 32 samples would do is not known.", "M1"),
        ("A float16 number ends at 65504, bf16 has 8 bits of exponent.", "M1"),
        ("第 900 步之后的显存没有记录。", "M1"),
        ("I have not seen lines 100 to 800 of slurm.out.", "T1"),
        ("退出码 137 是 SIGKILL，这里没有看到。", "T1"),
        ("An HTTP 200 was not logged.", "T1"),
        ("There is no evaluation at step 1000.", "M1"),
    ],
    "names": [
        ("The host is lyra-node-03.", "T1"),
        ("The folder is Mar04_21-14-50.", "T1"),
        ("Nothing tells of train_runtime.", "T1"),
        ("Look at each rankN.log.", "T1"),
        ("gradient_checkpointing is false in conf.yaml.", "T2"),
        ("adapter.bin is short.", "F7"),
        ("updates_per_batch is 4.", "T2"),
        ("seq_len 12288 是最长的。", "F9"),
        ("`loss_scale` ends at 1.", "M4"),
    ],
    "a second reading": [
        ("The gap between need and supply is 12.35 GiB.", "F1"), ("rank 5 needs about 0.35 s more than the rest.", "F2"),
        ("After step 12400 a step takes 2.3 times as long.", "F5"), ("大约三分之一的样本对太接近。", "F4"),
        ("文件只有头里写的一半长。", "F7"), ("The scale was halved 15 times, from 32768 to 1.", "M4"),
        ("grad_norm peaks at 41, over 50 times the last value.", "M2"), ("取消发生在 slurm.out 第 840 行。", "T1"),
        ("12 sequences a step, 2100 steps: 25,200 sequences.", "V3 M1"), ("最低 loss 2.64，末了 2.87，高 0.23。", "M1"),
    ],
}  # fmt: skip
LOUD = {
    "the two of a row swapped": [
        ("The request needs 9.40 GiB and 21.75 GiB are available.", "F1", "9.40 GiB|21.75 GiB"),
        ("rank 5 takes 0.46 s, the others 0.812 s.", "F2", "0.46 s|0.812 s"),
        ("At 1e-5 the loss is 3.77 and at 1.6e-4 it is 5.12.", "F3", "3.77|5.12"),
        ("学习率 1.6e-4 的 loss 是 5.12，1e-5 的是 3.77。", "F3", "5.12|3.77"),
        ("seq_len 2048 时峰值 71.6 GiB，12288 时 28.4 GiB。", "F9", "71.6 GiB|28.4 GiB"),
        ("The best of the sweep is 1e-5 with a loss of 3.77.", "F3", "3.77"),
        ("The lowest loss is 9.21, the highest 2.64.", "M1", "9.21|2.64"),
    ],
    "another measure's number": [
        ("The loss ended at 0.74.", "M1 M2", "0.74"),
        ("grad_norm ended at 2.87.", "M1 M2", "2.87"),
        ("data_time was 1.26 s at first.", "M3 F5", "1.26 s"),
        ("warmup_steps is 12.", "V2 V3", "12"),
        ("learning_rate: 0.35", "V1 V4", "0.35"),
        ("updates_per_batch: 16", "T2", "16"),
        ("loss_scale 从 9.21 开始。", "M4 M1", "9.21"),
        ("The warm-up lasts 210 steps, warmup_steps = 210.", "V2 M1", "210"),
        ("micro_batch_size 是 150。", "V2 V3", "150"),
    ],
    "the base of a ratio": [
        ("The jump from 1.26 to 2.94 is a rise of 233%.", "F5", "233%"),
        ("step_time 从 1.26 升到 2.94，涨了 57%。", "F5", "57%"),
        ("The loss fell from 9.21 to 2.87, by 31%.", "M1", "31%"),
        ("In all it fell from 9.21 to 2.87, which is 31%.", "M1", "31%"),
        ("奖励从 0.31 升到 0.78，涨幅 60%。", "F6", "60%"),
        ("arc fell from 0.63 to 0.48, 76% lower.", "F8", "76%"),
        ("0.48 is 31% less than 0.63.", "F8", "31%"),
        ("0.812 is 43% more than 0.46.", "F2", "43%"),
        ("峰值从 28.4 GiB 涨到 71.6 GiB，增加了 252%。", "F9", "252%"),
        ("arc 从 0.63 降到 0.48，下降 31%。", "F8", "31%"),
    ],
    "units": [
        ("adapter.bin has 2621440 kilobytes.", "F7", "2621440 kilobytes"),
        ("adapter.bin 有 2621440 KB。", "F7", "2621440 KB"),
        ("step_time is 2.94 minutes.", "F5", "2.94 minutes"),
        ("rank 5 computes 0.812 ms a step.", "F2", "0.812 ms"),
        ("21.75 MiB are needed.", "F1", "21.75 MiB"),
        ("28.4 TiB 的峰值。", "F9", "28.4 TiB"),
        ("data_time is 0.034 hours at the end.", "M3", "0.034 hours"),
        ("The card has 80 MB.", "R1", "80 MB"),
        ("rank 5 每步要 0.812 分钟。", "F2", "0.812 分钟"),
        ("9.40 megabytes are available.", "F1", "9.40 megabytes"),
    ],
    "numbers in words": [
        ("Three of the four pairs are too close.", "F4", "Three|four"),
        ("Ten percent of the pairs are too close.", "F4", "Ten percent"),
        ("从开始到取消一共两个小时零二分钟。", "T1", "两个小时零二分钟"),
        ("It ran for five hours.", "T1", "five hours"),
        ("Sixty percent of the pairs are too close.", "F4", "Sixty percent"),
        ("rank 5 比别的慢五倍，0.812 对 0.46。", "F2", "五"),
        ("The rate was tried at seven values: seven runs died.", "F3", "seven"),
        ("十二次里失败了九次。", "F7", "十二|九"),
        ("Nine of ten ranks are slow.", "F2", "Nine|ten"),
        ("九成的样本太接近。", "F4", "九成"),
    ],
    "invented names": [
        ("Restart lyra-node-07.", "T1", "lyra-node-07"),
        ("Set kl_penalty_goal to 0.2 in dpo_run.toml.", "T2", "kl_penalty_goal|dpo_run.toml"),
        ("把 data/part_0417.parquet 第 88 行删掉。", "F6", "data/part_0417.parquet|88"),
        ("It was gpu-worker-12 that died.", "T1", "gpu-worker-12"),
        ("Turn off flash_kernel_fusion.", "T2", "flash_kernel_fusion"),
        ("在 conf.yaml 第 33 行改 rollouts。", "T2", "33"),
        ("Delete line 412 of train.yaml.", "V1", "412"),
        ("设置 enable_async_offload 为 true。", "T2", "enable_async_offload"),
        ("Restart rank 9 on lyra-node-03.", "T1 F2", "9"),
        ("See watcher_daemon.log.", "T1", "watcher_daemon.log"),
    ],
    "by chance": [
        ("Exactly 179 steps were skipped.", "M4", "179"),
        ("It needs only 7.3 GiB of cache.", "F1", "7.3 GiB"),
        ("5600 pairs are too close.", "F4", "5600"),
        ("The loss was 3.1 at step 1400.", "M1", "3.1|1400"),
        ("rank 6 is the slow one, with 0.79 s.", "F2", "6|0.79 s"),
        ("太接近的有 9900 对，占 66%。", "F4", "9900|66%"),
        ("grad_norm reached 14.2.", "M2", "14.2"),
        ("step_time 升到 3.4。", "F5", "3.4"),
        ("The job ended at 03:52.", "T1", "03:52"),
        ("It has 4096 as its loss_scale after 3 steps.", "M4", "4096"),
    ],
    "a second reading": [
        ("The gap between need and supply is 11.35 GiB.", "F1", "11.35"), ("rank 7 needs 0.812 s.", "F2", "7"),
        ("The scale was halved 12 times.", "M4", "12"), ("取消发生在 slurm.out 第 480 行。", "T1", "480"),
        ("The job was cancelled at 00:25:31.", "T1", "00:25:31"), ("It ran 6 h 37 min.", "T1", "6 h 37 min"),
        ("12 sequences a step, 2100 steps: 252,000 sequences.", "V3 M1", "252,000"), ("arc fell by 25 points.", "F8", "25"),
    ],
}  # fmt: skip


def _each(table):
    return [pytest.param(*row, id=f"{name} {i}") for name, rows in table.items() for i, row in enumerate(rows)]


@pytest.mark.parametrize(("text", "cites"), _each(SILENT))
def test_what_a_good_model_says_has_no_mark(case, text, cites):
    assert found(case, text, cites) == []


@pytest.mark.parametrize(("text", "cites", "wrong"), _each(LOUD))
def test_what_a_bad_model_says_is_marked(case, text, cites, wrong):
    kind = "next" if text.startswith(("Set", "Restart", "把", "Turn", "在", "Delete", "设置", "See")) else "because"
    said = found(case, text, cites, kind)
    assert [w for w in wrong.split("|") if not any(w in s or s in w for s in said)] == []
