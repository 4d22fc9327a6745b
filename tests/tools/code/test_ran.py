"""What of a folder's programs a run ran: a finding of a line that it does not reach is none, or a note with an "if"."""

from textwrap import indent

import pytest

from triage.tools.code.check import judged
from triage.tools.code.files import check_run_code
from triage.tools.code.program import Program
from triage.tools.code.ran.branches import Branches
from triage.tools.code.ran.known import Known, Unknown
from triage.tools.code.ran.printed import foreign
from triage.tools.code.ran.values import Values
from triage.tools.code.rules.rule import RULES
from triage.tools.code.source import parse
from triage.tools.config.combine import read_settings
from triage.tools.discover import discover

OPTIONS = """import argparse
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--running-mean", action="store_true")
parser.add_argument("--mean-every", type=int, default=5)
parser.add_argument("--no-mean", dest="mean", action="store_false")
args = parser.parse_args()
"""
LOOP = (
    OPTIONS
    + """{before}
total = 0.0
for step, batch in enumerate(loader):
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"step {{step}} loss {{loss.item()}}")
    if {test}:
        print(f"mean so far {{total / (step + 1)}}")
        total += loss
"""
)
CODE = "loss-kept-with-graph"


def of(folder, files, code=CODE):
    """The findings of a code in a folder of these files."""
    for name, text in {"train.log": "step 1 loss 2.0\nstep 2 loss 1.9\n", **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    run = discover(folder)
    return [f for f in check_run_code(run, read_settings(run)[0]).findings if f.code == code]


@pytest.mark.parametrize(
    ("test", "before", "severity"),
    [
        ("step >= 0", "", "S2"),
        ("step % args.mean_every == 0", "", "S2"),
        ("args.mean_every > 1", "", "S2"),
        ("args.mean", "", "S2"),
        ("args.mean_every > 100", "", "S3"),
        ("args.running_mean", "", "S3"),
        ("not args.running_mean", "", "S2"),
        ("KEEP", "KEEP = True", "S2"),
        ("KEEP", "KEEP = False", ""),
        ("KEEP and step", "KEEP = False", ""),
        ("KEEP or step", "KEEP = False", "S2"),
        ("KIND in ('sum', 'all')", "KIND = 'none'", ""),
        ("KIND == 'sum'", "KIND = 'sum'", "S2"),
        ("rank == 0", "rank = args.local_rank", "S2"),
        ("done", "done = False\nif torch.cuda.is_available():\n    done = True", "S2"),
    ],
)
def test_a_branch_is_taken_by_what_its_condition_is(tmp_path, test, before, severity):
    found = of(tmp_path, {"train.py": LOOP.format(test=test, before=before)})
    assert [str(f.severity) for f in found] == [severity] * bool(severity)
    assert all(f"`{test}`" in f.message and f"`{test}`" in f.zh for f in found if severity == "S3")


def test_the_launch_says_which_branch_is_taken(tmp_path):
    files = {
        "train.py": LOOP.format(test="args.running_mean", before=""),
        "go.sh": "python train.py --lr 0.1 --running-mean\n",
    }
    assert [f.severity for f in of(tmp_path, files)] == ["S2"]


def test_the_words_of_a_branch_in_the_log_say_that_it_was_taken(tmp_path):
    files = {"train.py": LOOP.format(test="args.running_mean", before="")}
    assert [f.severity for f in of(tmp_path, files | {"train.log": "mean so far 1.25\n"})] == ["S2"]


def test_the_only_configuration_says_it_and_one_of_several_does_not(tmp_path):
    program = LOOP.format(test="cfg['report']['mean']", before="cfg = yaml.safe_load(open('a.yaml'))")
    config = "learning_rate: 0.1\nnum_train_epochs: 2\nreport:\n  mean: false\n"
    assert of(tmp_path / "one", {"train.py": program, "a.yaml": config}) == []
    files = {"train.py": program, "a.yaml": config, "b.yaml": config.replace("false", "true").replace("0.1", "0.2")}
    assert [f.severity for f in of(tmp_path / "two", files)] == ["S3"]


def reached(text, code=CODE):
    """What is left of the findings of a program, of whose run nothing is known."""
    parsed = parse(text, "train.py")
    branches = Branches(Program(parsed), Known(), lambda word: iter(()))
    found = judged(parsed, [RULES[code]])[0]
    assert found
    return [str(f.severity) for one in found if (f := branches.judged(one))]


def body(text):
    return (
        "def train(loader, args):\n    total = 0.0\n"
        + text
        + """    for batch in loader:
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += loss
"""
    )


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        (body("    if DRY:\n        return\n") + "DRY = True\ntrain(loader, args)\n", []),
        (body("    if DRY:\n        return\n") + "DRY = False\ntrain(loader, args)\n", ["S2"]),
        (body("") + "if not ONLY_TEST:\n    train(loader, args)\nONLY_TEST = True\n", []),
        (body("") + "if not ONLY_TEST:\n    train(loader, args)\ntrain(loader, args)\nONLY_TEST = True\n", ["S2"]),
        (body("") + "if not ONLY_TEST:\n    train(loader, args)\nspawn(train)\nONLY_TEST = True\n", ["S2"]),
    ],
)
def test_a_line_is_reached_through_what_goes_before_it_and_through_its_calls(text, severity):
    assert reached("import torch\n" + text) == severity


