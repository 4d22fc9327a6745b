"""Reading, judging, comparing and editing the configuration of a run."""
