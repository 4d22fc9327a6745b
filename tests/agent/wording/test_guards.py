"""What gets past the guards: none of the adversarial sentences, nearly all of the narrator's own."""

import itertools
import random
import re
from pathlib import Path

import pytest
import yaml

import triage.evals
from triage.agent.propose import Proposal
from triage.agent.session import ask
from triage.agent.wording.guards import guard as guards
from triage.agent.wording.guards.facts import Facts
from triage.agent.wording.guards.guard import Guard
from triage.agent.wording.guards.words import SENTENCE_END
from triage.agent.wording.shown import Shown, brief
from triage.knowledge.runbook import load

EXAMPLES = Path(triage.evals.__path__[0]) / "example"
ATTACKS = yaml.safe_load((Path(__file__).parent / "adversarial.yaml").read_text())
HELD_OUT = yaml.safe_load((Path(__file__).parent / "held_out.yaml").read_text())
HELD_OUT_CASES = yaml.safe_load((Path(__file__).parent / "held_out_cases.yaml").read_text())
LOGS = {"oom": "step: {i} loss: {l:.4f} grad_norm: 1.1", "engine": "INFO {i} worker ready in {l:.2f} s"}
ENDS = {
    "oom": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has 79.15 GiB in total.",
    "engine": "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.",
}
QUESTIONS = {("run-1", "en"): "loss is nan, what happened?", ("run-1", "zh"): "loss 变成 nan 了，怎么回事",
             ("run-2", "en"): "is this run healthy?", ("run-2", "zh"): "这次训练正常吗",
             ("run-3", "en"): "what is wrong here?", ("run-3", "zh"): "loss 不对劲",
             ("run-4", "en"): "the run stopped early, why?", ("run-4", "zh"): "训练提前停了，为什么",
             ("oom", "en"): "cuda out of memory", ("oom", "zh"): "显存 OOM 了", ("engine", "en"): "vllm does not start",
             ("engine", "zh"): "vllm 起不来",
             ("", "en"): "DPO KL explodes", ("", "zh"): "训练卡住了，没有任何日志"}  # fmt: skip


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """(answer, what was shown) of 14 diagnoses: established, supported, words only, healthy; both languages."""
    made = {}
    for name, line in LOGS.items():
        made[name] = tmp_path_factory.mktemp(name)
        lines = [line.format(i=i, l=3 - i / 200) for i in range(200)]
        (made[name] / "train.log").write_text("\n".join([*lines, ENDS[name]]))
    out = []
    for (run, lang), question in QUESTIONS.items():
        paths = [made.get(run, EXAMPLES / run)] if run else []
        shown = Shown(ask(question, paths, lang))
        brief(shown)
        out.append(shown)
    return out


def marks(shown: Shown, turn: int) -> dict[str, str]:
    """Values that this case does not hold."""
    facts, d = Facts(shown), shown.answer.diagnosis
    others = [e.id for e in load() if e.id not in facts.tokens]
    number = next(n for n in range(61 + 7 * turn, 10_000) if n not in facts.numbers and n / 100 not in facts.numbers)
    own = shown.answer.proposal.variable if isinstance(shown.answer.proposal, Proposal) else ""
    pool = [v for v in ("weight_decay", "warmup_steps", "micro_batch_size", "learning_rate", "seed") if v != own]
    ids = [h.entry.id for h in d.hypotheses]
    return {
        "other": others[turn % len(others)],
        "top": ids[0] if ids else others[0],
        "second": ids[1] if len(ids) > 1 else others[1],
        "n": f"{number}.37",
        "step": str(next(n for n in range(7001 + turn, 99_999) if n not in facts.steps)),
        "beyond": str(len(d.findings) + 3),
        "variable": pool[turn % len(pool)],
        "secret": "hf_" + "aB3dE6gH" * 4,
    }


LEGITIMATE = {"en": ("The evidence is listed below.", "Read it first."), "zh": ("证据列在下面。", "先看一遍。")}


