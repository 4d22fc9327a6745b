"""The log scan of a run: series detectors, error signatures and the coverage of both (`scan(run) -> Report`).

Reading logs into series is `tools.series`; this module (work package Logs-B) only judges what was read.
"""

from __future__ import annotations
