"""What a statement makes of numbers: ratios, differences, formulas, orders and whose they are, each rule both ways."""

import pytest

from triage.agent.session import ask
from triage.agent.wording.display import display
from triage.agent.wording.ledger import Ledger, Row
from triage.agent.wording.marks import marks
from triage.agent.wording.reply import Reply, Said
from triage.tools.looking.amounts import numbers
from triage.tools.looking.shares import shares

ROWS = {
    "F1": ("S2 loss-slow: loss goes from 4.8 at step 100 to 3.6 at step 900.", "log.txt:40"),
    "F2": ("S1 pool-exhausted: the pool was empty 31 times.", "serve.log:12"),
    "F3": ("S2 scores-apart: accuracy 70.4 and 66.2 (few shots 0.0 / 8.0); B against A: +1.2 points.", "eval.json:3"),
    "F4": ("S2 masked: 41.5% of the prompt's tokens carry a label; 2.0% of the answer's carry one.", "batch.json:1"),
    "F5": ("S2 files-double: 24 of the 96 files are copies.", "manifest.tsv:1"),
    "M1": ("eval_loss: 9 points, step 100 to 901, first 2.303, last 1.609, lowest 1.511, highest 2.303", "state.json"),
    "M2": ("grad_norm: 9 points, step 90 to 900, first 0.62, last 0.88, lowest 0.51, highest 0.97", "state.json"),
    "M3": ("kl: 9 points, step 90 to 900, first 0.0001, last 0.0007, lowest 0.0001, highest 0.0009", "state.json"),
    "M4": ("epoch: 9 points, step 100 to 900, first 0.2, last 1.8, lowest 0.2, highest 1.8", "state.json"),
    "M5": ("file: 311 points, step 10 to 3110, first 1, last 311, lowest 1, highest 311", "reader.log"),
    "M6": ("file: 49 points, step 3115 to 3360, first 1, last 49, lowest 1, highest 49", "reader.log"),
    "R6": ("a step takes 1.6 s", ""),
    "V1": ("micro_batch_size = «6» (batch_size)", "train.yaml:3"),
    "V2": ("sequence_length = «2048» (block)", "train.yaml:4"),
    "V3": ("learning_rate = «0.0005» (lr)", "train.yaml:5"),
    "V4": ("warmup_steps = «400» (warmup)", "train.yaml:6"),
    "R1": ("win rate 38.7% over 400 problems; free 12.25 GiB of 40.00 GiB", ""),
    "R2": ("the job starts at 02:10:00 and is silent for 30 min", "slurm.out:3"),
    "R3": ("train_runtime = 4162: the training took 4162 s", ""),
    "R4": ("a share of 0.42 to 0.61 holds both; it is 0.37 now", "serve.yaml:3"),
    "R5": ("before and after: accuracy 0.9 / 0.81, recall 0.6 / 0.5, cost 3.1 / 2.9", "report.md:2"),
    "Q1": ("names.log: «registry_7f_main_actor started in run4.5_seed2»", "names.log:1"),
}


@pytest.fixture(scope="module")
def case():
    ledger = Ledger(ask("why?", []))
    ledger.rows = {id: Row(id, *told) for id, told in ROWS.items()}
    return ledger


def found(case, text, cites, kind="because"):
    return [text[m.start : m.end] for m in marks(Said(kind=kind, text=text, cites=cites.split()), (), case)]


