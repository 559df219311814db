"""Interactive local protocols.  Nothing is imported here: name the module you need."""
