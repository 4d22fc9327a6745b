"""The page's components, named and in place, with their words in English; what they do is in `app`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gradio as gr

from ...knowledge.runbook import Runbook
from . import panels
from .talk import Talk
from .words import WORDS

HERE = Path(__file__).parent
PICK = "element.addEventListener('click', e => { const b = e.target.closest('[data-pick]');"
PICK += " if (b) trigger('click', {pick: b.dataset.pick}); });"
DRAW = (
    "new MutationObserver(() => window.triagePlots?.draw(element)).observe(element, {childList: true, subtree: true});"
)
SEEN = "const seen = () => window.triageSeen?.(element); seen();"
SEEN += "new MutationObserver(seen).observe(element, {childList: true, subtree: true, attributes: true});"


class Layout:
    """The components of the page by name."""

    def __init__(self, offered: bool, runbook: Runbook):
        self.offered, self.runbook = offered, runbook
        self.worded: list[tuple[Any, str, str]] = []
        """(component, property, key of its words), for the language switch."""
        self.tabs: dict[str, gr.Tab] = {}
        with gr.Blocks(title="triage", fill_width=True, fill_height=True, delete_cache=(600, 3600)) as self.blocks:
            self.talk = gr.State(Talk())
            self.browser = gr.BrowserState("", storage_key="triage-browser", secret="triage")
            self.place = gr.Textbox(visible=False)
            self._side()
            with gr.Row(elem_id="tri-main"):
                with gr.Column(scale=5, min_width=340, elem_id="tri-left"):
                    self._conversation()
                with gr.Column(scale=6, min_width=340, elem_id="tri-right"):
                    self._results()

    # Layout -----------------------------------------------------------------------------------------

    def _word(self, component: Any, prop: str, key: str) -> Any:
        self.worded.append((component, prop, key))
        setattr(component, prop, WORDS[key].say("en"))
        return component

    @staticmethod
    def _html(name: str, value: str = "", js: str | None = None) -> gr.HTML:
        return gr.HTML(value, js_on_load=js, elem_id=f"tri-{name}", apply_default_css=False)

    def _side(self) -> None:
        with gr.Sidebar(elem_id="tri-side", width=280):
            self._html("brand", "<h1 class='tri-brand'>triage</h1>")
            new = gr.Button(WORDS["new-case"].say("en"), variant="primary", size="sm")
            self.new = self._word(new, "value", "new-case")
            self.search = gr.Textbox(show_label=False, max_lines=1, container=False, elem_id="tri-search")
            self._word(self._word(self.search, "placeholder", "search"), "label", "search")
            self.cases = self._html("cases", js=PICK)
            with gr.Row(elem_id="tri-prefs"):
                self.lang = gr.Radio(
                    [("English", "en"), ("中文", "zh")],
                    value="en",
                    show_label=False,
                    container=False,
                    elem_id="tri-lang",
                )
                self._word(self.lang, "label", "language")
                theme = gr.Button(WORDS["theme"].say("en"), size="sm", elem_id="tri-theme")
                self._word(theme, "value", "theme").click(None, None, None, js="() => triageTheme()")

    def _conversation(self) -> None:
        self.chat = gr.Chatbot(
            show_label=False, container=False, elem_id="tri-chat", height="100%", latex_delimiters=[], allow_tags=False,
            autoscroll=False,
            buttons=["copy"], allow_file_downloads=False, feedback_options=None, group_consecutive_messages=True,
            placeholder=WORDS["empty-chat"].say("en"), examples=examples("en"),
        )  # fmt: skip
        self.reads = self._html("reads", js=PICK)
        self.line = self._html("line")
        self.input = gr.MultimodalTextbox(
            file_count="multiple", sources=["upload"], show_label=False, container=False, autofocus=True, max_lines=8,
            max_plain_text_length=200_000, elem_id="tri-input",
        )  # fmt: skip
        self._word(self._word(self.input, "placeholder", "ask"), "label", "ask")
        with gr.Row(elem_id="tri-attach", equal_height=True):
            self.folder = uploader("tri-folder")
            self.path, self.add = self._path("tri-path", "add")

    def _path(self, name: str, button: str) -> tuple[gr.Dropdown, gr.Button]:
        offered = self.offered
        box = gr.Dropdown(
            [], allow_custom_value=True, container=False, interactive=True, visible=offered, scale=3,
            elem_id=name, value=None, min_width=120,
        )  # fmt: skip
        go = gr.Button(WORDS[button].say("en"), size="sm", scale=0, min_width=72, visible=offered, elem_id=f"{name}-go")
        self._word(box, "label", "path")
        return box, self._word(go, "value", button)

    def _results(self) -> None:
        self.head = self._html("head", panels.head(None, self.runbook, "en"), PICK + SEEN)
        with gr.Tabs(elem_id="tri-tabs") as self.tabbed:
            with self._tab("evidence"):
                self.findings = self._html("findings", panels.findings(None, "en"), PICK)
            with self._tab("causes"):
                self.causes = self._html("causes", panels.causes(None, self.runbook, "en"), PICK)
            with self._tab("change"):
                self.change = self._html("change", panels.change(None, self.runbook, "en"))
            with self._tab("plots"):
                self.plots = self._html("plots", panels.plots(None, None, "en"), PICK + DRAW)
            with self._tab("verify"):
                with gr.Row(elem_id="tri-next", equal_height=True):
                    self.next_files = uploader("tri-next-files")
                    self.next_path, self.verify = self._path("tri-verify-path", "verify")
                self.verdict = self._html("verdict", panels.verdict(None, "en"))
            with self._tab("labels"):
                self.labels = self._html("labels", panels.labels(None, None, "en"))

    def _tab(self, name: str) -> gr.Tab:
        self.tabs[name] = gr.Tab(WORDS[f"tab-{name}"].say("en"), id=name, elem_id=f"tri-tab-{name}")
        return self.tabs[name]


def uploader(name: str) -> gr.HTML:
    """A folder or several files, with their names inside the folder, which Gradio's own upload drops."""
    return gr.HTML(
        panels.upload("en"), js_on_load=(HERE / "upload.js").read_text(), elem_id=name, apply_default_css=False
    )


def examples(lang: str) -> list[Any]:
    return [{"text": WORDS[f"example-{n}"].say(lang)} for n in (1, 2, 3)]
