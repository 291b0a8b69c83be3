# SPDX-License-Identifier: LGPL-2.1-or-later
"""actord in Python: start jobs, follow their rounds, and use the policies that they learned.

    import actord

    run = actord.run("examples/cartpole.conf", {"Learner.LearningRate": 1e-3}, seed=1)
    for row in run:                        # the rounds as they come
        print(row["env_steps"], row["return_mean"])
    print(run.result.policy_sha256, run.result.cost_full, run.result.currency)
    policy = run.policy()
    action = policy.act(observation)

run() trains in the foreground, without a service; submit() gives a job to the daemon. Everything goes through the program
actorctl, which is found in PATH or named by the environment variable ACTORCTL."""
from .client import ActordError
from .jobs import Job, Result, Run, job, jobs, run, runs, submit
from .policy import Policy
from .track import to_mlflow, to_wandb
from .version import __version__
from . import env, notebook

__all__ = ["ActordError", "Job", "Policy", "Result", "Run", "env", "job", "jobs", "notebook", "run", "runs", "submit", "to_mlflow",
           "to_wandb", "__version__"]
