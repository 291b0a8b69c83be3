#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""actord's Python package under the interpreter of another release, for distributions.sh: a run is followed and bears the golden policy, the policy
acts, an environment is checked, and a wrong key is refused. usage: distributions.py GOLDEN.tsv"""
import sys

import actord

GOLDEN = dict(line.split()[:2] for line in open(sys.argv[1]) if line.strip() and not line.startswith("#"))
EXAMPLE = "/usr/share/doc/actord/examples/cartpole.conf"

with actord.run(EXAMPLE, {"Job.StopSteps": 2048, "Job.StopReturn": ""}) as run:
    rows = list(run)
    assert rows[-1]["env_steps"] == 2048 and rows == run.rounds(), rows[-1]
    assert run.result.policy_sha256 == GOLDEN["cartpole"], run.result
    assert run.result.cost_full > 0 and run.bill(), run.result
    policy = run.policy()
    assert policy.act([0.1, 0, 0.1, 0]) in (0, 1) and policy([[0.0] * 4] * 3).shape[0] == 3
assert all(point.kept for point in actord.env.check("CartPole-v1"))
try:
    actord.run(EXAMPLE, {"Learner.LearnigRate": 1}).wait(60)
except actord.ActordError as e:
    assert "did you mean" in str(e), e
else:
    raise AssertionError("a key that does not exist was taken")
print(sys.version)