LOUD = [
    ("The last 640 of the 900 steps brought little.", "F1", ["640"]),
    ("最后 640 步几乎没有变化。", "M1", ["640"]),
    ("It was logged at steps 100, 480 and 900.", "F1", ["480"]),
    ("第 100、300、640 步都有记录。", "F1", ["300", "640"]),
    ("The usual loss of this run was 0.7.", "F1", ["0.7"]),
    ("The 80 minutes of training are lost.", "R3", ["80 minutes"]),
    ("Set it between 0.37 and 0.61.", "R4", ["0.37"]),
    ("每步 14336 个 token。", "V1 V2", ["14336"]),
    ("That is 2900 steps an hour.", "R6", ["2900"]),
    ("每小时约 1200 步。", "R6", ["1200"]),
    ("file goes from 49 to 1.", "M6", ["49", "1"]),
    ("At the end 12.25 GiB of the 40.00 GiB are free, 69% of it.", "R1", ["69%"]),
    ("loss is 3.6 of the 4.8 of the start, 25% of it.", "F1", ["25%"]),
    ("The effective batch is 48.", "V1 V2", ["48"]),
    ("One epoch is about 700 steps.", "M4", ["700"]),
    ("第 900 步时是第 4 遍数据。", "M4", ["4"]),
    ("作业下午 2 点 10 分启动。", "R2", ["2 点 10 分"]),
    ("作业凌晨 3 点半启动。", "R2", ["3 点半"]),
    ("相隔 640 步以上。", "F1", ["640"]),
    ("可取 0.37 到 0.61 之间。", "R4", ["0.37"]),
    ("The accuracy of the whole was cut by about 45%.", "R5", ["45%"]),
    ("loss fell from 4.8 to 3.6, about two fifths.", "F1", ["two fifths"]),
    ("It began at 4.8 and ended at 3.6, a tenth less.", "F1", ["a tenth"]),
    ("loss fell from 4.8 to 3.6, by nearly half.", "F1", ["half"]),
    ("The 3.6 of the end is under a fifth of the 4.8 of the start.", "F1", ["a fifth"]),
    ("eval_loss is 1.511 at its best and 1.609 at the end, some 25 % above that.", "M1", ["25 %"]),
    ("96 个文件里有 24 个是拷贝，占一半。", "F5", ["一半"]),
    ("96 个文件里有 24 个是拷贝，占九成以上。", "F5", ["九成"]),
    ("loss 从 4.8 变成 3.6，是原来的三倍多。", "F1", ["三"]),
    ("At 3.6 it is a third more than the 4.8 of the start.", "F1", ["a third"]),
    ("loss rises from 4.8 to 3.6.", "F1", ["4.8", "3.6"]),
    ("loss goes from 3.6 to 4.8.", "F1", ["3.6", "4.8"]),
    ("B is 1.2 points lower.", "F3", ["1.2"]),
    ("B 比 A 低 1.2 个点。", "F3", ["1.2"]),
    ("Its highest value is 1.511.", "M1", ["1.511"]),
    ("70.4 was measured with 8 shots, 66.2 with 0 shots.", "F3", ["70.4", "8", "66.2", "0"]),
    ("eval_loss is 1.609 at step 900.", "M1 M2", ["900"]),
    ("The pool was empty at log.txt:40, and the loss goes down at serve.log:12.", "F1 F2",
     ["log.txt:40", "serve.log:12"]),
    ("41.5% of the answer's tokens carry a label.", "F4", ["41.5%"]),
    ("6 x 2048 = 24,576 tokens go in.", "V1 V2", ["24,576"]),
    ("每步 6 条、每条 400 个 token，合 12,288 个 token。", "V1 V4 V2", ["400"]),
    ("30 of them came between step 100 and step 900.", "F1 F2", ["30"]),
    ("The standard error over 400 problems is about 4.9 points.", "R1", ["4.9"]),
    ("A batch of 12 was used.", "R1", ["12"]),
    ("Seven runs died.", "F2", ["Seven"]),
    ("重测了五遍。", "F2", ["五"]),
    ("第 100 步，计划 900 步，路程已经走了三成。", "F1", ["三成"]),
    ("Its perplexity was 14.", "M1", ["14"]),
    ("It was set to 77 by somebody.", "V1", ["77"]),
    ("Since the node reports 77 errors, replace it.", "F2", ["77"]),
]  # fmt: skip
SILENT = [
    ("The last 800 of the 900 steps brought little.", "F1"),
    ("最后 801 步几乎没有变化。", "M1"),
    ("It was logged at steps 100, 500 and 900.", "F1"),
    ("第 100、300、500、700、900 步都有记录。", "F1"),
    ("A usual value would be 0.03.", "F1"),
    ("The 70 minutes of training are not lost.", "R3"),
    ("70 分钟的训练没有白费。", "R3"),
    ("Set it between 0.42 and 0.61.", "R4"),
    ("每步 12288 个 token。", "V1 V2"),
    ("That is 2250 steps an hour.", "R6"),
    ("每小时约 2250 步。", "R6"),
    ("file goes from 311 back to 1.", "M5 M6"),
    ("文件编号从 311 回到 1。", "M5 M6"),
    ("12.25 GiB of 40.00 GiB are free, 31% of it.", "R1"),
    ("loss is 3.6 of the 4.8 of the start, 75% of it.", "F1"),
    ("Each step sees 6 sequences, 12,288 tokens per step.", "V1 V2"),
    ("One epoch is about 500 steps.", "M4"),
    ("第 900 步时是第 2 遍数据，每个 epoch 约 500 步。", "M4"),
    ("作业凌晨 2 点 10 分启动。", "R2"),
    ("第三次评测没有完成，第四轮也没有。", "M1"),
    ("相隔 790 步以上。", "F1"),
    ("可取 0.42 到 0.61 之间。", "R4"),
    ("The recall fell by about 17%.", "R5"),
    ("loss fell from 4.8 to 3.6, a quarter less.", "F1"),
    ("It fell from 4.8 to 3.6, about three quarters of the start.", "F1"),
    ("loss fell from 4.8 to 3.6; two thirds of the drop came early.", "F1"),
    ("eval_loss goes from 2.303 to 1.609, roughly 30% lower.", "M1"),
    ("96 个文件里有 24 个是拷贝，占两成多。", "F5"),
    ("96 个文件里有 24 个是拷贝，不到三成。", "F5"),
    ("At 4.8 it is a third more than the 3.6 of the end.", "F1"),
    ("loss falls from 4.8 to 3.6.", "F1"),
    ("loss 从 4.8 降到 3.6。", "F1"),
    ("B is 1.2 points higher.", "F3"),
    ("B 比 A 高 1.2 个点。", "F3"),
    ("Its highest value is 2.303, its lowest 1.511.", "M1"),
    ("70.4 was measured with 0 shots, 66.2 with 8 shots.", "F3"),
    ("eval_loss is 1.609 at step 901 and grad_norm 0.88 at step 900.", "M1 M2"),
    ("The pool was empty at serve.log:12, and the loss goes down at log.txt:40.", "F1 F2"),
    ("41.5% of the prompt's tokens carry a label.", "F4"),
    ("6 x 2048 = 12,288 tokens go in.", "V1 V2"),
    ("每步 6 条、每条 2048 个 token，合 12,288 个 token。", "V1 V2"),
    ("A step is about 12,000 tokens, 6 rows of 2048.", "V1 V2"),
    ("The standard error over 400 problems is about 2.4 points.", "R1"),
    ("A 95% interval of 38.7% over 400 problems goes from 33.9% to 43.5%.", "R1"),
    ("The other side wins 61.3%.", "R1"),
    ("Its perplexity went from 10 to 5.", "M1"),
    ("The mean of 2.303 and 1.609 is 1.956.", "M1"),
    ("At step 100 of 400 the rate of 0.0005 would be about 1.25e-4.", "F1 V3 V4"),
    ("So 27.75 GiB are taken: 40.00 GiB less 12.25 GiB.", "R1"),
    ("It stays below 0.001.", "M3"),
    ("grad_norm stays under 1 throughout.", "M2"),
    ("It ended at 02:40:00, 30 minutes after 02:10:00.", "R2"),
    ("The main_actor came up.", "Q1"),
    ("In the run with run 4.5 nothing else is told.", "Q1"),
    ("The range from 2 to 2.5 holds its first value.", "M1"),
    ("Next time, set it to 77.", "V1"),
    ("For example, at step 77 it would be warm.", "V4"),
    ("With a 44.1 kHz file it is another length.", "V1"),
    ("pass@10 is not in the rows.", "V1"),
    ("No name <root>/data/1.0.0 is told.", "V1"),
    ("两次都一样。", "F3"),
    ("Of these a factor of about 1.33 is explained: 4.8 over 3.6.", "F1"),
    ("第 100 步，计划 900 步，路程才走了一成多。", "F1"),
    ("The score fell by 4.2 分 from 70.4 to 66.2.", "F3"),
    ("Look at 77 rows of it.", "F2"),
]


