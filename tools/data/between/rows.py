"""The records of one file of an evaluation, with what identifies them and where their answers stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...patterns import bounded

IDENTIFIES = bounded(r"(?i)^(?:id|idx|index|uid|qid|key|item|\w{1,20}[_-](?:id|idx|no)|编号|序号|题号|样本)$")
ANSWERS = bounded(
    r"(?i)^(?:predict(?:ion|ed)?s?|preds?|responses?|generat(?:ed|ion)\w{0,8}|completions?|model_(?:output|answer)s?"
    r"|hyp(?:othes[ie]s)?|beams?|预测|模型输出|回答)$"
)


@dataclass(frozen=True)
class Rows:
    """The records of one file."""

    name: str
    rows: Sequence[Mapping[str, Any]]

    def field(self, shape: Any) -> str | None:
        return next((k for k in self.rows[0] if isinstance(k, str) and shape.search(k)), None)

    @cached_property
    def ids(self) -> list[str]:
        key = self.field(IDENTIFIES)
        return [str(r.get(key)) for r in self.rows] if key else []

    @cached_property
    def answered(self) -> str | None:
        return self.field(ANSWERS)
