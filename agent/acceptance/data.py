"""Criteria on training data: leakage, duplicates, personal data, filters, token labels, annotations.

Everything is measured by `tools.data` on a bounded head of each file. A count of zero on a part of the data proves
nothing about the rest, so it is no pass: `triage data` reads the whole.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...knowledge.entry import Criterion
from ...tools.data.check import check
from ...tools.data.engine import Local
from ...tools.data.pii import pii
from ...tools.data.records.blocks import Stream
from ...tools.data.records.plain import load_json
from ...tools.data.records.shapes import view
from ...tools.data.similar.dedup import dedup
from ...tools.data.similar.leakage import Leaks, find_leaks
from ...tools.run import Artifact
from .artifacts import Sample, answers, data_of, files, held_out, sample, search, texts, training_data
from .subject import Observation, Subject, metric, missing, once, seen

QUOTED = 1000
"""Generations that are looked for in the training data."""


def _absent(value: float, criterion: Criterion, words: str, points: int, data: Sample) -> Observation:
    """A count that must be small: no pass where only a part of the data was read."""
    done = seen(value, criterion, words, points, data.window)
    if done.ok and not data.whole:
        return missing(
            f"{words}; only the head of the data was read, `triage data` reads all of it", points, data.window, value
        )
    return done


BOTH = "training data and evaluation data are needed in the run (names with `eval`, `test`, `val` or `benchmark`)"


@once
def _leaks(subject: Subject, threshold: float = 0.8) -> Leaks | None:
    train, held = training_data(subject), held_out(subject)
    if not train.parts or not held.parts:
        return None
    return find_leaks(train.parts, held.parts, threshold=threshold, engine=Local(1))


def _both(subject: Subject) -> Sample:
    a, b = training_data(subject), held_out(subject)
    return Sample((*a.parts, *b.parts), (*a.names, *b.names), a.whole and b.whole)


@metric("train_eval_leak_rate")
def train_eval_leak_rate(subject: Subject, criterion: Criterion) -> Observation:
    """Leaked evaluation items over all of them, in percent (U-07: with 1000 items or fewer only none passes)."""
    if (leaks := _leaks(subject)) is None:
        return missing(BOTH)
    total, leaked = len(leaks.index.items), len(leaks.items())
    words = (
        f"{leaked} of {total} evaluation items; leaked: one training record holds 80% of the n-grams or the whole text"
    )
    words += f"; the smallest rate above zero is {100 / total:.2g}%"
    return _absent(100 * leaked / total, criterion, words, total, _both(subject))


@metric("leak_canary_matches")
def leak_canary_matches(subject: Subject, criterion: Criterion) -> Observation:
    """Evaluation items whose whole normalised text is in a training record."""
    if (leaks := _leaks(subject)) is None:
        return missing(BOTH)
    whole = sum(leak.kind in ("verbatim", "normalised", "embedded") for leak in leaks.items().values())
    words = f"items of {len(leaks.index.items)} whose whole folded text is in one of {leaks.records} training records"
    return _absent(whole, criterion, words, len(leaks.index.items), _both(subject))


@metric("pairwise_3gram_overlap")
def pairwise_3gram_overlap(subject: Subject, criterion: Criterion) -> Observation:
    """Largest share of an evaluation item's n-grams in one training record, in percent (U-10)."""
    if (leaks := _leaks(subject, 0.5)) is None:
        return missing(BOTH)
    shares = [leak.containment for _, _, leak in leaks.counted() if leak.kind != "numbers-changed"]
    words = (
        "largest containment of an item's n-grams in a training record (words: 3; characters: 3 to 5 where no spaces)"
    )
    words += "" if shares else "; nothing above 50%, reported as 50"
    return _absent(100 * max(shares, default=0.5), criterion, words, len(leaks.index.items), _both(subject))


@metric("train_val_hash_collisions")
def train_val_hash_collisions(subject: Subject, criterion: Criterion) -> Observation:
    """SHA256 of normalised documents that occur in both the training and the held-out data."""
    train, held = training_data(subject), held_out(subject)
    if not train.parts or not held.parts:
        return missing(BOTH)
    sides = [{_digest(text) for text in texts(data)} for data in (train, held)]
    words = "SHA256 of documents after folding width, case and white space, in both"
    return _absent(len(sides[0] & sides[1]), criterion, words, len(sides[1]), _both(subject))


def _digest(text: str) -> bytes:
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return hashlib.sha256(folded.encode("utf-8", "replace")).digest()


