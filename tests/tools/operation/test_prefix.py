"""Prompts that no longer come from the cache, and the first token that waits for it."""

import pytest

from triage.tools.operation.requests.prefix import prefix_lost
from triage.tools.relate.line import lines_of
from triage.tools.tables.read import read_tables


def hours(
    first=(0.3, 1.4), each=(21, 23), prompt=(3000, 3020), hit=None, n=30, names="hour,reqs,prompt_len,ttft_p50,tpot_ms"
):
    rows = [names + (",cache_hit_rate" if hit else "")]
    for i in range(n):
        late, jitter = int(i >= n // 2), 1 + 0.02 * (i % 3)
        row = [
            f"2025-03-{1 + i // 24:02d} {i % 24:02d}:00",
            900 + i,
            prompt[late],
            first[late] * jitter,
            each[late] * jitter,
        ]
        rows.append(",".join(map(str, row + ([hit[late] * jitter] if hit else []))))
    return "\n".join(rows)


def counters(shares=(0.8, 0.8, 0.05), label=True):
    out, reused, made = {}, 5e9, 1e9
    for i, share in enumerate((0, *shares)):
        reused, made = reused + 1e8 * share, made + 1e8 * (1 - share)
        name = "llm_prompt_tokens_total"
        labels = f'{name}{{src="cached"}} {reused:.0f}\n{name}{{src="computed"}} {made:.0f}\n'
        names = f"prefix_cache_hits_total {reused:.0f}\nprefix_cache_queries_total {reused + made:.0f}\n"
        text = "# TYPE llm counter\n" + (labels if label else names)
        out[f"m/{i}.prom"] = text
    return out


def cached(after=0.04):
    rows = ["day,prompt_tokens,cached_tokens"]
    rows += [f"2025-03-{i + 1:02d},1000000,{int(1e6 * (0.7 if i < 10 else after)) + i}" for i in range(20)]
    return "\n".join(rows)


def found(folder, files):
    tables = []
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(text, encoding="utf-8")
        tables += read_tables(path, name)
    return list(prefix_lost(tables, lines_of((), tables)))


ZH = "时间,请求,输入长度,首token_ms,每token_ms"
RELEASES = "release,hit_rate,ttft_p95_ms,tpot_ms\n1.4,0.82,610,24\n1.5,0.81,600,24\n1.6,0.03,3900,27\n"


@pytest.mark.parametrize("files", [
    {"hours.csv": hours(hit=(83, 4))},
    {"lat.csv": hours(names=ZH), **counters()},
    {"lat.csv": hours(), **counters(label=False)},
    {"lat.csv": hours(), "usage.csv": cached()},
    {"by_release.csv": RELEASES},
])  # fmt: skip
def test_a_cache_that_is_no_longer_hit_is_told_with_the_first_token(tmp_path, files):
    (one,) = found(tmp_path, files)
    assert (one.code, one.severity) == ("prefix-cache-lost", "S2")
    assert one.data["before"] > 0.6 > 0.1 > one.data["after"]
    assert len({e.metric for e in one.evidence}) > 1


@pytest.mark.parametrize("files", [
    {"hours.csv": hours(hit=(83, 80))},  # still hit: it waits for something else
    {"hours.csv": hours(hit=(83, 4), first=(0.3, 0.31))},  # not felt
    {"hours.csv": hours(hit=(83, 4), each=(21, 90))},  # all of it is slower
    {"hours.csv": hours(hit=(83, 4), prompt=(3000, 9000))},  # other prompts
    {"hours.csv": hours(hit=(83, 4), n=1)},  # too few
    {"hours.csv": hours(hit=(9, 2))},  # never was much in it
    {"lat.csv": hours(), **counters((0.8, 0.8, 0.78))},
    {"load.csv": RELEASES.replace("release", "workload")},  # unlike loads beside each other
    {"usage.csv": cached()},  # nothing took longer
])  # fmt: skip
def test_a_cache_that_is_hit_or_not_missed_is_none(tmp_path, files):
    assert not found(tmp_path, files)
