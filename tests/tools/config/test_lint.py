"""Every rule does what its page says; other spellings and frameworks, sound configs; what the command prints."""

# ruff: noqa: E501  (excerpts of real files are kept on one line)

import json
import re
from pathlib import Path

import pytest
from configs import read
from making import fill
from typer.testing import CliRunner

from triage.tools.config.lint import RULES, explain, lint
from triage.tools.config.memory import estimate, parameters
from triage.tools.config.rules.rule import rule
from triage.tools.discover import discover
from triage.tools.findings import TriageError
from triage.tools.run import Artifact, Run
from triage.ui.cli import app


def found(text, name="train.yaml"):
    return {f.code: str(f.severity) for f in lint(read(text, name)).findings}


ROOT = Path(__file__).parents[3]
HF = "model_name_or_path: m\nper_device_train_batch_size: 1\n"
TORCHTUNE = (
    "model: {{_component_: torchtune.models.qwen2.qwen2_7b}}\noptimizer: {{_component_: torch.optim.AdamW, lr: 1.0e-5}}\n"
    "lr_scheduler: {{num_warmup_steps: {}}}\nepochs: {}\nmax_steps_per_epoch: {}\n"
)
DPO = HF + "max_prompt_length: 9\n"
LIGHTRFT = "torchrun --nproc_per_node 8 t.py --engine_mem_util 0.5 --enable_engine_sleep --init_kl_coef 0.01 "

MEGATRON = "torchrun --nproc_per_node 8 pretrain_gpt.py --micro-batch-size 1 --lr 3e-4 "
K8S = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: a\n    command: [bash]\n    "
SLIME = "python3 train.py --rollout-max-response-len 99 --lr 1e-6 "
VERL = "python -m verl.trainer.main_ppo data.train_batch_size=64 "
CONFIG = '{"model_type": "qwen3", "hidden_size": 64, '
REQUEST = '{"model": "m", "messages": [{"role": "user", "content": "hi"}], "stream": true, '

