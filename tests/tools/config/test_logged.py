"""What the console log of a run prints of its settings, where no file says it."""

import pytest

from triage.tools.config.combine import read_settings
from triage.tools.config.edit import set_value
from triage.tools.discover import discover
from triage.tools.findings import TriageError

STEPS = "step 1 loss 9.8 lr 1e-6\nstep 2 loss 9.7 lr 2e-6\nstep 3 loss 9.5 lr 3e-6\n"


def settings(tmp_path, text, name="train.log", **files):
    (tmp_path / name).write_text(text + STEPS, encoding="utf-8")
    for other, content in files.items():
        (tmp_path / other.replace("__", ".")).write_text(content, encoding="utf-8")
    return read_settings(discover(tmp_path))[0]


def values(*args, **kwargs):
    return {v: s.value for v, s in settings(*args, **kwargs).values.items()}


DUMPS = {
    "argparse": "10:02:11 INFO Namespace(lr=0.0004, max_steps=900, seed=11, weight_decay=0.05)\n",
    "dataclass": "TrainArgs(\n    lr=4e-4,\n    max_steps=900,\n    out=PosixPath('/tmp/a'),\n    seed=11,\n"
    "    kind=<Kind.SFT: 'sft'>,\n    weight_decay=0.05,\n)\n",
    "dots": "[config.py:88:print]   lr ................... 0.0004\n[config.py:88:print]   max_steps ............ 900\n"
    "[config.py:88:print]   seed ................. 11\n[config.py:88:print]   weight_decay ......... 0.05\n",
    "pprint of every rank": "[rank0]: {'optimizer': {'lr': 0.0004,\n[rank0]:                'weight_decay': 0.05},\n"
    "[rank0]:  'train': {'max_steps': 900, 'seed': 11}}\n",
    "json of one line": '2031-02-03 10:00:00 - run - INFO - config: {"lr": 4e-4, "max_steps": 900, "seed": 11, '
    '"weight_decay": 0.05}\n',
    "json of many lines": 'Loaded configuration:\n{\n  "optim": {\n    "lr": 0.0004,\n    "weight_decay": 0.05\n  },\n'
    '  "train": {"max_steps": 900},\n  "seed": 11\n}\n',
    "box": "┏━━━━━━━━┳━━━━━━━┓\n┃ name   ┃ value ┃\n┡━━━━━━━━╇━━━━━━━┩\n│ lr     │ 4e-4  │\n│ max_steps│ 900 │\n"
    "│ seed   │ 11    │\n│ weight_decay │ 0.05 │\n└────────┴───────┘\n",
    "three columns": "| option | default | value |\n| lr | 1e-3 | 4e-4 |\n| max_steps | 100 | 900 |\n"
    "| seed | 0 | 11 |\n| weight_decay | 0.0 | 0.05 |\n",
    "yaml": "[2031-02-03 10:00:00,120][__main__][INFO] - Config:\noptim:\n  lr: 0.0004\n  weight_decay: 0.05\n"
    "trainer:\n  max_steps: 900\nseed: 11\n\n",
    "words": "==== Hyperparameters ====\nLearning rate: 4e-4\nMax steps: 900\nRandom seed: 11\n"
    "Weight decay: 0.05\n====\n",
    "Chinese": "训练参数：\n学习率：4e-4\n总步数：900\n随机种子：11\n权重衰减：0.05\n",
    "absl": "".join(
        f"I0203 10:00:00.12345{i} 1402 train.py:33] {pair}\n"
        for i, pair in enumerate(("lr: 0.0004", "train_steps: 900", "seed: 11", "weight_decay: 0.05"))
    ),
    "one line": "starting with lr=4e-4 steps=900 seed=11 wd=0.05\n",
    "command": "+ python train.py --lr 4e-4 --max-steps 900 --seed 11 --weight-decay 0.05\n",
}


@pytest.mark.parametrize("form", DUMPS)
def test_what_a_program_prints_when_it_starts_is_in_force(tmp_path, form):
    found = values(tmp_path, DUMPS[form])
    assert found == {"learning_rate": 4e-4, "max_steps": 900, "seed": 11, "weight_decay": 0.05}


def test_the_banner_of_a_trainer_is_read_with_its_groups_of_digits(tmp_path):
    text = (
        "***** Running training *****\n  Num examples = 12,800\n  Num Epochs = 2\n"
        "  Instantaneous batch size per device = 4\n  Gradient Accumulation steps = 8\n"
        "  Total train batch size (w. parallel, distributed & accumulation) = 64\n  Total optimization steps = 1,200\n"
    )
    assert values(tmp_path, text) == {
        "epochs": 2.0, "micro_batch_size": 4, "grad_accumulation": 8, "global_batch_size": 64, "max_steps": 1200,
    }  # fmt: skip


def test_a_setting_keeps_its_line_also_behind_the_beginning_of_a_log(tmp_path):
    first, last = (f"Namespace(lr={lr}, max_steps=900, seed=1)\n" for lr in ("0.001", "0.0005"))
    found = settings(tmp_path, first + "waiting for data\n" * 9000 + last)
    assert (found.value("learning_rate"), found.get("learning_rate").line) == (5e-4, 9002)


