#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A controller and an envelope beside a policy: verify refuses what does not hold, and says why."""
from story import *

WRONG = (
    ("Learner.ModelB=0 1 2", "ModelB= n times m"),
    ("Learner.ControllerF=1 2", "ControllerF= m times n"),
    ("Learner.SafetySet=1 1", "SafetySet= n numbers"),
    ("Learner.Alpha=0.97", "is not below Alpha P: write 0.975992 or more"),
    ("Learner.ControllerF=0 0 0 0", "the controller does not keep the model in the envelope"),
    ("Learner.EnvelopeP=1 2 0 0  2 1 0 0  0 0 1 0  0 0 0 1", "P must be positive definite"),
    ("Learner.EnvelopeP=1 2 0 0  0 1 0 0  0 0 1 0  0 0 0 1", "P must be symmetric"),
    ("Learner.SafetySet=0.9 0 0.8 0", "the envelope reaches to 0.812616 in number 3"),
    ("Environment.BarePlant=no", "the four numbers of the bare plant: write yes"),
    ("Environment.BarePlant=", "the four numbers of the bare plant: write yes"),
    # Whole matrices that fit each other, and not the four numbers that the plant shows
    (("Learner.ModelA=0.5", "Learner.ModelB=1", "Learner.ControllerF=0", "Learner.EnvelopeP=1"), "need one agent, no stack, BOXes of their sizes"),
    ("Job.Environment=Pendulum-v1", "BarePlant"),
)


def verify(*sets):
    return ctl("verify", os.path.join(EXAMPLES, "phydrl.conf"), *[word for s in sets for word in ("--set", s)])


@story("verify refuses matrices that do not fit, an inequality that fails, a P that is no envelope and a plant that is not bare")
def refused():
    r = verify()
    assert r.status == 0, r.err
    for sets, words in WRONG:
        r = verify(*((sets,) if isinstance(sets, str) else sets))
        assert r.status != 0 and words in " ".join(r.err.split()), (sets, r.err)


tell()
