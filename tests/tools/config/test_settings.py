"""Which files are in force together, and values that follow from others."""

# ruff: noqa: E501  (excerpts of real files are kept on one line)

from pathlib import Path

import pytest
from making import fill

from triage.tools.config.combine import read_settings
from triage.tools.config.diff import diff
from triage.tools.config.frameworks import named
from triage.tools.discover import discover
from triage.tools.run import Artifact, Run
from triage.tools.settings import CONTEXT, VARIABLES, Setting, Settings

LAUNCH = "torchrun --nproc_per_node 8 train.py recipe.yaml --learning_rate 1e-5\n"


def settings(framework="hf", **values):
    return Settings(
        {k: Setting(k, v, str(v), k, "train.yaml", i) for i, (k, v) in enumerate(values.items(), 1)},
        framework=framework,
        defaults=named(framework).defaults,
        train_batch=named(framework).train_batch,
    )


def run_of(tmp_path: Path, files: dict[str, str]) -> Run:
    artifacts = []
    for name in files:
        kind = "script" if name.endswith(".sh") else ("tokenizer" if "tokenizer" in name else "config")
        attempt = name.split("/")[0] if name.startswith("attempt") else ""
        artifacts.append(Artifact(kind, tmp_path / name, name, "named so", attempt))
    return Run(fill(tmp_path, files), tuple(artifacts))


def test_every_variable_has_a_type_and_a_meaning():
    assert not VARIABLES.keys() & CONTEXT.keys()
    for name, variable in (VARIABLES | CONTEXT).items():
        assert variable.type in ("int", "float", "bool", "str"), name
        assert variable.meaning.endswith("."), name


def test_global_batch_is_micro_times_accumulation_times_replicas():
    s = settings(micro_batch_size=2, grad_accumulation=4, world_size=16, tensor_parallel=2, pipeline_parallel=2)
    assert s.value("data_parallel") == 4
    assert s.value("global_batch_size") == 32
    assert "global_batch_size" not in s


def test_a_global_batch_is_not_made_up_without_the_number_of_devices():
    assert settings(micro_batch_size=2, grad_accumulation=4).value("global_batch_size") is None


def test_accumulation_follows_from_a_written_global_batch():
    s = settings("megatron", micro_batch_size=4, global_batch_size=64, nodes=2, gpus_per_node=4)
    assert s.value("grad_accumulation") == 2


def test_samples_and_tokens_give_steps():
    s = settings("megatron", train_samples=64_000, warmup_samples=640, decay_samples=32_000, global_batch_size=64)
    assert (s.value("max_steps"), s.value("warmup_steps"), s.value("decay_steps")) == (1000, 10, 500)
    t = settings("litgpt", train_tokens=1_000_000, global_batch_size=10, sequence_length=100)
    assert (t.value("tokens_per_step"), t.value("max_steps")) == (1000, 1000)


def test_steps_are_unknown_while_the_batch_ramps_up():
    s = settings("megatron", train_samples=64_000, global_batch_size=64, batch_rampup="16 16 1000")
    assert s.value("max_steps") is None


def test_a_warmup_ratio_becomes_steps_and_back():
    assert settings(warmup_ratio=0.03, max_steps=1000).value("warmup_steps") == 30
    assert settings(warmup_steps=30, max_steps=1000).value("warmup_ratio") == pytest.approx(0.03)


def test_rl_frameworks_count_their_own_way():
    verl = settings("verl", train_batch_size=1024, mini_batch_size=256, num_generations=8, max_prompt_length=512,
                    max_response_length=1024)  # fmt: skip
    assert (verl.value("global_batch_size"), verl.value("rollout_batch_size")) == (2048, 1024)
    assert verl.value("sequence_length") == 1536
    assert settings("openrlhf", train_batch_size=128, micro_batch_size=8).value("global_batch_size") == 128


def test_the_command_line_wins_over_the_file_it_names(tmp_path):
    run = run_of(tmp_path, {"recipe.yaml": "learning_rate: 2.0e-5\nper_device_train_batch_size: 4\n", "run.sh": LAUNCH})
    s, _ = read_settings(run)
    assert s.value("learning_rate") == 1e-5
    assert s.values["learning_rate"].file == "run.sh"
    assert [x.raw for x in s.shadowed] == ["2.0e-5"]
    assert (s.value("micro_batch_size"), s.value("world_size"), s.conflicts) == (4, 8, ())


def test_a_config_that_the_script_does_not_name_is_left_out(tmp_path):
    run = run_of(tmp_path, {"recipe.yaml": "learning_rate: 2.0e-5\nper_device_train_batch_size: 4\n",
                            "old.yaml": "learning_rate: 9.0e-5\nmax_steps: 7\nper_device_train_batch_size: 4\n",
                            "run.sh": "torchrun train.py recipe.yaml\n"})  # fmt: skip
    s, checks = read_settings(run)
    assert (s.value("learning_rate"), s.value("max_steps"), s.conflicts) == (2e-5, None, ())
    assert any("old.yaml" in c.why for c in checks)


def test_two_configs_that_disagree_are_a_conflict_and_not_a_mixture(tmp_path):
    base = "per_device_train_batch_size: 4\nnum_train_epochs: 1\nwarmup_ratio: 0.1\n"
    run = run_of(
        tmp_path, {"a.yaml": base + "learning_rate: 1.0e-5\nseed: 3\n", "b.yaml": base + "learning_rate: 5.0e-5\n"}
    )
    s, checks = read_settings(run)
    assert [(a.raw, b.raw) for a, b in s.conflicts] == [("1.0e-5", "5.0e-5")]
    assert s.files == ("a.yaml",)
    assert any(c.name == "settings" and c.result == "found" for c in checks)


