"""Small directories as strangers have them: what must be told of them, and what must not."""

import json

import pytest
from making import fill

from triage.agent.session import ask
from triage.tools.discover import discover
from triage.tools.logs.scan import read_run, scan


def state(losses, most: int, norms=None) -> str:
    every = most // len(losses)
    history = [
        {"step": every * (i + 1), "loss": loss, "learning_rate": 1e-5} | ({"grad_norm": norms[i]} if norms else {})
        for i, loss in enumerate(losses)
    ]
    return json.dumps({"global_step": history[-1]["step"], "max_steps": most, "log_history": history})


FALLING = [0.68, 0.42, 0.36, 0.35, 0.345, 0.33, 0.334, 0.33, 0.328]


def codes(folder) -> dict[str, str]:
    return {f.code: f.severity for f in scan(discover(folder)).findings}


def test_a_short_log_of_a_run_that_came_to_its_end_and_learned_is_healthy(tmp_path):
    fill(tmp_path, {"trainer_state.json": state(FALLING, 4500)})
    assert "run-healthy" in codes(tmp_path)


@pytest.mark.parametrize("losses", [[0.68, 0.69, 0.68, 0.69, 0.68, 0.67], [0.68, 0.4, 0.38]], ids=["flat", "three"])
def test_a_short_log_that_shows_nothing_is_not(tmp_path, losses):
    fill(tmp_path, {"trainer_state.json": state(losses, 4500)})
    assert "run-healthy" not in codes(tmp_path)


def test_the_twin_of_a_log_says_that_the_run_is_over(tmp_path):
    bar = "".join(f"epoch loss {1 / i:.3f} :  {i}%|#| {i}/200 [0:01<0:01, 1.0s/it]\n" for i in range(1, 179))
    fill(tmp_path, {"job.err": bar, "job.out": "Eval 178 | val loss 0.2\nTraining finished\n"})
    assert "log-ends-before-plan" not in codes(tmp_path)
    fill(tmp_path / "other", {"job.err": bar, "job.out": "Eval 178 | val loss 0.2\n"})
    assert "log-ends-before-plan" in codes(tmp_path / "other")


EVALUATED = "epoch,step,ppl\n" + "".join(f"{i},{53 * (i + 1)},{10 * 2**i:.2f}\n" for i in range(9))
TRAINED = "epoch,step,train_loss\n" + "".join(f"1,{i + 1},{7 / (i + 1):.4f}\n" for i in range(40))


def test_what_stands_in_a_file_of_the_evaluation_is_held_out(tmp_path):
    run = discover(fill(tmp_path, {"eval_log.csv": EVALUATED, "train_log.csv": TRAINED}))
    assert "eval_perplexity" in {s.metric for s in read_run(run).table}
    alone = discover(fill(tmp_path / "alone", {"eval_log.csv": EVALUATED}))
    assert "eval_perplexity" not in {s.metric for s in read_run(alone).table}


def decoded(*speeds: float) -> str:
    return "".join(
        f"prompt eval time =  900.00 ms /    40 tokens (   22.50 ms per token,    {2 * s:.2f} tokens per second)\n"
        f"       eval time = 9000.00 ms /    50 tokens (  180.00 ms per token,    {s:.2f} tokens per second)\n"
        for s in speeds
    )


def test_answers_slower_than_people_read_are_told(tmp_path):
    fill(tmp_path, {"server.log": decoded(2.4, 2.5, 2.3, 2.6)})
    assert codes(tmp_path)["decode-slow"] == "S2"


@pytest.mark.parametrize("speeds", [(32, 43, 40, 38), (2.4, 40, 41, 42, 39)], ids=["fast", "one slow"])
def test_a_fast_server_is_not(tmp_path, speeds):
    fill(tmp_path, {"server.log": decoded(*speeds)})
    assert "decode-slow" not in codes(tmp_path)


