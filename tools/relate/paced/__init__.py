"""Quantities that ought to keep pace: samples and the policy that trains on them, results and the items asked."""
