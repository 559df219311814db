"""Local privacy: each value is randomized at its owner, and only reports leave.

Protocols randomize and estimate, `Client` is what the owner runs; both need numpy and nothing else.  Names are loaded
when first used, so that a client stays as light as that.  The guide is docs/guide/local.md.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.accounting.shuffling import shuffled
    from sfumato.bounds.minimax import certify_local
    from sfumato.local.choosing import Choice, choose, choose_mean, choose_yes_no, rank, rank_means
    from sfumato.local.client import (
        Budget,
        Client,
        Device,
        Randomized,
        SystemBits,
        decode_batch,
        encode_batch,
        join,
        randomized,
    )
    from sfumato.local.collection.central import central
    from sfumato.local.collection.collector import Collector, Receipt
    from sfumato.local.collection.declaration import Collection
    from sfumato.local.collection.door import Door
    from sfumato.local.collection.doors import collect, estimate
    from sfumato.local.collection.estimates import Estimate, load_estimate
    from sfumato.local.collection.feeds import add_file
    from sfumato.local.collection.keys import Key, new_key
    from sfumato.local.collection.preview import preview
    from sfumato.local.collection.series import Difference, Series
    from sfumato.local.collection.suspicions import Suspicion
    from sfumato.local.interactive.conductor import Conductor
    from sfumato.local.interactive.finding import Finding
    from sfumato.local.interactive.inquiry import Asked, Inquiry
    from sfumato.local.interactive.interaction import Interaction, Transcript, Turn, conducted
    from sfumato.local.interactive.participant import Participant
    from sfumato.local.interactive.quantiles import QuantileSearch
    from sfumato.local.interactive.strings import FrequentStrings
    from sfumato.local.optimal import frequencies, least_mean_variance, mutual_information, optimal_channel, separation
    from sfumato.local.protocols import (
        PROTOCOLS,
        Duchi,
        GeneralizedResponse,
        HadamardResponse,
        Hybrid,
        Hypercube,
        LocalHashing,
        LocalLaplace,
        LocalProtocol,
        OptimizedUnary,
        OptimizedWindow,
        Piecewise,
        PrivUnit,
        Rappor,
        SampledCoordinates,
        SquareWave,
        SubsetSelection,
        SymmetricUnary,
        Tabulated,
    )
    from sfumato.local.questions import QUESTIONS, Marginals, Ranges, Sets
    from sfumato.local.questions.longitudinal import Diary, Longitudinal
    from sfumato.local.questions.reading import Reading
    from sfumato.local.relay.limit import Limit
    from sfumato.local.relay.relay import Relay
    from sfumato.privacy.guarantees import Approximate, Pure
    from sfumato.randomness import secure, seeded

_HOMES = {
    "sfumato.accounting.shuffling": ("shuffled",),
    "sfumato.bounds.minimax": ("certify_local",),
    "sfumato.local.choosing": ("Choice", "choose", "choose_mean", "choose_yes_no", "rank", "rank_means"),
    "sfumato.local.client": (
        "Budget", "Client", "Device", "Randomized", "SystemBits", "decode_batch", "encode_batch", "join", "randomized",
    ),
    "sfumato.local.collection.central": ("central",),
    "sfumato.local.collection.collector": ("Collector", "Receipt"),
    "sfumato.local.collection.series": ("Difference", "Series"),
    "sfumato.local.collection.suspicions": ("Suspicion",),
    "sfumato.local.collection.declaration": ("Collection",),
    "sfumato.local.collection.door": ("Door",),
    "sfumato.local.collection.doors": ("collect", "estimate"),
    "sfumato.local.collection.estimates": ("Estimate", "load_estimate"),
    "sfumato.local.collection.feeds": ("add_file",),
    "sfumato.local.collection.keys": ("Key", "new_key"),
    "sfumato.local.collection.preview": ("preview",),
    "sfumato.local.interactive.conductor": ("Conductor",),
    "sfumato.local.interactive.finding": ("Finding",),
    "sfumato.local.interactive.inquiry": ("Asked", "Inquiry"),
    "sfumato.local.interactive.interaction": ("Interaction", "Transcript", "Turn", "conducted"),
    "sfumato.local.interactive.participant": ("Participant",),
    "sfumato.local.interactive.quantiles": ("QuantileSearch",),
    "sfumato.local.interactive.strings": ("FrequentStrings",),
    "sfumato.local.optimal": (
        "frequencies", "least_mean_variance", "mutual_information", "optimal_channel", "separation",
    ),
    "sfumato.local.protocols": (
        "PROTOCOLS", "Duchi", "GeneralizedResponse", "HadamardResponse", "Hybrid", "Hypercube", "LocalHashing",
        "LocalLaplace", "LocalProtocol", "OptimizedUnary", "OptimizedWindow", "Piecewise", "PrivUnit", "Rappor",
        "SampledCoordinates", "SquareWave", "SubsetSelection", "SymmetricUnary", "Tabulated",
    ),
    "sfumato.local.questions": ("QUESTIONS", "Marginals", "Ranges", "Sets"),
    "sfumato.local.questions.longitudinal": ("Diary", "Longitudinal"),
    "sfumato.local.questions.reading": ("Reading",),
    "sfumato.local.relay.limit": ("Limit",),
    "sfumato.local.relay.relay": ("Relay",),
    "sfumato.privacy.guarantees": ("Approximate", "Pure"),
    "sfumato.randomness": ("secure", "seeded"),
}  # fmt: skip
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "PROTOCOLS",
    "QUESTIONS",
    "Approximate",
    "Asked",
    "Budget",
    "Choice",
    "Client",
    "Collection",
    "Collector",
    "Conductor",
    "Device",
    "Diary",
    "Difference",
    "Door",
    "Duchi",
    "Estimate",
    "Finding",
    "FrequentStrings",
    "GeneralizedResponse",
    "HadamardResponse",
    "Hybrid",
    "Hypercube",
    "Inquiry",
    "Interaction",
    "Key",
    "Limit",
    "LocalHashing",
    "LocalLaplace",
    "LocalProtocol",
    "Longitudinal",
    "Marginals",
    "OptimizedUnary",
    "OptimizedWindow",
    "Participant",
    "Piecewise",
    "PrivUnit",
    "Pure",
    "QuantileSearch",
    "Randomized",
    "Ranges",
    "Rappor",
    "Reading",
    "Receipt",
    "Relay",
    "SampledCoordinates",
    "Series",
    "Sets",
    "SquareWave",
    "SubsetSelection",
    "Suspicion",
    "SymmetricUnary",
    "SystemBits",
    "Tabulated",
    "Transcript",
    "Turn",
    "add_file",
    "central",
    "certify_local",
    "choose",
    "choose_mean",
    "choose_yes_no",
    "collect",
    "conducted",
    "decode_batch",
    "encode_batch",
    "estimate",
    "frequencies",
    "join",
    "least_mean_variance",
    "load_estimate",
    "mutual_information",
    "new_key",
    "optimal_channel",
    "preview",
    "randomized",
    "rank",
    "rank_means",
    "secure",
    "seeded",
    "separation",
    "shuffled",
]


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'sfumato.local' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
