"""The web app in a real browser: everything that a person does.

Deselected by default (`pytest -m browser -n 0`); it needs Playwright for Python and a Chromium. The pictures of the
documentation are made by `python tests/shared/pictures.py docs/images`.
"""

import os
import re

import pytest
from browsing import EXAMPLES, MARKS, READY, add, ask, expect, start, tab

pytestmark = MARKS
HOSTILE = "<img src=x onerror=\"document.title='owned'\">"


def test_the_empty_page_says_how_to_begin(visit):
    page = visit()
    expect(page.locator("#tri-chat")).to_contain_text("Ask about a run")
    expect(page.locator("#tri-cases")).to_contain_text("No cases yet")
    page.get_by_text("KL explodes in DPO").click()
    expect(page.locator("#tri-input textarea")).to_have_value("KL explodes in DPO")


def test_a_question_shows_its_steps_the_diagnosis_and_the_lines_behind_a_finding(asked):
    expect(asked.locator("#tri-head")).to_contain_text("learning rate is too high")
    expect(asked.locator("#tri-chat")).to_contain_text("Looked with")
    asked.locator("[data-pick]", has_text="loss-nonfinite").first.click()
    expect(asked.locator(".tri-hit").first).to_contain_text("nan")
    asked.evaluate("document.body.classList.add('dark')")
    asked.locator("[data-pick]", has_text="loss-nonfinite").first.click()
    expect(asked.locator(".tri-hit")).to_have_count(0)


def test_keyboard_alone_opens_a_finding(asked):
    asked.locator(".tri-finding").nth(1).focus()
    asked.keyboard.press("Enter")
    expect(asked.locator(".tri-hit").first).to_be_visible()


def test_the_change_is_a_side_by_side_diff_that_can_be_copied(asked):
    asked.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab(asked, "Change")
    expect(asked.locator("#tri-change .tri-gone")).to_have_text("learning_rate: 0.3")
    expect(asked.locator("#tri-change .tri-come")).to_have_text("learning_rate: 0.15")
    asked.click("#tri-change .tri-copy")
    expect(asked.locator("#tri-change .tri-copy")).to_have_text("Copied")
    assert "+learning_rate: 0.15" in asked.evaluate("navigator.clipboard.readText()")


def test_causes_lead_to_their_evidence(asked):
    tab(asked, "Causes")
    expect(asked.locator(".tri-causes tbody")).to_have_count(5)
    asked.locator(".tri-chip", has_text="F9").first.click()
    expect(asked.locator(".tri-hit").first).to_contain_text("max_grad_norm")


def test_an_uploaded_next_run_gets_a_verdict(asked):
    tab(asked, "Verify")
    asked.locator("#tri-next-files input.tri-dir").set_input_files(EXAMPLES / "run-2")
    expect(asked.locator("#tri-verdict .tri-state").first).to_have_text("fixed", timeout=30_000)
    expect(asked.locator("#tri-cases .tri-on")).to_contain_text("fixed")


@pytest.mark.parametrize("width", [1180, 1280, 1900])
def test_the_way_to_the_next_run_opens_its_tab_where_that_has_no_room(asked, width):
    asked.set_viewport_size({"width": width, "height": 800})
    asked.locator("[data-tab=verify]").click()
    expect(asked.locator("#tri-verify-path input")).to_be_visible()


def test_the_whole_interface_changes_its_language(asked):
    asked.get_by_label("中文").click()
    expect(asked.locator("#tri-head")).to_contain_text("学习率过高")
    expect(asked.get_by_role("tab", name=re.compile(r"^证据 \(\d+\)"))).to_be_visible()
    english = re.compile(r"Search cases|New case|Check first|Upload folder|Helpful")
    expect(asked.locator("body")).not_to_contain_text(english)
    for words in ("搜索案例", re.compile("^出了什么问题"), "服务器上的路径"):
        expect(asked.get_by_placeholder(words).first).to_be_visible()
    tab(asked, "改动")
    expect(asked.locator("#tri-change")).to_contain_text("撤销")


def test_a_chinese_browser_gets_a_chinese_page(visit):
    expect(visit(locale="zh-CN").locator("#tri-cases")).to_contain_text("还没有案例")


def test_a_case_is_found_again_after_a_reload_with_its_evidence(asked):
    case = asked.locator("#tri-head .tri-id code").inner_text()
    asked.reload()
    asked.fill("#tri-search textarea, #tri-search input", "learning rate")
    asked.locator(f"#tri-cases [data-pick='{case}']").click()
    expect(asked.locator("#tri-head")).to_contain_text("learning rate is too high")
    asked.locator("#tri-findings [data-pick=F1]").click()
    expect(asked.locator(".tri-hit").first).to_contain_text("nan")
    asked.fill("#tri-search textarea, #tri-search input", "no such words")
    expect(asked.locator("#tri-cases")).to_contain_text("No case matches")


def test_feedback_is_stored_on_the_case(asked):
    asked.click("[data-pick=resolved]")
    expect(asked.locator("#tri-cases .tri-on")).to_contain_text("resolved")