def test_a_server_that_was_started_again_is_not_being_shut_down(tmp_path):
    up, down = 'INFO:  Application startup complete.\nINFO: "POST /v1 HTTP/1.1" 200 OK\n', "INFO:     Shutting down\n"
    killed = 'run.sh: line 39: 109512 Killed   "$PYTHON" app.py\n'
    fill(tmp_path, {"nohup.log": up + down + up + killed})
    assert codes(tmp_path)["killed-without-reason"] == "S0"
    fill(tmp_path / "down", {"nohup.log": up + down + killed})
    assert codes(tmp_path / "down")["killed-without-reason"] == "S3"


def test_a_table_of_texts_and_their_classes_is_data(tmp_path):
    fill(tmp_path, {"queries.csv": "query,label\nWhich store?,3\nBest deal?,2\n"})
    assert [a.kind for a in discover(tmp_path).artifacts] == ["data"]
    fill(tmp_path / "other", {"results.csv": "label,count\n3,20\n2,10\n"})
    assert [a.kind for a in discover(tmp_path / "other").artifacts] != ["data"]


def test_an_error_that_the_run_outlived_does_not_lead_before_what_it_shows(tmp_path):
    lines = [f"step {i} loss {0.7 + 0.02 * i:.3f}\n" for i in range(1, 160)]
    lines.insert(40, "ERROR - Error: forward() got an unexpected keyword argument 'inputs_embeds'\n")
    fill(tmp_path, {"app.log": "".join(lines)})
    told = ask("Are these experiments fine?", [tmp_path]).diagnosis
    assert told.top is None or told.top.entry.id != "renamed-argument"


def test_types_that_differ_in_one_operation_have_an_entry(tmp_path):
    log = 'Traceback (most recent call last):\n  File "train.py", line 7, in <module>\n    model(x)\n'
    log += "RuntimeError: Input type (c10::Half) and bias type (float) should be the same\n"
    fill(tmp_path, {"train.log": log})
    told = ask("How did this run end?", [tmp_path]).diagnosis
    assert told.top is not None
    assert told.top.entry.id == "dtype-mismatch"


PADDED = """from transformers import AutoTokenizer, DataCollatorForLanguageModeling, Trainer

tokenizer = AutoTokenizer.from_pretrained("base")
tokenizer.pad_token = tokenizer.eos_token
collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
trainer = Trainer(model=model, args=args, train_dataset=rows, data_collator=collator)
trainer.train()
"""
SOUND = "".join(f"{{'loss': {1.4 + 1.3 / (1 + i / 4):.4f}, 'epoch': {3 * i / 60:.2f}}}\n" for i in range(1, 61))


def leader(folder, question="Is this run fine?") -> tuple[str, str]:
    diagnosis = ask(question, [folder]).diagnosis
    return diagnosis.state, diagnosis.top.entry.id if diagnosis.top else ""


def test_facts_of_a_program_alone_are_no_diagnosis_of_a_run_that_went_well(tmp_path):
    fill(tmp_path, {"train.py": PADDED, "train.log": SOUND})
    assert leader(tmp_path) == ("healthy", "")


POLICY = """import argparse
import yaml

parser = argparse.ArgumentParser()
parser.add_argument("-c", "--config", default="")
parser.add_argument("--num_generations", type=int, default={size})
parser.add_argument("--loss_type", default="grpo_clip")
"""
REWARDS = "".join(
    f"step {i}: reward {0.4 + i / 300 + 0.01 * (i % 3):.4f}, entropy {0.5 + 0.01 * (i % 5):.3f}, policy_loss 0.0\n"
    for i in range(1, 61)
)


def test_the_default_of_a_program_is_no_group_of_one_where_a_configuration_elsewhere_is_given(tmp_path):
    launched = {"rl.py": POLICY.format(size=1), "train.log": REWARDS, "rl.sh": "python rl.py --config config/rl.yml\n"}
    assert leader(fill(tmp_path / "given", launched))[1] != "group-size-not-divisible"
    assert leader(fill(tmp_path / "bare", launched | {"rl.sh": "python rl.py\n"}))[1] == "group-size-not-divisible"


