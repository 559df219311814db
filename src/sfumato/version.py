"""The version, once."""

__all__ = ["VERSION"]

VERSION = "1.0.0rc2"
