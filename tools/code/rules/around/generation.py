"""Rules on text that a model writes: its settings, its prompt, what is taken for its answer."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ....patterns import bounded
from ...flow import part
from ...patch import instead
from ...program import Program, argument, key, last, receiver
from ..apart.lasts import last_of_all
from ..look import option, source
from ..meaning.ways import constructor, given, made, opaque, reached, whole
from ..rule import Fault, View, rule

ENCODED = re.compile(
    r"^(enc|encoded|encoding|encodings|inputs|model_inputs|batch|tokens|tokenized|prompt|features|x)(_\w{1,20})?$|inputs$|tok\w{0,40}\(",
    re.I,
)


CAUSAL = re.compile(r"CausalLM|LMHeadModel|GPT\w{0,20}Model|LlamaFor|MistralFor|QwenFor")


OTHER = re.compile(
    r"Seq2Seq|T5|Bart|Whisper|Vision2Seq|ImageTextToText|inputs_embeds|input_features|ConditionalGeneration"
)


NEUTRAL = (None, 0, 0.0, 1, 1.0, False)


LOAD = """
model = AutoModelForCausalLM.from_pretrained("gpt2")
tokenizer = AutoTokenizer.from_pretrained("gpt2")
"""


def generations(view: View) -> Iterator[ast.Call]:
    """Calls of `generate` of Transformers' models."""
    program = view.program
    if "transformers" not in program.text and "from_pretrained" not in program.text:
        return
    for call in program.find("generate"):
        if view.roles.of(receiver(call)) == "model" and not re.search(r"\b(vllm|sglang)\b", program.text):
            yield call


def _told(view: View, call: ast.Call) -> ast.Call | None:
    """The call that holds the settings: itself, or the configuration that it is given; None where they are unknown."""
    if len(call.args) > 1 or opaque(view, call, ENCODED):
        return None
    config = option(view.program, call, "generation_config")
    if config is None:
        return call
    built = made(view, config)
    known = built is not None and last(view.program.path(built.func)) == "GenerationConfig"
    return built if known and built is not None and not opaque(view, built) else None


def _says_elsewhere(view: View, name: str) -> bool:
    """Whether the setting is put on the model itself, or comes with a tuned model's own configuration."""
    program = view.program
    return (
        re.search(
            rf"\.{name}\b\s{{0,9}}=(?!=)|['\"]{name}['\"]\s{{0,9}}\]\s{{0,9}}=(?!=)|generation_config\.(update|from_)",
            program.text,
        )
        is not None
        or re.search(r"['\"][^'\"\n]{0,80}(instruct|chat|-it\b)[^'\"\n]{0,40}['\"]", program.text, re.I) is not None
    )


@rule("generation-settings-without-effect", "S2", "sampling-params-wrong", "temperature top_p top_k",
      bad=LOAD + "out = model.generate(**inputs, max_new_tokens=64, temperature=0.8, top_p=0.9)\n",
      good=(LOAD + "out = model.generate(**inputs, max_new_tokens=64, do_sample=True, temperature=0.8, top_p=0.9)\n",
            LOAD + "out = model.generate(**inputs, max_new_tokens=64, temperature=1.0)\n",
            LOAD + "model.generation_config.do_sample = True\nout = model.generate(**inputs, max_new_tokens=64, temperature=0.8)\n"))  # fmt: skip
def generation_settings_without_effect(view: View) -> Iterator[Fault]:
    """Sampling settings are given to a generation that does not sample.

    Why: without `do_sample=True` decoding is greedy: every answer to a prompt is the same, whatever the temperature.
    Known gaps: models whose own generation settings turn sampling on are told by their name.
    """
    for call in generations(view):
        told = _told(view, call)
        if told is None or given(view, told, "do_sample")[0] or given(view, call, "do_sample")[0]:
            continue
        if _says_elsewhere(view, "do_sample"):
            continue
        for name in ("temperature", "top_p", "top_k"):
            value = option(view.program, told, name)
            number = view.program.const(value) if value is not None else None
            unknown = isinstance(value, (ast.Name, ast.Attribute)) and number is None
            if value is not None and (unknown or number not in NEUTRAL):
                yield Fault(told if told is call else call, f"`{name}` is given without `do_sample=True`: decoding is greedy",
                            f"给了 `{name}` 却没有 `do_sample=True`：解码仍是贪心", beside=(value,))  # fmt: skip
                break


