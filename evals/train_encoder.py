"""Train the shipped encoder and fit the ranking: `python -m triage.evals.train_encoder`.

Deterministic, some minutes on two cores, no download. Pairs come from the runbook (any two units of one entry, across
languages too), from the `train` questions of `data/questions.jsonl`, from the phrases of `outside.json`, and from
`data/synonyms.txt`, which also rewords the phrases; `data/fillers.txt` is put around them. The weights of
`knowledge.relevance` are then fitted on the `fit` questions; the `test` questions and `data/held-out.jsonl` are for
`evals.suites.retrieval` only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..knowledge import embedding, relevance
from ..knowledge.compiled import ship_centres
from ..knowledge.entry import Entry
from ..knowledge.outside import phrases
from ..knowledge.runbook import Runbook, load
from ..knowledge.signals import Corpus, build, units_of

DATA = Path(__file__).parent / "data"
VOCABULARY = 4000
"""Short pieces: 8000 or 16000 knew more words by heart, and fewer that no phrase has."""
MEMBERS = 6
"""Tables trained from other seeds and laid side by side: a cosine is then the mean of theirs, and depends less on the
draw of one training."""
DIMENSIONS = 128
"""Of one member."""
ROUNDS = 250
"""Batches; each holds one pair of every class, so that no pair is a false negative of another."""
JOINED = 4
"""Most phrases of an entry that stand together on one side of a pair: a question is compared with the mean of many."""
TALK = range(2, 7)
"""Fillers on one side of a phrase where it stands in a long report."""
SYNONYM_ROUNDS = 60
LEARNING_RATE = 0.02
SCALE = 10.0
"""Inverse temperature of the ranking loss."""
SEED = 7


def questions(split: str) -> list[dict[str, Any]]:
    lines = (DATA / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [q for q in map(json.loads, lines) if q["split"] == split]


def lines_of(name: str) -> list[str]:
    """Lines of a data file, without its comments."""
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def synonyms() -> list[list[str]]:
    """Rows of words that mean the same."""
    return [line.split("|") for line in lines_of("synonyms.txt")]


def classes(runbook: Runbook) -> list[list[str]]:
    """Texts that mean the same: one list an entry, then the two kinds of outside."""
    asked: dict[str, list[str]] = defaultdict(list)
    for question in questions("train"):
        for id in question["expected"]:
            asked[id].append(question["text"])
    return [units_of(entry) + asked[entry.id] for entry in runbook] + list(phrases().values())


class Reword:
    """Another way to say it: synonyms swapped in (of either language), words dropped or mistyped, talk around it."""

    def __init__(self, rows: list[list[str]], fillers: list[str], rng: random.Random):
        self._rows, self._fillers, self._rng = rows, fillers, rng
        self._of: dict[str, list[int]] = defaultdict(list)
        for number, row in enumerate(rows):
            for word in row:
                self._of[word.lower()].append(number)
        words = sorted(self._of, key=len, reverse=True)
        latin = "|".join(re.escape(w) for w in words if w.isascii())
        han = "|".join(re.escape(w) for w in words if not w.isascii() and len(w) > 1)
        self._pattern = re.compile(rf"(?<![a-z])(?:{latin})(?![a-z])|{han}")

    def __call__(self, text: str) -> str:
        if self._rng.random() < 0.3:
            return text
        words = self._pattern.sub(self._swap, text.lower()).split()
        if len(words) > 4 and self._rng.random() < 0.5:
            words = [word for word in words if self._rng.random() > 0.2] or words
        if self._rng.random() < 0.2:
            words = [self._mistype(word) for word in words]
        return " ".join([*self._around(), *words, *self._around()])

    def _around(self) -> list[str]:
        """Mostly nothing, sometimes a little talk, and now and then as much as a report has."""
        return self._rng.choices(self._fillers, k=self._rng.choices((0, 1, *TALK), (8, 2, *(len(TALK) * [0.3])))[0])

    def _mistype(self, word: str) -> str:
        """One letter of a long word lost or swapped with the next, now and then."""
        if len(word) < 5 or not word.isalpha() or not word.isascii() or self._rng.random() > 0.2:
            return word
        at = self._rng.randrange(1, len(word) - 2)
        return word[:at] + self._rng.choice(["", word[at + 1] + word[at]]) + word[at + 2 :]

    def _swap(self, match: re.Match[str]) -> str:
        if self._rng.random() < 0.5:
            return match[0]
        return self._rng.choice(self._rows[self._rng.choice(self._of[match[0]])])


def pairs(groups: list[list[str]], seed: int) -> dict[str, dict[str, list[str]]]:
    """Two sets of columns `a` and `b`; every run of `len(groups)` rows of `phrases` has one row a group."""
    rng, rows = random.Random(seed), synonyms()
    reword = Reword(rows, lines_of("fillers.txt"), rng)
    out = {name: {"a": [], "b": []} for name in ("phrases", "synonyms")}
    for _ in range(ROUNDS):
        for group in groups:
            said, *others = map(reword, rng.choices(group, k=1 + rng.randint(1, JOINED)))
            out["phrases"]["a"].append(said)
            out["phrases"]["b"].append(" ".join(others))
    for _ in range(SYNONYM_ROUNDS):
        for row in rng.sample(rows, min(len(groups), len(rows))):
            for column, word in zip("ab", rng.sample(row, 2), strict=True):
                out["synonyms"][column].append(word)
    return out


def train_tokenizer(texts: Iterator[str]) -> Any:
    """Byte-pair pieces of lower-cased words and Han runs; a bare number is always the same piece."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    number = Regex(r"(?<![a-z0-9])[0-9]+([.,][0-9]+)*(?![a-z0-9])")
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Lowercase(), normalizers.Replace(number, " 0 ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Split(Regex(r"[\u3400-\u9fff]+"), "isolated"),
            pre_tokenizers.Punctuation("isolated"),
        ]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, min_frequency=2, special_tokens=["[UNK]", "[PAD]"], show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def train(tokenizer: Any, groups: list[list[str]], seed: int) -> Any:
    """`[vocabulary, DIMENSIONS]` float32 table with rows of mean length 1, trained with in-batch negatives."""
    import torch
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.base.sampler import DefaultBatchSampler
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from sentence_transformers.sentence_transformer.modules import StaticEmbedding

    class InOrder(DefaultBatchSampler):
        """Batches as the rows lie."""

        def __init__(self, dataset: Any, batch_size: int, **_: Any):
            rows: Any = torch.utils.data.SequentialSampler(dataset)
            super().__init__(rows, batch_size=batch_size, drop_last=True)

    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True)
    module = StaticEmbedding(tokenizer, embedding_dim=DIMENSIONS)
    torch.nn.init.normal_(module.embedding.weight, std=0.01)  # a piece that is never seen says nothing
    model = SentenceTransformer(modules=[module], device="cpu")
    arguments = SentenceTransformerTrainingArguments(
        output_dir="/tmp/triage-encoder", num_train_epochs=1, per_device_train_batch_size=len(groups),
        learning_rate=LEARNING_RATE, lr_scheduler_type="linear", batch_sampler=InOrder, seed=seed, save_strategy="no",
        report_to="none", disable_tqdm=True, logging_steps=100, dataloader_pin_memory=False,
    )  # fmt: skip
    sets = {name: Dataset.from_dict(columns) for name, columns in pairs(groups, seed).items()}
    loss = MultipleNegativesRankingLoss(
        model, scale=SCALE, directions=("query_to_doc", "doc_to_query"), partition_mode="per_direction"
    )
    SentenceTransformerTrainer(model, arguments, train_dataset=sets, loss=loss).train()
    table = module.embedding.weight.detach().numpy()
    return table / np.linalg.norm(table, axis=1).mean()