FIRES = [
    ("deepspeed-key-misspelt", "S1", '{"train_batch_size": 64, "bf16": {"enabled": true}, "zero_optimizaton": {"stage": 2}}', "ds.json"),
    ("deepspeed-key-misspelt", "S1", '{"zero_optimization": {"stage": 3, "offload_parameter": {"device": "none"}, "offload_params": {"device": "cpu"}}}', "ds.json"),
    ("key-misspelt", "S2", HF + "learning_rates: 1.0e-5\nbf16: true\n", "sft.yaml"),
    ("key-misspelt", "S2", "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precison: bf16\nnum_processes: 8\n", "acc.yaml"),
    ("key-misspelt", "S2", "model: m\nmax_num_seqs: 64\ngpu_memory_utilisation: 0.5\n", "serve.yaml"),
    ("grad-clip-off", "S3", "optimizer:\n  _component_: x\n  lr: 1.0e-5\nclip_grad_norm: null\n", "a.yaml"),
    ("precision-conflict", "S1", '{"bf16": {"enabled": true}, "fp16": {"enabled": true}, "zero_optimization": {"stage": 1}}', "ds.json"),
    ("global-batch-mismatch", "S1", '{"train_batch_size": 10, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2}', "ds.json"),
    ("batch-not-divisible", "S1", LIGHTRFT + "--train_batch_size 16 --micro_train_batch_size 4", "a.sh"),
    ("batch-not-divisible", "S2", "torchrun --nproc_per_node 8 grpo.py --model_name_or_path m --dataset_name d --num_generations 6 --per_device_train_batch_size 4", "a.sh"),
    ("rollout-batch-mismatch", "S3", LIGHTRFT + "--train_batch_size 128 --rollout_batch_size 128 --n_samples_per_prompt 8", "a.sh"),
    ("kl-coef-outside-range", "S2", HF + "num_generations: 4\nbeta: 5\n", "grpo.yaml"),
    ("pipeline-mostly-waits", "S2", "torchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py --pipeline-model-parallel-size 4 --num-layers 32 --micro-batch-size 4 --global-batch-size 32", "a.sh"),
    ("sizes-not-divisible", "S1", MEGATRON + "--num-experts 10 --expert-model-parallel-size 4", "a.sh"),
    ("warmup-too-short", "S3", "import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', default=3e-4)\np.add_argument('--warmup_steps', default=0)\n", "t.py"),
    ("lr-outside-range", "S1", '[optimizer]\nlr = 8e-2\n[training]\nlocal_batch_size = 8\nseq_len = 8192\n', "titan.toml"),
    ("warmup-exceeds-training", "S1", "max_duration: 4800ba\nglobal_train_batch_size: 256\nscheduler: {t_warmup: 5000ba}\n", "foundry.yaml"),
    ("warmup-exceeds-training", "S1", TORCHTUNE.format(900, 2, 400), "tune.yaml"),
    ("warmup-exceeds-training", "S3", TORCHTUNE.format(450, 2, 400), "tune.yaml"),
    ("grad-clip-off", "S2", K8S + 'args: ["-c", "python t.py --model_name_or_path m --max_grad_norm 0 --learning_rate 1e-5"]\n', "job.yaml"),
    ("gpu-memory-share-high", "S2", "services:\n  s: {image: vllm/vllm-openai, command: --model m --gpu-memory-utilization 0.99}\n", "docker-compose.yaml"),
    ("batched-tokens-too-few", "S1", "vllm serve m --max-num-batched-tokens 4096 --no-enable-chunked-prefill --max-model-len 8192", "a.sh"),
    ("batch-not-divisible", "S1", SLIME + "--rollout-batch-size 32 --n-samples-per-prompt 8 --global-batch-size 100", "a.sh"),
    ("batch-not-divisible", "S1", "orchestrator:\n  batch_size: 100\n  rollouts_per_example: 8\ntrainer: {optim: {lr: 1.0e-6}}\n", "a.yaml"),
    ("batch-not-divisible", "S1", "python -m skyrl.train.main trainer.train_batch_size=64 trainer.policy_mini_batch_size=128", "a.sh"),
    ("grad-clip-off", "S3", "fairseq-train d --max-update 100 --clip-norm 0.0 --lr 7e-4", "a.sh"),
    ("sizes-not-divisible", "S2", VERL + "trainer.n_gpus_per_node=8 trainer.nnodes=1 actor_rollout_ref.rollout.tensor_model_parallel_size=3", "a.sh"),
    ("rope-scaling-inconsistent", "S2", CONFIG + '"max_position_embeddings": 4096, "rope_scaling": {"type": "yarn", "factor": 2.0, "original_max_position_embeddings": 8192}}', "config.json"),
]  # fmt: skip

