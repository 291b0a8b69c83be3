#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""One policy on every CPU: short jobs give the policies of the table, with each width of vectors that this CPU has."""
import os, re, sys
from story import *

TABLE = os.path.join(ROOT, "tests", "data", "golden.tsv")
WIDTHS = {"scalar": set(), "avx2": {"avx2", "fma"}, "avx512": {"avx512f", "avx512dq", "avx512bw", "avx512vl"}}

# Each example as it is, but for its length.
JOBS = {
    "cartpole": ("Job.StopSteps=2048", "Job.StopReturn="),
    "pendulum": ("Job.StopSteps=4096",),
    "hopper": ("Job.StopSteps=4096", "Actor.RolloutSteps=1024"),
    "cartpole-dqn": ("Job.StopSteps=2000", "Job.StopReturn=", "Learner.ReplayMin=500"),
    "catch": ("Job.StopSteps=1024", "Job.StopReturn="),
    "cartpole-a2c": ("Job.StopSteps=1000", "Job.StopReturn="),
    "cartpole-impala": ("Job.StopSteps=1000", "Job.StopReturn="),
    "cartpole-impact": ("Job.StopSteps=1000", "Job.StopReturn="),
    "cartpole-rebel": ("Job.StopSteps=2048", "Job.StopReturn="),
    "faas-mappo": ("Job.StopSteps=4096", "Evaluation.Episodes=0"),
    # Fewer units than published, so that it is short.
    "pendulum-ddpg": ("Job.StopSteps=600", "Learner.ReplayMin=400", "Learner.HiddenLayers=64 48", "Evaluation.Episodes=0"),
    "pendulum-td3": ("Job.StopSteps=600", "Learner.ReplayMin=400", "Learner.HiddenLayers=64 48", "Evaluation.Episodes=0"),
    "pendulum-sac": ("Job.StopSteps=600", "Learner.ReplayMin=400", "Learner.HiddenLayers=64 48", "Evaluation.Episodes=0"),
    "pendulum-consistency": ("Job.StopSteps=1000", "Learner.ReplayMin=500", "Learner.Dataset=", "Learner.TrainRatio=0.05",
                     "Learner.MinibatchSize=64", "Evaluation.Episodes=0"),
    "pendulum-diffusion-ql": ("Job.StopSteps=1000", "Learner.ReplayMin=500", "Learner.Dataset=", "Learner.TrainRatio=0.05",
                     "Learner.MinibatchSize=64", "Evaluation.Episodes=0"),
    "phydrl": ("Job.StopSteps=600", "Learner.ReplayMin=400", "Learner.HiddenLayers=64 48", "Evaluation.Episodes=0"),
}
# A job long enough for rare events, with the widest vectors alone: half a minute on two idle cores.
LONG = {"hopper": ("Job.StopSteps=204800",)}


def golden():
    with open(TABLE) as f:
        return dict(line.split() for line in f if line.strip() and not line.startswith("#"))


def present():
    with open("/proc/cpuinfo") as f:
        flags = set(re.search(r"^(?:flags|Features)\s*:(.*)", f.read(), re.M).group(1).split())
    return [word for word, needed in WIDTHS.items() if needed <= flags]


def policy(name, word):
    return run(name, *JOBS[name], f"Learner.KernelClass={word}").policy_sha256


def check(name, words):
    for word in words:
        equal(policy(name, word), golden()[name], f"the policy of {name} with KernelClass={word}, and that of {TABLE}")


def tell_of_long(name):
    @story(f"a long job of {name} comes to the policy of the table")
    def job():
        equal(run(name, *LONG[name]).policy_sha256, golden()[name + "-long"], f"the policy of {name} after {LONG[name][0]}, and that of {TABLE}")
    job.__name__ = f"{name}-long"


def tell_of(name):
    @story(f"{name} comes to the policy of the table, whatever the width of vectors")
    def job():
        check(name, present())
    job.__name__ = name


@story("the CartPole of README comes to the policy that README prints")
def readme():
    with open(os.path.join(ROOT, "README.md")) as f:
        printed = re.search(r"policy sha256 ([0-9a-f]{64})", f.read()).group(1)
    equal(run("cartpole").policy_sha256, printed, "the policy of examples/cartpole.conf, and the one that README.md prints")


@story("a width that this CPU lacks is refused, with those that it has")
def lacking():
    absent = [word for word in WIDTHS if word not in present()]
    if not absent:
        raise Skip("this CPU has every width")
    for word in absent:
        refused = run("cartpole", f"Learner.KernelClass={word}", ok=False)
        assert refused.status != 0 and f"KernelClass={word}" in refused.err and " ".join(present()) in refused.err, refused.err


# Writes the table anew after an intended change: tests/integration/test-golden.py --write
def write():
    with open(TABLE) as f:
        comments = [line for line in f if line.startswith("#")]
    rows = [f"{name}\t{policy(name, 'auto')}\n" for name in JOBS]
    rows += [f"{name}-long\t{run(name, *changes).policy_sha256}\n" for name, changes in LONG.items()]
    with open(TABLE, "w") as f:
        f.writelines(comments + rows)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
        sys.exit()
    for name in JOBS:
        tell_of(name)
    for name in LONG:
        tell_of_long(name)
    tell()