LOADER = """[rank: 2] Received SIGTERM: 15
Traceback (most recent call last):
  File "/home/u/train.py", line 48, in <module>
    main()
  File "/env/site-packages/torch/utils/data/_utils/signal_handling.py", line 66, in handler
    _error_if_any_worker_fails()
RuntimeError: DataLoader worker (pid 4020) is killed by signal: {signal}
"""


def test_a_loader_that_is_terminated_was_ended_from_outside(tmp_path):
    steps = "".join(f"step {i}/4000 loss {5 / i**0.3:.4f}\n" for i in range(1, 60))
    fill(tmp_path, {"train.log": steps + LOADER.format(signal="Terminated. ")})
    assert leader(tmp_path) == ("diagnosed", "job-killed-externally")
    bus = "Bus error. It is possible that dataloader's workers are out of shared memory."
    fill(tmp_path / "other", {"train.log": steps + LOADER.format(signal=bus)})
    assert leader(tmp_path / "other")[1] != "job-killed-externally"


WALL = "C:\\actions\\pytorch\n\\aten\\src\\ATen\\native\\cu\nda\\Loss.cu:106: block: [0,0,0], thread: [2,0,0] \n" \
    "Assertion `target_val >= zero && target_val <= \none` failed.\nAt line:1 char:32\n    + CategoryInfo          " \
    ": NotSpecified: (C: \n   \\actions-runn...<= one` failed.:String) [],  \n   RemoteException\n"  # fmt: skip


def test_a_kernel_assert_is_known_where_the_console_wraps_its_line(tmp_path):
    fill(tmp_path, {"err.log": WALL})
    assert leader(tmp_path, "It dies in the first batch, why?")[1] == "device-side-assert"
    assert "uncaught-exception" not in codes(fill(tmp_path / "other", {"err.log": "   RemoteException\n" * 9}))


SPLIT = """from datasets import load_dataset
from transformers import Trainer

rows = load_dataset("json", data_files="rows.jsonl", split="train")
{how}
trainer = Trainer(model=model, train_dataset=split["train"], eval_dataset=split["test"])
trainer.train()
"""
WORDS = [f"{a} {b}" for a in ("red", "old", "small", "quiet", "green") for b in ("fox", "lake", "door", "stone")]


@pytest.mark.parametrize(
    ("how", "leak"),
    [
        ("split = rows.train_test_split(test_size=0.1)", True),
        ('split = {"train": rows, "test": load_dataset("other")}', False),
    ],
)
def test_rows_that_repeat_leak_where_the_held_out_part_is_drawn_by_rows(tmp_path, how, leak):
    asked = "Name one thing that begins with the letter which I give you, and say no more than its name: {}\nAnswer: {}"
    rows = [{"text": asked.format("abcde"[i % 5], f"{w} {i}")} for i, w in enumerate(WORDS * 4)]
    data = "".join(f"{json.dumps(row)}\n" for row in rows)
    fill(tmp_path, {"rows.jsonl": data, "train.py": SPLIT.format(how=how)})
    assert (leader(tmp_path, "How far can I trust the score on the held-out 10%?")[1] == "eval-leakage") is leak


def test_padding_in_the_labels_shows_in_a_loss_that_is_next_to_nothing_from_the_start(tmp_path):
    program = """from transformers import Trainer, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained("t5")
def encode(row):
    x = tokenizer(row["a"], padding="max_length", max_length=512)
    y = tokenizer(row["b"], padding="max_length", max_length=512)
    return {"input_ids": x["input_ids"], "attention_mask": x["attention_mask"], "labels": y["input_ids"]}
trainer = Trainer(model=model, train_dataset=rows.map(encode))
trainer.train()
"""

    def run(name, level):
        history = [{"step": 10 * i, "epoch": i / 33, "loss": level / i**0.3, "grad_norm": 0.2} for i in range(1, 90)]
        state = json.dumps({"global_step": 890, "max_steps": 890, "log_history": history})
        return fill(tmp_path / name, {"train.py": program, "trainer_state.json": state})

    assert leader(run("low", 0.02))[1] in ("pad-eos-misconfig", "loss-mask-misaligned")
    assert leader(run("usual", 2.0))[0] == "inconclusive"
