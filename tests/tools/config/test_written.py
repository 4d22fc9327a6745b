"""Settings in formats that no framework reads, under names of their author's."""

# ruff: noqa: E501  files as they are written

import pytest

from triage.tools.config.combine import read_settings, settings_of
from triage.tools.config.edit import set_value
from triage.tools.config.read import read_file
from triage.tools.config.written.names import meant, whole
from triage.tools.config.written.values import machines, spelled
from triage.tools.discover import discover


def of(folder, **files) -> dict:
    """The settings in force of a folder with these files (`__` stands for a dot)."""
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
    return {s.variable: s.value for s in read_settings(discover(folder))[0]}


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("lowest learning rate", "min_learning_rate"),
        ("LR_MIN", "min_learning_rate"),
        ("gradientClipNorm", "grad_clip"),
        ("PROBLEMS_PER_ROLLOUT", "rollout_batch_size"),
        ("rollouts per problem", "num_generations"),
        ("KV heads", "num_kv_heads"),
        ("单卡批大小", "micro_batch_size"),
        ("NNODES", "nodes"),
        ("sched.wu", "warmup_steps"),
        ("acc", ""),
        ("单卡", ""),
        ("critic lr", ""),
        ("eval batch per gpu", ""),
        ("tokens", ""),
    ],
)
def test_a_name_is_what_its_words_are_in_any_order(name, variable):
    assert whole(name) == variable


@pytest.mark.parametrize(
    ("key", "variable"),
    [
        ("job.optim.adamw.weight-decay", "weight_decay"),
        ("run.rollout.samples-per-question", "num_generations"),
        ("tokens.answer.max", "max_response_length"),
        ("train.learning.rate", "learning_rate"),
        ("train.critic.lr", ""),
        ("discriminator.lr", ""),
        ("eval.batch_per_gpu", ""),
    ],
)
def test_headings_are_part_of_a_name_unless_they_only_sort(key, variable):
    assert meant(key) == variable


def test_one_block_around_all_says_nothing_of_what_is_in_it(tmp_path):
    block = "{ tune: { peak_lr: 2e-5, per_gpu_batch: 4, %s }%s }"
    assert of(tmp_path, a__json5=block % ("", ""))["learning_rate"] == 2e-5
    (tmp_path / "b").mkdir()
    assert "learning_rate" not in of(tmp_path / "b", a__json5=block % ("seed: 3", ", value_net: { seed: 1 }"))


@pytest.mark.parametrize(
    ("variable", "text", "read"),
    [
        ("learning_rate", "7 × 10⁻⁵ (7e-5)", ("learning_rate", "7e-5")),
        ("learning_rate", "$2\\times 10^{-6}$", ("learning_rate", "2e-6")),
        ("warmup_steps", "1,500 steps", ("warmup_steps", "1500")),
        ("warmup_steps", "4%", ("warmup_ratio", "0.04")),
        ("sequence_length", "8k tokens", ("sequence_length", "8192")),
        ("max_steps", "30k", ("max_steps", "30000")),
        ("max_model_len", "24 * 1024", ("max_model_len", "24576")),
        ("train_tokens", "2.5B", ("train_tokens", "2500000000")),
        ("global_batch_size", "8 x 4 x 16 = 512", ("global_batch_size", "512")),
        ("zero_stage", "ZeRO-2", ("zero_stage", "2")),
        ("learning_rate", "1e-5 / 2e-5", ("learning_rate", "")),
        ("learning_rate", "3e-5 -> 1e-5", ("learning_rate", "")),
        ("global_batch_size", "2M tokens", ("global_batch_size", "")),
        ("optimizer", "see below", ("optimizer", "")),
    ],
)
def test_a_value_is_read_with_its_unit_and_an_alternative_is_none(variable, text, read):
    assert spelled(variable, text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("3 nodes of 8 H100", {"nodes": "3", "gpus_per_node": "8"}),
        ("4机32卡", {"nodes": "4", "world_size": "32"}),
        ("16 x A100", {"world_size": "16"}),
        ("4 机 4 卡", {"nodes": "4"}),
        ("8 V100 or 16 V100", {}),
    ],
)
def test_devices_are_counted_where_the_words_say_of_what(text, read):
    assert dict(machines(text)) == read