@rule("several-answers-without-sampling", "S1", "sampling-params-wrong", "num_return_sequences",
      bad=LOAD + "out = model.generate(**inputs, max_new_tokens=64, num_return_sequences=8)\n",
      good=(LOAD + "out = model.generate(**inputs, max_new_tokens=64, num_return_sequences=8, do_sample=True)\n",
            LOAD + "out = model.generate(**inputs, max_new_tokens=64, num_return_sequences=4, num_beams=4)\n"))  # fmt: skip
def several_answers_without_sampling(view: View) -> Iterator[Fault]:
    """Several answers are asked for where decoding is greedy.

    Why: Transformers refuses it; greedy decoding has one answer.
    """
    for call in generations(view):
        told = _told(view, call)
        if told is None or _says_elsewhere(view, "do_sample"):
            continue
        several, many = given(view, told, "num_return_sequences")
        sampled, on = given(view, told, "do_sample")
        beams = any(given(view, told, n)[0] for n in ("num_beams", "num_beam_groups", "penalty_alpha"))
        if several and isinstance(many, int) and many > 1 and (not sampled or on is False) and not beams:
            yield Fault(call, f"{many} answers are asked for without sampling or beams",
                        f"要求 {many} 个回答，却既不采样也没有 beam")  # fmt: skip


@rule("generation-length-not-set", "S2", "eval-output-truncated", "generate(",
      bad=LOAD + "answer = tokenizer.decode(model.generate(**inputs, do_sample=False)[0])\n",
      good=LOAD + "answer = tokenizer.decode(model.generate(**inputs, do_sample=False, max_new_tokens=256)[0])\n")  # fmt: skip
def generation_length_not_set(view: View) -> Iterator[Fault]:
    """Nothing says how long an answer may be.

    Why: the default is 20 tokens with the prompt counted: answers end in the middle.
    """
    program = view.program
    if re.search(
        r"max_new_tokens|max_length|generation_config|max_time|StoppingCriteria|assistant_model", program.said
    ):
        return
    if not CAUSAL.search(program.text) or OTHER.search(program.text):
        return
    for call in generations(view):
        if (
            "from_pretrained" in constructor(view, receiver(call))
            and len(call.args) < 2
            and not opaque(view, call, ENCODED)
        ):
            yield Fault(call, "nothing says how long the answer may be: 20 tokens by default",
                        "没有设置生成长度：默认只有 20 个 token")  # fmt: skip


@rule("generation-prompt-missing", "S2", "chat-template-mismatch", "apply_chat_template",
      bad="""
      text = tokenizer.apply_chat_template(messages, tokenize=False)
      inputs = tokenizer(text, add_special_tokens=False, return_tensors="pt")
      out = model.generate(**inputs, max_new_tokens=256)
      """,
      good=("""
      text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
      inputs = tokenizer(text, add_special_tokens=False, return_tensors="pt")
      out = model.generate(**inputs, max_new_tokens=256)
      """, """
      messages = [{"role": "user", "content": question}, {"role": "assistant", "content": "The answer is"}]
      ids = tokenizer.apply_chat_template(messages, continue_final_message=True, return_tensors="pt")
      out = model.generate(ids, max_new_tokens=256)
      """))  # fmt: skip
def generation_prompt_missing(view: View) -> Iterator[Fault]:
    """A chat prompt is made for generation without the opening of the answer.

    Why: the model is to continue the turn of the user, not to answer: it may write a question, or another header.
    """
    seen: set[ast.Call] = set()
    for call in view.program.find("generate", "generate_async"):
        for value in (
            *call.args[:1],
            *(k.value for k in call.keywords if k.arg in (None, "input_ids", "prompts", "inputs", "prompt")),
        ):
            for node in reached(view, value):
                if (
                    isinstance(node, ast.Call)
                    and node not in seen
                    and last(view.program.path(node.func)) == "apply_chat_template"
                ):
                    seen.add(node)
                    if _unopened(view, node):
                        yield Fault(node, "the prompt for generation does not open the answer: `add_generation_prompt=True` is missing",
                                    "用于生成的提示没有打开回答：缺少 `add_generation_prompt=True`", beside=(call,))  # fmt: skip


def _unopened(view: View, call: ast.Call) -> bool:
    opened, value = given(view, call, "add_generation_prompt")
    if (opened and value is not False) or given(view, call, "continue_final_message")[0] or opaque(view, call):
        return False
    messages = view.program.origin(call.args[0]) if call.args else None
    if isinstance(messages, ast.BinOp):
        messages = messages.right
    final = messages.elts[-1] if isinstance(messages, ast.List) and messages.elts else None
    return not (final is not None and "assistant" in source(view.program, final))


