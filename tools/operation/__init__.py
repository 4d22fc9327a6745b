"""What a running job, its servers and its machines say of themselves."""
