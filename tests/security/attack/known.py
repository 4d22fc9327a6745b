"""What is known to fail, and nothing else: the one table of the attack suite.

Class of attacks -> "DEFECT PROMISE COMMAND" -> kind -> ways. Whoever mends a defect takes its rows out; a row that no
longer fails is a failure of its test, unless its defect ends with a question mark: that one fails by chance. D1 to D19
are the defects as the first attack numbered them, N1 and on those that this suite found:

- N5 the strings of `data ... --json` hold control characters of names and columns
- N6 a number beyond 64 bits in a configuration is an internal error of `ask --json`
"""

KNOWN: dict[str, dict[str, dict[str, str]]] = {
    "bombs": {
        "D13 hang lint": {
            "shell-replacements": "-",
        },
        "D13 hang scan": {
            "log-dotted-epoch": "-",
        },
        "D13 memory lint": {
            "shell-variables-in-a-row": "-",
            "toml-dots": "-",
        },
    },
    "damage": {
        "N6 internal-error ask": {
            "adapter-config": "huge",
        },
    },
    "fuzz": {
        "D1 control ask": {
            "launch": "bytes",
            "makefile": "bytes",
        },
    },
}
