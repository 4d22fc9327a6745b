"""Makes the pictures of the documentation anew: `python tests/shared/pictures.py docs/images`.

Five scenes of the bundled example in a real Chromium, each at most 150 kB; the folder holds these
and no others.
"""

import sys
import tempfile
from pathlib import Path

from browsing import CHROMIUM, EXAMPLES, FLAGS, add, ask, expect, playwright, start, tab

MOST = 150_000
"""Bytes of a picture: a page of the documentation should open at once."""
DESK = {"viewport": {"width": 1440, "height": 900}, "locale": "en-US"}
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True, "locale": "en-US"}


def evidence(page):
    page.locator("#tri-findings [data-pick=F1]").click()
    expect(page.locator(".tri-hit").first).to_be_visible()


def plots(page):
    tab(page, "Plots")
    expect(page.locator(".tp-panel")).to_have_count(3)


def change(page):
    tab(page, "Change")
    expect(page.locator("#tri-change .tri-gone").first).to_be_visible()


def verdict(page):
    tab(page, "Verify")
    page.locator("#tri-next-files input.tri-dir").set_input_files(EXAMPLES / "run-2")
    expect(page.locator("#tri-verdict .tri-state").first).to_have_text("fixed")


def phone_evidence(page):
    evidence(page)
    page.evaluate("document.querySelector('#tri-head').scrollIntoView()")


SCENES = {
    "evidence": (evidence, DESK),
    "plots": (plots, DESK),
    "change": (change, DESK),
    "verdict": (verdict, DESK),
    "phone-evidence": (phone_evidence, PHONE),
}


def take(page, file):
    from PIL import Image

    page.wait_for_timeout(800)
    page.screenshot(path=file)
    Image.open(file).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file}: {file.stat().st_size} bytes")
    if file.stat().st_size > MOST:
        raise SystemExit(f"{file}: over the limit of {MOST} bytes")


def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch, playwright.sync_playwright() as p:
        server, url = start(Path(scratch), "--root", str(EXAMPLES))
        chromium = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            for name, (scene, options) in SCENES.items():
                page = chromium.new_context(**options).new_page()
                page.goto(url)
                expect(page.locator("#tri-cases")).to_contain_text("No cases yet")
                add(page, "run-1")
                expect(page.locator("#tri-reads")).to_contain_text("run-1")
                ask(page, "loss is nan at step 4000")
                scene(page)
                take(page, folder / f"web-{name}.png")
        finally:
            server.terminate()
            server.wait(20)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
