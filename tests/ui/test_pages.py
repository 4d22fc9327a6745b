"""The HTML report: whole, redacted, escaped, and asking for nothing from outside."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from triage.agent.session import ask
from triage.ui import pages as report
from triage.ui.cli import app

EXAMPLE = Path(__file__).parents[2] / "evals" / "example"


class Page(HTMLParser):
    """The elements of a page, their text, and every address in them; fails on one that is not closed."""

    VOID = frozenset({"meta", "br", "hr", "path", "use", "rect"})

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.addresses, self.words = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.addresses += [v for k, v in attrs if k in ("href", "src", "xlink:href", "action", "data", "srcset")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def written(path):
    return Page(path.read_text(encoding="utf-8"))


def run(*args, home):
    return CliRunner().invoke(app, [*map(str, args)], env={"TRIAGE_HOME": str(home)})


@pytest.fixture(scope="module")
def answered():
    return report.answer_page(ask("loss is nan at step 4000", [EXAMPLE / "run-1"]))


class TestAnAnswer:
    def test_it_shows_the_diagnosis_the_plot_the_change_and_the_lines(self, answered):
        page = Page(answered)
        assert "Loss diverges because the learning rate is too high" in page.text
        assert page.tags.count("svg") == 1
        assert "learning_rate: 0.3 learning_rate: 0.15" in page.text
        assert "347 {'loss': 'nan', 'grad_norm': 'nan'" in page.text

    def test_it_asks_for_nothing_from_outside(self, answered):
        assert {a[0] for a in Page(answered).addresses} == {"#"}
        assert re.findall(r"@import|url\((?!#)", answered) == []
        assert "default-src 'none'" in answered

    def test_its_policy_allows_the_script_that_draws_and_no_other(self, answered):
        (policy,) = re.findall(r'Security-Policy" content="([^"]*)"', answered)
        (script,) = re.findall(r"<script>(.*?)</script>", answered, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert policy == f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'"

    def test_the_headline_comes_first_then_the_change_the_plot_and_what_was_found(self, answered):
        text = Page(re.sub(r"<script>.*?</script>", "", answered, flags=re.DOTALL)).text
        places = [
            text.index(part) for part in ("Most likely", "learning_rate: 0.3", "Plots", "What was found", "Cautions")
        ]
        assert places == sorted(places)

    def test_lines_that_several_findings_name_are_quoted_once(self, answered):
        assert answered.count("<td>347</td>") == 1
        assert answered.count("<td>176</td>") == 1

    def test_it_is_chinese_for_a_chinese_question(self):
        page = Page(report.answer_page(ask("训练到一半 loss 变成 nan 了", [EXAMPLE / "run-1"])))
        assert "唯一的改动" in page.text
        assert "首个坏步 3450" in page.text

    def test_a_question_without_a_run_has_no_plot(self):
        text = report.answer_page(ask("what does grad clipping do"))
        assert {"svg", "script"}.isdisjoint(Page(text).tags)
        assert "script-src" not in text


class TestWhatComesFromARun:
    @pytest.fixture
    def hostile(self, tmp_path):
        self.token = "hf_" + "aB3d" * 9
        lines = [f"step: {i} loss: {2 - i / 300:.4f} grad_norm: 1.0" for i in range(300)]
        lines.insert(299, f"<script>alert(1)</script> ![x](http://evil.example/x.png) HF_TOKEN={self.token}")
        lines += [f"step: {i} loss: nan grad_norm: nan" for i in range(300, 400)]
        lines.append("RuntimeError: CUDA out of memory <img src=http://evil.example/y.png> [a](http://evil.example)")
        (tmp_path / "train.log").write_text("\n".join(lines))
        return tmp_path

    def test_its_words_stay_words(self, hostile):
        page = Page(report.answer_page(ask("<b>oom</b> ![q](http://evil.example/q.png)", [hostile])))
        assert {"img", "a"}.isdisjoint(page.tags)
        assert page.tags.count("script") == 1
        assert not any("evil" in a for a in page.addresses)
        assert "<script>alert(1)</script>" in page.text

    def test_its_secrets_are_not_shown(self, hostile):
        assert self.token not in report.answer_page(ask(f"oom with {self.token}", [hostile]))


class TestTheOption:
    def test_scan_draws_every_run(self, tmp_path):
        done = run("scan", EXAMPLE / "run-1", EXAMPLE / "run-2", "--html", tmp_path / "r.html", home=tmp_path)
        assert done.exit_code == 1, done.stderr
        assert "wrote" in done.stderr
        page = written(tmp_path / "r.html")
        assert page.tags.count("svg") == 2
        assert "S0 loss-nonfinite : loss is nan from step 3450" in page.text

    @pytest.mark.parametrize(
        ("arguments", "shows"),
        [
            (["lint", EXAMPLE / "run-1"], "grad-clip-off"),
            (["data", "check", "{tmp}/d.jsonl"], "records by estimated tokens"),
            (["data", "dedup", "{tmp}/d.jsonl"], "exact-duplicates"),
            (["data", "pii", "{tmp}/d.jsonl"], "Nothing wrong was found"),
        ],
        ids=lambda value: " ".join(map(str, value[:2])) if isinstance(value, list) else "",
    )
    def test_every_tool_writes_one(self, tmp_path, arguments, shows):
        (tmp_path / "d.jsonl").write_text('{"text": "the same words in every record of this file"}\n' * 40)
        filled = [str(a).replace("{tmp}", str(tmp_path)) for a in arguments]
        done = run(*filled, "--json", "--html", tmp_path / "r.html", home=tmp_path)
        assert done.exit_code in (0, 1), done.stderr
        assert shows in written(tmp_path / "r.html").text

    def test_ask_writes_one(self, tmp_path):
        page = tmp_path / "r.html"
        done = run("ask", "nan", "--run", EXAMPLE / "run-1", "--html", page, home=tmp_path)
        assert (done.exit_code, page.stat().st_mode & 0o777) == (1, 0o644)

    def test_it_replaces_its_own_report_and_nothing_else(self, tmp_path):
        mine = tmp_path / "notes.html"
        mine.write_text("<p>mine</p>")
        refused = run("lint", EXAMPLE / "run-1", "--html", mine, home=tmp_path)
        assert isinstance(refused.exception, Exception)
        assert "choose another name" in str(refused.exception)
        assert mine.read_text() == "<p>mine</p>"
        for _ in range(2):
            assert run("lint", EXAMPLE / "run-1", "--html", tmp_path / "r.html", home=tmp_path).exit_code == 1

    def test_a_folder_that_is_not_there_is_named(self, tmp_path):
        done = run("lint", EXAMPLE / "run-1", "--html", tmp_path / "no" / "r.html", home=tmp_path)
        assert "no/r.html" in str(done.exception)


class TestScanInTheTerminal:
    def test_a_pipe_gets_no_plot_unless_asked(self, tmp_path):
        assert "⠀" not in run("scan", EXAMPLE / "run-1", home=tmp_path).stdout
        drawn = run("scan", EXAMPLE / "run-1", "--plot", home=tmp_path).stdout
        assert "first bad step 3450" in drawn
        assert "⡇" in drawn

    def test_json_is_only_json(self, tmp_path):
        assert run("scan", EXAMPLE / "run-1", "--plot", "--json", home=tmp_path).stdout.startswith("{")


def test_a_diff_stands_side_by_side():
    patch = "--- a/x\n+++ b/x\n@@ -1,3 +1,4 @@\n a\n-b\n-c\n+B\n d\n+e\n"
    assert list(report.side_by_side(patch)) == [
        ("hunk", "@@ -1,3 +1,4 @@", ""),
        ("same", "a", "a"),
        ("changed", "b", "B"),
        ("changed", "c", ""),
        ("same", "d", "d"),
        ("changed", "", "e"),
    ]


def test_start_up_imports_nothing_heavy():
    """`triage --help` must answer at once: numpy, pydantic and the rest wait for the command that needs them."""
    import subprocess
    import sys

    heavy = ("numpy", "pydantic", "yaml", "pyarrow", "matplotlib", "jinja2", "chromadb", "torch", "langchain", "gradio")
    code = f"import sys, triage.ui.cli; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(("given", "threads"), [({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_a_question_takes_one_thread_for_its_products_unless_told_otherwise(tmp_path, given, threads):
    import os
    import subprocess
    import sys

    code = (
        "import atexit, os, sys; from triage.ui.cli import main; "
        "atexit.register(lambda: print(os.environ['OPENBLAS_NUM_THREADS'], file=sys.stderr)); "
        "sys.argv = ['triage', 'ask', 'loss is nan', '--json']; main()"
    )
    env = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"} | {"TRIAGE_HOME": str(tmp_path)} | given
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=env, check=False
    )
    assert done.stderr.splitlines()[-1] == threads


class TestAVerdict:
    """`triage verify --html`: the verdict, each criterion with its number, both runs in one picture."""

    @pytest.fixture(scope="class")
    def judged(self, tmp_path_factory):
        folder = tmp_path_factory.mktemp("verdict")
        options = ["--baseline", EXAMPLE / "run-1", "--candidate", EXAMPLE / "run-2"]
        done = run("verify", *options, "--html", folder / "v.html", home=folder / "home")
        return done, (folder / "v.html").read_text(encoding="utf-8")

    def test_the_headline_the_criteria_and_the_findings_stand_in_this_order(self, judged):
        done, page = judged
        assert (done.exit_code, done.output.splitlines()[0][:9]) == (0, "**fixed**")
        text = Page(re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)).text
        parts = ("fixed", "learning_rate : 0.3 → 0.15", "What must hold", "0.5779 ± 0.027", "no worse than before")
        parts += ("Plots", "What the baseline shows", "What the next run shows", "What was looked at in the next run")
        places = [text.index(part) for part in parts]
        assert places == sorted(places)

    def test_both_runs_are_in_one_picture_with_and_without_scripts(self, judged):
        page = judged[1]
        assert page.count("data-plot=") == 1
        assert {"baseline", "candidate"} <= set(re.findall(r">(baseline|candidate)<", page))
        assert "&#34;label&#34;:&#34;candidate&#34;" in page

    def test_a_criterion_on_a_finding_reads_as_one(self, judged):
        text = Page(judged[1]).text
        assert "grad-norm-climb-before-nan is no longer found" in text
        assert "False" not in Page(re.sub(r"<(script|svg).*?</\1>", "", judged[1], flags=re.DOTALL)).text

    def test_it_speaks_chinese_to_its_numbers(self, tmp_path):
        options = ["--baseline", EXAMPLE / "run-1", "--candidate", EXAMPLE / "run-4", "--lang", "zh"]
        done = run("verify", *options, "--html", tmp_path / "v.html", home=tmp_path / "home")
        assert done.exit_code == 1
        text = written(tmp_path / "v.html").text
        assert "无法判断 （inconclusive）" in text
        assert "太短：运行必须到第 3450 步，它在第 400 步结束" in text
        assert "未观察到" in text
        assert "too short" not in text

    def test_another_file_is_not_overwritten(self, tmp_path):
        (tmp_path / "mine.html").write_text("mine")
        options = ["--baseline", EXAMPLE / "run-1", "--candidate", EXAMPLE / "run-2"]
        done = run("verify", *options, "--html", tmp_path / "mine.html", home=tmp_path / "home")
        assert "not a report of triage" in str(done.exception)
        assert (tmp_path / "mine.html").read_text() == "mine"
