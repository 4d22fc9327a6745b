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


DECLARED = (
    "import argparse, torch\np = argparse.ArgumentParser()\np.add_argument('data')\n"
    "p.add_argument('-k', '--arch', default='tiny_a')\np.add_argument('-n', '--batch-size', type=int, default=64)\n"
    "p.add_argument('--save-every', type=int, default=9, help='in epochs')\n"
    "p.add_argument('--lr', type=float, default=1e-3)\na = p.parse_args()\n"
    "opt = torch.optim.AdamW(net.parameters(), lr=a.lr)\nloss.backward()\n"
)


def test_short_options_and_places_are_what_the_program_declares(tmp_path):
    files = {"fit.py": DECLARED, "go.sh": "python fit.py /srv/birds -k wide_b -n 24 --save-every 5 --lr 2e-4\n"}
    got = values(run_of(tmp_path, files))
    assert (got["model"], got["micro_batch_size"], got["dataset"]) == ("wide_b", 24, "/srv/birds")
    assert got["learning_rate"] == 2e-4
    assert "save_steps" not in got


@pytest.mark.parametrize("launch", ["python other.py -n 24 --lr 2e-4\n", "python fit.py a b c --lr 2e-4\n"])
def test_short_options_of_another_program_and_too_many_places_say_nothing(tmp_path, launch):
    got = values(run_of(tmp_path, {"fit.py": DECLARED, "go.sh": launch}))
    assert got.get("micro_batch_size") in (None, 64)
    assert "dataset" not in got


UNIT = "[Service]\nEnvironmentFile=/etc/llm/%i.env\nExecStart=/opt/bin/vllm serve ${{M}} --max-num-seqs ${{S}}{more}\n"


def test_a_unit_has_the_variables_of_the_one_file_that_fits(tmp_path):
    files = {"llm@.service": UNIT.format(more=""), "env/small.env": "M=org/nut-2b\nS=24\nCUDA_VISIBLE_DEVICES=2\n"}
    got = values(run_of(tmp_path, files))
    assert (got["model"], got["max_num_seqs"], got["visible_devices"]) == ("org/nut-2b", 24, "2")


def test_of_two_files_that_fit_a_unit_has_neither(tmp_path):
    files = {"llm@.service": UNIT.format(more=" --max-model-len 700"), "env/a.env": "M=org/a\nS=2\n",
             "env/b.env": "M=org/b\nS=3\n"}  # fmt: skip
    assert "max_num_seqs" not in values(run_of(tmp_path, {**files, "env/c.txt": "x"}))


COMPOSE = (
    "services:\n  gen:\n    image: vllm/vllm-openai:v1\n    command: --model ${{NAME}} --max-model-len 5000\n"
    "  fit:\n    build: ./fit\n    environment:\n      - GRAD_ACCUM=12\n      - MAX_GRAD_NORM=0.6\n{more}"
)


def test_a_composition_has_its_variables_and_what_it_gives_the_one_service_without_a_command(tmp_path):
    files = {"compose.yaml": COMPOSE.format(more=""), ".env": "NAME=org/oak-8b\nLEARNING_RATE=3e-6\n"}
    got = values(run_of(tmp_path, files))
    assert (got["model"], got["max_model_len"], got["learning_rate"]) == ("org/oak-8b", 5000, 3e-6)
    assert (got["grad_accumulation"], got["grad_clip"]) == (12, 0.6)


def test_what_two_such_services_are_given_is_nobodys(tmp_path):
    more = "  old:\n    build: ./old\n    environment:\n      - GRAD_ACCUM=3\n"
    got = values(run_of(tmp_path, {"compose.yaml": COMPOSE.format(more=more), ".env": "NAME=org/oak-8b\n"}))
    assert "grad_accumulation" not in got


def test_arguments_that_a_script_sets_for_itself(tmp_path):
    text = 'TP=2\nset -- --model-path org/elm-9b --tp "$TP" --context-length 9000\n'
    text += 'exec python -m sglang.launch_server "$@"\n'
    got = values(run_of(tmp_path, {"up.sh": text}))
    assert (got["model"], got["engine_tensor_parallel"], got["max_model_len"]) == ("org/elm-9b", 2, 9000)
    other = values(run_of(tmp_path / "b", {"up.sh": 'python -m sglang.launch_server --tp 2 "$@"\n'}))
    assert "model" not in other


@pytest.mark.parametrize(
    ("processes", "read"), [("32", 8), ("24", None)]
)  # the devices of a node are told by the job where they agree with what is launched
def test_a_job_says_how_many_devices_a_node_has(tmp_path, processes, read):
    text = (
        "#!/bin/bash\n#SBATCH -N 4\n#SBATCH --gres=gpu:a100:8\n"
        f"srun accelerate launch --num_machines 4 --num_processes {processes} fit.py --learning_rate 1e-5\n"
    )
    assert values(run_of(tmp_path, {"job.sbatch": text})).get("gpus_per_node") == read


def test_a_rank_is_the_adapters_in_a_program_named_after_it(tmp_path):
    line = "accelerate launch {} --learning_rate 1e-4 --max_train_steps 900 --rank 24\n"
    assert values(run_of(tmp_path / "a", {"a.sh": line.format("fit_lora.py")}))["lora_rank"] == 24
    assert "lora_rank" not in values(run_of(tmp_path / "b", {"a.sh": line.format("fit.py")}))
