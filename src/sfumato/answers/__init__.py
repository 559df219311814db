"""Public values: what a release says, and how well."""