QUIET = [
    (TORCHTUNE.format(40, 2, 400), "tune.yaml"),
    (TORCHTUNE.format(40, 3, "null"), "tune.yaml"),
    ('{"zero_optimization": {"stage": 3, "overlap_comm": true, "stage3_gather_16bit_weights_on_model_save": true}, "fp16": {"enabled": false, "loss_scale_window": 1000}}', "ds.json"),
    ('{"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 2}, "zero_optimisation": {"note": "old"}}', "ds.json"),
    (HF + "adam_beta1: 0.9\nlearning_rate: 1.0e-5\nmin_new_tokens: 4\nsave_strategy: steps\neval_accumulation_steps: 2\ndatasets: [a]\n", "sft.yaml"),
    ("model: m\nmax_num_seqs: 64\nmax_logprobs: 5\nenable_prefix_caching: true\nenable_chunked_prefill: true\n", "serve.yaml"),
    ('[algo]\nname = "grpo"\nnum_iterations = 1\n[opt]\nlr = 1e-6\nwarmup_steps = 10\n', "recipe.toml"),
    ("class WordConfig:\n    model_type = 'm'\n    hidden_size: int = 4096\n    num_attention_heads: int = 32\n    num_key_value_heads: int = 32\n"
     "class SightConfig:\n    hidden_size: int = 1152\n    num_heads: int = 16\n", "model_config.py"),
    ("class LatentConfig:\n    model_type = 'm'\n    hidden_size: int = 2048\n    num_attention_heads: int = 20\n    qk_nope_head_dim: int = 192\n", "model_config.py"),
    (REQUEST + '"repetition_penalty": 1.1, "temperature": 0.7}', "request.json"),
    ("torchrun --nproc_per_node 8 grpo.py --model_name_or_path m --dataset_name d --num_generations 8 --per_device_train_batch_size 4", "a.sh"),
    (MEGATRON + "--num-attention-heads 32 --kv-channels 128 --hidden-size 5000 --tensor-model-parallel-size 8", "a.sh"),
    (MEGATRON + "--num-layers 30 --pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 6", "a.sh"),
    (CONFIG + '"num_attention_heads": 5, "head_dim": 128, "num_key_value_heads": 5}', "config.json"),
    (CONFIG + '"max_position_embeddings": 131072, "rope_scaling": {"type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}}', "config.json"),
    (CONFIG + '"max_position_embeddings": 32768, "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}', "config.json"),
    ("python t.py --model_name_or_path m --num_train_epochs 1 --learning_rate 1e-5 $EXTRA", "a.sh"),
    ("optimizer: {learning_rate: 4.0e-4}\nscheduler: {units: tokens, t_warmup: 8388608000}\nmax_duration: 3e12T\nglobal_train_batch_size: 2048\n"
     "device_train_microbatch_size: 8\nmodel: {max_sequence_length: 2048}\n", "olmo.yaml"),
    ("orchestrator: {batch_size: 512, rollouts_per_example: 16}\ninference: {gpu_memory_utilization: 0.9}\n", "prime.yaml"),
    ('{"zero_optimization": {"stage": 2, "offload_param": {"device": "none"}}, "gradient_clipping": 1}', "ds.json"),
    (HF + "fp16: true\ntorch_dtype: float16\nlora_r: 8\nlearning_rate: 1.0e-5\n", "a.yaml"),
    (SLIME + "--rollout-batch-size 32 --n-samples-per-prompt 8 --global-batch-size 128", "a.sh"),
    (MEGATRON + "--num-experts 64 --expert-model-parallel-size 8", "a.sh"),
    ("trainer: {optim: {lr: 1.0e-6}}\ninference: {gpu_memory_utilization: 0.9}\norchestrator: {batch_size: 64, rollouts_per_example: 8}\n", "a.yaml"),
    (HF + "learning_rate: 1.0e-5\nwarmup_ratio: 0.1\nbf16: true\nlogging_steps: 10\n", "sft.yaml"),
    (HF + "optim: sgd\nlearning_rate: 0.4\nlr_scheduler_type: constant_with_warmup\nwarmup_steps: 500\n", "warm.yaml"),
    (HF + "learning_rate: 0.02\noptim: muon\n", "sft.yaml"),
    (DPO + "beta: 10\nloss_type: simpo\nlearning_rate: 5.0e-7\n", "dpo.yaml"),
    (DPO + "beta: 5\nloss_type: dpo_norm\nlearning_rate: 5.0e-7\n", "dpo.yaml"),
    (DPO + "beta: 0.01\nlearning_rate: 5.0e-7\n", "dpo.yaml"),
    (HF + "num_generations: 8\nbeta: 0.0\nlearning_rate: 1.0e-6\n", "grpo.yaml"),
    ("export NCCL_IB_DISABLE=0\n# export NCCL_P2P_DISABLE=1\ntorchrun --nnodes 2 --nproc_per_node 8 t.py\n", "a.sh"),
    ("python -m verl.trainer.main_ppo data.train_batch_size=128 actor_rollout_ref.rollout.n=8 trainer.critic_warmup=0 "
     "actor_rollout_ref.actor.ppo_mini_batch_size=64 algorithm.adv_estimator=grpo", "a.sh"),
    (LIGHTRFT + "--train_batch_size 1024 --rollout_batch_size 128 --n_samples_per_prompt 8 --micro_train_batch_size 4", "a.sh"),
    ("CUDA_VISIBLE_DEVICES=0 vllm serve a -tp 1 &\nCUDA_VISIBLE_DEVICES=1,2 vllm serve b -tp 2 &\n", "a.sh"),
    ("vllm serve m --max-model-len 131072", "a.sh"),
    (HF + "bf16: auto\nlearning_rate: auto\n", "a.yaml"),
    ('{"architectures": ["Bert"], "hidden_size": 8, "layer_norm_eps": 1e-12, "max_position_embeddings": 512}', "config.json"),
    ('{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4, "gradient_accumulation_steps": 2, "gradient_clipping": 1}', "ds.json"),
]  # fmt: skip