XML = """<?xml version="1.0"?>
<run>
  <net layers="8" hidden="640"/>
  <optimizer type="Lion"><lr>2e-4</lr><!-- <clip>9</clip> --><clip>0.7</clip></optimizer>
  <property><name>train.batch.per.device</name><value>12</value></property>
  <param name="teacher_lr" value="0.3"/>
  <evaluation batchPerDevice="99"/>
</run>
"""
HOCON = """// trainer
job {
  model = "acme/larch-7b"
  optim.adamw { lr = 3.5e-6, betas = [0.9, 0.97], weight-decay = 0.02 }
  batch { micro = 3, accumulate = 20 }
  grad-norm-max = 0.6   # whole norm
}
discriminator { lr = 1 }
"""
JSON5 = """{
  // sampled by the server
  engine: { max_model_len: 12 * 1024, gpu_memory_utilization: .85, temperature: 0.4, max_new_tokens: 700, },
  judge: { temperature: 0, model: 'org/judge-9b' },
}"""
JSONNET = """local LONGEST = 900;
{
  policy:: 'acme/elm-1b',
  model: $.policy,
  optimizer: { name: 'adamw', lr: 9e-6 },
  ppo: { kl_coef: 0.15, rollouts: { questions: 48, temperature: 0.8 } },
  max_answer_tokens: LONGEST,
  critic: { lr: 1e-3 },
}"""
GIN = "train.seed = 5\nActorOptimizer.lr = 2e-4\nActorOptimizer.clip_norm = 30.0\nCriticOptimizer.lr = 1e-3\n"
PROPERTIES = "algo=grpo\npolicy.lr=4e-6\nrollout.answers-per-question=6\nkl.coef=0.01\nvalue.lr=1e-4\n"


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("net.xml", XML, {"optimizer": "Lion", "learning_rate": 2e-4, "grad_clip": 0.7, "micro_batch_size": 12}),
        ("app.conf", HOCON, {"model": "acme/larch-7b", "learning_rate": 3.5e-6, "adam_beta2": 0.97, "weight_decay": 0.02,
                             "micro_batch_size": 3, "grad_accumulation": 20, "grad_clip": 0.6}),
        ("s.json5", JSON5, {"max_model_len": 12288, "gpu_memory_utilization": 0.85, "sampling_temperature": 0.4,
                            "max_response_length": 700}),
        ("p.jsonnet", JSONNET, {"model": "acme/elm-1b", "learning_rate": 9e-6, "kl_coef": 0.15, "rollout_batch_size": 48,
                                "rollout_temperature": 0.8, "max_response_length": 900, "optimizer": "adamw"}),
        ("a.gin", GIN, {"seed": 5, "learning_rate": 2e-4, "grad_clip": 30.0}),
        ("r.properties", PROPERTIES, {"stage": "grpo", "learning_rate": 4e-6, "num_generations": 6, "kl_coef": 0.01}),
    ],
)  # fmt: skip
def test_a_format_of_ones_own_is_read_without_what_is_of_another_model(tmp_path, name, text, read):
    path = tmp_path / name
    path.write_text(text)
    settings = {s.variable: s.value for s in settings_of(read_file(path))}
    assert read.items() <= settings.items()


def test_a_value_is_changed_at_its_place_in_the_file(tmp_path):
    path = tmp_path / "app.conf"
    path.write_text(HOCON)
    setting = settings_of(read_file(path)).values["learning_rate"]
    assert "lr = 1.0e-6, betas" in set_value(setting, 1e-6, path).text


def test_a_table_of_names_and_values_is_one_of_settings(tmp_path):
    rows = "param\tvalue\nlr\t0.0007\nepochs\t12\nbatch_per_device\t24\nloader_workers\t3\nema\tNone\n"
    assert of(tmp_path, params__tsv=rows) == {
        "learning_rate": 7e-4,
        "epochs": 12,
        "micro_batch_size": 24,
        "num_workers": 3,
    }


def test_a_table_of_runs_is_none(tmp_path):
    rows = "name,lr,epochs,weight_decay\na,1e-4,3,0.1\nb,2e-4,3,0.1\n"
    assert of(tmp_path, sweep__csv=rows, note__log="step 1 loss 2\n") == {}


def test_variables_of_a_file_are_read_without_what_is_secret(tmp_path):
    (tmp_path / ".env.train").write_text(
        "HF_TOKEN=abcdefgh\nLEARNING_RATE='6e-5'\nGPU_BATCH=5\nMAX_TOKENS_PER_SEQ=3k # 3072\n"
    )
    settings = read_settings(discover(tmp_path))[0]
    assert {s.variable: s.value for s in settings} == {
        "learning_rate": 6e-5,
        "micro_batch_size": 5,
        "sequence_length": 3072,
    }
    assert "HF_TOKEN" not in settings.others


def test_an_example_of_variables_is_not_in_force(tmp_path):
    (tmp_path / ".env.example").write_text("LEARNING_RATE=6e-5\nEPOCHS=2\nSEED=1\n")
    assert of(tmp_path, train__log="step 1 loss 2.0\nstep 2 loss 1.9\n") == {}


