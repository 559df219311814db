"""Collecting reports and estimating from them.  Nothing is imported here: name the module you need."""
