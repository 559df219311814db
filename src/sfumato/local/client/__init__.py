"""What the owner of a value runs: numpy and the standard library suffice."""

from sfumato.local.client.bits import SystemBits
from sfumato.local.client.budget import Budget
from sfumato.local.client.client import Client
from sfumato.local.client.device import Device
from sfumato.local.client.randomized import Randomized, randomized
from sfumato.local.client.wire import Batch, decode_batch, encode_batch, header_of, join

__all__ = [
    "Batch",
    "Budget",
    "Client",
    "Device",
    "Randomized",
    "SystemBits",
    "decode_batch",
    "encode_batch",
    "header_of",
    "join",
    "randomized",
]
