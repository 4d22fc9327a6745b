"""What is known to fail, and nothing else: the one table of the attack suite.

Class of attacks -> "DEFECT PROMISE COMMAND" -> kind -> ways. Whoever mends a defect takes its rows out; a row that no
longer fails is a failure of its test, unless its defect ends with a question mark: that one fails by chance. D1 to D19
are the defects as the first attack numbered them, N1 and on those that this suite found:

- N5 the strings of `data ... --json` hold control characters of names and columns
- N6 a number beyond 64 bits in a configuration is an internal error of `ask --json`
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
        "D13 hang lint": {
            "shell-replacements": "-",
        },
        "D13 hang scan": {
            "log-dotted-epoch": "-",
            "log-in-gz-of-20-gb": "-",
            "sparse-log": "-",
        },
        "D13 memory data check": {
            "parquet-dictionary-of-one-long-string": "-",
        },
        "D13 memory lint": {
            "shell-variables-in-a-row": "-",
            "toml-dots": "-",
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
        "D4 unread-clean data check": {
            "webdataset": "cut-90 halves nul-middle",
        },
        "D4 unread-clean data dedup": {
            "webdataset": "halves nul-middle",
        },
        "D4 unread-clean data pii": {
            "webdataset": "cut-90 halves nul-middle",
        },
        "D9 memory data dedup": {
            "data-tsv": "long-line",
            "data-txt": "long-line",
        },
        "N6 internal-error ask": {
            "adapter-config": "huge",
        },
    },
    "fuzz": {
        "D1 control ask": {
            "launch": "bytes",
            "makefile": "bytes",
        },
        "N5 control data pii": {
            "parquet": "bytes",
        },
    },
}