def fit(corpus: Corpus, runbook: Runbook) -> dict[str, Any]:
    """Weights of `knowledge.relevance`, by maximum likelihood on the `fit` questions."""
    import torch

    asked = questions("fit")
    signals = [corpus.signals(q["text"]) for q in asked]
    ids = list(runbook.entries)
    entry = torch.ones(len(relevance.ENTRY), dtype=torch.float64, requires_grad=True)
    none = torch.zeros(len(relevance.NONE), dtype=torch.float64, requires_grad=True)
    ours = [i for i, q in enumerate(asked) if q["kind"] != "injection"]
    of_entry = torch.tensor(np.stack([relevance.entry_features(signals[i]) for i in ours]), dtype=torch.float64)
    of_none = torch.tensor(np.stack([relevance.none_features(signals[i]) for i in ours]))
    meant = [[ids.index(e) for e in asked[i]["expected"] if e in ids] or [len(ids)] for i in ours]
    weight = torch.tensor([{"negative": 0.3}.get(asked[i]["kind"], 1.0) for i in ours])

    def ranking() -> Any:
        logits = torch.cat([of_entry @ entry, (of_none @ none)[:, None]], 1)
        chances = torch.log_softmax(logits, 1)
        right = torch.stack([torch.logsumexp(chances[i, m], 0) for i, m in enumerate(meant)])
        return -(right * weight).sum() / weight.sum()

    _minimise(ranking, [entry, none])
    found = entry.detach().numpy()
    kinds = torch.tensor([{"negative": 1, "injection": 2}.get(q["kind"], 0) for q in asked])
    of_field = torch.tensor(np.stack([relevance.field_features(s, found) for s in signals]))
    field = torch.zeros((3, len(relevance.FIELD)), dtype=torch.float64, requires_grad=True)
    _minimise(lambda: torch.nn.functional.cross_entropy(of_field @ field.T, kinds), [field])
    return {name: np.round(w.detach().numpy(), 4).tolist() for name, w in zip(
        ("entry", "none", "field"), (entry, none, field), strict=True)}  # fmt: skip


