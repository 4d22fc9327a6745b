"""What is known to fail, and nothing else: the one table of the attack suite.

Class of attacks -> "DEFECT PROMISE COMMAND" -> kind -> ways. Whoever mends a defect takes its rows out; a row that no
longer fails is a failure of its test.
"""

KNOWN: dict[str, dict[str, dict[str, str]]] = {}
