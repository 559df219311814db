"""The version, once."""

__all__ = ["VERSION"]

VERSION = "0.3.0"
