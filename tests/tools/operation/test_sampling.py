"""What a server samples with against what its callers ask: told only where nobody asks for what is used."""

import json

import pytest

from triage.tools.discover import discover
from triage.tools.operation.sampling import check_sampling

SHIPPED = json.dumps({"do_sample": True, "temperature": 0.9, "repetition_penalty": 1.15}, indent=1)
PARAMS = "SamplingParams(n=1, presence_penalty=0.0, repetition_penalty={p}, temperature={t}, top_p=0.95, top_k=50)"


def vllm(t=0.9, p=1.15, n=12):
    head = "INFO 03-18 06:02:31 [api_server.py:912] vLLM API server version 0.8.1\n"
    line = "INFO 03-18 07:58:{i:02d} [logger.py:39] Received request chatcmpl-{i:04d}: prompt: 'x', params: "
    return head + "\n".join(line.format(i=i) + PARAMS.format(t=t, p=p) for i in range(n)) + "\n"


def plain(t=0.9, n=12):
    line = (
        "07-08 14:00:{i:02d} req={i:04d} len_in=188 max_tokens=768 temperature={t} top_p=0.95 repetition_penalty=1.15"
    )
    return "\n".join(line.format(i=i, t=t) for i in range(n)) + "\n"


CLIENT = """import requests
def ask(text):
    body = {"model": "x", "messages": [{"role": "user", "content": text}], "max_tokens": 512,
            "options": {"temperature": 0.0, "repetition_penalty": 1.0}}
    return requests.post("http://engine:8000/v1/chat/completions", json=body).json()
"""
NOTEBOOK = "out = model.generate(ids, do_sample=False, max_new_tokens=512)\n"


def told(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return [
        (f.code, f.data["of"], f.data["used"], f.data["asked"]) for f in check_sampling(discover(tmp_path)).findings
    ]


@pytest.mark.parametrize("log", [vllm(), plain()], ids=["vllm", "plain"])
@pytest.mark.parametrize(("name", "text"), [("client.py", CLIENT), ("cell.py", NOTEBOOK),
                                            ("eval.yaml", "decode: {temperature: 0.0, max_tokens: 64}\n")])  # fmt: skip
def test_defaults_of_the_weights_that_nobody_asked_for(tmp_path, log, name, text):
    found = told(tmp_path, {"server.log": log, "weights/generation_config.json": SHIPPED, name: text})
    assert ("served-otherwise-than-asked", "temperature", 0.9, 0.0) in found


def test_what_a_server_says_that_it_fills_in(tmp_path):
    log = ("INFO 05-20 [serving_chat.py:116] Using default chat sampling params from model: "
           "{'repetition_penalty': 1.18, 'temperature': 0.7}\nINFO POST /v1/chat/completions 200\n")  # fmt: skip
    found = told(tmp_path, {"llm.log": log, "generation_config.json": SHIPPED.replace("1.15", "1.18"),
                            "offline.yaml": "sampling: {temperature: 0.7, repetition_penalty: 1.0}\n"})  # fmt: skip
    assert found == [("served-otherwise-than-asked", "repetition_penalty", 1.18, 1.0)]


def test_a_launch_that_takes_the_penalty_from_beside_the_weights(tmp_path):
    files = {"serve.sh": "vllm serve /m/x --generation-config auto --port 8000\n", "generation_config.json": SHIPPED,
             "eval.yaml": "sampling: {temperature: 0.0, repetition_penalty: 1.0}\n"}  # fmt: skip
    assert told(tmp_path, files) == [("served-otherwise-than-asked", "repetition_penalty", 1.15, 1.0)]
    (tmp_path / "serve.sh").write_text("vllm serve /m/x --generation-config vllm --port 8000\n")
    assert told(tmp_path, {}) == []


@pytest.mark.parametrize(
    "files",
    [
        {"server.log": vllm(t=0.0, p=1.0), "client.py": CLIENT},  # as asked
        {"server.log": vllm(), "client.py": CLIENT.replace("0.0", "0.9").replace("1.0", "1.15")},
        {"server.log": vllm(), "eval.yaml": "temperature: 0.0\nrepetition_penalty: 1.0\n",
         "app.py": "PARAMS = dict(temperature=0.9, repetition_penalty=1.15)\n"},  # one caller asks for it
        {"server.log": vllm()},  # nobody says anything
        {"server.log": vllm(n=6) + vllm(t=0.0, p=1.0, n=6), "client.py": CLIENT},  # several callers
        {"server.log": vllm(n=2), "client.py": CLIENT},  # too few
        {"server.log": vllm(), "notes.md": "we tried temperature 0.0 and temperature=0.3\n"},
        {"train.log": "step 10 loss 1.2\n", "rollout.yaml": "temperature: 1.0\n"},
    ],
    ids=["as asked", "asked so", "one of two", "unsaid", "mixed", "few", "notes", "training"],
)  # fmt: skip
def test_what_somebody_asks_for_is_meant(tmp_path, files):
    assert told(tmp_path, {**files, "weights/generation_config.json": SHIPPED}) == []