def test_a_method_that_another_program_calls_for_an_option_is_a_note(tmp_path):
    lib = "import torch\nclass Trainer:\n" + indent(
        body("").replace("train(loader, args)", "fit(self, loader)"), "    "
    )
    main = OPTIONS + "from lib import Trainer\ntrainer = Trainer()\n{call}\n"
    files = {"lib.py": lib, "main.py": main.format(call="if args.running_mean:\n    trainer.fit(loader)")}
    assert [f.severity for f in of(tmp_path / "a", files)] == ["S3"]
    files["main.py"] = main.format(call="trainer.fit(loader)")
    assert [f.severity for f in of(tmp_path / "b", files)] == ["S2"]


SCALED = """
import torch
AMP = {amp}
scaler = torch.cuda.amp.GradScaler(enabled={enabled})
for batch in loader:
    optimizer.zero_grad()
    loss = model(**batch).loss
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.parametrize(
    ("amp", "enabled", "severity"),
    [(True, "AMP", ["S2"]), (False, "AMP", []), (True, "torch.cuda.is_available()", ["S2"])],
)
def test_a_scaler_that_is_switched_off_does_no_harm(amp, enabled, severity):
    assert reached(SCALED.format(amp=amp, enabled=enabled), "clip-before-unscale") == severity


TWO_WAYS = """
import torch
scaler = torch.cuda.amp.GradScaler()
for batch in loader:
    optimizer.zero_grad()
    loss = model(**batch).loss
    if {first}:
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    if {second}:
        scaler.scale(loss).backward()
        {unscale}
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


@pytest.mark.parametrize(
    ("first", "second", "unscale", "line"),
    [
        ("args.plain and ready", "not args.plain and ready", "scaler.unscale_(optimizer)", None),
        ("args.plain and ready", "not args.plain and ready", "pass", 14),
        ("args.plain and ready", "ready", "scaler.unscale_(optimizer)", 9),
    ],
)
def test_a_clip_belongs_to_the_step_of_its_own_branch(first, second, unscale, line):
    text = TWO_WAYS.format(first=first, second=second, unscale=unscale)
    found, _ = judged(parse(text, "train.py"), [RULES["clip-before-unscale"]])
    assert [f.evidence[0].line for f in found] == ([line] if line else [])


CALLBACK = """
from transformers import TrainerCallback
class Keep(TrainerCallback):
    def on_save(self, args, state, control, model=None, **kwargs):
        model.save_pretrained(f"{args.output_dir}/best")
"""


@pytest.mark.parametrize(
    ("launch", "severity"),
    [
        ({}, ["S3"]),
        ({"go.sh": "python train.py --epochs 3\n"}, []),
        ({"go.sh": "torchrun --nnodes 1 --nproc_per_node 8 train.py --epochs 3\n"}, ["S2"]),
        ({"go.sh": "python -m torch.distributed.run train.py --epochs 3\n"}, ["S3"]),
    ],
)
def test_what_needs_several_processes_asks_how_many_run(tmp_path, launch, severity):
    assert [f.severity for f in of(tmp_path, {"train.py": CALLBACK, **launch}, "saved-on-every-rank")] == severity


PRINTING = """
import torch
print("loading the corpus")
total = 0.0
for step, batch in enumerate(loader):
    loss = model(**batch).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    total += loss
    print("at %d: mean %.3f" % (step, total))
"""


@pytest.mark.parametrize(
    ("log", "severity"),
    [
        ("at 1: mean 2.100\nat 2: mean 2.050\n", ["S2"]),
        ("loading the corpus\nKilled\n", ["S2"]),
        ("[epoch 1] objective=2.1\n[epoch 2] objective=2.0\n", ["S3"]),
    ],
)
def test_a_program_that_can_have_written_no_line_of_the_log_is_a_note(tmp_path, log, severity):
    assert [f.severity for f in of(tmp_path, {"train.py": PRINTING, "train.log": log})] == severity


def test_a_program_that_prints_nothing_as_it_goes_may_have_written_any_log():
    text = PRINTING.replace("    print(", "    wandb_log(")
    assert not foreign(Program(parse(text, "a.py")), "[epoch 1] objective=2.1\n")


def test_a_program_that_a_configuration_names_is_a_note_where_the_launch_names_another(tmp_path):
    silent = PRINTING.replace("    print(", "    wandb_log(")
    files = {"fit.py": silent, "other.py": silent, "go.sh": "python fit.py\n", "plan.yaml": "next: other.py\nlr: 0.1\n"}
    assert {f.evidence[0].file: str(f.severity) for f in of(tmp_path, files)} == {"fit.py": "S2", "other.py": "S3"}


@pytest.mark.parametrize(
    ("told", "value"),
    [
        ({"model.lora.on": (True, True), "data.lora.on": (True, True)}, True),
        ({"model.lora.on": (True, True), "data.lora.on": (False, True)}, Unknown.SETTING),
        ({"wandb.on": (True, True)}, Unknown.STATE),
        ({"on": (False, True)}, False),
    ],
)
def test_a_setting_is_known_by_its_path(told, value):
    program = Program(parse("if cfg.lora.on:\n    pass\n", "a.py"))
    assert Values(program, Known(told)).of(program.tree.body[0].test)[0] is value
