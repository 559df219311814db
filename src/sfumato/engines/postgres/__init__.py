"""PostgreSQL as an engine: answers where the data lives, by a role that may read and hold temporary objects."""