@metric("benchmark_overlap")
def benchmark_overlap(subject: Subject, criterion: Criterion) -> Observation:
    """Benchmark items that share a 13-gram (words, or characters where no spaces) with the corpus."""
    train, held = training_data(subject), held_out(subject)
    if not train.parts or not held.parts:
        return missing(BOTH)
    items = [view(r.value).prompt or view(r.value).text for _, _, r in Stream(held.parts)]
    hit, judged = shared_passages(items, texts(train), 13)
    words = f"of {judged} items long enough, those with a 13-gram (words or Chinese characters) in the corpus"
    return _absent(len(hit), criterion, words, judged, _both(subject))


@metric("verbatim_training_regurgitation")
def verbatim_training_regurgitation(subject: Subject, criterion: Criterion) -> Observation:
    """Generations that hold a passage of 40 words or characters of the training data."""
    train, said = training_data(subject), answers(subject)[:QUOTED]
    if not train.parts or not said:
        return missing("needs a reference artifact: generations of the model beside the training data")
    hit, judged = shared_passages([a.text for a in said], texts(train), 40)
    words = (
        f"of {judged} generations long enough, those with 40 words (Chinese: characters) in a row of the training data"
    )
    if not hit and not train.whole:
        return missing(f"{words}; only the head of the training data was read", judged, train.window, 0)
    return seen(bool(hit), criterion, f"{len(hit)} {words}", judged, train.window)


ANCHOR = 13
"""Tokens by which a shared passage is looked up before it is compared whole."""


def shared_passages(items: Sequence[str], corpus: Iterator[str], n: int) -> tuple[set[int], int]:
    """(items that share a run of n tokens with the corpus, items of at least n tokens)."""
    tokens = [_tokens(item) for item in items]
    anchor = min(n, ANCHOR)
    starts: dict[int, list[tuple[int, int]]] = {}
    for number, words in enumerate(tokens):
        for i in range(len(words) - n + 1):
            starts.setdefault(hash(tuple(words[i : i + anchor])), []).append((number, i))
    hit: set[int] = set()
    for text in corpus:
        words = _tokens(text)
        for j in range(len(words) - n + 1):
            for number, i in starts.get(hash(tuple(words[j : j + anchor])), ()):
                if number not in hit and tokens[number][i : i + n] == words[j : j + n]:
                    hit.add(number)
    return hit, sum(len(words) >= n for words in tokens)


def _tokens(text: str) -> list[str]:
    """Words, each Chinese or Japanese character by itself."""
    return re.findall(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W\u3040-\u30ff\u3400-\u9fff]+", text.casefold())


@metric("near_dup_ratio")
def near_dup_ratio(subject: Subject, criterion: Criterion) -> Observation:
    """Documents with a near duplicate over documents, in percent; 3 is the loose bound, 1 the strict one."""
    data = training_data(subject)
    if not data.parts:
        return missing("training data is needed in the run")
    found = dedup(data.parts, engine=Local(1))[0].summary
    total = found["documents"]
    if not total:
        return missing("the training data holds no text")
    ratio = 100 * found["documents_with_near_duplicate"] / total
    words = "documents with a near duplicate (Jaccard 0.8; character 3-5-grams where no spaces, else word 3-grams)"
    words += f"; the strict bound of 1% is {'kept' if ratio < 1 else 'not kept'}"
    return _absent(ratio, criterion, words, total, data)


@metric("pii_hits")
def pii_hits(subject: Subject, criterion: Criterion) -> Observation:
    """Hits of the detectors for personal data and secrets over the data of the run."""
    from importlib.metadata import version

    data = sample(data_of(subject.run))
    if not data.parts:
        return missing("the cleaned data is needed in the run")
    found = pii(data.parts, engine=Local(1)).summary
    words = f"regex and checksum hits, detectors of llm-triage {version('llm-triage')}"
    words += "".join(f"; {kind} {n}" for kind, n in found["hits"].items())
    return _absent(sum(found["hits"].values()), criterion, words, found["records"], data)


@metric("takedown_hits")
def takedown_hits(subject: Subject, criterion: Criterion) -> Observation:
    """Items of the notice that are in the enabled shards."""
    notice = sample([a for a in subject.run.of("data") if re.search(r"(?i)takedown|notice", a.name)])
    data = sample(data_of(subject.run))
    if not notice.parts or not data.parts:
        return missing("the notice's items (`takedown.jsonl`) are needed beside the enabled shards")
    leaks = find_leaks(data.parts, notice.parts, engine=Local(1))
    words = f"items of the notice ({len(leaks.index.items)}) found in {leaks.records} records"
    return _absent(len(leaks.items()), criterion, words, len(leaks.index.items), data)


