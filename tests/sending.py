"""Reports that a test made up, as a message."""

from sfumato.local.client import Randomized, encode_batch
from sfumato.local.protocols.protocol import LocalProtocol


def sent(source, reports, name=None, tokens=None, round=None):
    """A message of these reports, for a collection or for a bare protocol."""
    protocol = source if isinstance(source, LocalProtocol) else source.protocol
    return encode_batch(source, Randomized(protocol, reports), name, tokens, round)
