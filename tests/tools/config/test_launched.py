"""Launches as people keep them: typed commands, files read in, settings by flag, chosen parts of a file."""

import pytest

from triage.tools.config.combine import read_settings
from triage.tools.config.edit import set_value
from triage.tools.config.read import read_file
from triage.tools.discover import discover


def run_of(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return read_settings(discover(tmp_path))[0]


def values(settings):
    return {s.variable: s.value for s in settings}


def test_the_last_launch_of_a_history_counts(tmp_path):
    text = (
        "  801  python fit.py --lr 1e-3 --seed 1\n  802  ls out\n"
        "  803  python fit.py --lr 4e-5 --bs 6 --maxlen 900\n  804  tail -f out/log\n"
    )
    s = run_of(tmp_path, {"history.txt": text})
    assert values(s) == {"learning_rate": 4e-5, "micro_batch_size": 6, "sequence_length": 900}
    assert (s.values["learning_rate"].line, s.values["learning_rate"].raw) == (3, "4e-5")


def test_a_command_after_a_prompt_with_what_it_printed_below(tmp_path):
    text = "me@box:~/x$ python fit.py optim.lr=2e-4 \\\n   optim.betas=[0.9,0.96] seed=5\n\nloading 3 shards\n"
    s = run_of(tmp_path, {"run.txt": text})
    assert values(s) == {"learning_rate": 2e-4, "adam_beta2": 0.96, "seed": 5}
    path = tmp_path / "run.txt"
    assert "optim.lr=1e-4" in set_value(s.values["learning_rate"], "1e-4", path).text


@pytest.mark.parametrize(
    "text", ["we ran python fit.py --lr 3 once\nand it was fine\n", "# python fit.py --lr 1e-3\nnothing ran\n"]
)
def test_talk_of_a_command_is_none(tmp_path, text):
    assert values(run_of(tmp_path, {"notes.txt": text})) == {}


SERVE = 'set -a; . ./chat.env; set +a\nexec vllm serve "$NAME" -tp "$TP" --max-num-seqs "$SEQS" --dtype half\n'


def test_what_a_script_reads_in_has_its_place_in_the_other_file(tmp_path):
    s = run_of(tmp_path, {"up.sh": SERVE, "chat.env": "NAME=org/chat-8b\nTP=2\nSEQS=48\n"})
    assert (s.value("model"), s.value("engine_tensor_parallel"), s.value("max_num_seqs")) == ("org/chat-8b", 2, 48)
    assert (s.values["max_num_seqs"].file, s.values["max_num_seqs"].line) == ("chat.env", 3)
    assert s.value("model_dtype") == "fp16"
    assert "tensor_parallel" not in s


def test_a_file_elsewhere_is_not_read_in(tmp_path):
    (tmp_path / "other").mkdir()
    s = run_of(tmp_path / "run", {"up.sh": SERVE.replace("./chat.env", "/etc/chat.env")})
    assert "max_num_seqs" not in s


def test_what_only_the_program_reads_from_the_environment(tmp_path):
    s = run_of(tmp_path, {"go.sh": "export PEAK_LR=3e-5\nexport MICRO_BS=2\nBATCH=64\npython -m fit.main\n"})
    assert values(s) == {"learning_rate": 3e-5, "micro_batch_size": 2}
    t = run_of(tmp_path / "b", {"fit.env": "EPOCHS=4\nLORA_RANK=16\nOMP_NUM_THREADS=8\nMASTER_PORT=29500\n"})
    assert values(t) == {"epochs": 4.0, "lora_rank": 16}


def test_settings_by_flag_win_over_the_file_beside(tmp_path):
    s = run_of(tmp_path, {
        "base.ini": "[train]\nlr = 5e-6\nbs = 8\nepochs = 1\n[dpo]\nbeta = 0.3\n",
        "cmd.txt": "# the line wins\npython -m pref.run --ini base.ini -o train.lr=2e-6 -o dpo.beta=0.15\n",
    })  # fmt: skip
    assert (s.value("learning_rate"), s.value("dpo_beta"), s.value("micro_batch_size")) == (2e-6, 0.15, 8)


def test_the_part_of_a_file_that_the_launch_names(tmp_path):
    text = "common: {seed: 11, optim: {wd: 0.02}}\nphases:\n  long: {lr: 3.0e-4, steps: 900}\n"
    text += "  cool: {lr: 5.0e-5, steps: 70}\n"
    named = run_of(tmp_path / "a", {"plan.yaml": text, "go.sh": "python -m fit --config plan.yaml --phase cool\n"})
    assert (named.value("learning_rate"), named.value("max_steps"), named.value("seed")) == (5e-5, 70, 11)
    assert named.values["learning_rate"].line == 4
    unnamed = run_of(tmp_path / "b", {"plan.yaml": text, "go.sh": "python -m fit --config plan.yaml\n"})
    assert (unnamed.value("learning_rate"), unnamed.value("seed")) == (None, 11)


def test_an_evaluation_harness_is_no_training(tmp_path):
    line = "lm_eval --model vllm --model_args pretrained=/m/x-3b,dtype=bfloat16,max_model_len=5000 --batch_size 32 {}\n"
    s = run_of(tmp_path, {"ev.sh": line.format("--gen_kwargs temperature=0.3,do_sample=true")})
    assert values(s) == {"model": "/m/x-3b", "model_dtype": "bf16", "precision": "bf16", "max_model_len": 5000,
                         "sampling_temperature": 0.3, "sampling": True}  # fmt: skip


def test_the_constants_of_a_program_do_not_replace_a_file_of_settings(tmp_path):
    program = "LEARNING_RATE = 1e-3\nBATCH_SIZE = 8\nSEED = 1\nMAX_STEPS = 10\nWEIGHT_DECAY = 0.5\nEPOCHS = 3\nlr = 1\n"
    s = run_of(tmp_path, {"fit.yaml": "lr: 2.0e-5\nbs: 4\nseed: 6\nwd: 0.1\n", "train_config.py": program})
    assert (s.value("learning_rate"), s.value("seed")) == (2e-5, 6)


def test_the_launcher_counts_devices_where_the_program_is_nobodys(tmp_path):
    s = run_of(tmp_path, {"go.sh": "deepspeed --num_gpus 4 fit.py --lr 1e-4 --ga 2\n"})
    assert (s.value("gpus_per_node"), s.value("nodes"), s.value("world_size")) == (4, 1, 4)
    assert read_file(tmp_path / "go.sh").values["gpus_per_node"].line == 1
