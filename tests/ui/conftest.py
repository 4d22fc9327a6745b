"""What the tests in a real browser share; nothing of it is loaded for the others."""

import shutil

import pytest


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    from browsing import EXAMPLES, start

    folder = tmp_path_factory.mktemp("web")
    roots = folder / "runs"
    shutil.copytree(EXAMPLES, roots)
    (roots / "way-out").symlink_to("/etc")
    process, url = start(folder, "--root", str(roots))
    yield url, roots
    process.terminate()
    assert process.wait(20) == 0
    assert not list(folder.glob("triage-web-*")), "uploads outlived the server"


@pytest.fixture(scope="module")
def browser():
    from browsing import CHROMIUM, FLAGS, playwright

    if not CHROMIUM:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as p:
        chromium = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def visit(browser, server):
    """Opens the app as a new visitor; at the end, no page asked another host for anything."""
    from browsing import READY, expect

    contexts, asked, broken = [], set(), []

    def open_(url=server[0], **options):
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, "locale": "en-US", **options})
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda r: asked.add(r.url.split("/")[2]) if r.url.startswith("http") else None)
        page.on("pageerror", lambda e: broken.append(str(e)))
        page.goto(url)
        expect(page.locator("#tri-input textarea")).to_be_visible()
        expect(page.locator("#tri-cases")).to_have_text(READY)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert {host.rpartition(":")[0] for host in asked} == {"127.0.0.1"}
    assert not broken


@pytest.fixture
def asked(visit):
    """The app after the question about the bundled run."""
    from browsing import add, ask, expect

    page = visit()
    add(page, "run-1")
    expect(page.locator("#tri-reads")).to_contain_text("run-1")
    ask(page, "loss is nan at step 4000")
    return page
