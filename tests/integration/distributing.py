# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shared by the stories of distributions: three short jobs, and the result of each under single-learner-coarse."""
from story import *

JOBS = {
    "cartpole": ("Scaling.Actors=4", "Actor.EnvsPerActor=2", "Actor.RolloutSteps=24", "Learner.MinibatchSize=64", "Learner.Epochs=3",
                 "Job.StopSteps=2500", "Job.StopReturn="),
    "pendulum": ("Scaling.Actors=3", "Actor.RolloutSteps=64", "Learner.MinibatchSize=64", "Learner.Epochs=3", "Job.StopSteps=2500",
                 "Job.StopReturn="),
    "hopper": ("Scaling.Actors=3", "Actor.RolloutSteps=128", "Learner.Epochs=3", "Job.StopSteps=2500", "Job.StopReturn="),
}
reference = {}


def under(distribution):
    """The settings of a distribution; "central x 2": with two learners."""
    word, _, n = distribution.partition(" x ")
    return f"Distribution.Policy={word}", f"Distribution.Learners={n or 1}"


def policy(job, distribution, *sets, **kw):
    return run(job, *JOBS[job], *under(distribution), *sets, seed=7, **kw)


def coarse(job):
    if job not in reference:
        reference[job] = policy(job, "single-learner-coarse")
    return reference[job]