@metric("quarantined_shards_served")
def quarantined_shards_served(subject: Subject, criterion: Criterion) -> Observation:
    """Log lines that name a shard of the quarantine list."""
    lists = files(subject, r"(?i)^quarantin\w*\.(?:json|txt)$")
    named = [n for path in lists for n in _shard_names(path)]
    if not named:
        return missing("the list of masked shards is needed (`quarantine.json` or `quarantine.txt`)")
    pattern = "|".join(re.escape(n) for n in named[:500])
    hits = search(subject, rf"(?<![\w.-])(?:{pattern})(?![\w-])")
    shards = search(subject, r"(?i)\bshard\b|\.(?:jsonl|parquet|arrow|bin|tar)\b")
    if not hits and not shards:
        return missing("the log does not name the shards that it reads; log the shard of every batch")
    return seen(
        len(hits), criterion, f"log lines that name one of {len(named)} masked shards", max(len(shards), len(hits))
    )


def _shard_names(path: Path) -> list[str]:
    value = load_json(path) if path.suffix == ".json" else path.read_text("utf-8", "replace")[:1_000_000].split()
    value = next(iter(value.values())) if isinstance(value, dict) and value else value
    return [str(v) for v in value if str(v).strip()] if isinstance(value, list) else []


@metric("language_share_deviation")
def language_share_deviation(subject: Subject, criterion: Criterion) -> Observation:
    """Largest difference between a script's share in the data and in the recipe, in points."""
    recipe = next(
        (r for p in files(subject, r"(?i)^(?:recipe|mixture)[\w.-]*\.json$") if (r := _shares(load_json(p)))), None
    )
    data = training_data(subject)
    if not recipe or not data.parts:
        return missing(
            "the recipe is needed beside the data: `recipe.json` with the share of each script (latin, han, ...)"
        )
    found = check(data.parts, engine=Local(1)).summary
    now = found["scripts"]
    name = max({*recipe, *now}, key=lambda s: abs(recipe.get(s, 0.0) - now.get(s, 0.0)))
    words = f"largest difference in points, scripts standing for languages: {name} {now.get(name, 0):.1%}"
    words += f" of {found['records']} records, recipe {recipe.get(name, 0):.1%}"
    return seen(100 * abs(recipe.get(name, 0.0) - now.get(name, 0.0)), criterion, words, found["records"], data.window)


def _shares(value: Any) -> dict[str, float] | None:
    if not isinstance(value, Mapping) or not value or not all(isinstance(v, (int, float)) for v in value.values()):
        return None
    total = sum(value.values())
    return {str(k): v / total for k, v in value.items()} if total > 0 else None


@metric("filter_rate_explained")
def filter_rate_explained(subject: Subject, criterion: Criterion) -> Observation:
    """Every record that was filtered out carries a reason, so that the reasons add up to the difference."""
    data = training_data(subject)
    flags = check(data.parts, engine=Local(1)).summary["filter_flags"] if data.parts else {}
    if not flags.get("dropped"):
        return missing("a filter log is needed: records with a flag (`kept`) and a `filter_reason`")
    words = f"{flags['dropped']} dropped records, {flags.get('unexplained', 0)} without a reason"
    return seen(not flags.get("unexplained"), criterion, words, flags["dropped"], data.window)


@metric("short_data_for_context")
def short_data_for_context(subject: Subject, criterion: Criterion) -> Observation:
    """Less than one percent of the records reach half the context, on a context of 16k tokens or more."""
    data, context = training_data(subject), subject.settings.value("sequence_length")
    if not data.parts or not context:
        return missing("training data and a visible sequence length are needed")
    report = check(data.parts, context_length=int(context), engine=Local(1))
    if report.summary["records"] < 100:
        return missing("at least 100 records are needed", report.summary["records"], data.window)
    found = "short-data-for-context" in report.codes()
    words = f"fewer than 1% of the records reach half of {context} tokens (estimated; no source gives a number)"
    return seen(found, criterion, words, report.summary["records"], data.window)


EXPECTED = re.compile(
    r"(?i)^(?:expected_(?:count|samples|records|rows)|num_(?:samples|examples|rows|records)|total_samples)$"
)


