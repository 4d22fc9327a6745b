"""Rules on what is held out: what leaks from the test part into training, and what tears pairs apart."""

# ruff: noqa: E501  one sentence, pattern or question on one line

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ....patterns import bounded
from ...program import Program, argument, key, last, receiver
from ..meaning.ways import constructor, whole
from ..rule import Fault, View, rule
from .resuming import cut_in_two

SUPERVISED = re.compile(
    r"Select(KBest|Percentile|Fpr|FromModel)$|RFE(CV)?$|TargetEncoder$|SMOTE|ADASYN|Over\w{0,20}Sampler$|LDA$|LinearDiscriminantAnalysis$"
)


FITTED = bounded(
    r"(Standard|MinMax|Robust|MaxAbs)Scaler$|PCA$|TruncatedSVD$|Imputer$|Vectorizer$|Quantile\w{0,20}$|PowerTransformer$|Select(KBest|Percentile|Fpr|FromModel)$|RFE(CV)?$|TargetEncoder$|SMOTE\w{0,20}$|ADASYN$|Random\w{0,20}OverSampler$|LinearDiscriminantAnalysis$|UMAP$|KBinsDiscretizer$"
)
"""What learns something from all rows that it is shown."""


GROUPS = re.compile(
    r"^(patient|subject|user|speaker|session|customer|client|participant|author|artist|person|device|doc|document|video|recording|conversation|family|group|site|study|slide|visit|scene|molecule|scaffold|protein)(_?(id|ids|name|no|nr|uid|key))$",
    re.I,
)


TEST = re.compile(r"(^|_)(test|val|valid|dev|holdout|eval)(_|$|\d)", re.I)


def _fits(view: View, node: ast.AST) -> str:
    """The transformer that a call fits: its constructor's name."""
    if not isinstance(node, ast.Call) or last(view.program.path(node.func)) not in (
        "fit_transform",
        "fit_resample",
        "fit",
    ):
        return ""
    name = last(constructor(view, receiver(node)))
    return name if FITTED.search(name) else ""


def _learned(view: View, expr: ast.expr) -> tuple[ast.AST, str] | None:
    """The call that learned from all the rows of a value on its way here."""
    program = view.program
    for node in program.traced(expr, 4):
        if name := _fits(view, node):
            return node, name
        if isinstance(node, ast.Call) and last(program.path(node.func)) == "transform" and node.args:
            maker = last(constructor(view, receiver(node)))
            fits = [c for c in program.find("fit") if key(receiver(c)) == key(receiver(node)) != "" and c.args]
            if FITTED.search(maker) and fits and key(fits[0].args[0]) == key(node.args[0]) != "" and len(fits) == 1:
                return fits[0], maker
    return None


@rule("fitted-before-split", "S2", "eval-leakage", "train_test_split cross_val_score cross_validate cross_val_predict",
      bad="""
      import torch
      X = TfidfVectorizer().fit_transform(texts)
      X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2)
      """,
      good="""
      import torch
      X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2)
      vectorizer = TfidfVectorizer().fit(X_train)
      X_train, X_test = vectorizer.transform(X_train), vectorizer.transform(X_test)
      """)  # fmt: skip
def fitted_before_split(view: View) -> Iterator[Fault]:
    """Something is fitted to all rows before the test part is split off.

    Why: features that were chosen with the labels of the test rows, or copies of them, make the score too good.
    """
    for call in view.program.find("train_test_split", "cross_val_score", "cross_validate", "cross_val_predict"):
        for value in (*call.args[:3], *(k.value for k in call.keywords if k.arg in ("X", "y"))):
            found = _learned(view, value) or _fitted_by_name(view, value, call)
            if found is not None and not _within(view.program, found[0], call):
                yield Fault(found[0], f"`{found[1]}` is fitted to all rows before the test part is split off",
                            f"`{found[1]}` 在划分测试集之前就拟合了全部数据", severity="S1" if SUPERVISED.search(found[1]) else "", beside=(call,))  # fmt: skip
                return