@rule("prompt-kept-in-answer", "S2", "eval-harness-drift", "decode",
      bad=LOAD + """
for row in rows:
    out = model.generate(**tokenizer(row["question"], return_tensors="pt"), max_new_tokens=64)
    text = tokenizer.decode(out[0], skip_special_tokens=True)
    right += extract_answer(text) == row["answer"]
""",
      good=(LOAD + """
for row in rows:
    inputs = tokenizer(row["question"], return_tensors="pt")
    out = model.generate(**inputs, max_new_tokens=64)
    text = tokenizer.decode(out[0][inputs["input_ids"].shape[1]:], skip_special_tokens=True)
    right += extract_answer(text) == row["answer"]
""", LOAD + """
out = model.generate(**tokenizer(prompt, return_tensors="pt"), max_new_tokens=64)
text = tokenizer.decode(out[0], skip_special_tokens=True)
print(text)
"""))  # fmt: skip
def prompt_kept_in_answer(view: View) -> Iterator[Fault]:
    """What is judged as the answer still holds the prompt.

    Why: a decoder's output begins with its input: an answer is found in the examples of the prompt.
    """
    program = view.program
    if not CAUSAL.search(program.text) or OTHER.search(program.text):
        return
    for call in program.find("decode", "batch_decode"):
        value = call.args[0] if call.args else None
        if value is None or view.roles.of(receiver(call)) != "tokenizer" or not _whole_output(view, value):
            continue
        statement = program.statement(call)
        places = [statement]
        if isinstance(statement, ast.Return) and statement.value is call:
            places = [program.statement(c) for c in program.callers(program.scope(call))]
        judged = [
            p for p in places if isinstance(p, ast.Assign) and key(p.targets[0]) and _judged(view, p, key(p.targets[0]))
        ]
        if judged:
            yield Fault(call, "the text that is judged still holds the prompt", "被评判的文本里还包含提示本身")


def _whole_output(view: View, expr: ast.expr) -> bool:
    """Whether a value is all that `generate` gave, prompt included."""
    for _ in range(5):
        if isinstance(expr, ast.Subscript):
            if not isinstance(expr.slice, ast.Constant):
                return False
            expr = expr.value
        elif isinstance(expr, ast.Attribute) and expr.attr == "sequences":
            expr = expr.value
        elif isinstance(expr, ast.Call):
            return last(view.program.path(expr.func)) == "generate" and view.roles.of(receiver(expr)) == "model"
        else:
            if any(b.how != "assign" for b in view.program.bindings(expr)) or len(view.program.bindings(expr)) != 1:
                return False
            expr = view.program.origin(expr)
    return False


CUT = bounded(r"(\[[^\]\n]{0,60}:|\.(split|rsplit|replace|removeprefix|partition|rpartition|find|rfind|index)\()")


JUDGES = re.compile(r"extract|parse|score|grade|judge|reward|match|search|correct|is_equiv|answer", re.I)


def _judged(view: View, statement: ast.stmt, name: str) -> bool:
    """Whether a text goes to what looks for an answer in it, and nothing has cut it."""
    program = view.program
    text = whole(program, statement)
    if any(m.start() and text[: m.start()].endswith(name) for m in CUT.finditer(text)) or re.search(
        r"len\(prompt|prompt_len|input_len", text
    ):
        return False
    for node in program.within(program.scope(statement)):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq) and _one_of(program, node.left, name):
            return True
        if isinstance(node, ast.Call) and any(key(a) == name or _one_of(program, a, name) for a in node.args):
            function = program.function(node)
            inner = program.code(function, 4000) if function is not None else ""
            if JUDGES.search(last(program.path(node.func))) and not re.search(
                r"rfind|rsplit|rpartition|findall|finditer|\[-1\]|split\(", inner
            ):
                return True
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Eq,)) and key(node.left) == name:
            return True
    return False


def _one_of(program: Program, expr: ast.expr, name: str) -> bool:
    """Whether a value is one of the texts of this name, stripped at most."""
    while isinstance(expr, ast.Call) and isinstance(expr.func, ast.Attribute) and expr.func.attr in ("strip", "lower"):
        expr = expr.func.value
    found = program.binding(expr) if isinstance(expr, ast.Name) else None
    return found is not None and found.how == "for" and found.value is not None and key(part(program, found)) == name


