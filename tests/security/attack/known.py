"""What is known to fail, and nothing else: the one table of the attack suite.

Class of attacks -> "DEFECT PROMISE COMMAND" -> kind -> ways. Whoever mends a defect takes its rows out; a row that no
longer fails is a failure of its test, unless its defect ends with a question mark: that one fails by chance. D1 to D19
are the defects as the first attack numbered them, N1 and on those that this suite found:

- N5 the strings of `data ... --json` hold control characters of names and columns
"""

KNOWN: dict[str, dict[str, dict[str, str]]] = {}
