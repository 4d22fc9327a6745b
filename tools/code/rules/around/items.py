"""Rules on the items of a dataset: changed in place, augmented apart, weighted by class, with the answer among the features."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...patch import instead
from ...program import Program, argument, key, last, receiver
from ..look import source
from ..meaning.ways import SHAPES, class_methods, given
from ..rule import Fault, View, rule


def datasets(view: View) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, dict]]:
    """(`__getitem__`, all methods) of the datasets of this file."""
    for function in view.program.functions.get("__getitem__", ()):
        owner = view.program.parent.get(function)
        if isinstance(owner, ast.ClassDef):
            yield function, class_methods(view, function.body[0])


@rule("item-changed-in-place", "S2", "noisy-data-mixture", "__getitem__",
      bad="""
      class Spectra(torch.utils.data.Dataset):
          def __init__(self, path):
              self.data = np.load(path)
          def __getitem__(self, i):
              x = self.data[i]
              x += np.random.randn(*x.shape) * 0.1
              return torch.from_numpy(x)
      """,
      good=("""
      class Spectra(torch.utils.data.Dataset):
          def __init__(self, path):
              self.data = np.load(path)
          def __getitem__(self, i):
              x = self.data[i].copy()
              x += np.random.randn(*x.shape) * 0.1
              return torch.from_numpy(x)
      """, """
      class Spectra(torch.utils.data.Dataset):
          def __getitem__(self, i):
              x = self.data[i]
              x = x + np.random.randn(*x.shape) * 0.1
              return torch.from_numpy(x)
      """))  # fmt: skip
def item_changed_in_place(view: View) -> Iterator[Fault]:
    """A dataset changes the stored item when it hands it out.

    Why: an array's item is a view: noise and scale add up with every epoch.
    """
    program = view.program
    for function, methods in (
        pair for get, own in datasets(view) for pair in ((get, own), *_helpers(program, get, own))
    ):
        for node in program.within(function):
            name = ""
            if isinstance(node, ast.AugAssign):
                name = key(node.target) or (key(node.target.value) if isinstance(node.target, ast.Subscript) else "")
            elif isinstance(node, ast.Call) and re.search(
                r"^(mul|add|sub|div|clamp|normalize|masked_fill)_$", last(program.path(node.func))
            ):
                name = key(receiver(node))
            elif (
                isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Subscript)
                and isinstance(node.targets[0].slice, (ast.Slice, ast.Tuple))
            ):
                name = key(node.targets[0].value)
            value = _first(program, function, name) if name and "." not in name else None
            stored = (
                isinstance(value, ast.Subscript)
                and key(value.value).startswith("self.")
                and isinstance(value.slice, ast.Name)
            )
            if stored and _array(program, methods, key(value.value)) and isinstance(value, ast.Subscript):  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
                yield Fault(node, f"`{name}` is the stored item itself: the change stays, and adds up", f"`{name}` 就是存储的数据本身：改动会留下并累积",
                            (instead(value, f"{source(program, value)}.copy()"),) if "np.load" in program.text else (), beside=(value,))  # fmt: skip
                break


def _called(program: Program, function: ast.AST, methods: dict) -> Iterator[tuple[ast.FunctionDef, dict]]:
    """(method, all methods) of the methods that a method calls."""
    names = {last(key(n.func)) for n in program.within(function, ast.Call) if key(receiver(n)) == "self"}
    yield from ((methods[name], methods) for name in sorted(names & methods.keys()))


def _helpers(program: Program, function: ast.AST, methods: dict) -> Iterator[tuple[ast.FunctionDef, dict]]:
    """(method, all methods) of the methods that a method hands values to."""
    names = {n.func.attr for n in program.within(function, ast.Call)
             if isinstance(n.func, ast.Attribute) and key(n.func.value) == "self" and n.args}  # fmt: skip
    yield from ((methods[name], methods) for name in sorted(names & methods.keys()))


def _first(program: Program, function: ast.AST, name: str) -> ast.expr | None:
    """What a name is made of, where it is made once; a parameter, where what is given to it is."""
    found = [b for b in program.bound.get(function, {}).get(name, ()) if b.how != "augment"]
    values = [b for b in found if b.how == "assign"]
    handed = program.given(found[0], name) if len(found) == 1 and found[0].how == "parameter" else None
    if isinstance(handed, ast.Name):
        values = [b for b in program.bindings(handed) if b.how == "assign"]
    return values[0].value if len(values) == 1 else None


def _array(program: Program, methods: dict, name: str) -> bool:
    """Whether a dataset keeps an array or tensor under a name."""
    function = methods.get("__init__")
    for node in program.within(function) if function is not None else ():
        if (
            isinstance(node, ast.Assign)
            and any(key(t) == name for t in node.targets)
            and isinstance(node.value, ast.Call)
        ):
            text = program.code(node.value, 300)
            return (
                bool(
                    re.search(
                        r"np\.load|numpy|torch\.(load|stack|cat|from_numpy|tensor|randn)|np\.(array|stack|concatenate|asarray|memmap)|\.astype|\.values|h5py",
                        text,
                    )
                )
                and "mmap_mode='r'" not in text
            )
    return False


@rule("pair-augmented-apart", "S1", "noisy-data-mixture", "__getitem__",
      bad="""
      class Scans(torch.utils.data.Dataset):
          def __init__(self):
              self.transform = T.Compose([T.RandomCrop(128), T.RandomHorizontalFlip(), T.ToTensor()])
          def __getitem__(self, i):
              image, mask = self.open(i)
              return self.transform(image), self.transform(mask)
      """,
      good="""
      class Scans(torch.utils.data.Dataset):
          def __init__(self):
              self.transform = A.Compose([A.RandomCrop(128, 128), A.HorizontalFlip()])
          def __getitem__(self, i):
              image, mask = self.open(i)
              out = self.transform(image=image, mask=mask)
              return out["image"], out["mask"]
      """)  # fmt: skip
def pair_augmented_apart(view: View) -> Iterator[Fault]:
    """An image and its mask go one after the other through the same random transform.

    Why: each is cropped and turned its own way: the mask no longer fits.
    """
    program = view.program
    if program.mentions("manual_seed", "set_rng_state", "tv_tensors", "random.setstate", "get_params", "random.seed"):
        return
    random = re.search(
        r"Random(Resized)?Crop|RandomRotation|Random(Horizontal|Vertical)?Flip|RandomAffine|RandomPerspective|ElasticTransform",
        program.text,
    )
    for function, _ in datasets(view):
        calls = [
            n
            for n in program.within(function, ast.Call)
            if len(n.args) == 1 and not n.keywords and re.search(r"transform|aug|tf$", last(key(n.func)), re.I)
        ]
        masks = [c for c in calls if re.search(r"mask|label|seg|target|depth|^gt", last(key(c.args[0])) or "", re.I)]
        images = [c for c in calls if c not in masks and any(key(c.func) == key(m.func) for m in masks)]
        if random and masks and images:
            yield Fault(masks[0], "image and mask go through the same random transform one after the other: each gets its own",
                        "图像与掩码先后经过同一随机变换：各自变换不同", beside=(images[0],))  # fmt: skip


@rule("sampler-weighted-by-class", "S1", "noisy-data-mixture", "WeightedRandomSampler",
      bad="""
      import torch
      counts = torch.bincount(labels)
      class_weights = 1.0 / counts.float()
      sampler = WeightedRandomSampler(class_weights, num_samples=len(labels))
      """,
      good="""
      import torch
      counts = torch.bincount(labels)
      class_weights = 1.0 / counts.float()
      sampler = WeightedRandomSampler(class_weights[labels], num_samples=len(labels))
      """)  # fmt: skip
def sampler_weighted_by_class(view: View) -> Iterator[Fault]:
    """A sampler of items is given one weight for each class.

    Why: only the first items, as many as there are classes, are ever drawn.
    """
    program = view.program
    for call in program.find("WeightedRandomSampler"):
        weights = argument(call, "weights", 0)
        if weights is None or isinstance(weights, (ast.Subscript, ast.ListComp)):
            continue
        value = program.origin(weights)
        text = program.code(value, 300)
        named = re.search(r"(^|_)class_?(weights?|w)$|weights?_per_class|cls_weights?", last(key(weights)))
        counted = _by_class(program, value) or (
            isinstance(value, ast.BinOp)
            and isinstance(value.op, ast.Div)
            and any(
                isinstance(n, ast.Call) and last(program.path(n.func)) in ("bincount", "value_counts")
                for n in program.traced(value, 3)
            )
        )
        if isinstance(value, ast.ListComp) and counted:
            text = ""
        if (named or counted) and not re.search(
            r"\[\s{0,4}(labels?|targets?|y|t|i|l|c)\b|for \w+ in|gather|index_select", text
        ):
            yield Fault(call, "the sampler takes a weight for each item and is given one for each class",
                        "采样器需要每个样本一个权重，这里给的是每个类别一个")  # fmt: skip


def _by_class(program: Program, value: ast.expr) -> bool:
    """Whether a list has one weight for each class that was counted: `[1 / counts[c] for c in sorted(counts)]`."""
    if not isinstance(value, ast.ListComp) or not isinstance(value.elt, ast.BinOp) or len(value.generators) != 1:
        return False
    over: ast.expr | None = value.generators[0].iter
    while isinstance(over, ast.Call) and last(key(over.func)) in ("sorted", "list", "values", "items", "keys"):
        over = over.args[0] if over.args else receiver(over)
    made = program.origin(over) if over is not None and key(over) else None
    return isinstance(made, ast.Call) and last(program.path(made.func)) in ("Counter", "bincount", "value_counts")


@rule("scaled-twice", "S2", "loss-stagnation", "255",
      bad="""
      transform = T.Compose([T.ToTensor(), T.Lambda(lambda x: x / 255.0)])
      data = ImageFolder(root, transform=transform)
      loader = DataLoader(data, batch_size=32, shuffle=True)
      """,
      good="""
      transform = T.Compose([T.ToTensor()])
      data = ImageFolder(root, transform=transform)
      loader = DataLoader(data, batch_size=32, shuffle=True)
      """)  # fmt: skip
def scaled_twice(view: View) -> Iterator[Fault]:
    """Images are divided by 255 once `ToTensor` has done it.

    Why: all inputs are next to zero.
    """
    program = view.program
    if not any(True for _ in program.find("ToTensor")) or program.mentions(
        "from_numpy", "PILToTensor", "read_image", "decode_"
    ):
        return
    behind = _behind_to_tensor(program)
    for node in program.each(ast.BinOp, ast.AugAssign):
        value = node.right if isinstance(node, ast.BinOp) else node.value if isinstance(node, ast.AugAssign) else None
        if value is None or not isinstance(node.op, ast.Div) or program.const(value) not in (255, 255.0):  # pyright: ignore[reportAttributeAccessIssue]
            continue
        side = node.left if isinstance(node, ast.BinOp) else node.target  # pyright: ignore[reportAttributeAccessIssue]
        while isinstance(side, ast.Call) and isinstance(side.func, ast.Attribute) and side.func.attr in SHAPES:
            side = side.func.value
        lambdas = [a for a in program.up(node) if isinstance(a, ast.Lambda)]
        compose = any(
            isinstance(a, ast.Call)
            and last(program.path(a.func)) == "Compose"
            and any(
                isinstance(n, ast.Call) and last(program.path(n.func)) == "ToTensor" and n.lineno <= node.lineno  # pyright: ignore[reportAttributeAccessIssue]
                for n in a.args[0].elts
            )
            for a in program.up(node)
            if isinstance(a, ast.Call) and a.args and isinstance(a.args[0], ast.List)
        )
        looped = (
            any(
                b.how == "for" and isinstance(x, ast.For) and view.roles.of(x.iter) == "loader"
                for b in program.bindings(side)
                for x in [b.node]
            )
            if key(side)
            else False
        )
        scope = program.scope(node)
        owner = program.parent.get(scope)
        step = owner.name if isinstance(owner, ast.ClassDef) else getattr(scope, "name", "")
        if (lambdas and compose) or looped or step in behind:
            yield Fault(node, "`ToTensor` has divided by 255 already", "`ToTensor` 已经除以 255")


def _behind_to_tensor(program: Program) -> set[str]:
    """The functions and classes of the steps that stand behind `ToTensor` in a chain of transforms."""
    out: set[str] = set()
    for call in program.find("Compose"):
        steps = program.origin(call.args[0]) if call.args else None
        behind = False
        for step in steps.elts if isinstance(steps, ast.List) else ():
            named = step.func if isinstance(step, ast.Call) else step
            if behind:
                given = step.args if isinstance(step, ast.Call) else ()
                out |= {key(a) for a in (named, *given) if isinstance(a, ast.Name)}
            behind = behind or last(key(named)) == "ToTensor"
    return out & (program.functions.keys() | program.classes.keys())


@rule("handle-opened-before-workers", "S2", "dataloader-bottleneck", "h5py lmdb sqlite3 ZipFile",
      bad="""
      class Clips(torch.utils.data.Dataset):
          def __init__(self, path):
              self.file = h5py.File(path, "r")
          def __getitem__(self, i):
              return self.file["x"][i]
      loader = DataLoader(Clips(path), batch_size=8, num_workers=4)
      """,
      good="""
      class Clips(torch.utils.data.Dataset):
          def __init__(self, path):
              self.path, self.file = path, None
          def __getitem__(self, i):
              if self.file is None:
                  self.file = h5py.File(self.path, "r")
              return self.file["x"][i]
      loader = DataLoader(Clips(path), batch_size=8, num_workers=4)
      """)  # fmt: skip
def handle_opened_before_workers(view: View) -> Iterator[Fault]:
    """A file that is opened with the dataset is read by several workers.

    Why: they share one position and one state of the library: items come out mixed or broken, or reading hangs.
    """
    program = view.program
    several = [
        c
        for c in program.find("DataLoader")
        if given(view, c, "num_workers")[0] and given(view, c, "num_workers")[1] != 0
    ]
    if not several or "worker_init_fn" in program.text or "__getstate__" in program.text:
        return
    for function, methods in datasets(view):
        init = methods.get("__init__")
        begun = [init, *(f for f, _ in _called(program, init, methods))] if init is not None else []
        for node in (n for f in begun for n in program.within(f, ast.Assign)):
            name = key(node.targets[0]) if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) else ""
            opened = name and re.search(
                r"^(h5py\.File|lmdb\.open|sqlite3\.connect|zipfile\.ZipFile|tarfile\.open)$",
                program.path(node.value.func),  # pyright: ignore[reportAttributeAccessIssue]
            )
            if (
                opened
                and re.search(rf"{re.escape(name)}\b", program.code(function, 8000))
                and not re.search(
                    rf"{re.escape(name)}\s{{0,4}}=|{re.escape(name)}\.close|is None", program.code(function, 8000)
                )
            ):
                yield Fault(node, f"`{name}` is opened once and read by all workers",
                            f"`{name}` 只打开一次，却被所有 worker 读取", beside=(several[0],))  # fmt: skip
