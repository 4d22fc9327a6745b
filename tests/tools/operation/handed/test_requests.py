"""Requests against the adapters that an engine loads."""

# ruff: noqa: E501  one sentence, pattern or case on one line

import json

import pytest
from making import fill

from triage.tools.discover import discover
from triage.tools.operation.handed.look import check_handed


def codes(folder, files):
    return [f.code for f in check_handed(discover(fill(folder, files))).findings]


def loads(name="v{}", times=6) -> str:
    return "".join(f"INFO Loaded new LoRA adapter: name '{name.format(i)}', path '/a/{i}'\n" for i in range(times))


START = "INFO args: {'model': '/m/kite-7b', 'served_model_name': ['policy'], 'enable_lora': True}\n"
NONE = "INFO Received request cmpl-{}: params: SamplingParams(n=8), lora_request: None.\n"
SOME = ("INFO Received request cmpl-{}: params: SamplingParams(n=8), lora_request: "
        "LoRARequest(lora_name='v1', lora_int_id=1).\n")  # fmt: skip


def records(model: str, times=8) -> str:
    return "".join(
        json.dumps({"step": i, "body": {"model": model, "prompt": f"q {i}", "max_tokens": 64}}) + "\n"
        for i in range(times)
    )


@pytest.mark.parametrize(
    "files",
    [
        {"engine.log": START + loads() + "".join(NONE.format(i) for i in range(9))},
        {"engine.log": START + loads("lora_step_{}"), "sent.jsonl": records("policy")},
        {"srv.log": "".join(f"[sglang] load_lora_adapter 'upd{i}' ok\n[sglang] GenerateReqInput rid=r{i} sampling n=8 lora_path=None\n"
                            for i in range(8))},
        {"采样.log": "".join(f"加载适配器 名称: rl-{i} 完成\n收到请求 {i} 采样 n=8 适配器: 无\n" for i in range(8))},
        {"rollout.log": START.replace("args", "engine args") + "".join(
            f"updated adapter name=pol-v{i} (672 tensors)\nrequest id={i} model=policy n=8 max_tokens=512\n" for i in range(7))},
    ],
    ids=["none", "records", "a path", "Chinese", "lines"],
)  # fmt: skip
def test_never_asked_for(tmp_path, files):
    assert codes(tmp_path, files) == ["adapter-never-asked-for"]


@pytest.mark.parametrize(
    "files",
    [
        {"engine.log": START + loads() + "".join(SOME.format(i) for i in range(9))},
        {"engine.log": START + loads() + "".join(NONE.format(i) for i in range(9)) + SOME.format(9)},
        {"engine.log": START + "".join(NONE.format(i) for i in range(9))},
        {"engine.log": START + loads("pol"), "sent.jsonl": records("pol")},
        {"engine.log": START + loads("pol"), "sent.jsonl": records("judge-70b")},
        {"engine.log": START + loads() + NONE.format(1)},
        {"engine.log": START + loads(times=1) + "".join(NONE.format(i) for i in range(9))},
        {"engine.log": START + loads("pol"), "sent.jsonl": records("policy") + records("pol")},
    ],
    ids=["asked", "once", "no adapter", "by name", "a judge", "one request", "a trial", "both"],
)  # fmt: skip
def test_asked_for(tmp_path, files):
    assert codes(tmp_path, files) == []


UNIT = "ExecStart=/opt/vllm serve /m/base-7b --served-model-name chat --enable-lora --lora-modules shop-v3=/out/shop/ckpt-9\n"
GATE = "upstream: http://10.0.0.3:8000/v1\nmodel: {}\ntemperature: 0.2\n"
TAGGED = 'endpoint = "http://10.0.0.3:8000/v1"\nmodel = "{}"\nmax_tokens = 256\ntag = "{}"\n'
ASKED = "".join(NONE.format(i) for i in range(6))


@pytest.mark.parametrize(
    "files",
    [
        {"chat.service": UNIT, "gate.yaml": GATE.format("chat"), "api.log": ASKED},
        {"serve.sh": "python -m sglang.launch_server --model-path /m/kite --lora-paths tone=/out/tone\n",
         "bot.py": "c = OpenAI(base_url='http://s:30000/v1')\nr = c.chat.completions.create(model='/m/kite', messages=m)\n"},
        {"start.sh": UNIT, "req.jsonl": records("chat")},
        {"部署.sh": UNIT, "网关.env": "UPSTREAM_URL=http://h:8000\nLLM_MODEL=chat\nTIMEOUT=30\n"},
        {"compose.yaml": "command: >\n  vllm serve /m/base-7b --enable-lora --lora-modules '{\"name\": \"shop\", \"path\": \"/out/shop\"}'\n",
         "api.log": ASKED * 5},
        {"chat.service": UNIT, "eval/conf.toml": TAGGED.format("chat", "shop-v3")},
        {"chat.service": UNIT, "bench.yaml": GATE.format("chat") + "output_dir: results/shop-v3\n",
         "m.prom": 'engine:max_lora="1"\n'},
    ],
    ids=["unit", "client code", "records", "env", "log", "tagged", "results"],
)  # fmt: skip
def test_a_server_with_an_adapter_is_asked_for_the_base(tmp_path, files):
    assert codes(tmp_path, files) == ["adapter-served-base-asked"]


@pytest.mark.parametrize(
    "files",
    [
        {"chat.service": UNIT, "gate.yaml": GATE.format("shop-v3"), "api.log": ASKED},
        {"chat.service": UNIT, "gate.yaml": GATE.format("chat"), "api.log": ASKED + SOME},
        {"chat.service": UNIT, "gate.yaml": GATE.format("other-model")},
        {"chat.service": UNIT.split(" --enable")[0] + "\n", "gate.yaml": GATE.format("chat"), "api.log": ASKED},
        {"chat.service": UNIT, "judge.yaml": GATE.format("chat")},
        {"chat.service": UNIT, "eval/conf.toml": TAGGED.format("chat", "base")},
        {"chat.service": UNIT, "api.log": NONE.format(1)},
        {"chat.service": UNIT, "a.yaml": GATE.format("chat"), "b.yaml": GATE.format("shop-v3")},
    ],
    ids=["by name", "once", "elsewhere", "no adapter", "a comparison", "a baseline", "one request", "both"],
)
def test_a_server_with_an_adapter_that_is_asked_for(tmp_path, files):
    assert codes(tmp_path, files) == []