@metric("loaded_sample_count")
def loaded_sample_count(subject: Subject, criterion: Criterion) -> Observation:
    """Records loaded (by the trainer's log, else parsed here) against the number expected in a manifest or config."""
    expected = _expected(subject)
    if expected is None:
        return missing(
            "the expected number is needed: `expected_count` in the config, or `num_examples` in a manifest.json"
        )
    logged = search(subject, r"(?i)\bnum(?:ber of)? (?:train(?:ing)? )?(?:examples|samples)\W{1,3}([\d,]+)")
    if logged:
        count, words = int(logged[-1].match[1].replace(",", "") or 0), f"the trainer's log, {logged[-1].file}"
    else:
        data = training_data(subject)
        if not data.parts or not data.whole:
            return missing(
                "a loader log (`Num examples = N`) is needed, or training data small enough to be counted here"
            )
        count, words = sum(1 for _ in Stream(data.parts)), f"records parsed in {data.window}"
    return Observation(count, count, words, f"{count} loaded ({words}), {expected} expected", count == expected)


def _expected(subject: Subject) -> int | None:
    for key, setting in subject.settings.others.items():
        if EXPECTED.match(key.rsplit(".", 1)[-1].lstrip("-").replace("-", "_")) and isinstance(
            setting.value, (int, float)
        ):
            return int(setting.value)
    for path in files(subject, r"(?i)^(?:manifest|dataset_infos?|stats)\.json$"):
        value = load_json(path)
        values = value if isinstance(value, Mapping) else {}
        for item in (values, *(v for v in values.values() if isinstance(v, Mapping))):
            found = next((v for k, v in item.items() if EXPECTED.match(str(k)) and isinstance(v, int)), None)
            if found is not None:
                return found
    return None


@metric("first_batch_built")
def first_batch_built(subject: Subject, criterion: Criterion) -> Observation:
    """A logged training step proves it; else a dry run of the first records through the run's own tokenizer."""
    if subject.found("data-schema-mismatch", "data-parse-error", "data-empty", "tokenizer-error") and not len(
        subject.table
    ):
        return seen(False, criterion, "the run logs a data or tokenizer error and no step", 1)
    loss = subject.table.get("loss") or subject.table.get("reward")
    if loss is not None and len(loss):
        return seen(True, criterion, f"a training step is logged ({loss.file}), so a batch was built", len(loss))
    folder = next((a for a in subject.run.of("tokenizer") if a.path.name == "tokenizer.json"), None)
    data = training_data(subject)
    if folder is None or not data.parts:
        return missing("a logged step is needed, or `tokenizer.json` and the data for a dry run")
    lengths = _encoded(folder, data)
    if lengths is None:
        return seen(False, criterion, "tokenizer.json cannot be read", 0, folder.name)
    words = "first 8 records tokenised and padded; a chat template is not applied, since nothing from a run is executed"
    if not lengths:
        return seen(False, criterion, f"{words}: no text in the first records", 0, data.window)
    return missing(
        f"{words}: {len(lengths)} rows of up to {max(lengths)} tokens; a logged step is needed",
        len(lengths),
        data.window,
    )


def _encoded(tokenizer: Artifact, data: Sample) -> list[int] | None:
    """Token counts of the first records, None where the tokenizer cannot be read."""
    from itertools import islice

    try:
        from tokenizers import Tokenizer  # type: ignore[import-not-found]

        encoder = Tokenizer.from_file(str(tokenizer.path))
    except Exception:  # the library raises plain Exception for any defect of the file
        return None
    return [n for text in islice(texts(data), 8) if (n := len(encoder.encode(text[:20_000]).ids))]


@metric("segments_beyond_media_end")
def segments_beyond_media_end(subject: Subject, criterion: Criterion) -> Observation:
    """Segments that end after their media do."""
    data = training_data(subject)
    judged = beyond = 0
    for _, _, record in Stream(data.parts) if data.parts else ():
        value = record.value if isinstance(record.value, Mapping) else {}
        length = next(
            (value[k] for k in ("duration", "media_duration", "audio_duration", "length_s") if k in value), None
        )
        segments = value.get("segments")
        if not isinstance(segments, list) or not isinstance(length, (int, float)):
            continue
        for s in segments:
            end = s.get("end") if isinstance(s, Mapping) else None
            if isinstance(end, (int, float)):
                judged += 1
                beyond += end > length + 0.05
    if not judged:
        return missing("records with `segments` (each with `end`) and the `duration` of their media are needed")
    return _absent(
        beyond, criterion, f"of {judged} segments, those that end more than 0.05 s after the media", judged, data
    )
