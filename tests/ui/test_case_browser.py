"""A case in a real browser: what waits in line, what a reload keeps, Stop, links, runs, languages, the next run."""

import re

import pytest
from browsing import EXAMPLES, MARKS, READY, add, ask, expect, tab

pytestmark = MARKS
LINES = 500_000
"""Of a log that takes some seconds to read."""
SOON = 60_000
"""Milliseconds within which it is answered on a machine that others use too."""


@pytest.fixture(scope="module")
def slow(server):
    """The name of a run that takes its time."""
    run = server[1] / "slow"
    run.mkdir()
    rows = (f"step: {i} loss: {2 + i % 7 / 10:.2f} grad_norm: {1 + i % 5 / 10:.2f}" for i in range(LINES))
    (run / "train.log").write_text("\n".join(rows) + "\n")
    return "slow"


@pytest.fixture
def busy(visit, slow):
    """A question that is being answered."""
    page = visit()
    add(page, slow)
    expect(page.locator("#tri-reads")).to_contain_text(slow)
    typed(page, "is the loss all right?")
    expect(page.locator("#tri-input .stop-button")).to_be_visible()
    return page


def typed(page, words):
    page.fill("#tri-input textarea", words)
    page.keyboard.press("Enter")


def messages(page):
    return page.locator("#tri-chat .user-row")


def idle(page):
    expect(page.locator("#tri-input .submit-button")).to_be_visible(timeout=SOON)


def test_a_question_that_is_asked_meanwhile_waits_in_line_and_is_answered(busy):
    typed(busy, "should I enable gradient clipping?")
    expect(busy.locator("#tri-line li")).to_have_text(re.compile("Waits in line.*gradient clipping"))
    expect(busy.locator("#tri-input textarea")).to_have_value("")
    idle(busy)
    expect(messages(busy)).to_have_count(2)
    expect(busy.locator("#tri-line li")).to_have_count(0)
    expect(busy.locator("#tri-chat")).to_contain_text("You plan to turn on")


def test_a_reload_keeps_the_question_and_its_answer_arrives(busy):
    typed(busy, "and what do I change?")
    busy.reload()
    expect(messages(busy).first).to_contain_text("is the loss all right?")
    idle(busy)
    expect(messages(busy)).to_have_count(2)
    expect(busy.locator("#tri-head .tri-state")).to_be_visible()


def test_a_reload_at_rest_keeps_the_conversation_and_the_panels(asked):
    expect(asked).to_have_url(re.compile(r"/case/[0-9a-f]+$"))
    asked.reload()
    expect(messages(asked)).to_contain_text("loss is nan at step 4000")
    expect(asked.locator("#tri-head")).to_contain_text("learning rate is too high")
    expect(asked.locator(".tri-finding").first).to_contain_text("loss-nonfinite")


def test_stop_stops_and_says_so(busy):
    busy.locator("#tri-input .stop-button").click()
    expect(busy.locator("#tri-chat")).to_contain_text("Stopped.")
    idle(busy)
    expect(busy.locator("#tri-chat")).not_to_contain_text("Looking")
    expect(busy.locator("#tri-cases")).to_contain_text("No cases yet")
    expect(busy.locator("#tri-reads")).to_contain_text("slow")


def test_after_stop_comes_what_waited(busy):
    typed(busy, "what does grad clipping do?")
    expect(busy.locator("#tri-line li")).to_have_count(1)
    busy.locator("#tri-input .stop-button").click()
    idle(busy)
    expect(busy.locator("#tri-chat")).to_contain_text("Stopped.")
    expect(messages(busy).last).to_contain_text("grad clipping")
    expect(busy.locator("#tri-head .tri-state")).to_be_visible()


def test_a_new_case_leaves_a_running_answer_to_its_own(busy):
    busy.get_by_role("button", name="New case").click()
    expect(busy.locator("#tri-head")).to_contain_text("No answer yet")
    ask(busy, "what does warm-up do?")
    expect(messages(busy)).to_have_count(1)
    busy.fill("#tri-search textarea, #tri-search input", "slow")
    expect(busy.locator("#tri-cases li")).to_have_count(1, timeout=SOON)


def test_a_case_has_a_link_and_is_called_after_its_cause_and_run(asked, visit):
    asked.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect(asked).to_have_title("Loss diverges because the learning rate is too high · run-1 · triage")
    expect(asked.locator("#tri-cases .tri-on")).to_contain_text("learning rate is too high · run-1")
    asked.locator("[data-link]").click()
    link = asked.evaluate("navigator.clipboard.readText()")
    assert link == asked.url
    second = asked.context.new_page()
    second.goto(link)
    expect(second.locator("#tri-head")).to_contain_text("learning rate is too high")
    assert second.url == link


def test_the_link_of_another_opens_nothing(asked, visit):
    stranger = visit(asked.url)
    expect(stranger.get_by_text("no such case of yours")).to_be_visible()
    expect(stranger.locator("#tri-head")).to_contain_text("No answer yet")
    expect(stranger.locator("#tri-cases")).to_contain_text("No cases yet")
    expect(stranger).to_have_title("triage")


