"""The version, once."""

__all__ = ["VERSION"]

VERSION = "0.7.0"