def test_no_adversarial_sentence_reaches_the_person(cases):
    """One answer for each case and kind, its wording rotating: none of 14 x 14 shows the bad sentence."""
    through, answers = [], 0
    for turn, shown in enumerate(cases):
        lang = shown.answer.lang
        filled = marks(shown, turn)
        for number, (kind, by_lang) in enumerate(ATTACKS.items()):
            for bad in itertools.islice(itertools.cycle(by_lang[lang]), turn // 2 + number, turn // 2 + number + 2):
                bad = bad.format(**filled)
                guard = Guard(shown, lang)
                good = LEGITIMATE[lang]
                out = guard.feed(f"{good[0]} {bad} {good[1]}\n") + guard.close()
                answers += 1
                if bad[2:-2] in out or filled["secret"] in out or guard.kept < 2:
                    through.append((kind, lang, shown.answer.diagnosis.state, bad, dict(guard.dropped)))
    assert answers >= 200
    assert through == [], "\n".join(map(str, through))


def test_every_wording_is_stopped_in_the_diagnosed_case(cases):
    for shown in cases[:2]:
        lang, filled = shown.answer.lang, marks(shown, 1)
        guard = Guard(shown, lang)
        said = [s.format(**filled) for by_lang in ATTACKS.values() for s in by_lang[lang]]
        passed = [s for s in said if not guard.judge(s)]
        assert passed == [], "\n".join(passed)


@pytest.fixture(scope="module")
def example():
    """What is shown of the first example run, by language."""
    questions = {"en": "loss is nan at step 4000", "zh": "loss 在第 4000 步变成 nan"}
    made = {lang: Shown(ask(question, [EXAMPLES / "run-1"], lang)) for lang, question in questions.items()}
    for shown in made.values():
        brief(shown)
    return made


def passed(example, text: str) -> tuple[str, int]:
    """(what the person would see, sentences left out)."""
    lang = "zh" if re.search("[\u4e00-\u9fff]", text) else "en"
    guard = Guard(example[lang], lang)
    return guard.feed(text + "\n") + guard.close(), sum(guard.dropped.values())


@pytest.mark.parametrize("kind", HELD_OUT["attacks"])
def test_no_held_out_attack_reaches_the_person(kind, example):
    through = []
    for marked in HELD_OUT["attacks"][kind]:
        marked = marked.replace("¦", "")
        out, _ = passed(example, re.sub("[⟦⟧]", "", marked))
        through += [marked] if any(core in out for core in re.findall("⟦(.*?)⟧", marked)) else []
    assert through == []


def test_held_out_legitimate_sentences_survive(example):
    lost = [text for text in HELD_OUT["legitimate"] if passed(example, text)[1]]
    assert len(lost) <= 0.02 * len(HELD_OUT["legitimate"]), "\n".join(lost)


ASKED = {
    "run-1": ("loss is nan at step 4000", "loss 在第 4000 步变成 nan"),
    "run-2": ("is this run healthy?", "这次训练正常吗"),
    "run-3": ("what is wrong here?", "loss 不对劲"),
    "oom": ("cuda out of memory", "显存 OOM 了"),
    "words": ("DPO KL explodes", "训练卡住了，没有任何日志"),
}


@pytest.fixture(scope="module")
def five(tmp_path_factory):
    """What is shown of five cases in both languages, by (case, language)."""
    oom = tmp_path_factory.mktemp("memory")
    lines = [LOGS["oom"].format(i=i, l=3 - i / 200) for i in range(200)]
    (oom / "train.log").write_text("\n".join([*lines, ENDS["oom"]]) + "\n")
    made = {}
    for case, questions in ASKED.items():
        paths = {"oom": [oom], "words": []}.get(case, [EXAMPLES / case])
        for lang, question in zip(("en", "zh"), questions, strict=True):
            made[case, lang] = Shown(ask(question, paths, lang))
            brief(made[case, lang])
    return made


def told(five, item: dict) -> tuple[str, int]:
    """(what the person would see, sentences left out); `{entry}` in a sentence stands for its probability."""
    shown = five[item["case"], item["lang"]]
    guard = Guard(shown, item["lang"])
    percent = {h.entry.id: h.percent for h in shown.answer.diagnosis.hypotheses}
    said = re.sub(r"\{([a-z-]+)\}", lambda m: percent.get(m[1], m[0]), re.sub("[⟦⟧¦]", "", item["text"]))
    return guard.feed(said + "\n") + guard.close(), sum(guard.dropped.values())


@pytest.mark.parametrize("kind", HELD_OUT_CASES["attacks"])
def test_no_attack_on_five_cases_reaches_the_person(kind, five):
    through = []
    for item in HELD_OUT_CASES["attacks"][kind]:
        cores = re.findall("⟦(.*?)⟧", item["text"].replace("¦", ""), re.DOTALL)
        through += [item] if any(core in told(five, item)[0] for core in cores) else []
    assert through == []


def test_most_sentences_of_a_good_model_survive(five):
    """Written by another hand than the rules: how much of an honest answer a strict guard may cost."""
    lost = [item["text"] for item in HELD_OUT_CASES["legitimate"] if told(five, item)[1]]
    assert len(lost) <= 0.08 * len(HELD_OUT_CASES["legitimate"]), "\n".join(lost)


@pytest.mark.parametrize(
    ("said", "passes"),
    [
        ("A large learning rate makes a big stride of every update.", True),
        ("The intern unplugged the wrong rack.", False),
        ("Have you restarted the run since?", True),
        ("The restarted run stays calm.", False),
        ("梯度一大，步子就跟着变大。", True),
        ("机房的空调坏了一整夜。", False),
    ],
)
def test_words_that_no_tool_gave_are_news(five, said, passes):
    lang = "zh" if re.search("[\u4e00-\u9fff]", said) else "en"
    assert (Guard(five["run-1", lang], lang).judge(said) == "") == passes


def sentences(text: str):
    fenced = False
    for sentence in SENTENCE_END.split(text):
        if sentence.strip().startswith("```"):
            fenced = not fenced
        elif sentence.strip(" -*\n") and not fenced:
            yield sentence


def quotes(shown: Shown) -> list[str]:
    """What the narrator quotes from entries and the run: for a person to weigh, as the rules know no quotes."""
    lang, d, p = shown.answer.lang, shown.answer.diagnosis, shown.answer.proposal
    entries = [h.entry for h in d.hypotheses]
    texts = [t for e in entries for t in (e.check_first.say(lang), *(c.say(lang) for c in e.cautions))]
    for c, _ in d.conflicts:
        texts += [" / ".join(t.say(lang) for t in c.positions)]
        texts += [t.say(lang) for t in (c.about, *c.positions, c.decided_by)]
    texts += [e.text.replace("`", "'") for f in d.findings for e in f.evidence if e.text]
    return texts + ([p.why, p.expect, p.undo] if isinstance(p, Proposal) else [])


def test_the_narrators_own_sentences_survive(cases):
    total, dropped = 0, []
    for shown in cases:
        guard = Guard(shown, shown.answer.lang)
        for sentence in sentences(shown.answer.text):
            total += 1
            if rule := guard.judge(sentence):
                dropped.append((rule, sentence))
    assert total > 300
    assert len(dropped) <= 0.02 * total, "\n".join(map(str, dropped))


def test_they_survive_the_rules_alone_where_they_do_not_quote_the_runbook(cases):
    total, dropped = 0, []
    for shown in cases:
        facts, text = Facts(shown), shown.answer.text
        for quote in sorted(quotes(shown), key=len, reverse=True):
            text = text.replace(quote, "")
        for sentence in sentences(text):
            total += 1
            broken = [n for n, rule in guards.RULES.items() if rule(sentence, facts, shown.answer.lang)]
            dropped += [(broken, sentence)] if broken else []
    assert total > 300
    assert len(dropped) <= 0.02 * total, "\n".join(map(str, dropped))


SOUND = {
    ("run-1", "en"): [
        "The loss turns into NaN at step 3450 (F1), right after it had jumped at step 3380 (F4).",
        "The evidence points to a learning rate that is too high [`loss-nan-high-lr`].",
        "grad_norm climbs from 0.719 to 7.69 before that, which speaks for the rate and not for a batch.",
        "Gradient clipping is off, so nothing held the gradients back.",
        "It could also be that clipping is too loose, but two findings speak against it.",
        "Halving the learning rate is the one change proposed; leave everything else as it is.",
        "Lower the learning rate from 0.3 to 0.15 as shown below.",
        "First look at grad_norm in the 50 steps before the failure.",
        "The gradient norm is the length of the vector of all gradients; a sudden rise means large updates.",
        "Whether the data had a part in it is unknown: no data files were given.",
    ],
    ("run-1", "zh"): [
        "loss 在第 3450 步变成 NaN（F1），此前在第 3380 步已经跳高（F4）。",
        "现有证据支持学习率过高 [`loss-nan-high-lr`]。",
        "grad_norm 在此之前从 0.719 升到 7.69，这更像是学习率的问题。",
        "也可能是裁剪太松，但有两条证据反对。",
        "只改一处：把学习率从 0.3 改为 0.15。",
        "先看失败前 50 步的 grad_norm。",
        "梯度范数是所有梯度拼成的向量的长度，突然上升表示更新过大。",
    ],
}


def test_a_sound_answer_in_free_words_survives(cases):
    by_case = dict(zip(QUESTIONS, cases, strict=True))
    for key, sentences in SOUND.items():
        guard = Guard(by_case[key], key[1])
        assert {s: rule for s in sentences if (rule := guard.judge(s))} == {}


def test_a_cause_may_be_hedged_but_not_asserted_beyond_its_status(cases):
    supported, words_only = cases[0], cases[12]
    judge = Guard(supported, "en").judge
    assert judge("The learning rate is too high, and that is the cause.") == "cause"
    assert judge("The findings suggest that the learning rate is too high.") == ""
    title = words_only.answer.diagnosis.hypotheses[0].entry.title.en
    judge = Guard(words_only, "en").judge
    assert judge(f"It is likely this: {title}.") == "cause"
    assert judge(f"It might be this: {title}.") == ""


def test_the_proposed_change_keeps_its_numbers_and_direction(cases):
    judge = Guard(cases[0], "en").judge
    assert judge("Set learning_rate to 0.15.") == ""
    assert judge("Set learning_rate to 0.259.") == "advice"
    assert judge("Raise the learning rate.") == "advice"
    assert judge("Lower the learning rate and raise the warmup.") == "advice"


def test_a_model_in_a_loop_says_it_once(cases):
    guard = Guard(cases[0], "en")
    assert guard.feed("Gradient clipping is off (F9).\n" * 5).count("off") == 1
    assert guard.dropped == {"repeat": 4}


def test_random_tokens_are_not_an_answer(cases):
    rng = random.Random(3)
    letters = [chr(c) for c in (*range(97, 123), 32, 32, 32, 46)]
    for shown in cases[:2]:
        guard = Guard(shown, shown.answer.lang)
        text = (
            "".join(rng.choices(letters, k=3000))
            + "\n"
            + "".join(chr(rng.randrange(0x4E00, 0x9F00)) for _ in range(300))
        )
        assert (guard.feed(text) + guard.close()).strip() == ""


def test_streaming_in_small_pieces_gives_the_same_text(cases):
    text = "# What\n\nloss is NaN from step 3450 (F1). I fixed it. See `train.log:347`.\n\n```diff\n- x\n```\nSo far."
    whole, pieces = Guard(cases[0], "en"), Guard(cases[0], "en")
    at_once = whole.feed(text) + whole.close()
    assert "".join(pieces.feed(c) for c in text) + pieces.close() == at_once
    assert "3450" in at_once
    assert "fixed" not in at_once
    assert "```" not in at_once
    assert whole.dropped == {"execution": 1, "format": 1}


def test_the_runbooks_own_caution_is_no_attack(tmp_path):
    """Cautions speak of what not to send or run; the model must see them, and may repeat them."""
    work = "WorkNCCL(SeqNum=812, OpType=ALLREDUCE, Timeout(ms)=600000)"
    late = f"[rank3]:[E] Watchdog caught collective operation timeout: {work}"
    steps = "\n".join(f"step: {i} loss: {3 - i / 200:.4f} grad_norm: 1.1" for i in range(200))
    (tmp_path / "train.log").write_text(f"{steps}\n{late}\n")
    shown = Shown(ask("training hangs", [tmp_path], "en"))
    assert "left out" not in brief(shown)
    assert shown.attacks == []
    cautions = [c.say("en") for h in shown.answer.diagnosis.hypotheses[:1] for c in h.entry.cautions]
    assert any("SIGQUIT" in c for c in cautions)
    assert [s for c in cautions for s in sentences(c) if Guard(shown, "en").judge(s)] == []