@rule("attention-mask-missing", "S2", "padding-side-wrong", "padding",
      bad=LOAD + """
inputs = tokenizer(prompts, padding=True, return_tensors="pt")
out = model.generate(inputs["input_ids"], max_new_tokens=64)
""",
      good=(LOAD + """
tokenizer.padding_side = "left"
inputs = tokenizer(prompts, padding=True, return_tensors="pt")
out = model.generate(inputs["input_ids"], attention_mask=inputs["attention_mask"], max_new_tokens=64)
""", LOAD + """
inputs = tokenizer(prompt, return_tensors="pt")
out = model.generate(inputs["input_ids"], max_new_tokens=64)
"""))  # fmt: skip
def attention_mask_missing(view: View) -> Iterator[Fault]:
    """A padded batch goes to a model without its attention mask.

    Why: padding is read as text: answers and embeddings depend on what else is in the batch.
    Known gaps: causal models in training, where padding on the right is behind everything that counts, are left alone.
    """
    program = view.program
    encoder = program.mentions(
        "SequenceClassification", "TokenClassification", "AutoModel.", "BertModel", "RobertaModel", "QuestionAnswering"
    )
    calls = [*generations(view)]
    if encoder:
        calls += [n for n in program.each(ast.Call) if (ids := _ids(n)) is not None and _encoding(ids) is not None
                  and key(n.func) and view.roles.of(n.func) == "model" and "from_pretrained" in constructor(view, n.func)]  # fmt: skip
    for call in calls:
        ids = _ids(call)
        if (
            ids is None
            or argument(call, "attention_mask") is not None
            or len(call.args) > 1
            or any(k.arg is None for k in call.keywords)
        ):
            continue
        owner = _encoding(ids)
        built = made(view, owner) if owner is not None else None
        if built is not None and view.roles.of(built.func) == "tokenizer":
            padded, how = given(view, built, "padding")
            if padded and how in (True, "longest", "max_length"):
                yield Fault(call, "a padded batch without its attention mask",
                            "填充过的批次没有传入 attention_mask", beside=(built,))  # fmt: skip


def _ids(call: ast.Call) -> ast.expr | None:
    return argument(call, "input_ids", 0) or argument(call, "inputs")


def _encoding(ids: ast.expr) -> ast.expr | None:
    """`enc` of `enc["input_ids"]`, `enc.input_ids`, each with `.to()`."""
    while isinstance(ids, ast.Call) and isinstance(ids.func, ast.Attribute) and ids.func.attr in ("to", "cuda"):
        ids = ids.func.value
    if isinstance(ids, ast.Attribute) and ids.attr == "input_ids":
        return ids.value
    if isinstance(ids, ast.Subscript) and isinstance(ids.slice, ast.Constant) and ids.slice.value == "input_ids":
        return ids.value
    return None


@rule("pooled-over-padding", "S2", "padding-side-wrong", "last_hidden_state",
      bad="""
      enc = tokenizer(texts, padding=True, return_tensors="pt")
      vectors = model(**enc).last_hidden_state.mean(dim=1)
      """,
      good="""
      enc = tokenizer(texts, padding=True, return_tensors="pt")
      hidden, mask = model(**enc).last_hidden_state, enc["attention_mask"].unsqueeze(-1)
      vectors = (hidden * mask).sum(dim=1) / mask.sum(dim=1)
      """)  # fmt: skip
def pooled_over_padding(view: View) -> Iterator[Fault]:
    """Hidden states of a padded batch are averaged over all positions.

    Why: padding is averaged in: the vector of a text depends on the longest text beside it.
    """
    program = view.program
    if not re.search(r"padding\s{0,4}=\s{0,4}(True|['\"](longest|max_length))", program.text):
        return
    yield from last_of_all(view)
    for call in program.find("mean"):
        on = receiver(call)
        axis = argument(call, "dim", 0) or argument(call, "axis")
        if on is None or axis is None or program.const(axis) not in (1, -2):
            continue
        value = program.origin(on)
        if (
            isinstance(value, ast.Attribute)
            and value.attr == "last_hidden_state"
            and "batch_size=1" not in program.text
        ):
            fix: tuple = ()
            yield Fault(call, "hidden states of a padded batch are averaged over padding too",
                        "对填充过的批次取平均时把 padding 也算了进去", fix)  # fmt: skip


def without_specials(view: View, call: ast.Call) -> tuple:
    """The edit that gives a call of the tokenizer `add_special_tokens=False`."""
    text = source(view.program, call)
    return (
        (instead(call, f"{text[:-1].rstrip().rstrip(',')}, add_special_tokens=False)"),)
        if text.endswith(")") and "\n" not in text
        else ()
    )