def test_a_launch_has_the_variables_that_it_sources_at_their_place(tmp_path):
    launch = (
        'set -a; . ./pool.env; set +a\nexec vllm serve "$WHICH" --tensor-parallel-size "$TP" --max-model-len "$LONG"\n'
    )
    (tmp_path / "pool.env").write_text("WHICH=org/model-9b\nTP=4\nLONG=40960\n")
    (tmp_path / "up.sh").write_text(launch)
    settings = read_settings(discover(tmp_path))[0]
    assert settings.value("engine_tensor_parallel") == 4
    assert "tensor_parallel" not in settings
    long = settings.values["max_model_len"]
    assert (long.value, long.file, long.line) == (40960, "pool.env", 3)


def test_a_launch_sources_nothing_outside_its_folder(tmp_path):
    (tmp_path / "shared.env").write_text("TP=4\n")
    run = tmp_path / "run"
    run.mkdir()
    (run / "up.sh").write_text('. ../shared.env\nvllm serve m --tensor-parallel-size "$TP" --max-num-seqs 9\n')
    settings = read_settings(discover(run))[0]
    assert "engine_tensor_parallel" not in settings
    assert settings.value("max_num_seqs") == 9


def test_overrides_win_over_the_configuration_of_their_folder(tmp_path):
    config = "optimization:\n  max_update: 900\n  lr: [0.001]\n  clip_norm: 2\n"
    seen = of(
        tmp_path, config__yaml=config, overrides__yaml="- optimization.max_update=700\n- optimization.lr=[0.0002]\n"
    )
    assert (seen["max_steps"], seen["learning_rate"], seen["grad_clip"]) == (700, 2e-4, 2)


def test_overrides_of_another_folder_are_laid_over_nothing(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "overrides.yaml").write_text("- optimization.max_update=1\n")
    config = "optimization:\n  max_update: 900\n  lr: [0.001]\n  clip_norm: 2\n"
    assert of(tmp_path, config__yaml=config, train__log="step 1 loss 2\n")["grad_clip"] == 2


def test_overrides_alone_are_those_of_a_launch(tmp_path):
    path = tmp_path / "overrides.yaml"
    path.write_text("- optimization.max_update=70\n- optimization.lr=[0.002]\n")
    assert settings_of(read_file(path)).value("max_steps") == 70


MACROS = (
    "RATE = 2e-3\nBATCH = 64\nlib.Fit.global_batch = %BATCH\nlib.Fit.global_batch = 192\noptim.make.name = 'lion'\n"
)


def test_macros_of_gin_stand_where_they_are_named_and_set_nothing(tmp_path):
    got = of_text(tmp_path, "fit.gin", MACROS + "optim.make.learning_rate = %RATE\nnets/Checkpointer.period = 800\n")
    assert (got["learning_rate"], got["global_batch_size"], got["optimizer"]) == (2e-3, 192, "lion")
    assert got["save_steps"] == 800
    assert "micro_batch_size" not in got


def test_a_constant_that_no_binding_names_is_a_setting_itself(tmp_path):
    assert of_text(tmp_path, "fit.gin", "LR = 2e-3\nfit.seed = 4\n")["learning_rate"] == 2e-3


def of_text(folder, name, text) -> dict:
    (folder / name).write_text(text)
    return {s.variable: s.value for s in settings_of(read_file(folder / name))}


def test_what_hocon_puts_in_from_elsewhere_gives_way_to_what_stands_there(tmp_path):
    text = (
        "fit { optim = ${sets.slow} { lr = 4e-4 }, epochs = 3 }\n"
        "sets.slow { name = lion, lr = 9e-3, weight-decay = 0.2 }\nsets.fast { name = sgd, lr = 0.5 }\n"
    )
    got = of_text(tmp_path, "a.conf", text)
    assert (got["learning_rate"], got["optimizer"], got["weight_decay"]) == (4e-4, "lion", 0.2)
    alone = of_text(tmp_path, "b.conf", text.replace("${sets.slow}", "").replace("optim =", "optim"))
    assert "weight_decay" not in alone


def test_constants_of_jsonnet_are_multiplied(tmp_path):
    text = "local n = 3 * 4;\nlocal half = 900;\n{ lr: 1e-5, accum: n, max_len: 2 * half, epochs: 2 * other }\n"
    got = of_text(tmp_path, "a.jsonnet", text)
    assert (got["grad_accumulation"], got["sequence_length"]) == (12, 1800)
    assert "epochs" not in got


@pytest.mark.parametrize(
    ("key", "variable"),
    [("kl系数", "kl_coef"), ("KL系数", "kl_coef"), ("峰值lr", "learning_rate"), ("峰值学习率", "learning_rate"),
     ("熵系数", None), ("系数", None), ("损失系数", None)],
)  # fmt: skip
def test_chinese_words_beside_a_name(tmp_path, key, variable):
    read = of(tmp_path, run__yaml=f"随机种子: 7\n{key}: 0.002\n轮数: 2\n")
    assert read.get(variable) == (0.002 if variable else None)
