"""What a server says of the requests that it serves, and what a test of its load says."""
