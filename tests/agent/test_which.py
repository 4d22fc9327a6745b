"""Which of several runs in a folder a question is about, and which checkpoint is the last good one."""

import pytest

from triage.agent.session import ask


@pytest.mark.parametrize(
    ("folders", "words", "about"),
    [
        (("", "pilot/"), "needle is bad", "run"),
        (("run_a/", "run_b/"), "run B is worse on val loss than run A", "run_b"),
        (("run-a/", "run-b/"), "is run a fine?", "run-a"),
        (("seed1/", "seed2/"), "is anything wrong with seed2?", "seed2"),
        (("gru_net/", "mlp_net/"), "does the GRU really reach that?", "gru_net"),
        (("gru_net/", "mlp_net/"), "GRU模型的结果真实吗", "gru_net"),
        (("gru_net/", "mlp_net/"), "is the GRU better than the MLP?", "mlp_net"),  # both: the worse one
        (("gru_net/", "mlp_net/"), "is this net fine?", "mlp_net"),  # what both are called names neither
    ],
)
def test_the_one_that_is_named_else_the_one_in_the_path_itself(tmp_path, folders, words, about):
    base = tmp_path / "run"
    for i, folder in enumerate(folders):
        lines = "".join(f"step {n} loss {3 / (1 + n / 20) + 0.1 * i + 0.01 * (n * 7 % 5):.4f}\n" for n in range(80))
        (base / folder).mkdir(parents=True, exist_ok=True)
        (base / folder / "train.log").write_text(lines)
    assert ask(words, [base]).run.rstrip("/").rpartition("/")[2] == about


@pytest.mark.parametrize(
    ("words", "lang", "fall", "told"),
    [
        (
            "which checkpoint should we release?",
            "en",
            700,
            "Last good checkpoint by the scores that were read: step 700",
        ),
        ("最后一个好的检查点是哪个", "zh", 500, "最后一个好的检查点是第 500 步"),
        ("why did ifeval fall?", "en", 700, ""),
        ("which checkpoint should we release?", "en", 9000, ""),  # nothing fell
    ],
)
def test_the_last_good_checkpoint_is_told_where_it_is_asked(tmp_path, words, lang, fall, told):
    rows = [f"{s},{0.61 - 0.2 * (s > fall) + 0.004 * (s // 100 * 7 % 5 - 2):.4f}" for s in range(100, 1501, 100)]
    (tmp_path / "evals.csv").write_text("\n".join(["step,ifeval", *rows]) + "\n")
    said = " ".join(ask(words, [tmp_path], lang=lang).head)
    assert (told in said) if told else ("Last good checkpoint" not in said)


@pytest.mark.parametrize(
    ("words", "behind"),
    [
        ("the score is down. plan: continue from the 1.1k checkpoint, agree?", True),
        ("分数掉了，我打算从 1300 步的检查点续训，行吗？", True),
        ("the score is down. plan: continue from the 600 checkpoint, agree?", False),
        ("分数掉了，我打算从 500 步的检查点续训，行吗？", False),
    ],
)
def test_a_plan_to_go_on_from_behind_the_fall_is_told_no(tmp_path, words, behind):
    rows = [f"{s},{0.58 - 0.15 * (s > 700) + 0.004 * (s // 100 * 7 % 5 - 2):.4f}" for s in range(100, 1501, 100)]
    (tmp_path / "evals.csv").write_text("\n".join(["step,gsm8k", *rows]) + "\n")
    found = ask(words, [tmp_path])
    plans = [w.verdict for w in found.reply.plans if w.plan.variable == "checkpoint"]
    assert plans == ["harmful" if behind else "is-the-proposal"]
    assert "700" in str(found.proposal.new)
    assert "800" not in str(found.proposal.new)
