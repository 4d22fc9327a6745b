"""Settings inside Python programs: how they are written, which of a run's programs say them, what overrides them."""

# ruff: noqa: E501  a program on a line

import json

import pytest

from triage.tools.config.combine import read_settings, settings_of
from triage.tools.config.edit import set_value
from triage.tools.config.read import read_file, read_source
from triage.tools.config.syntax.source import source
from triage.tools.discover import discover


def values(text, name="train.py"):
    return {s.variable: s.value for s in settings_of(read_source(source(name, text), "python"))}


def of_run(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return read_settings(discover(folder))[0]


def plain(settings):
    return {s.variable: s.value for s in settings}


WRITTEN = [
    ("expressions", "BATCH = 3 * 8\nSEQ_LEN = 1 << 12\nMAX_STEPS = int(2e4)\nlr, wd = 7e-4, 0.05\nseed: int = 2**5 + 1\n",
     {"micro_batch_size": 24, "sequence_length": 4096, "max_steps": 20000, "learning_rate": 7e-4, "weight_decay": 0.05,
      "seed": 33}),
    ("names of the file", "WIDTH = 64\nn_embd = WIDTH * 6\nn_head = WIDTH // 8\nlr = float('3e-5')\n",
     {"hidden_size": 384, "num_heads": 8, "learning_rate": 3e-5}),
    ("fallback of the environment", "import os\nlr = float(os.environ.get('LR', 2e-4))\nseed = int(os.getenv('SEED', '9'))\n",
     {"learning_rate": 2e-4, "seed": 9}),
    ("nested literal", "cfg = {'optim': {'lr': 1e-4, 'weight_decay': 0.1}, 'batch_size': 12}\n",
     {"learning_rate": 1e-4, "weight_decay": 0.1, "micro_batch_size": 12}),
    ("namespace", "from types import SimpleNamespace\nhp = SimpleNamespace(lr=5e-5, epochs=4)\n",
     {"learning_rate": 5e-5, "epochs": 4.0}),
    ("set one by one", "config = ConfigDict()\nconfig.optimizer = ConfigDict()\nconfig.optimizer.lr = 6e-4\nconfig['batch_size'] = 20\n",
     {"learning_rate": 6e-4, "micro_batch_size": 20}),
    ("dataclasses", "@dataclass\nclass NetCfg:\n    n_layers: int = 10\n@dataclass\nclass OptCfg:\n    lr: float = field(default=9e-4)\n"
     "@dataclass\nclass RunCfg:\n    opt: OptCfg = field(default_factory=OptCfg)\n    epochs: int = 6\n",
     {"num_layers": 10, "learning_rate": 9e-4, "epochs": 6.0}),
    ("classes in a class", "class WalkerCfg:\n    seed = 3\n    class algorithm:\n        learning_rate = 1e-3\n",
     {"seed": 3, "learning_rate": 1e-3}),
    ("pydantic", "class Settings(BaseSettings):\n    batch_size: int = Field(24, ge=1)\n    lr: float = Field(default=4e-5)\n",
     {"micro_batch_size": 24, "learning_rate": 4e-5}),
    ("argparse", "p.add_argument('-b', '--batch-size', type=int, default=2**4)\np.set_defaults(lr=2e-3)\n",
     {"micro_batch_size": 16, "learning_rate": 2e-3}),
    ("click", "@click.command()\n@click.option('-e', '--epochs', default=7)\n@click.option('--lr', default=1e-2)\ndef go(epochs, lr): ...\n",
     {"epochs": 7.0, "learning_rate": 1e-2}),
    ("typer", "def go(lr: float = typer.Option(8e-5), seed: int = 4): ...\ntyper.run(go)\n", {"learning_rate": 8e-5, "seed": 4}),
    ("absl", "flags.DEFINE_integer('batch_size', 48, 'rows')\nflags.DEFINE_float('learning_rate', default=1e-3, help='')\n",
     {"micro_batch_size": 48, "learning_rate": 1e-3}),
    ("environment", "import os\nos.environ.setdefault('CUDA_VISIBLE_DEVICES', '2,3')\nos.environ.update({'NCCL_IB_DISABLE': '1'})\n",
     {"visible_devices": "2,3", "nccl_ib_disable": True}),
    ("optimizer", "opt = torch.optim.AdamW(net.parameters(), 5e-4, betas=(0.9, 0.97), eps=1e-7, weight_decay=0.2)\n",
     {"optimizer": "AdamW", "learning_rate": 5e-4, "adam_beta2": 0.97, "adam_epsilon": 1e-7, "weight_decay": 0.2}),
    ("keras", "import keras\nmodel.compile(optimizer=keras.optimizers.Adam(2e-3, global_clipnorm=0.7))\n",
     {"optimizer": "Adam", "learning_rate": 2e-3, "grad_clip": 0.7}),
    ("optax", "import optax\ntx = optax.chain(optax.clip_by_global_norm(0.8), optax.adamw(1e-4, b2=0.95))\n",
     {"optimizer": "adamw", "learning_rate": 1e-4, "adam_beta2": 0.95, "grad_clip": 0.8}),
    ("clipping of FSDP", "norm = model.clip_grad_norm_(0.4)\n", {"grad_clip": 0.4}),
    ("schedule", "s = get_linear_schedule_with_warmup(opt, 30, num_training_steps=900)\n",
     {"lr_schedule": "linear", "warmup_steps": 30, "max_steps": 900}),
    ("process group", "import datetime\ndist.init_process_group('nccl', timeout=datetime.timedelta(hours=1, minutes=30))\n",
     {"nccl_timeout": 5400.0}),
    ("model and data", "NAME = 'org/base-2b'\nmodel = AutoModelForCausalLM.from_pretrained(NAME, attn_implementation='sdpa')\n"
     "model.gradient_checkpointing_enable()\ndata = load_dataset('org/pairs', split='train')\n",
     {"model": "org/base-2b", "flash_attention": False, "activation_checkpointing": True, "dataset": "org/pairs"}),
    ("agent", "from stable_baselines3 import SAC\nm = SAC('MlpPolicy', env, learning_rate=1e-3, batch_size=512, n_epochs=3)\n",
     {"learning_rate": 1e-3, "train_batch_size": 512}),
    ("engine", "from vllm import LLM, SamplingParams\nllm = LLM('org/chat-9b', tensor_parallel_size=1 << 1, max_model_len=6 * 1024)\n"
     "p = SamplingParams(temperature=0.2, max_tokens=300)\n",
     {"model": "org/chat-9b", "engine_tensor_parallel": 2, "max_model_len": 6144, "sampling_temperature": 0.2,
      "max_response_length": 300}),
    ("meaning by use", "p.add_argument('--pace', default=3e-4)\np.add_argument('--cap', default=0.9)\nargs = p.parse_args()\n"
     "o = torch.optim.SGD(m.parameters(), lr=args.pace)\ntorch.nn.utils.clip_grad_norm_(m.parameters(), args.cap)\n",
     {"optimizer": "SGD", "learning_rate": 3e-4, "grad_clip": 0.9}),
    ("openmmlab", "optimizer = dict(type='SGD', lr=0.02)\noptimizer_config = dict(grad_clip=dict(max_norm=35))\n"
     "lr_config = dict(policy='poly', warmup_iters=200, warmup_ratio=0.001)\ndata = dict(samples_per_gpu=4, workers_per_gpu=3)\n",
     {"optimizer": "SGD", "learning_rate": 0.02, "grad_clip": 35.0, "lr_schedule": "poly", "warmup_steps": 200,
      "micro_batch_size": 4, "num_workers": 3}),
    ("detectron2", "cfg = get_cfg()\ncfg.SOLVER.IMS_PER_BATCH = 8\ncfg.SOLVER.BASE_LR = 0.01\ncfg.SOLVER.MAX_ITER = 300\n",
     {"global_batch_size": 8, "learning_rate": 0.01, "max_steps": 300}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), [row[1:] for row in WRITTEN], ids=[row[0] for row in WRITTEN])
def test_what_a_program_says_is_read(text, expected):
    assert values(text) == pytest.approx(expected)


UNREAD = [
    ("loaders of held-out data", "val_loader = DataLoader(v, batch_size=512)\nx = DataLoader(test_set, batch_size=256)\n"),
    ("another model", "teacher = AutoModelForCausalLM.from_pretrained('org/big')\nref_model = AutoModel.from_pretrained('org/r')\n"),
    ("a tokenizer is no model", "tok = AutoTokenizer.from_pretrained('org/tok')\n"),
    ("two optimizers", "a = torch.optim.Adam(g.parameters(), lr=1e-4)\nb = torch.optim.RMSprop(c.parameters(), lr=4e-4)\n"),
    ("one of two is not visible", "a = Lion(g.parameters(), lr=1e-4)\nb = Adafactor(c.parameters(), lr=rate())\n", "learning_rate"),
    ("a norm that is only measured", "n = torch.nn.utils.clip_grad_norm_(m.parameters(), float('inf'))\n"),
    ("counters", "steps = 1\nepochs = 1\nfor batch in data:\n    steps += 1\n    epochs += 1\n"),
    ("a branch that may not be taken", "if big:\n    model.gradient_checkpointing_enable()\n"),
    ("settings of another part", "CRITIC = dict(lr=1e-4, batch_size=3)\neval_cfg = {'batch_size': 64, 'seed': 1}\n"),
    ("two sizes of one program", "small = dict(n_layer=4, lr=1e-3)\nlarge = dict(n_layer=40, lr=1e-4)\n"),
    ("a test split", "d = load_dataset('org/qa', split='validation[:50]')\n"),
    ("what is computed from data", "max_steps = len(loader) * 3\nbatch_size = args.batch // world\n"),
    ("a power out of bounds", "max_steps = 9 ** 9 ** 9\nseed = 1 << 100000\n"),
    ("how far an environment goes", "class Args:\n    num_envs: int = 8\n    num_steps: int = 128\n"),
    ("passes over a rollout", "from stable_baselines3 import PPO\nPPO('MlpPolicy', env, n_steps=64, n_epochs=10)\n"),
]  # fmt: skip


@pytest.mark.parametrize("row", UNREAD, ids=[row[0] for row in UNREAD])
def test_what_decides_nothing_is_left(row):
    found = values(row[1])
    assert not (found if len(row) == 2 else row[2] in found)


def test_the_actor_is_held_apart_from_the_critic_and_models_from_each_other():
    text = "class ActorConfig:\n    learning_rate: float = 3e-6\nclass CriticConfig:\n    learning_rate: float = 1e-5\n"
    assert values(text) == {"learning_rate": 3e-6}
    assert values("class TinyConfig:\n    lr: float = 1e-3\nclass WideConfig:\n    lr: float = 1e-4\n") == {}


LOOP = "opt = torch.optim.AdamW(m.parameters(), lr={lr})\nfor x in data:\n    m(x).backward()\n    opt.step()\n"
TOP = "import torch\nBATCH_SIZE = 6\nSEQ_LEN = 640\nSEED = 5\n"


def test_the_program_that_trains_is_read_and_helpers_are_not(tmp_path):
    files = {
        "go.py": TOP + LOOP.format(lr="2e-5"),
        "score.py": "import torch\nBATCH_SIZE = 99\nSEQ_LEN = 9\nSEED = 1\nwith torch.no_grad():\n    m.eval()\n",
        "tests/test_go.py": TOP.replace("6", "7") + LOOP.format(lr="1.0"),
        "tools.py": "import json\nbatch_size = 3\ndef load(path, lr=0.1):\n    return json.load(open(path))\n",
    }
    assert plain(of_run(tmp_path, files)) == {
        "micro_batch_size": 6, "sequence_length": 640, "seed": 5, "learning_rate": 2e-5, "optimizer": "AdamW"}  # fmt: skip


def test_a_launch_says_which_program_and_what_its_options_are(tmp_path):
    first = "import torch\np.add_argument('--pace', default=1e-3)\np.add_argument('--rows', default=8)\nargs = p.parse_args()\n"
    first += "d = DataLoader(s, batch_size=args.rows)\n" + LOOP.format(lr="args.pace")
    files = {"one.py": first, "two.py": TOP + LOOP.format(lr="0.5"), "go.sh": "python one.py --pace 4e-5\n"}
    settings = of_run(tmp_path, files)
    assert plain(settings) == {"learning_rate": 4e-5, "micro_batch_size": 8, "optimizer": "AdamW"}
    assert (settings.get("learning_rate").file, settings.get("micro_batch_size").file) == ("go.sh", "one.py")


def test_a_file_of_overrides_behind_the_program_wins_over_it(tmp_path):
    base = "batch_size = 12\nlearning_rate = 6e-4\nmax_iters = 100\n"
    files = {
        "train.py": base + "seed = 3\n" + LOOP.format(lr="learning_rate"),
        "config/mine.py": base.replace("12", "2"),
        "run.sh": "python train.py config/mine.py\n",
    }
    found = plain(of_run(tmp_path, files))
    assert (found["micro_batch_size"], found["max_steps"], found["seed"]) == (2, 100, 3)


def test_a_configuration_file_leaves_of_a_program_what_it_gives_its_libraries(tmp_path):
    program = TOP + "opt = torch.optim.AdamW(m.parameters(), lr=cfg.lr, betas=(0.9, 0.98))\nloss.backward()\n"
    files = {"train.py": program, "conf.yaml": "lr: 1.0e-4\nepochs: 2\nseed: 8\nmini: 3\n"}
    found = plain(of_run(tmp_path, files))
    assert found == {"learning_rate": 1e-4, "epochs": 2.0, "seed": 8, "adam_beta2": 0.98, "optimizer": "AdamW"}


def test_of_a_program_that_asks_an_engine_only_its_calls_count(tmp_path):
    text = "from vllm import LLM\nMAX_STEPS = 5  # calls of tools\nBATCH_SIZE = 3\n"
    text += "llm = LLM(model='org/m', tensor_parallel_size=4, max_model_len=900)\n"
    assert plain(of_run(tmp_path, {"ask.py": text})) == {
        "model": "org/m", "engine_tensor_parallel": 4, "max_model_len": 900}  # fmt: skip


def test_a_batch_of_tokens_is_no_batch_of_sequences():
    assert "global_batch_size" not in values("total_batch_size = 2**18\nblock_size = 512\n")
    assert values("total_batch_size = 2**9\nblock_size = 512\n")["global_batch_size"] == 512


def test_one_answer_for_a_prompt_is_no_group_under_a_name_of_nobodys():
    assert "stage" not in values("group_size = 1\nlr = 1e-6\n")
    assert values("group_size = 8\nlr = 1e-6\n")["stage"] == "grpo"


def test_a_value_is_edited_where_it_stands_and_not_where_a_number_has_no_unit(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(
        "STEPS_ALL = 2 * 500\nmax_steps = STEPS_ALL\ndist.init_process_group(timeout=timedelta(minutes=9))\n"
    )
    found = read_file(path).values
    assert "STEPS_ALL = 700\n" in set_value(found["max_steps"], 700, path).text
    assert (found["nccl_timeout"].line, found["nccl_timeout"].column) == (3, -1)


PRINTING = "import torch\nopt = torch.optim.AdamW(net.parameters(), lr=2e-4)\nfor step in range(900):\n    loss.backward()\n    {}\n"


@pytest.mark.parametrize(
    "line", ["if step % 25 == 0: print(step, loss)", "if rank == 0 and not (step + 1) % 25: log.info('%d', step)"]
)
def test_a_loop_says_how_often_it_prints(line):
    assert values(PRINTING.format(line))["log_steps"] == 25


@pytest.mark.parametrize(
    "line",
    ["if step % 25 == 0: save(net)", "if epoch % 25 == 0: print(loss)", "if step % 25 == 1: print(loss)",
     "if step % 25 == 0: print(evaluate(net))"],
)  # fmt: skip
def test_other_branches_of_a_loop_do_not(line):
    assert "log_steps" not in values(PRINTING.format(line))


def test_what_a_model_freezes_by_a_method_of_its_own():
    assert values(PRINTING.format("pass") + "net.freeze_feature_encoder()\n")["freeze"] == "feature_encoder"
    assert "freeze" not in values(PRINTING.format("pass") + "net.unfreeze_encoder()\nnet.freeze_for_now()\n")


ARGUMENTS = "args = TrainingArguments(output_dir='o', learning_rate=3e-4, warmup_steps=70, max_steps=70)\n"


def notebook(*cells):
    """A notebook of cells: source, and what says that it ran (a count, outputs)."""
    return json.dumps({
        "cells": [{"cell_type": "code", "metadata": {}, "source": [text], "execution_count": count, "outputs": outputs}
                  for text, count, outputs in cells],
        "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)  # fmt: skip


IDLE = ("import torch\n", None, []), (ARGUMENTS, None, [])
RAN = ("print(1)\n", 3, [])
PRINTED = ("print(1)\n", None, [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}])


@pytest.mark.parametrize(
    ("files", "read"),
    [
        ({"plan.ipynb": notebook(*IDLE), "eval.ipynb": notebook(RAN)}, False),
        ({"讲义.ipynb": notebook(*IDLE), "评测.ipynb": notebook(PRINTED)}, False),
        ({"all.ipynb": notebook(RAN, *IDLE)}, False),
        ({"all.ipynb": notebook(*IDLE)}, True),
        ({"a.ipynb": notebook(*IDLE), "b.ipynb": notebook(("x = 1\n", None, []))}, True),
        ({"all.ipynb": notebook(RAN, *IDLE, PRINTED)}, True),
    ],
    ids=["beside one that ran", "beside printed", "behind the last", "stripped", "both stripped", "between"],
)
def test_cells_that_never_ran_set_nothing(tmp_path, files, read):
    assert ("warmup_steps" in plain(of_run(tmp_path, files))) is read
