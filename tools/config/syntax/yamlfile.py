"""YAML as items. Nodes are only composed, never constructed, so no tag can run anything."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .source import MAX_DEPTH, MAX_ITEMS, MAX_LINES, Item, Refused, Source

DOCUMENTS = 20
"""Most documents read from one stream."""


def read(source: Source) -> list[Item]:
    """All scalars of the file under dotted keys, sequence elements by index.

    Raises:
        Refused: not YAML, asks to build objects, or too deep or too large when aliases are followed.
    """
    if len(source.starts) > MAX_LINES:
        raise Refused(f"{source.name}: {len(source.starts)} lines of YAML; a config of that length is not read")
    if _bracket_depth(source.text) > 3 * MAX_DEPTH:
        raise Refused(f"{source.name}: nested deeper than {MAX_DEPTH} levels; not read")
    items: list[Item] = []
    for node in _compose(source):
        for item in _walk(node, source):
            items.append(item)
            if len(items) > MAX_ITEMS:
                raise Refused(
                    f"{source.name}: more than {MAX_ITEMS} values when aliases are followed; "
                    "not read (this is how an alias bomb looks)"
                )
    return items


def _bracket_depth(text: str) -> int:
    """Most brackets open at a time, quotes not understood: the parser needs seconds to find that out."""
    depth = most = 0
    for match in _BRACKETS.finditer(text):
        depth = max(0, depth + (len(match[0]) if match[0][0] in "[{" else -len(match[0])))
        most = max(most, depth)
    return most


_BRACKETS = re.compile(r"[\[{]+|[\]}]+")


def _compose(source: Source) -> list:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    yaml = YAML(typ="safe", pure=True)
    try:
        nodes = []
        for node in yaml.compose_all(source.text):
            nodes.append(node)
            if len(nodes) >= DOCUMENTS:
                break
        return [n for n in nodes if n is not None]
    except RecursionError:
        raise Refused(f"{source.name}: nested deeper than {MAX_DEPTH} levels; not read") from None
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise Refused(f"{source.name}: {place}not YAML: {problem}") from None
    except (ValueError, IndexError, TypeError, AttributeError, KeyError, AssertionError) as error:
        raise Refused(f"{source.name}: not YAML: {type(error).__name__}: {error}") from None


def _walk(root: object, source: Source) -> Iterator[Item]:
    """Depth-first in file order, without recursion, bounded in depth and in visited nodes."""
    stack: list[tuple[str, object, object, int]] = [("", root, None, 0)]
    visited = 0
    while stack:
        key, node, key_node, depth = stack.pop()
        visited += 1
        if depth > MAX_DEPTH:
            raise Refused(f"{source.name}: nested deeper than {MAX_DEPTH} levels; not read")
        if visited > 4 * MAX_ITEMS:
            raise Refused(f"{source.name}: more than {4 * MAX_ITEMS} nodes when aliases are followed; not read")
        tag = str(node.tag or "")  # type: ignore[attr-defined]
        if ("python/" in tag and not tag.endswith("python/tuple")) or tag.startswith("!ruby"):
            line = node.start_mark.line + 1  # type: ignore[attr-defined]
            raise Refused(
                f"{source.name}: line {line}: asks to build an object ({tag[-60:]}); not read, nothing of it was run"
            )
        value = node.value  # type: ignore[attr-defined]
        if isinstance(value, str):
            yield _scalar(key, node, key_node)
        elif value and isinstance(value[0], tuple):
            pairs = [(_child(key, k), v, k, depth + 1) for k, v in value if isinstance(k.value, str)]
            stack.extend(reversed(pairs))
        else:
            stack.extend(
                (f"{key}.{i}" if key else str(i), v, key_node, depth + 1) for i, v in reversed(list(enumerate(value)))
            )


def _child(key: str, node: object) -> str:
    name = node.value  # type: ignore[attr-defined]
    if name == "<<":
        return key
    return f"{key}.{name}" if key else name


def _scalar(key: str, node: object, key_node: object) -> Item:
    style = node.style  # type: ignore[attr-defined]
    start, end = node.start_mark.index, node.end_mark.index  # type: ignore[attr-defined]
    text: str | None = node.value  # type: ignore[attr-defined]
    if start == end and key_node is not None:  # `key:` with nothing behind it
        start = end = key_node.start_mark.index  # type: ignore[attr-defined]
        return Item(key, None, "yaml", start, end)
    if style in ("|", ">"):
        return Item(key, text, "yaml", start, start, quoted=True)
    if not style and text is not None and text in ("null", "~", "Null", "NULL", ""):
        text = None
    return Item(key, text, "yaml", start, end, quoted=bool(style))
