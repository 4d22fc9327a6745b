"""Plots in a real browser, in the web app and in the HTML report: hover, zoom, the onset, from a finding and back."""

import re
import time

import pytest
from browsing import EXAMPLES, MARKS, add, ask, expect, tab

from triage.agent.acceptance.verify import compared
from triage.agent.session import ask as answer_to
from triage.knowledge.compiled import compiled
from triage.ui.pages import answer_page, verdict_page

pytestmark = MARKS
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "has_touch": True}
FLUID = 0.1
"""Seconds in which a picture of a million points is drawn again."""


@pytest.fixture
def plotted(asked):
    tab(asked, "Plots")
    expect(asked.locator(".tp-panel")).to_have_count(3, timeout=30_000)
    return asked


@pytest.fixture
def report(browser, tmp_path):
    """The HTML report of the bundled run, opened; its policy is broken by nothing in it."""
    page = tmp_path / "report.html"
    page.write_text(answer_page(answer_to("loss is nan at step 4000", [EXAMPLES / "run-1"])))
    said = []

    def open_(**options):
        tab = browser.new_context(**options).new_page()
        tab.on("console", lambda m: said.append(m.text))
        tab.on("pageerror", lambda e: said.append(str(e)))
        tab.goto(page.as_uri())
        expect(tab.locator(".tp-panel")).to_have_count(3)
        return tab

    yield open_
    assert said == []


def spans(page, column="whole"):
    """First and last step of each chart of a column."""
    return page.evaluate(
        "c => document.querySelector('[data-plot]').tpPicture.ranges(c)", column
    )  # fmt: skip


def drag(page, chart, first, last):
    box = chart.bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + first * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + last * box["width"], y, steps=6)
    page.mouse.up()


def test_the_onset_stands_beside_the_whole_run(plotted):
    assert spans(plotted) == [[10, 5000]] * 3
    [[first, last], *_] = spans(plotted, "onset")
    assert 2900 < first < 3450 < last < 3700
    expect(plotted.locator(".tp-read").first).to_contain_text("first bad step 3450")


def test_hovering_reads_every_panel_at_that_step(plotted):
    box = plotted.locator(".tp-whole .u-over").first.bounding_box()
    plotted.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    for i in range(3):
        expect(plotted.locator(".tp-read").nth(i)).to_have_text(re.compile(r"^step 2\d{3} · [\d.]+$"))


def test_dragging_zooms_all_panels_and_reset_shows_all_again(plotted):
    drag(plotted, plotted.locator(".tp-whole .u-over").nth(1), 0.2, 0.4)
    [first, *others] = spans(plotted)
    assert others == [first, first]
    assert 900 < first[0] < 1100
    assert 1900 < first[1] < 2100
    plotted.locator(".tp-reset").click()
    assert spans(plotted) == [[10, 5000]] * 3
    drag(plotted, plotted.locator(".tp-whole .u-over").first, 0.5, 0.9)
    plotted.locator(".tp-whole .u-over").first.dblclick()
    assert spans(plotted) == [[10, 5000]] * 3


def test_scale_and_smoothing_can_be_chosen(plotted):
    log = plotted.locator(".tp-log").first
    expect(log).to_have_attribute("aria-pressed", "true")
    log.click()
    expect(log).to_have_attribute("aria-pressed", "false")
    expect(plotted.locator(".tp-panel canvas")).to_have_count(6)
    before = plotted.evaluate("document.querySelector('.tp-panel canvas').toDataURL()")
    plotted.locator(".tp-smooth input").fill("0.9")
    plotted.wait_for_timeout(300)
    assert plotted.evaluate("document.querySelector('.tp-panel canvas').toDataURL()") != before


def test_a_mark_leads_to_its_finding_and_the_finding_back_to_the_point(plotted):
    plotted.locator(".tp-whole .tp-mark", has_text="F6").click()
    expect(plotted.get_by_role("tab", name=re.compile("^Evidence"))).to_have_attribute("aria-selected", "true")
    expect(plotted.locator(".tri-finding.tri-on")).to_contain_text("loss-oscillation")
    plotted.get_by_role("button", name="Show in the plot").click()
    expect(plotted.locator(".tp-here").first).to_have_text("F6")
    [[first, last], *_] = spans(plotted)
    assert 1400 < first < 1740 < last < 2100


