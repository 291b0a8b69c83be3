#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""RL Zoo's own files, from its package, as job files: each entry of an environment that we have can be run as it is, and one gives the policy of the
example that was written by hand from the same entry."""
import glob

from tools import *

ZOO = os.path.join(STATE, "zoo")
RELEASE = "rl_zoo3==2.9.2"
LIBRARY = "import json; print(json.dumps(1))"


def zoo():
    """The folder with RL Zoo's files."""
    if not os.path.exists(ZOO):
        foreign(LIBRARY)  # the virtual environment, with its pip
        p = subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--no-deps", "--target", ZOO, RELEASE], capture_output=True, text=True,
                           stdin=subprocess.DEVNULL)
        if p.returncode != 0:
            raise Skip(f"the package index did not give {RELEASE}: {(p.stderr.strip().splitlines() or ['no reason given'])[-1]}")
    folder, = glob.glob(os.path.join(ZOO, "*", "hyperparams"))
    return folder


def imported(algorithm, entry):
    path = os.path.join(STATE, f"{algorithm}-{entry}.conf")
    r = ctl("import", "zoo", os.path.join(zoo(), algorithm + ".yml"), entry, f"--output={path}")
    equal(r.status, 0, r.err)
    return path


@story("each entry of an environment that we have is a job that parses")
def every_entry():
    ours = {row["environment"] for row in ctl("env", "list", "--json").json}
    n = 0
    for algorithm in ("ppo", "a2c", "dqn", "ddpg", "td3", "sac"):
        for entry in re.findall(r"^([A-Za-z][\w.-]*):", open(os.path.join(zoo(), algorithm + ".yml")).read(), re.M):
            if entry in ours:
                r = ctl("graph", imported(algorithm, entry))
                equal(r.status, 0, r.err)
                n += 1
    assert n >= 40, n


@story("CartPole's entry trains to the policy of examples/cartpole.conf")
def same_policy():
    a = run(imported("ppo", "CartPole-v1"), "Job.StopSteps=20000")
    b = run("cartpole", "Job.StopSteps=20000", "Job.StopReturn=")
    equal(a.policy_sha256, b.policy_sha256, "policies")


@story("what is missing or wrong is said, with the names that there are")
def refusals():
    path = os.path.join(zoo(), "ppo.yml")
    for words, says in (([path], "name one of its entries"), ([path, "Cartpole"], "there is no entry Cartpole; there are: "),
                        ([os.path.join(zoo(), "tqc.yml"), "Pendulum-v1"], "algorithm tqc cannot be imported"), (["/nowhere.yml"], "/nowhere.yml")):
        r = ctl("import", "zoo", *words)
        assert r.status == 2 and says in r.err, (r.status, r.err)
    r = ctl("import", "moon", path)
    assert r.status == 2 and "zoo" in r.err, r.err


tell()
