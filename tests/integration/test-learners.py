#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Several learners give the policy of one, whether all of them update parameters or only the first, and whichever is killed."""
from distributing import *

SHARED = ("multi-learner", "central")


@story("1, 2 and 4 learners that share each gradient out, or push it to a centre, end with the policy of one, with one thread or two")
def learners():
    for distribution in SHARED:
        for n, threads in (1, 2), (2, 2), (4, 1):
            r = policy("cartpole", f"{distribution} x {n}", f"Learner.Threads={threads}", "Actor.Processes=2")
            equal(r.policy_sha256, coarse("cartpole").policy_sha256, f"policies of {n} learners with {threads} threads under {distribution}")
        for job in JOBS:
            for n in 1, 2, 4:
                r = policy(job, f"{distribution} x {n}")
                equal((r.policy_sha256, r.env_steps), (coarse(job).policy_sha256, coarse(job).env_steps), f"{job} of {n} learners under {distribution}")
            assert r.cpu_s["learner"] > 0 and abs(sum(l["amount"] for l in r.cost["lines"]) - r.cost["full"]) < 1e-9, r.json


@story("minibatches of a few rows, a divergence that stops epochs early and running statistics are the same for two learners")
def small_gradients():
    sets = ("Learner.MinibatchSize=40", "Learner.KLStop=0.005", "Learner.KLWeight=0.2", "Learner.NormalizeObservations=yes", "Learner.NormalizeRewards=yes",
            "Learner.HiddenLayers=160 160")
    want = policy("cartpole", "single-learner-coarse", *sets).policy_sha256
    for distribution in SHARED:
        equal(policy("cartpole", f"{distribution} x 2", *sets).policy_sha256, want, f"policies under {distribution}")


@story("gradients that are only measured, to choose the number of actors, are the same for several learners")
def measured():
    sets = ("Scaling.Policy=kungfu", "Scaling.MaxActors=4", "Billing.Clock=model", "Learner.KLStop=0.005")
    want = policy("cartpole", "single-learner-coarse", *sets)
    with sqlite3.connect(f"file:{want.state_directory}/ledger.sqlite?mode=ro", uri=True) as ledger:
        assert ledger.execute("SELECT count(DISTINCT n_actors) FROM rounds").fetchone()[0] > 1, "as many actors in each round"
    for distribution in "multi-learner x 4", "central x 2":
        r = policy("cartpole", distribution, *sets)
        equal((r.policy_sha256, r.rounds), (want.policy_sha256, want.rounds), f"policies and rounds under {distribution}")


@story("the first of two learners or the other that is killed ends the life, and the next one ends with the same policy")
def killed_learners():
    sets = ("Job.StopSteps=25000", "Actor.RolloutSteps=512", "Learner.MinibatchSize=256", "Checkpoint.IntervalSec=0.1")
    want = policy("hopper", "single-learner-coarse", *sets)
    for distribution in SHARED:
        for which in min, max:
            killer = within(want, "actord-learner", choose=which)
            r = policy("hopper", f"{distribution} x 2", *sets, during=killer)
            killer.hit(r)
            equal(r.policy_sha256, want.policy_sha256, f"policies under {distribution}")


@story("an actor that changes a rollout between the copies of two learners fails that invocation, not a learner")
def meddling():
    so, conf = shared_library(HOSTILE), os.path.join(STATE, "hostile.conf")
    with open(conf, "w") as f:
        f.write(f"[Job]\nEnvironment={so}\nStopSteps=100000\n[Environment]\nHow=meddle\n[Scaling]\nActors=4\n"
                "[Actor]\nProcesses=1\nRolloutSteps=64\nRetries=0\n[Learner]\nMinibatchSize=64\nEpochs=1\n")
    # Under central no actor runs while rollouts are taken.
    r = run(conf, *under("multi-learner x 4"), ok=False, timeout=120)
    equal((r.status, r.state), (1, "failed"), f"status and state: {r.err}")
    assert "changed its rollout" in r.fault and r.fault.startswith("actor "), r.fault


tell()