@pytest.mark.parametrize("code", sorted(RULES))
@pytest.mark.parametrize("heading", ["Bad", "Good"])
def test_the_examples_on_the_page_of_a_rule_do_what_it_says(tmp_path, code, heading):
    for number, example in enumerate(RULES[code].examples(heading)):
        report = lint(discover(fill(tmp_path / str(number), example.files)))
        expected = {code: example.severity} if heading == "Bad" else {}
        assert {f.code: str(f.severity) for f in report.findings} == expected, example
        assert {c.name: c.result for c in report.checks}[code] == ("found" if expected else "clear"), example


PAGE = """Title.

Why: w.
Bad: `seed: 1`.
Good: `seed: 2` in `a.yaml`.
Known gaps: none.
Source: s.
"""


@pytest.mark.parametrize(
    ("code", "page", "message"),
    [
        ("grad-clip-off", PAGE, "'grad-clip-off' is declared twice"),
        ("seed-wrong", PAGE, "the function of 'seed-wrong' is called judge"),
        ("judge", None, "'judge' says nothing under Why, Bad, Good, Known gaps, Source"),
        ("judge", PAGE.replace("Source: s.", "Source:"), "'judge' says nothing under Source"),
        ("judge", PAGE.replace("`seed: 1`", "a seed"), "'judge' has no example under Bad"),
    ],
)
def test_a_rule_that_is_declared_wrongly_is_named_at_import(code, page, message):
    def judge(settings):
        yield from ()

    judge.__doc__ = page
    with pytest.raises(ValueError, match=f"lint rules: {message}"):
        rule(code, "S2")(judge)
    assert "judge" not in RULES


@pytest.mark.parametrize("code", sorted(RULES))
def test_a_rule_is_printed_under_its_code_and_names_an_entry_that_exists(code):
    page = explain(code)
    assert page.startswith(code)
    named = re.search(r"runbook entry `([\w-]+)`", page)
    assert named is None or (ROOT / "knowledge" / "runbooks" / f"{named[1]}.md").exists()


@pytest.mark.parametrize(("code", "severity", "text", "name"), FIRES, ids=[f"{c}-{s}" for c, s, *_ in FIRES])
def test_the_rule_fires(code, severity, text, name):
    assert found(text, name).get(code) == severity


@pytest.mark.parametrize(("text", "name"), QUIET, ids=range(len(QUIET)))
def test_sound_configs_are_left_alone(text, name):
    assert found(text, name) == {}


@pytest.mark.parametrize(
    ("model", "generation", "code"),
    [("7", "[8, 9]", {"eos-ids-differ"}), ("7", "[8, 7]", set()), ("[7, 8]", "8", set())],
)
def test_end_tokens_of_model_and_generation_are_compared(tmp_path, model, generation, code):
    (tmp_path / "config.json").write_text(CONFIG + f'"eos_token_id": {model}}}')
    (tmp_path / "generation_config.json").write_text(f'{{"transformers_version": "5.0", "eos_token_id": {generation}}}')
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<e>", "pad_token": "<p>"}')
    assert {f.code for f in lint(discover(tmp_path)).findings} == code


def test_an_unknown_rule_lists_the_known_ones():
    with pytest.raises(TriageError, match="lr-outside-range"):
        explain("nonsense")


def test_findings_carry_variable_value_fix_and_both_languages():
    finding = next(f for f in lint(read(HF + "warmup_steps: 2000\nmax_steps: 1000\n")).findings)
    assert finding.data["variable"] == "warmup_steps"
    assert finding.data["value"] == 2000
    assert finding.data["fix"] == {"old": "2000", "new": "50"}
    assert (finding.evidence[0].file, finding.evidence[0].line) == ("train.yaml", 3)
    assert re.search(r"[\u4e00-\u9fff]", finding.zh)


def test_what_is_not_visible_is_not_called_clear():
    checks = {c.name: c.result for c in lint(read(HF)).checks}
    assert checks["lr-outside-range"] == "not-applicable"
    assert checks["precision-conflict"] == "clear"


def test_a_folder_of_unrelated_configs_is_judged_file_by_file(tmp_path):
    texts = {"train.yaml": HF + "bf16: true\nfp16: true\n", "x/other.yaml": HF + "learning_rate: 0.5\n"}
    (tmp_path / "x").mkdir()
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    run = Run(tmp_path, tuple(Artifact("config", tmp_path / n, n, "named so") for n in texts))
    assert lint(run).codes() == {"precision-conflict"}
    report = lint(run, everything=True)
    assert {(f.code, f.evidence[0].file) for f in report.findings} == {
        ("precision-conflict", "train.yaml"),
        ("lr-outside-range", "x/other.yaml"),
    }