def _fitted_by_name(view: View, value: ast.expr, split: ast.Call) -> tuple[ast.AST, str] | None:
    """The `fit` of what later transforms the parts, to the very rows that are split, before they are."""
    program, rows = view.program, program_binding(view, value)
    for call in program.find("fit") if rows is not None else ():
        before = program.scope(call) is program.scope(split) and call.lineno < split.lineno and call.args
        if not before or program_binding(view, call.args[0]) is not rows or not (name := _fits(view, call)):
            continue
        later = (c for c in program.find("transform") if key(receiver(c)) == key(receiver(call)) != "")
        if any(c.lineno > split.lineno for c in later):
            return call, name
    return None


def program_binding(view: View, expr: ast.expr) -> object:
    """What gives a plain name its value here."""
    return view.program.binding(expr) if isinstance(expr, ast.Name) else None


def _within(program: Program, node: ast.AST, call: ast.Call) -> bool:
    """Whether the fitted rows are the training part of an earlier split."""
    rows = node.args[0] if isinstance(node, ast.Call) and node.args else None
    return rows is not None and bool(re.search(r"train|_tr\b", program.code(rows)))


@rule("fitted-on-test-data", "S1", "eval-leakage", "fit_transform .fit(",
      bad="""
      import torch
      scaler = StandardScaler()
      X_train = scaler.fit_transform(X_train)
      X_test = scaler.fit_transform(X_test)
      """,
      good="""
      import torch
      scaler = StandardScaler()
      X_train = scaler.fit_transform(X_train)
      X_test = scaler.transform(X_test)
      """)  # fmt: skip
def fitted_on_test_data(view: View) -> Iterator[Fault]:
    """A scaler or vectoriser that was fitted to the training part is fitted again to the test part.

    Why: training and test rows are put on different scales; the score says nothing of new data.
    """
    program = view.program
    fits: dict[str, list[ast.Call]] = {}
    for call in program.find("fit_transform", "fit"):
        if call.args and _fits(view, call):
            fits.setdefault(key(receiver(call)), []).append(call)
    for calls in _by_helper(program):
        fits[key(calls[0].func)] = calls
    for name, calls in fits.items():
        trained = [c for c in calls if re.search(r"train|_tr$", key(c.args[0]), re.I)]
        tested = [
            c
            for c in calls
            if any(TEST.search(w) for w in key(c.args[0]).split(".")) and not re.search(r"train", key(c.args[0]), re.I)
        ]
        if name and trained and tested:
            yield Fault(tested[0], f"`{name}` is fitted again to the test rows",
                        f"`{name}` 又在测试数据上重新拟合", beside=(trained[0],))  # fmt: skip


def _by_helper(program: Program) -> Iterator[list[ast.Call]]:
    """The calls of a function of this file that fits something new to what it is given, and gives back the result."""
    for call in program.find("fit_transform"):
        scope = program.scope(call)
        above = program.parent.get(call)
        given = key(call.args[0]) if call.args else ""
        fresh = isinstance(receiver(call), ast.Call) and isinstance(above, ast.Return)
        calls = [c for c in program.callers(scope) if c.args]
        if fresh and len(calls) > 1 and any(b.how == "parameter" for b in program.bound.get(scope, {}).get(given, ())):
            yield calls


@rule("rows-split-at-random", "S3", "eval-leakage", "train_test_split random_split",
      bad="""
      import torch
      rows = load_dataset("json", data_files="data.jsonl", split="train")
      split = rows.train_test_split(test_size=0.1, seed=1)
      """,
      good="""
      import torch
      rows = load_dataset("json", data_files="data.jsonl", split="train")
      train = rows.filter(lambda row: row["fold"] != 0)
      """)  # fmt: skip
def rows_split_at_random(view: View) -> Iterator[Fault]:
    """The held-out part is drawn by rows at random from the one data set.

    Why: right as long as no row comes twice; rows that repeat, or nearly so, stand in both parts.
    """
    if re.search(r"Group(Shuffle|K)|StratifiedGroup|groups\s{0,4}=|drop_duplicates|dedup", view.program.text):
        return
    for call in view.program.find("train_test_split", "random_split"):
        yield Fault(call, "the held-out part is drawn by rows at random: rows that repeat stand in both parts",
                    "验证部分按行随机抽取：重复的样本会同时出现在两边")  # fmt: skip
        return


