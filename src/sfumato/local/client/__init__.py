"""What the owner of a value runs: numpy and the standard library suffice."""

from sfumato.local.client.bits import SystemBits

__all__ = ["SystemBits"]