def test_the_next_run_is_drawn_beside_the_baseline(asked):
    tab(asked, "Verify")
    asked.locator("#tri-next-files input.tri-dir").set_input_files(EXAMPLES / "run-2")
    expect(asked.locator("#tri-verdict .tri-state").first).to_have_text("fixed", timeout=30_000)
    tab(asked, "Plots")
    expect(asked.locator(".tp-line")).to_have_text(["baseline", "candidate"], timeout=30_000)
    asked.locator(".tp-line", has_text="baseline").click()
    expect(asked.locator(".tp-line[aria-pressed=false]")).to_have_text("baseline")


def test_a_million_points_stay_fluid(visit, server):
    _, roots = server
    run = roots / "long"
    run.mkdir()
    rows = (f"{i},{2 + (i * 7919 % 1000) / 1000 if i != 777_777 else 50}" for i in range(1_000_000))
    (run / "metrics.csv").write_text("step,loss\n" + "\n".join(rows) + "\n")
    page = visit()
    add(page, "long")
    expect(page.locator("#tri-reads")).to_contain_text("long")
    page.fill("#tri-input textarea", "is the loss all right?")
    page.keyboard.press("Enter")
    expect(page.locator("#tri-head .tri-state")).to_be_visible(timeout=120_000)
    tab(page, "Plots")
    expect(page.locator(".tp-panel").first).to_be_visible(timeout=60_000)
    page.evaluate("window.triagePlots.again()")
    began = time.perf_counter()
    for _ in range(10):
        page.evaluate("window.triagePlots.again()")
    assert (time.perf_counter() - began) / 10 < FLUID


def test_a_report_can_be_looked_into_and_fits_in_three_thousand_pixels(report):
    page = report(viewport={"width": 1200, "height": 900})
    assert page.evaluate("document.documentElement.scrollHeight") < 3000
    drag(page, page.locator(".tp-whole .u-over").first, 0.2, 0.4)
    assert spans(page)[2] == spans(page)[0] != [10, 5000]
    page.locator(".tp-whole .tp-mark", has_text=re.compile("^F")).first.click()
    expect(page.locator(".finding:focus")).to_be_in_viewport()
    page.locator("#F6 [data-point]").click()
    expect(page.locator(".tp-here").first).to_have_text("F6")
    expect(page.locator(".tp-here").first).to_be_in_viewport()


def test_a_phone_sees_the_failing_part_of_a_report(report):
    page = report(**PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    [[first, last], *_] = spans(page, "onset")
    assert first < 3450 < last
    expect(page.locator(".tp-whole .uplot")).to_have_count(0)
    expect(page.locator(".tp-onset .uplot").first).to_be_visible()
    page.get_by_text("What was looked at").click()
    widths = page.evaluate("[...document.querySelectorAll('.looked th')].map(e => e.clientHeight)")
    assert max(widths) < 40, "a heading breaks"


@pytest.mark.parametrize("options", [{"viewport": {"width": 1200, "height": 900}}, PHONE])
def test_the_page_of_a_verdict_draws_both_runs_over_each_other(browser, tmp_path, options):
    entry = compiled(None, {}).runbook.entries["loss-nan-high-lr"]
    page, said = tmp_path / "verdict.html", []
    page.write_text(verdict_page(*compared(EXAMPLES / "run-1", EXAMPLES / "run-2", entry)))
    tab = browser.new_context(**options).new_page()
    tab.on("console", lambda m: said.append(m.text))
    tab.on("pageerror", lambda e: said.append(str(e)))
    tab.goto(page.as_uri())
    expect(tab.locator(".tp-panel")).to_have_count(3)
    for run in ("baseline", "candidate"):
        expect(tab.get_by_text(run, exact=True).first).to_be_visible()
    expect(tab.locator("td.pass")).to_have_count(4)
    assert tab.evaluate("document.documentElement.scrollWidth") <= options["viewport"]["width"]
    assert said == []


def test_a_report_without_scripts_still_shows_the_series(browser, tmp_path):
    page = tmp_path / "report.html"
    page.write_text(answer_page(answer_to("loss is nan", [EXAMPLES / "run-1"])))
    shown = browser.new_context(java_script_enabled=False).new_page()
    shown.goto(page.as_uri())
    expect(shown.locator("figure svg")).to_be_visible()


def test_a_question_about_a_run_without_metrics_has_no_plot(visit, tmp_path):
    log = tmp_path / "crash.log"
    log.write_text("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n")
    page = visit()
    page.locator("#tri-folder input.tri-many").set_input_files(log)
    expect(page.locator("#tri-reads")).to_contain_text("crash.log")
    ask(page, "it crashed")
    expect(page.locator(".tp-panel")).to_have_count(0)
