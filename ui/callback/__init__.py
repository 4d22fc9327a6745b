"""triage beside a running training: three lines in a program, and what goes wrong is said while it goes wrong.

It changes nothing of a training and stops none; what it found is a line on standard error.
"""

from .hooks import TriageCallback as TriageCallback
