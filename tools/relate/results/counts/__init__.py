"""Results by what they count: items that were scored, counted twice, or came to nothing."""