def _minimise(loss: Any, weights: Sequence[Any], ridge: float = 2e-3) -> None:
    import torch

    optimizer = torch.optim.LBFGS(weights, max_iter=300, line_search_fn="strong_wolfe")

    def closure() -> Any:
        optimizer.zero_grad()
        value = loss() + ridge * torch.stack([w.square().sum() for w in weights]).sum()
        value.backward()
        return value

    optimizer.step(closure)


def texts_of(entry: Entry) -> Iterator[str]:
    for part in entry.body.values():
        for section in part.values():
            yield from section.splitlines()


def held_out(runbook: Runbook, every: int) -> None:
    """Train and index without every n-th phrase of the entries, and ask those phrases."""
    from .suites.retrieval import table

    asked: list[dict[str, Any]] = []
    entries: dict[str, Entry] = {}
    for entry in runbook:
        kept: dict[str, tuple[str, ...]] = {}
        for lang, said in (("en", entry.says.en), ("zh", entry.says.zh)):
            kept[lang] = tuple(p for i, p in enumerate(said) if i % every)
            asked += [{"text": p, "lang": lang, "expected": [entry.id]} for i, p in enumerate(said) if not i % every]
        entries[entry.id] = entry.model_copy(update={"says": entry.says.model_copy(update=kept)})
    thinned = Runbook(entries)
    encoder = made(thinned)
    corpus = build(list(thinned), phrases(), encoder)
    weights = relevance.Relevance(*(np.array(w) for w in fit(corpus, thinned).values()))
    ranks = {
        "lexical": lambda text: corpus.signals(text).lexical,
        "dense": lambda text: np.exp(corpus.signals(text).dense),
        "fused": lambda text: weights.entries(corpus.signals(text)),
    }
    for row in table(asked, ranks, list(entries)):
        print(f"{row.method:8} {row.group:14} {row.questions:4} {row.top1:.3f} {row.top3:.3f} {row.mrr:.3f}")


def made(runbook: Runbook) -> embedding.StaticEncoder:
    """A newly trained encoder; its name is a hash of what is in it."""
    groups = classes(runbook)
    everything = [*(t for g in groups for t in g), *(w for r in synonyms() for w in r)]
    everything += [*lines_of("fillers.txt"), *(t for entry in runbook for t in texts_of(entry))]
    tokenizer = train_tokenizer(iter(everything))
    members = [train(tokenizer, groups, SEED + number) for number in range(MEMBERS)]
    table = np.concatenate(members, 1).astype(np.float16)
    digest = hashlib.sha256(table.tobytes() + tokenizer.to_str().encode()).hexdigest()[:12]
    return embedding.StaticEncoder(f"triage-static@{digest}", table.astype(np.float32), tokenizer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hold-out", type=int, metavar="N", help="ship nothing; measure on every N-th phrase, unseen")
    options = parser.parse_args()
    runbook = load()
    if options.hold_out:
        held_out(runbook, options.hold_out)
        return
    encoder = made(runbook)
    embedding.ship(encoder)
    corpus = build(list(runbook), phrases(), encoder)
    (embedding.FOLDER / "ranking.json").write_text(json.dumps(fit(corpus, runbook)) + "\n")
    ship_centres()
    print(encoder.name)


if __name__ == "__main__":
    main()
