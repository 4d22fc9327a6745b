"""PyTorch: no files of its own, but an issue form."""

from ...framework import Framework, IssueForm

FRAMEWORK = Framework(
    name="pytorch",
    issue_form=IssueForm("PyTorch", "https://github.com/pytorch/pytorch/issues", (
        ("🐛 Describe the bug", "error findings command settings tried"), ("Versions", "versions hardware variables"),
    )),
)  # fmt: skip
