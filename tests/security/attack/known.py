"""What is known to fail, and nothing else: the one table of the attack suite.

Class of attacks -> "DEFECT PROMISE COMMAND" -> kind -> ways. Whoever mends a defect takes its rows out; a row that no
longer fails is a failure of its test, unless its defect ends with a question mark: that one fails by chance. D1 to D19
are the defects as the first attack numbered them, N1 and on those that this suite found:

- N1 `lint --format github` prints escapes of the folder that was named
- N2 pages of `--html` hold control characters of the folder that was named
- N3 bytes that are not UTF-8 in a folder's name are an internal error of most commands
- N4 a damaged cache of vectors: "Aborted.", exit 1, no answer
- N5 the strings of `data ... --json` hold control characters of names and columns
- N6 a number beyond 64 bits in a configuration is an internal error of `ask --json`
- N8 a kill leaves a cut Parquet file under the name that `scan --series` promised
"""

KNOWN: dict[str, dict[str, dict[str, str]]] = {
    "bombs": {
        "D13 hang data check": {
            "bz2-of-20-gb": "-",
            "gz-of-20-gb": "-",
            "sparse-records": "-",
            "tar-member-of-2-to-the-40": "-",
            "xz-of-20-gb": "-",
            "zst-of-20-gb": "-",
            "zst-of-one-line": "-",
        },
        "D13 hang scan": {
            "log-in-gz-of-20-gb": "-",
            "sparse-log": "-",
        },
        "D13 memory data check": {
            "parquet-dictionary-of-one-long-string": "-",
        },
        "D9 memory data dedup": {
            "one-looped-record-of-10-mb": "-",
            "one-record-of-half-a-million-words": "-",
        },
    },
    "damage": {
        "D13 hang data check": {
            "data-jsonl": "sparse",
        },
        "D13 hang scan": {
            "log": "sparse",
            "trainer-state": "sparse",
        },
        "D2 unread-clean checkpoint check": {
            "optimizer": "directory",
            "rng-state": "directory",
            "scheduler-command": "directory",
            "training-args": "directory",
        },
        "D4 unread-clean ask": {
            "trainer-state": "cut-50",
        },
        "D4 unread-clean checkpoint check": {
            "adapter-model": "directory fifo loop",
            "deepspeed-states": "directory",
        },
        "D4 unread-clean data check": {
            "webdataset": "cut-90 halves nul-middle",
        },
        "D4 unread-clean data dedup": {
            "webdataset": "halves nul-middle",
        },
        "D4 unread-clean data pii": {
            "webdataset": "cut-90 halves nul-middle",
        },
        "D4 unread-clean scan": {
            "all-results": "cut-1 cut-10 cut-50 cut-90 halves nul-middle",
            "flight-recorder": "cut-1 cut-10 cut-50 cut-90 halves nul-middle random",
            "flight-recorder-json": "cut-1 cut-10 cut-50 cut-90 halves nul-middle random",
            "lm-eval": "cut-1 cut-10 cut-50 cut-90 halves nul-middle",
            "profiler-trace": "cut-1",
            "pyspy": "random",
        },
        "D6 unread-clean checkpoint check": {
            "adapter-config": "directory loop",
            "config-json": "directory loop",
            "tokenizer-config": "directory loop",
            "tokenizer-json": "directory loop",
        },
        "D9 memory data dedup": {
            "data-tsv": "long-line",
            "data-txt": "long-line",
        },
    },
    "damaged-home": {
        "D10 no-answer ask": {
            "chroma-sqlite3": "cut-50 denied directory empty loop nul random",
        },
        "D11 no-answer ask": {
            "cases.sqlite3": "cut-50 denied directory loop nul random",
            "runbooks-sqlite3": "cut-50 denied directory nul random",
        },
        "D14 internal-error cases trace": {
            "traces-jsonl": "cut-50 nul random",
        },
        "D14? internal-error cases trace": {
            "traces-jsonl": "doubled-cut",
        },
        "N4 no-answer ask": {
            "cache-npz": "empty",
            "runbooks-npz": "directory empty",
        },
        "N4 not-json ask": {
            "cache-npz": "empty",
            "runbooks-npz": "empty",
        },
        "N4 not-json runbook search": {
            "cache-npz": "empty",
            "runbooks-npz": "empty",
        },
    },
    "full-disk": {
        "D11 left-over ask": {
            "home": "full",
        },
        "D11 left-over ask-html": {
            "out": "full",
        },
        "D11 no-answer ask": {
            "home": "full",
        },
        "D11 no-answer ask-html": {
            "out": "full",
        },
        "D11 torn report": {
            "out": "full",
        },
        "D11 torn scan": {
            "out": "full",
        },
    },
    "fuzz": {
        "N5 control data pii": {
            "parquet": "bytes",
        },
    },
    "home": {
        "D11 no-answer ask": {
            "empty-0": "home",
            "empty-500": "home",
            "lived-in-0": "home",
            "lived-in-500": "home",
        },
        "D11 no-answer runbook search": {
            "empty-0": "home",
            "lived-in-0": "home",
        },
        "D11 no-answer verify": {
            "empty-0": "home",
            "lived-in-0": "home",
        },
    },
    "kills": {
        "D10 ask-off kill": {
            "first-add": "kill",
            "index": "kill",
        },
        "D10 search-off kill": {
            "first-add": "kill",
            "index": "kill",
        },
        "N8? torn kill": {
            "scan": "kill",
        },
    },
    "modes": {
        "D15 open-mode add": {
            "755": "mode",
        },
        "D15 open-mode ask": {
            "755": "mode",
            "777": "mode",
        },
    },
    "names": {
        "N1 control lint github": {
            "carriage": "name",
            "csi": "name",
            "escape": "name",
            "right-to-left": "name",
            "tabs": "name",
            "title": "name",
        },
        "N2 page-control ask --html": {
            "carriage": "name",
            "csi": "name",
            "escape": "name",
            "right-to-left": "name",
            "tabs": "name",
            "title": "name",
        },
        "N2 page-control scan --html": {
            "carriage": "name",
            "csi": "name",
            "escape": "name",
            "right-to-left": "name",
            "tabs": "name",
            "title": "name",
        },
        "N3 internal-error ask": {
            "bad-utf-8": "name",
            "c1-bytes": "name",
            "surrogate": "name",
        },
        "N3 internal-error ask --html": {
            "bad-utf-8": "name",
            "c1-bytes": "name",
            "surrogate": "name",
        },
        "N3 internal-error ask --json": {
            "bad-utf-8": "name",
            "c1-bytes": "name",
            "surrogate": "name",
        },
        "N3 internal-error lint github": {
            "bad-utf-8": "name",
            "c1-bytes": "name",
            "surrogate": "name",
        },
        "N3 internal-error lint sarif": {
            "bad-utf-8": "name",
            "c1-bytes": "name",
            "surrogate": "name",
        },
        "N3 internal-error scan --html": {
            "bad-utf-8": "name",
            "c1-bytes": "name",
            "surrogate": "name",
        },
    },
    "parallel": {
        "D10? failed add": {
            "while-indexing": "parallel",
        },
        "D10? failed ask": {
            "while-indexing": "parallel",
        },
        "D10? failed index": {
            "while-indexing": "parallel",
        },
        "D10? failed search": {
            "while-indexing": "parallel",
        },
        "D10? internal-error add": {
            "while-indexing": "parallel",
        },
        "D10? internal-error index": {
            "while-indexing": "parallel",
        },
        "D10? no-answer ask": {
            "while-indexing": "parallel",
        },
    },
}
