"""The base an adapter was trained on against the base of its merge."""

# ruff: noqa: E501  one sentence, pattern or case on one line

import json

import pytest
from making import fill

from triage.tools.discover import discover
from triage.tools.operation.handed.look import check_handed

LOSSES = "".join(f"step {i} loss {2 - i / 100:.3f} lr 1e-4\n" for i in range(20))


def adapter(base: str, **more) -> str:
    return json.dumps(
        {"base_model_name_or_path": base, "peft_type": "LORA", "r": 16, "lora_alpha": 32, **more}, indent=1
    )


def codes(folder, files):
    found = check_handed(discover(fill(folder, files))).findings
    assert all(e.file in files for f in found for e in f.evidence)
    return [f.code for f in found]


@pytest.mark.parametrize(
    "files",
    [
        {"out/adapter_config.json": adapter("acme/kestrel-8b-instruct-v2"), "train.log": LOSSES,
         "merge_lora.sh": "python -m llm.merge --base_model acme/kestrel-8b-instruct-v1 --lora out --save merged\n"},
        {"tune/adapter_config.json": adapter("/mnt/zoo/osprey-3b-0901"),
         "export/job.yaml": "model_name_or_path: /mnt/zoo/osprey-3b-0715\nadapter_name_or_path: tune\nexport_dir: out\n"},
        {"训练/adapter_config.json": adapter("/data/models/苍鹭-7b-对话-1203"), "训练/train.log": LOSSES,
         "合并/合并.log": "12:01 底座: /data/models/苍鹭-7b-对话-1119\n12:02 适配器 训练/ 448 个张量\n12:09 写入 合并/out\n"},
        {"a/adapter_config.json": adapter("/m/wren-1b-2501"), "ls.txt": "lrwxrwxrwx 1 a a 9 2025-06-01 wren-1b -> wren-1b-2506\n",
         "bake.py": 'from peft import PeftModel\nBASE = "/m/wren-1b"\nm = AutoModelForCausalLM.from_pretrained(BASE)\n'
                    'm = PeftModel.from_pretrained(m, "a").merge_and_unload()\n'},
        {"a/adapter_config.json": adapter("acme/wren-1b"), "merge.py": '"""Merge."""\nBASE = "acme/wren-7b"\n'
         'm = PeftModel.from_pretrained(AutoModel.from_pretrained(BASE), "a").merge_and_unload()\n'},
        {"a/adapter_config.json": adapter("/c/models--acme--wren/snapshots/0c1e77d4aa"), "merge.log":
         "merging adapter a\nbase model: /c/models--acme--wren/snapshots/b94be20711\n"},
        {"train.log": "base model: /m/wren-1b-2506\nadapter rank 16\n" + LOSSES, "merge.sh": "merge --base_model /m/wren-1b-2501\n"},
    ],
    ids=["another version", "a configuration", "Chinese", "a link", "below a docstring", "a revision", "by the logs"],
)  # fmt: skip
def test_another_base(tmp_path, files):
    assert codes(tmp_path, files) == ["merged-into-another-base"]


@pytest.mark.parametrize(
    "files",
    [
        {"sft.log": "base weights sha256 1f00aa77c2\n" + LOSSES, "fuse.log": "fusing adapter\nbase weights sha256 9b12cc03d1\n"},
        {"fit.log": "load model.safetensors md5 77aa01bc32\ntokenizer md5 11aa22bb33\n" + LOSSES,
         "merge_out.log": "load model.safetensors md5 0f3390acde\ntokenizer md5 11aa22bb33\nmerged 224\n"},
        {"train.log": "底座 分片 1:aa01bb02cc 2:dd03ee04ff\n" + LOSSES,
         "合并.log": "底座 分片 1:0a1b2c3d4e 2:5f6a7b8c9d\n合并完成\n"},
    ],
    ids=["sha", "md5 beside a tokenizer", "Chinese"],
)  # fmt: skip
def test_another_sum(tmp_path, files):
    assert codes(tmp_path, files) == ["base-changed-before-merge"]


