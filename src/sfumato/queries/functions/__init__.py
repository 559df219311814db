"""Questions whose answer is a function."""
