"""What programs do is told with its line, and set against what the run's files set."""

import numpy as np
import pytest

from triage.tools.code.fact import facts_in
from triage.tools.code.facts import facts
from triage.tools.code.files import check_run_code
from triage.tools.code.source import parse
from triage.tools.config.combine import read_settings
from triage.tools.discover import discover
from triage.tools.relate.relate import relate
from triage.tools.series import Series, SeriesTable

CONFIG = "learning_rate: 1.0e-5\ngradient_accumulation_steps: 8\nper_device_train_batch_size: 4\nnum_train_epochs: 3\n"
PROGRAM = """\
import argparse, yaml, torch
cfg = yaml.safe_load(open("train.yaml"))
{before}
loader = DataLoader(data, batch_size={batch}, shuffle=True)
optimizer = torch.optim.AdamW(model.parameters(), lr={lr})
for epoch in range({epochs}):
    for i, batch in enumerate(loader):
        loss = model(**batch).loss / {divisor}
        loss.backward()
        if (i + 1) % {count} == 0:
            optimizer.step()
            optimizer.zero_grad()
"""
READ = dict(before="", batch='cfg["per_device_train_batch_size"]', lr='cfg["learning_rate"]', divisor='cfg["accum"]',
            epochs='cfg["num_train_epochs"]', count='cfg["accum"]')  # fmt: skip


def program(**written):
    return PROGRAM.format(**{**READ, **written})


def related(tmp_path, text, config=CONFIG, launch="python train.py\n", series=(), name="train.py"):
    files = {"train.yaml": config, "launch.sh": launch, name: text, "train.log": "step 1 loss 2.0\n"}
    for one, content in files.items():
        if content:
            (tmp_path / one).write_text(content)
    run = discover(tmp_path)
    told = facts_in([check_run_code(run)])
    found = relate(SeriesTable(tuple(series)), settings=read_settings(run)[0], facts=told).findings
    return [f for f in found if f.code.endswith(("not-as-set", "without-effect"))]


OPTIMIZER = 'optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["learning_rate"])\n'
WRITTEN = {
    "rate": (program(lr="1e-3"), "rate-not-as-set", 5, 1),
    "through a name": (program(before="LR = 1e-3", lr="LR"), "rate-not-as-set", 3, 1),
    "through a default": (
        program().replace(OPTIMIZER, "def made(rate=1e-3):\n    return torch.optim.AdamW(model.parameters(), lr=rate)\n"
                          "optimizer = made()\n"), "rate-not-as-set", 5, 1),
    "accumulation": (program(count="2"), "batch-not-as-set", 10, 2),
    "divisor": (program(divisor="4"), "setting-without-effect", 8, 2),
    "no accumulation": (program().replace('        if (i + 1) % cfg["accum"] == 0:\n', "        if True:\n").replace(
        "        if True:\n            optimizer.step()\n            optimizer.zero_grad()",
        "        optimizer.step()\n        optimizer.zero_grad()"), "batch-not-as-set", 10, 2),
    "batch": (program(batch="16"), "batch-not-as-set", 4, 3),
    "epochs": (program(epochs="1"), "setting-without-effect", 6, 4),
}  # fmt: skip


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_number_of_the_program_against_the_setting_names_both_places(tmp_path, kind):
    text, code, row, setting = WRITTEN[kind]
    [found] = related(tmp_path, text)
    assert (found.code, [(e.file, e.line) for e in found.evidence]) == (
        code,
        [("train.py", row), ("train.yaml", setting)],
    )
    assert found.zh


RATE = program(lr="1e-3")
SILENT = {
    "everything is read": program(),
    "from the arguments": program(before='p = argparse.ArgumentParser()\np.add_argument("--lr", default=1e-3)\nargs = '
                                  "p.parse_args()", lr="args.lr"),
    "it is what is set": program(lr="1e-5", count="8", divisor="8", batch="4", epochs="3"),
    "one place of two reads it": RATE + 'other = torch.optim.AdamW(head.parameters(), lr=cfg["learning_rate"])\n',
    "two optimizers": RATE + "other = torch.optim.AdamW(head.parameters(), lr=1e-4)\n",
    "set in every step": RATE + '        optimizer.param_groups[0]["lr"] = schedule(i)\n',
    "names from elsewhere": program(before='LR = 1e-3\nexec(open("configurator.py").read())', lr="LR"),
    "given twice": program(before="LR = 1e-3\nLR = cfg.get('lr', LR)", lr="LR"),
    "the whole batch": program(batch="32"),
    "a part of the loss": program().replace("loss.backward()", "loss = loss + 0.1 * aux\n        loss.backward()"),
    "an evaluation loader": program() + "eval_loader = DataLoader(eval_data, batch_size=64)\n",
    "a library accumulates": program().replace("        loss.backward()", "        accelerator.backward(loss)").replace(
        'if (i + 1) % cfg["accum"] == 0:', "if accelerator.sync_gradients:"),
    "a sweep": program(before="for lr in (1e-3, 1e-4):\n    pass", lr="lr"),
}  # fmt: skip


@pytest.mark.parametrize("kind", SILENT)
def test_a_program_that_takes_the_setting_is_left_alone(tmp_path, kind):
    assert related(tmp_path, SILENT[kind]) == []


def test_a_program_that_nothing_leads_to_is_left_alone(tmp_path):
    other = program().replace("train.yaml", "other.yaml")
    (tmp_path / "old.py").write_text(RATE)
    assert related(tmp_path, other) == []
    assert related(tmp_path, other, launch="") == []


def test_the_setting_of_the_program_itself_is_no_other_place(tmp_path):
    assert related(tmp_path, RATE, config="") == []


def rate(peak):
    values = np.concatenate([np.linspace(0, peak, 10), np.linspace(peak, 0, 40)])
    return Series("learning_rate", "lr", np.arange(50), values, np.arange(1, 51), "train.log")


def test_a_log_that_measures_what_was_set_acquits_the_program_and_one_that_agrees_with_it_is_named(tmp_path):
    assert related(tmp_path, RATE, series=[rate(1e-5)]) == []
    [found] = related(tmp_path, RATE, series=[rate(1e-3)])
    assert [e.file for e in found.evidence] == ["train.py", "train.yaml", "train.log"]


def test_the_facts_of_a_loop_are_told_in_order_with_their_lines():
    text = program(before="torch.manual_seed(7)\ntorch.distributed.init_process_group()\ndist.barrier()") + (
        "    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)\n"
        "    if rank == 0:\n        torch.save(model, 'x.pt')\n"
        "    model.eval()\ndef reward_length(texts):\n    return 0\n"
    )
    told = {(f.of, f.value, f.how, f.line) for f in facts(parse(text, "train.py"))}
    assert {
        ("seed", "7", "written", 3),
        ("collective", "barrier on every rank", "seen", 5),
        ("optimizer", "AdamW", "seen", 7),
        ("learning_rate", 'cfg["learning_rate"]', "read", 7),
        ("order", "backward step zero", "seen", 11),
        ("saves", "torch.save(model, 'x.pt') on one rank", "seen", 17),
        ("mode", "model.eval()", "seen", 18),
        ("reward", "reward_length", "seen", 19),
    } <= told
