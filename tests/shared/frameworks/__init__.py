"""Files of frameworks, a table for each kind: name, framework, text, what it sets."""