def test_a_missing_key_is_reported_with_the_file_that_lacks_it():
    text = '{"optimizer": {"type": "Adam", "params": {"lr": 1e-3}}, "train_micro_batch_size_per_gpu": 4}'
    (finding,) = lint(read(text, "ds.json")).findings
    assert (finding.code, finding.evidence[0].file, finding.evidence[0].line) == ("grad-clip-off", "ds.json", None)


def invoke(*arguments):
    return CliRunner().invoke(app, ["lint", *map(str, arguments)])


@pytest.fixture
def bad(tmp_path):
    path = tmp_path / "train.yaml"
    path.write_text(HF + "learning_rate: 1.0e-5\nbf16: true\nfp16: true\n")
    return path


def test_exit_status_and_json(bad, tmp_path):
    result = invoke(bad, "--json")
    assert result.exit_code == 1
    report = json.loads(result.stdout)
    assert report["tool"] == "lint"
    assert [f["code"] for f in report["findings"]] == ["precision-conflict"]
    good = tmp_path / "good.yaml"
    good.write_text(HF + "learning_rate: 1.0e-5\nbf16: true\n")
    assert invoke(good).exit_code == 0


def test_sarif_is_complete(bad):
    result = invoke(bad, "--format", "sarif")
    log = json.loads(result.stdout)
    assert (log["version"], result.exit_code) == ("2.1.0", 1)
    (run,) = log["runs"]
    (found_,) = run["results"]
    assert run["tool"]["driver"]["rules"][found_["ruleIndex"]]["id"] == found_["ruleId"] == "precision-conflict"
    place = found_["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "train.yaml"
    assert found_["level"] == "error"


def test_github_annotations_escape_what_workflow_commands_reserve(bad):
    result = invoke(bad, "--format", "github")
    assert re.match(r"::error file=train\.yaml,line=\d,title=precision-conflict::bf16 ", result.stdout)


def test_explain_and_wrong_usage():
    assert "Why:" in invoke("--explain", "grad-clip-off").stdout
    assert invoke().exit_code == 2
    assert invoke("x.yaml", "--format", "xml").exit_code == 2


LLAMA_7B = """{"architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 11008,
"num_hidden_layers": 32, "num_attention_heads": 32, "vocab_size": 32000, "tie_word_embeddings": false}"""


def test_memory_counts_sixteen_bytes_per_parameter_and_zero_shards_them():
    model = read(LLAMA_7B, "config.json")
    assert parameters(model) == pytest.approx(6.74e9, rel=0.01)
    trainer = read(HF + "bf16: true\nmax_length: 2048\nlearning_rate: 1.0e-5\n")
    whole = estimate(type(model)({**model.values, **trainer.values}))
    assert whole is not None
    assert (whole.weights + whole.gradients + whole.optimizer) / whole.parameters == pytest.approx(16)
    assert whole.largest == "optimizer"
    sharded = read('{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}}', "ds.json")
    world = read("compute_environment: L\nmixed_precision: bf16\nnum_processes: 8\n")
    part = estimate(type(model)({**model.values, **trainer.values, **sharded.values, **world.values}))
    assert part is not None
    assert part.weights == pytest.approx(whole.weights / 8)
    assert part.optimizer == 0


def test_memory_is_unknown_without_the_size_of_the_model():
    assert estimate(read(HF)) is None


def test_deepspeed_file_that_contradicts_the_trainer_it_serves(tmp_path):
    (tmp_path / "train.yaml").write_text(
        "per_device_train_batch_size: 4\ngradient_accumulation_steps: 2\nlearning_rate: 1.0e-5\ndeepspeed: ds.json\n"
    )
    ds = tmp_path / "ds.json"
    ds.write_text(
        '{"train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": "auto", "zero_optimization": {}}'
    )
    found = [f for f in lint(discover(tmp_path)).findings if f.code == "deepspeed-values-differ"]
    assert [(f.data["variable"], f.evidence[0].file, f.evidence[0].line) for f in found] == [
        ("micro_batch_size", "train.yaml", 1)
    ]