@rule("split-by-row-of-groups", "S2", "eval-leakage", "train_test_split random_split",
      bad="""
      import torch
      print(frame["patient_id"].nunique(), "patients")
      train, test = train_test_split(frame, test_size=0.2, random_state=0)
      """,
      good=("""
      import torch
      patients = frame["patient_id"].unique()
      train_ids, test_ids = train_test_split(patients, test_size=0.2, random_state=0)
      train = frame[frame["patient_id"].isin(train_ids)]
      """, """
      import torch
      train, test = train_test_split(frame, test_size=0.2, random_state=0)
      """))  # fmt: skip
def split_by_row_of_groups(view: View) -> Iterator[Fault]:
    """Rows are split at random though several belong to one patient, speaker or user.

    Why: the same person is in both parts: the score is of knowing them again.
    Known gaps: whether a column repeats is told by its name and by what the program counts.
    """
    program = view.program
    if re.search(
        r"Group(Shuffle|K)|groupby|GroupKFold|StratifiedGroup|groups\s{0,4}=|\.unique\(\)|set\(|drop_duplicates",
        program.text,
    ):
        return
    for call in program.find("train_test_split", "random_split"):
        frame = call.args[0] if call.args else None
        name = key(frame) if frame is not None else ""
        if not name or isinstance(frame, ast.Subscript):
            continue
        for node in program.each(ast.Attribute, ast.Subscript):
            column = (
                node.attr
                if isinstance(node, ast.Attribute)
                else node.slice.value
                if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
                else None
            )
            if isinstance(column, str) and GROUPS.search(column) and name in (
                key(node.value), _gone_through(program, node.value)):  # fmt: skip  # pyright: ignore[reportAttributeAccessIssue]
                yield Fault(call, f"rows are split at random though they belong together by `{column}`",
                            f"按行随机划分，但数据按 `{column}` 成组", beside=(node,))  # fmt: skip
                return


def _gone_through(program: Program, expr: ast.expr) -> str:
    """The rows of which a name is one: `for row in rows`, in a loop or a comprehension."""
    if not isinstance(expr, ast.Name):
        return ""
    found = program.bindings(expr)
    if len(found) == 1 and found[0].how == "for" and found[0].value is not None:
        over = found[0].value
        counted = isinstance(over, ast.Call) and key(over.func) == "enumerate" and over.args
        return key(over.args[0]) if counted else key(over)  # type: ignore[attr-defined]
    for above in program.up(expr):
        for part in getattr(above, "generators", ()):
            if key(part.target) == expr.id:
                return key(part.iter)
    return ""


@rule("splits-share-a-dataset", "S1", "eval-harness-drift", "random_split Subset",
      bad="""
      full = ImageFolder(root, transform=train_transform)
      train_set, val_set = torch.utils.data.random_split(full, [0.9, 0.1])
      val_set.dataset.transform = eval_transform
      """,
      good=("""
      train_set, val_set = torch.utils.data.random_split(ImageFolder(root), [0.9, 0.1])
      val_set.dataset = copy.copy(val_set.dataset)
      val_set.dataset.transform = eval_transform
      """, """
      train_part, val_part = torch.utils.data.random_split(range(n), [0.9, 0.1])
      val_set = Subset(ImageFolder(root, transform=eval_transform), list(val_part))
      """))  # fmt: skip
def splits_share_a_dataset(view: View) -> Iterator[Fault]:
    """The transform of one part is set on the dataset that all parts share.

    Why: the other part gets it too: training loses its augmentation, or evaluation gains it.
    """
    program = view.program
    split = any(True for _ in program.find("random_split", "Subset"))
    for node in program.each(ast.Assign):
        target = node.targets[0]
        if not split or not isinstance(target, ast.Attribute) or "transform" not in target.attr:
            continue
        inner = target.value
        if isinstance(inner, ast.Attribute) and inner.attr == "dataset" and key(inner.value):
            part = program.binding(inner.value)
            parted = (
                part is not None
                and isinstance(part.value, ast.Call)
                and last(program.path(part.value.func)) in ("random_split", "Subset")
            )
            if parted and not program.bindings(inner) and not re.search(r"deepcopy|copy\.copy", whole(program, node)):
                yield Fault(node, f"`{key(inner)}` is shared by all parts of the split",
                            f"`{key(inner)}` 由划分出的各部分共用", beside=(part.value,))  # pyright: ignore[reportArgumentType, reportOptionalMemberAccess]  # fmt: skip