@pytest.mark.parametrize(("text", "cites", "wrong"), LOUD)
def test_what_the_numbers_do_not_give_is_marked(case, text, cites, wrong):
    kind = "next" if text.startswith("Since") else "because"
    assert [w.strip() for w in found(case, text, cites, kind)] == wrong


@pytest.mark.parametrize(("text", "cites"), SILENT)
def test_what_the_numbers_give_has_no_mark(case, text, cites):
    assert found(case, text, cites, "next" if text.startswith("Look") else "because") == []


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("over half of it", 0.49, 0.75), ("under a tenth", 0.06, 0.103), ("nearly a third.", 0.28, 0.341),
     ("more than twice", 1.96, 3.0), ("12%", 0.114, 0.126), ("七成以上", 0.686, 0.88), ("不到三成", 0.18, 0.306)],
)  # fmt: skip
def test_a_hedge_says_what_a_ratio_may_be(text, low, high):
    [share] = shares(text, [*numbers(text)])
    assert (share.low, share.high) == pytest.approx((low, high), abs=0.006)


def test_a_mark_says_what_is_wrong(case):
    said = [
        Said(kind="because", text="It fell from 4.8 to 3.6, by half.", cites=["F1"]),
        Said(kind="because", text="eval_loss is 1.609 at step 900.", cites=["M1", "M2"]),
    ]
    shown = display(Reply(facts=[], cause=None, say=said), case, "m").text
    assert "by half[its own numbers give another]" in shown
    assert "step 900[stands in M2, of something else]" in shown
