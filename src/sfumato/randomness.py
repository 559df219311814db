"""The one source of random bits."""