@pytest.mark.parametrize(
    "text",
    [
        "Previous config: {'lr': 0.001, 'epochs': 3, 'seed': 2, 'weight_decay': 0.1}\n",
        "lr: 0.001\nbatch_size: 8\nepochs: 3\nloss: 2.5\n",
        "".join(f"lr={i}e-5 bs=8 seed=1 wd=0.1\n" for i in range(1, 5)),
        "Namespace(model='m', batch_size=32, seed=0, tasks='qa')\n",
        "AdamW (\nParameter Group 0\n    betas: (0.9, 0.999)\n    lr: 0.0\n    weight_decay: 0.01\n)\n",
        "    trainer = Trainer(model=model, lr=lr, epochs=epochs, seed=seed)\nValueError: no\n",
        "usage: python train.py --lr 0.1 --epochs 3 --seed 1\n",
        'Model config MyConfig {\n  "architectures": ["My"],\n  "hidden_size": 64,\n  "model_type": "my",\n'
        '  "num_hidden_layers": 2,\n  "vocab_size": 100\n}\n',
        "| GPU 0 | 30 C |\n| GPU 1 | 31 C |\n| lr | high |\n",
    ],
)
def test_what_is_not_in_force_or_of_no_training_is_no_setting(tmp_path, text):
    assert values(tmp_path, text) == {}


def test_a_configuration_stays_in_force_and_the_log_adds(tmp_path):
    found = settings(tmp_path, DUMPS["argparse"], train__yaml="lr: 4.0e-4\nwd: 0.05\nseed: 5\n")
    assert (found.get("seed").file, found.value("seed")) == ("train.yaml", 5)
    assert (found.get("max_steps").file, found.files[0]) == ("train.log", "train.log")


def test_a_log_that_contradicts_the_configuration_is_of_another_run(tmp_path):
    text = "Namespace(lr=0.02, max_steps=900, seed=11, lora_r=16)\n"
    assert values(tmp_path, text, train__yaml="lr: 4.0e-4\nseed: 11\n") == {"learning_rate": 4e-4, "seed": 11}


@pytest.mark.parametrize(
    ("dump", "file", "rate"),
    [
        ("Namespace(lr=0.02, max_steps=900, warmup_steps=90, weight_decay=0.1, clip_norm=2.0)\n", "toml", 0.02),
        ("{'optim': {'lr': 0.02, 'weight_decay': 0.1}, 'max_steps': 900, 'warmup_steps': 90, 'max_grad_norm': 2.0}\n",
         "yaml", 0.02),
        ("Namespace(lr=0.02, max_steps=900, warmup_steps=90, weight_decay=0.0, clip_norm=2.0)\n", "yaml", 4e-4),
        ("Namespace(lr=0.02, max_steps=900, seed=3)\n", "yaml", 4e-4),
    ],
)  # fmt: skip
def test_a_file_that_agrees_with_the_log_in_nothing_is_of_another_program(tmp_path, dump, file, rate):
    mark = " =" if file == "toml" else ":"
    rows = (("lr", "4.0e-4"), ("max_steps", 70), ("warmup_steps", 5), ("weight_decay", "0.0"), ("max_grad_norm", 1.0))
    found = values(tmp_path, dump, **{f"finetune__{file}": "".join(f"{k}{mark} {v}\n" for k, v in rows)})
    assert found["learning_rate"] == rate
    assert found["warmup_steps"] == (90 if rate == 0.02 else 5)


def test_a_default_of_a_program_gives_way_to_what_it_printed(tmp_path):
    program = (
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--lr', type=float, default=0.1)\n"
        "parser.add_argument('--max_steps', type=int, default=50)\nargs = parser.parse_args()\n"
    )
    found = values(tmp_path, "Namespace(lr=0.0004, max_steps=900, seed=11)\n", train__py=program)
    assert found == {"learning_rate": 4e-4, "max_steps": 900, "seed": 11}


def test_what_two_logs_tell_differently_is_left_out(tmp_path):
    (tmp_path / "b.log").write_text("Namespace(lr=0.0001, max_steps=900, seed=11)\n" + STEPS)
    assert values(tmp_path, "Namespace(lr=0.0004, max_steps=900, seed=11)\n", "a.log") == {"max_steps": 900, "seed": 11}


def test_an_adapter_that_is_not_used_has_no_rank(tmp_path):
    text = "ModelConfig(use_peft={}, lora_r=16, lora_alpha=32, lr=0.0004, max_steps=900)\n"
    assert "lora_rank" not in values(tmp_path, text.format("False"))
    assert values(tmp_path, text.format("True"))["lora_rank"] == 16


def test_a_log_is_no_file_to_change(tmp_path):
    setting = settings(tmp_path, DUMPS["argparse"]).get("learning_rate")
    with pytest.raises(TriageError, match="a log prints lr"):
        set_value(setting, 1e-5, tmp_path / "train.log")


@pytest.mark.parametrize(("named", "epochs"), [("conf/bird.json", 9), ("conf/fish.json", 3)])
def test_the_command_that_a_log_shows_wins_over_the_file_that_it_names(tmp_path, named, epochs):
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "bird.json").write_text('{"lr": 2e-4, "epochs": 3, "seed": 5}')
    text = f"./tools/train.sh {named} --set epochs=9 seed=5\n"
    assert values(tmp_path, text)["epochs"] == epochs


def test_a_table_behind_a_line_with_bars_is_read(tmp_path):
    text = (
        "2031-01-02 | INFO | Rank 0 | 6 processes\n+------+-------+\n| option | value |\n+------+-------+\n"
        "| lr | 0.002 |\n| epochs | 7 |\n| seed | 4 |\n| weight_decay | 0.3 |\n+------+-------+\n"
    )
    got = values(tmp_path, text)
    assert (got["learning_rate"], got["epochs"], got["weight_decay"]) == (0.002, 7, 0.3)