def test_deepspeed_tokenizer_and_model_files_join_the_trainer(tmp_path):
    run = run_of(tmp_path, {
        "train.yaml": "model_name_or_path: m\nlearning_rate: 1.0e-5\nbf16: true\ndeepspeed: ds.json\n",
        "ds.json": '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": "auto"}',
        "config.json": '{"architectures": ["X"], "hidden_size": 64, "max_position_embeddings": 2048, "rms_norm_eps": 1e-6}',
        "tokenizer_config.json": '{"pad_token": "<pad>", "eos_token": {"content": "</s>"}, "chat_template": "{{ x }}"}',
    })  # fmt: skip
    s, checks = read_settings(run)
    assert (s.value("zero_stage"), s.value("pad_token_id"), s.value("eos_token_id")) == (3, "<pad>", "</s>")
    assert s.value("norm_epsilon") == 1e-6
    assert s.value("chat_template") == "{{ x }}"
    assert "micro_batch_size" not in s
    assert s.framework in ("hf", "trl")
    assert all(c.result != "failed" for c in checks)


def test_an_attempt_has_its_own_settings(tmp_path):
    run = run_of(tmp_path, {"attempt1/train.yaml": "learning_rate: 1.0e-4\nnum_train_epochs: 1\n",
                            "attempt2/train.yaml": "learning_rate: 5.0e-5\nnum_train_epochs: 1\n"})  # fmt: skip
    assert read_settings(run, "attempt1")[0].value("learning_rate") == 1e-4
    assert read_settings(run)[0].value("learning_rate") == 5e-5


def test_a_broken_config_is_a_failed_check_and_the_rest_is_read(tmp_path):
    run = run_of(tmp_path, {"bad.yaml": "a: [1, 2\nb: }", "train.yaml": "learning_rate: 1.0e-5\nnum_train_epochs: 1\n"})
    s, checks = read_settings(run)
    assert s.value("learning_rate") == 1e-5
    failed = [c for c in checks if c.result == "failed"]
    assert len(failed) == 1
    assert "bad.yaml" in failed[0].why


def test_nothing_to_read_is_said_to_be_not_visible(tmp_path):
    s, checks = read_settings(Run(tmp_path))
    assert not s.values
    assert [(c.name, c.result) for c in checks] == [("settings", "not-applicable")]


def test_a_flag_that_names_a_file_is_no_change_where_that_file_was_read(tmp_path):
    files = {"train.yaml": "learning_rate: 1.0e-5\nnum_train_epochs: 1\n"}
    launch = {"launch.sh": "python train.py --config {} --seed 3\n"}
    plain, _ = read_settings(run_of(tmp_path / "a", files))
    for name, differs in (("train.yaml", {"seed"}), ("elsewhere.yaml", {"seed", "config"})):
        text = {k: v.format(name) for k, v in launch.items()}
        other, _ = read_settings(run_of(tmp_path / name.partition(".")[0], files | text))
        assert {d.variable for d in diff(plain, other)} == differs


def test_a_launch_script_above_the_only_log_goes_with_the_settings_beside_it(tmp_path):
    files = {
        "launch.sh": "python train.py --seed 3\n",
        "exp/train.yaml": "learning_rate: 1.0e-5\nnum_train_epochs: 1\n",
        "exp/train.log": "{'loss': 2.0, 'learning_rate': 1e-05, 'epoch': 0.1}\n",
    }
    settings, _ = read_settings(discover(fill(tmp_path, files)))
    assert (settings.value("learning_rate"), settings.value("seed")) == (1e-5, 3)


def test_defaults_of_a_program_say_nothing_where_its_configuration_is_elsewhere(tmp_path):
    program = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--learning_rate', default=0.5)\n"
    program += "p.add_argument('--max_steps', default=10)\nseed = 7\n"
    files = {"train.py": program, "run.sh": "python train.py --config conf/run.yaml\n"}
    s, _ = read_settings(run_of(tmp_path / "away", files))
    assert (s.value("learning_rate"), s.value("max_steps")) == (None, None)
    s, _ = read_settings(run_of(tmp_path / "none", files | {"run.sh": "python train.py --seed 3\n"}))
    assert (s.value("learning_rate"), s.value("max_steps")) == (0.5, 10)


BUNDLED = "parser.add_argument('--learning_rate')\nDATA = '''\n" + ("c$7d@K" * 12 + "\n") * 14_000 + "'''\n"


@pytest.mark.parametrize(
    ("script", "result"),
    [
        pytest.param("python bundle.py --learning_rate 2e-5\n", "failed", id="that is launched"),
        pytest.param("python other.py --learning_rate 2e-5\n", "not-applicable", id="that nothing launches"),
    ],
)
def test_a_program_too_long_to_be_written_by_hand_is_a_gap_where_the_run_launches_it(tmp_path, script, result):
    checks = read_settings(run_of(tmp_path, {"bundle.py": BUNDLED, "go.sh": script}))[1]
    assert [c.result for c in checks if c.name == "read bundle.py"] == [result]


def test_any_other_file_too_long_to_be_read_is_a_gap(tmp_path):
    checks = read_settings(run_of(tmp_path, {"train.yaml": "learning_rate: 1.0e-5\n" * 30_000}))[1]
    assert [c.result for c in checks if c.name == "read train.yaml"] == ["failed"]
