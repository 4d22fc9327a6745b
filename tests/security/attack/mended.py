"""Takes out of `known` what a run called MENDED: `pytest ... | python tests/security/attack/mended.py`."""

import re
import sys
from pathlib import Path

TABLE = Path(__file__).with_name("known.py")
ROW = re.compile(r"MENDED (\S+): (\S+)/(\S+) \| (.+?) \| (\S+): take it out of KNOWN")


def without(table: dict, rows: set[tuple[str, ...]]) -> dict:
    left: dict = {}
    for about, cells in table.items():
        for cell, where in cells.items():
            _, promise, command = cell.split(" ", 2)
            for kind, ways in where.items():
                kept = [way for way in ways.split() if (about, kind, way, command, promise) not in rows]
                if kept:
                    left.setdefault(about, {}).setdefault(cell, {})[kind] = " ".join(kept)
    return left


def written(table: dict) -> str:
    out = "KNOWN: dict[str, dict[str, dict[str, str]]] = {\n"
    for about, cells in table.items():
        out += f'    "{about}": {{\n'
        for cell, where in cells.items():
            rows = "".join(f'            "{kind}": {wrapped(ways)},\n' for kind, ways in where.items())
            out += f'        "{cell}": {{\n{rows}        }},\n'
        out += "    },\n"
    return out + "}\n"


def wrapped(ways: str) -> str:
    pieces = re.findall(r".{1,90}(?:\s|$)", ways)
    if len(pieces) == 1:
        return f'"{ways}"'
    return "(\n" + "".join(f'                "{piece}"\n' for piece in pieces) + "            )"


if __name__ == "__main__":
    text = TABLE.read_text()
    scope: dict = {}
    exec(text, scope)
    mended = set(ROW.findall(sys.stdin.read()))
    head = text[: text.index("KNOWN: dict")]
    TABLE.write_text(head + written(without(scope["KNOWN"], mended)))
    print(f"{len(mended)} rows mended")