def test_an_upload_that_cannot_be_read_is_said_to_be_so(visit, tmp_path):
    bad = tmp_path / "weights.bin"
    bad.write_bytes(os.urandom(4096))
    page = visit()
    page.locator("#tri-folder input.tri-many").set_input_files(bad)
    expect(page.locator("#tri-reads")).to_contain_text("weights.bin")
    page.fill("#tri-input textarea", "what happened?")
    page.keyboard.press("Enter")
    expect(page.locator("#tri-chat")).to_contain_text("could not be answered", timeout=20_000)
    page.get_by_role("button", name="Remove").click()
    ask(page, "loss is nan")


def test_text_of_a_run_is_never_markup(visit, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    more = f"{HOSTILE} ![x](http://192.0.2.1/p.png) {{{{value}}}} ${{7*191}} {{{{#each value}}}}x{{{{/each}}}}"
    lines = [f"step {i} loss {1 / i if i < 60 else 'nan'} {more}" for i in range(1, 90)]
    (run / f"train {HOSTILE.replace('/', '')}.log").write_text("\n".join(lines))
    (run / "train.yaml").write_text(f"learning_rate: 1.0 # {HOSTILE}\nmax_grad_norm: 0.0 # {HOSTILE}\nmax_steps: 90\n")
    page = visit()
    page.locator("#tri-folder input.tri-dir").set_input_files(run)
    expect(page.locator("#tri-reads")).to_contain_text("run")
    ask(page, f"loss is nan {HOSTILE}")
    page.locator(".tri-finding").first.click()
    expect(page.locator(".tri-hit").first).to_contain_text("<img")
    expect(page.locator(".tri-hit").first).to_contain_text("{{value}} ${7*191} {{#each value}}x{{/each}}")
    expect(page.locator("body")).not_to_contain_text("1337")
    for name in ("Causes", "Change", "Plots", "Verify"):
        tab(page, name)
        page.wait_for_timeout(500)
    assert "owned" not in page.title().split()
    assert page.title() != "owned"
    assert page.locator("main img[src=x], [onerror]").count() == 0


def test_two_visitors_see_neither_each_others_cases_nor_files(visit, tmp_path):
    log = tmp_path / "secret-run.log"
    log.write_text("\n".join(f"step {i} loss {1 / i if i < 60 else 'nan'}" for i in range(1, 90)))
    first, second = visit(), visit()
    first.locator("#tri-folder input.tri-many").set_input_files(log)
    expect(first.locator("#tri-reads")).to_contain_text("secret-run.log")
    ask(first, "loss is nan in the secret run")
    case = first.locator("#tri-head .tri-id code").inner_text()
    second.reload()
    expect(second.locator("#tri-cases")).to_contain_text("No cases yet")
    second.evaluate(
        "id => { const b = document.createElement('button'); b.dataset.pick = id; b.id = 'forged';"
        " document.querySelector('#tri-cases button, #tri-cases p').parentElement.append(b); b.click(); }", case
    )  # fmt: skip
    expect(second.get_by_text("no such case of yours")).to_be_visible()
    expect(second.locator("#tri-head")).not_to_contain_text("secret")


@pytest.mark.parametrize("path", ["/etc/passwd", "../../../../etc/passwd", "way-out/passwd", "~/.ssh/id_rsa"])
def test_a_path_outside_the_roots_is_refused(visit, path):
    page = visit()
    add(page, path)
    expect(page.locator("#tri-reads .tri-problem")).to_have_text(re.compile("outside the allowed folders|no such file"))


def test_a_phone_shows_the_same(visit):
    page = visit(viewport={"width": 390, "height": 844}, device_scale_factor=2, is_mobile=True, has_touch=True)
    add(page, "run-1")
    ask(page, "loss is nan at step 4000")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.locator("#tri-head").scroll_into_view_if_needed()
    page.locator("#tri-findings [data-pick=F1]").tap()
    expect(page.locator(".tri-hit").first).to_be_visible()
    page.evaluate("document.querySelector('#tri-head').scrollIntoView()")
    for name in ("Causes", "Change", "Plots", "Verify", "Evidence"):  # none behind a menu
        tab(page, name)
        expect(page.get_by_role("tab", name=re.compile(f"^{name}"))).to_have_attribute("aria-selected", "true")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_accounts_keep_strangers_out_and_share_cases_per_person(browser, tmp_path):
    accounts = tmp_path / "accounts"
    accounts.write_text("ann:secret-1\nbob:secret-2\n")
    accounts.chmod(0o600)
    process, url = start(tmp_path, "--auth", str(accounts), "--root", str(EXAMPLES))
    try:
        pages = {}
        for visitor, user in (("desk", "ann"), ("home", "ann"), ("bob", "bob")):
            page = browser.new_context(locale="en-US").new_page()
            page.goto(url)
            assert page.request.get(f"{url}/config").status == 401
            page.fill("input[type=text], textarea", user)
            page.fill("input[type=password]", {"ann": "secret-1", "bob": "secret-2"}[user])
            page.get_by_role("button", name="Login").click()
            expect(page.locator("#tri-input textarea")).to_be_visible()
            expect(page.locator("#tri-cases")).to_have_text(READY)
            pages[visitor] = page
        add(pages["desk"], "run-1")
        ask(pages["desk"], "loss is nan")
        pages["home"].reload()
        expect(pages["home"].locator("#tri-cases")).to_contain_text("learning rate is too high · run-1")
        pages["bob"].reload()
        expect(pages["bob"].locator("#tri-cases")).to_contain_text("No cases yet")
    finally:
        process.terminate()
        process.wait(20)