@rule("split-differs-between-ranks", "S1", "eval-leakage", "random_split train_test_split permutation randperm",
      bad="""
      torch.distributed.init_process_group("nccl")
      train_set, val_set = random_split(dataset, [0.9, 0.1])
      model = DistributedDataParallel(model)
      """,
      good="""
      torch.distributed.init_process_group("nccl")
      train_set, val_set = random_split(dataset, [0.9, 0.1], generator=torch.Generator().manual_seed(0))
      model = DistributedDataParallel(model)
      """)  # fmt: skip
def split_differs_between_ranks(view: View) -> Iterator[Fault]:
    """Each rank splits the data with its own random numbers.

    Why: what is validation on one rank is trained on by another.
    """
    program = view.program
    seeds = [c for c in program.find("manual_seed", "set_seed", "seed_everything", "seed") if c.args
             and last(program.path(getattr(receiver(c), "func", None) or c.func)) != "Generator"]  # fmt: skip
    accelerated = bool(view.roles.named("accelerator"))
    if not (view.distributed or accelerated) or any(
        not re.search("rank", program.code(c.args[0]), re.I) for c in seeds
    ):
        return
    for call in program.find("random_split", "train_test_split"):
        told = any(k.arg in ("generator", "random_state", "seed", None) or (k.arg == "shuffle") for k in call.keywords)
        if not told and len(call.args) < 3 and (call.args or isinstance(call.func, ast.Attribute)):
            yield Fault(call, "every rank splits the data with its own random numbers", "每个 rank 各自随机划分数据",
                        severity="" if view.distributed else "S2")  # fmt: skip
    for call in program.find("permutation", "randperm"):
        own = program.path(call.func) in ("numpy.random.permutation", "np.random.permutation", "torch.randperm")
        if own and not any(k.arg == "generator" for k in call.keywords) and _cut_in_two(program, call):
            yield Fault(call, "every rank splits the data with its own random numbers", "每个 rank 各自随机划分数据",
                        severity="" if view.distributed else "S2")  # fmt: skip


def _cut_in_two(program: Program, call: ast.Call) -> bool:
    """Whether the first and the rest of what a call gives are taken apart."""
    statement = program.statement(call)
    made = isinstance(statement, ast.Assign) and statement.value is call
    return made and cut_in_two(program, statement.targets[0])  # type: ignore[attr-defined]


@rule("rows-of-time-shuffled", "S2", "eval-leakage", "train_test_split random_split",
      bad="""
      import torch
      frame = pd.read_csv(path).sort_values("timestamp")
      train, test = train_test_split(frame, test_size=0.2, random_state=0)
      """,
      good="""
      import torch
      frame = pd.read_csv(path).sort_values("timestamp")
      train, test = train_test_split(frame, test_size=0.2, shuffle=False)
      """)  # fmt: skip
def rows_of_time_shuffled(view: View) -> Iterator[Fault]:
    """Rows in the order of time are split at random.

    Why: what comes after a test row is trained on: the score is of looking back, not ahead.
    """
    program = view.program
    for call in program.find("train_test_split", "random_split"):
        if (
            not call.args
            or any(k.arg in ("shuffle", None) for k in call.keywords)
            or argument(call, "stratify") is not None
        ):
            continue
        for value in call.args[:2] if last(program.path(call.func)) == "train_test_split" else call.args[:1]:
            for node in program.traced(value, 4):
                name = last(program.path(node.func)) if isinstance(node, ast.Call) else ""
                windows = name in ("sort_values", "sort_index")
                indexed = (
                    [argument(n, "index_col") for n in program.traced(node, 2) if isinstance(n, ast.Call)]
                    if name == "sort_index"
                    else [node]
                )
                by = " ".join(program.code(n) for n in indexed if n is not None)
                if windows and re.search(r"['\"](date|time|timestamp|datetime|day|month|year|ts)['\"]", by):
                    yield Fault(call, "rows in the order of time are split at random",
                                "按时间排序的数据被随机划分", beside=(node,))  # fmt: skip
                    return