def test_a_path_that_was_typed_and_not_added_is_read(visit):
    page = visit()
    page.fill("#tri-path input", "run-1")
    typed(page, "loss is nan")
    expect(page.locator("#tri-head")).to_contain_text("learning rate is too high", timeout=SOON)
    expect(page.locator("#tri-reads")).to_contain_text("run-1")
    expect(page.locator("#tri-path input")).to_have_value("")


def test_a_path_that_is_not_there_keeps_the_question(visit):
    page = visit()
    page.fill("#tri-path input", "no-such-run")
    typed(page, "loss is nan")
    expect(page.locator("#tri-chat")).to_contain_text("no such file")
    expect(page.locator("#tri-input textarea")).to_have_value("loss is nan")


def test_a_run_can_be_taken_out_of_a_case(asked):
    asked.get_by_role("button", name=re.compile("^Remove .*run-1")).click()
    expect(asked.locator("#tri-reads")).not_to_contain_text("run-1")
    add(asked, "run-2")
    expect(asked.locator("#tri-reads")).to_contain_text("run-2")
    typed(asked, "what is wrong with this one?")
    expect(asked.locator("#tri-head .tri-state")).to_have_text("Healthy", timeout=SOON)
    asked.reload()
    expect(asked.locator("#tri-reads")).to_contain_text("run-2")
    expect(asked.locator("#tri-reads")).not_to_contain_text("run-1")


def test_language_and_theme_are_remembered(asked):
    asked.get_by_label("中文").click()
    expect(asked.locator("#tri-head")).to_contain_text("学习率过高")
    asked.get_by_role("button", name="浅色 / 深色").click()
    dark = asked.evaluate("document.body.classList.contains('dark')")
    again = asked.context.new_page()
    again.goto(asked.url.split("/case")[0])
    expect(again.locator("#tri-cases")).to_have_text(READY)
    expect(again.get_by_role("button", name="新建案例")).to_be_visible()
    expect(again.get_by_label("中文")).to_be_checked()
    assert again.evaluate("document.body.classList.contains('dark')") == dark
    assert again.evaluate("document.documentElement.lang") == "zh"


def test_the_whole_page_follows_a_question_in_the_other_language(visit):
    page = visit()
    add(page, "run-1")
    expect(page.locator("#tri-reads")).to_contain_text("run-1")
    typed(page, "loss 变成 nan，先改什么？")
    expect(page.locator("#tri-head")).to_contain_text("学习率过高", timeout=SOON)
    expect(page.locator("#tri-chat")).to_contain_text("最可能")
    expect(page.get_by_role("tab", name=re.compile("^证据"))).to_be_visible()
    expect(page.get_by_role("button", name="新建案例")).to_be_visible()
    english = re.compile(r"Search cases|New case|Most likely|Check first|Upload folder|Evidence|Copy patch")
    expect(page.locator("body")).not_to_contain_text(english)
    assert page.evaluate("document.documentElement.lang") == "zh"


def test_the_head_leads_to_verification_and_turns_green(asked):
    head = asked.locator("#tri-head")
    expect(head).to_contain_text("78%")
    expect(head.locator(".tri-strong")).to_contain_text("F1 loss is nan from step 3450")
    expect(head.locator(".tri-one")).to_contain_text("learning_rate")
    head.get_by_role("button", name="Verify the next run").click()
    expect(asked.get_by_role("tab", name="Verify")).to_have_attribute("aria-selected", "true")
    asked.locator("#tri-next-files input.tri-dir").set_input_files(EXAMPLES / "run-2")
    expect(head.locator(".tri-state").first).to_have_text("fixed", timeout=SOON)
    expect(head.locator(".tri-done")).to_be_visible()
    asked.reload()
    expect(head.locator(".tri-state").first).to_have_text("fixed")


def test_tabs_without_content_are_hidden(visit, tmp_path):
    page = visit()
    expect(page.get_by_role("tab", name="Evidence")).to_be_visible()
    for name in ("Causes", "Change", "Plots", "Verify", "Labels"):
        expect(page.get_by_role("tab", name=name)).to_be_hidden()
    (tmp_path / "train.jsonl").write_text('{"input_ids": [5, 6, 7], "labels": [-100, 6, 7]}\n' * 8)
    page.locator("#tri-folder input.tri-many").set_input_files(tmp_path / "train.jsonl")
    expect(page.locator("#tri-reads")).to_contain_text("train.jsonl")
    ask(page, "are the labels right?")
    expect(page.get_by_role("tab", name="Labels")).to_be_visible()
    expect(page.get_by_role("tab", name="Plots")).to_be_hidden()
    tab(page, "Labels")
    expect(page.locator("#tri-labels")).to_contain_text("of 24 tokens")


def test_the_question_stands_at_the_top_of_its_answer(asked):
    box, row = (asked.locator(s).last.bounding_box() for s in ("#tri-chat .bubble-wrap", "#tri-chat .user-row"))
    assert row["y"] >= box["y"] - 1
    expect(asked.locator("#tri-chat")).to_contain_text("Change one thing")
    expect(asked.locator("#tri-chat")).not_to_contain_text("triage verify")
