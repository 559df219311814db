"""Local privacy: each value is randomized at its owner, and only reports leave.

`protocols` randomize and estimate, `client` is what the owner runs; both need numpy and nothing else.  Nothing is
imported here, so that a client stays as light as that.
"""
