"""What can be called, part by part; each module has `routes()`."""
