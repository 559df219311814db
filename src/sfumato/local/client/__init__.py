"""What the owner of a value runs: numpy and the standard library suffice."""

from sfumato.local.client.bits import SystemBits
from sfumato.local.client.budget import Budget
from sfumato.local.client.client import Client
from sfumato.local.client.wire import Batch, decode_batch, digest_of, encode_batch, join

__all__ = ["Batch", "Budget", "Client", "SystemBits", "decode_batch", "digest_of", "encode_batch", "join"]
