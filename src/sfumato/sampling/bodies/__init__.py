"""Symmetric convex bodies: gauge, containment, volume, uniform points, and noise shaped like them."""

from sfumato.sampling.bodies.body import Body, body_noise
from sfumato.sampling.bodies.diagnostics import Diagnostics
from sfumato.sampling.bodies.ellipsoid import Ellipsoid
from sfumato.sampling.bodies.hull import Hull
from sfumato.sampling.bodies.image import Image
from sfumato.sampling.bodies.knorm import knorm, sampler
from sfumato.sampling.bodies.lp_ball import CrossPolytope, Cube, LpBall

__all__ = [
    "Body",
    "CrossPolytope",
    "Cube",
    "Diagnostics",
    "Ellipsoid",
    "Hull",
    "Image",
    "LpBall",
    "body_noise",
    "knorm",
    "sampler",
]