@pytest.mark.parametrize(
    "files",
    [
        {"a/adapter_config.json": adapter("acme/kestrel-8b"), "merge.sh": "merge --base_model /mnt/nas/Kestrel-8B --lora a\n"},
        {"a/adapter_config.json": adapter("unsloth/kestrel-8b-bnb-4bit"), "merge.sh": "merge --base_model acme/kestrel-8b\n"},
        {"a/adapter_config.json": adapter("/models/current"), "merge.sh": "merge --base acme/kestrel-8b --lora a\n"},
        {"a/adapter_config.json": adapter("/m/wren-1b-2506"), "ls.txt": "lrwxrwxrwx 1 a a 9 2025-06-01 wren-1b -> wren-1b-2506\n",
         "merge.sh": "merge --base /m/wren-1b --lora a\n"},
        {"a/adapter_config.json": adapter("/m/wren-1b-2506"), "eval.sh": "lm_eval --model /m/wren-1b-2501 --tasks mmlu\n"},
        {"train.log": "base weights sha256 1f00aa77c2\n" + LOSSES, "merge.log": "merging\nbase weights sha256 1f00aa77c2\n"
         "merged weights sha256 9b12cc03d1\nadapter sha256 77aa77bb00\n"},
        {"train.log": "git commit 1f00aa77c2\nmodel wren-1b\n" + LOSSES, "merge.log": "git commit 9b12cc03d1\nmerging adapter\n"},
        {"a/adapter_config.json": adapter("/m/wren-1b-2506"), "b/adapter_config.json": adapter("/m/wren-1b-2501"),
         "merge.sh": "merge --base /m/wren-1b-2501 --lora b\n"},
        {"a/adapter_config.json": adapter("/m/wren-1b-2506"),
         "merge.sh": "merge --base /m/wren-1b-2506 --lora a --out /m/wren-1b-tuned\ncp /m/wren-1b-2501/tokenizer.json out/\n"},
        {"a/adapter_config.json": adapter("acme/wren-1b"), "merge.py": '"""Merge an adapter.\n\n    python merge.py --base_model acme/wren-7b '
         '--lora a\n"""\nimport sys\nmodel = PeftModel.from_pretrained(load(sys.argv[1]), "a").merge_and_unload()\n'},
        {"a/adapter_config.json": adapter("acme/wren-1b"), "导出合并.py": "USAGE = '''\n合并: --base_model acme/wren-7b\n'''\n"
         "args.add_argument('--base_model', help='例如 acme/wren-7b')\nmodel.merge_and_unload()\n"},
        {"a/adapter_config.json": adapter("acme/wren-1b"), "merge.sh": 'echo "usage: merge --base acme/wren-7b --lora a"\n'
         'python merge_lora.py "$@"\n'},
        {"a/adapter_config.json": adapter("acme/wren-7b"), "logs/server.log": "loader: - kv 26: tokenizer.ggml.merges arr[str,9] = [...]\n"
         "loader: loaded meta data with 339 tensors from D:/models/Wren-1B-Q4.gguf\nprint_info: n_merges = 99\n"},
        {"a/adapter_config.json": adapter("acme/wren-7b"), "up.log": "read merges.txt of the tokenizer\nusing fused attention\n"
         "loading weights from /srv/wren-1b\n"},
        {"pretrain.py": "model = nets.wren_v1.Wren1(config)\nlr = 1e-4\nloss.backward()\n", "dpo_lora.py":
         "lora_r = 8\nlr = 1e-5\nloss = dpo(x)\nbase_model = Wren1.from_pretrained(args.start)\nmodel.merge_and_unload()\n"},
        {"train.log": "base model: /m/wren-1b-2506\n" + LOSSES, "merge.sh": "merge --base_model /m/wren-1b-2501\n"},
    ],
    ids=["a mirror", "the same in four bits", "an alias", "a link to it", "no merge", "equal", "programs", "two adapters", "tokenizer",
         "a docstring", "texts of a program", "how it is called", "an engine loads a file", "fused kernels", "classes of two programs",
         "no adapter was trained"],
)  # fmt: skip
def test_one_base(tmp_path, files):
    assert codes(tmp_path, files) == []
