#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""ActorScope=each in a real job: actors live in scopes of their own, are frozen and metered there, and the policy is the same."""
import json, os, re, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from story import *

HOPPER = "/usr/share/doc/actord/examples/hopper.conf"
SETS = set_words("Scaling.Actors=3", "Job.StopSteps=30000", "Job.StopReturn=")


def run(*sets):
    r = subprocess.run(["actorctl", "run", HOPPER, "--seed", "5", "--json", *SETS, *sets], capture_output=True, text=True, timeout=90)
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)


@story("each actor's process is in its own scope, in a leaf beside the process that keeps it")
def inside():
    process = subprocess.Popen(["actorctl", "run", HOPPER, "--set", "Scaling.Actors=3", "--set", "Actor.ActorScope=each"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        actors = wait_for("three actors", lambda: len(a := [p for p, (_, c) in processes().items() if c == "actord-actor"]) == 3 and a, 20)
        places = sorted(open(f"/proc/{p}/cgroup").read().strip().split("::")[-1] for p in actors)
        for k, place in enumerate(places):
            assert re.search(rf"/actord\.slice/actord-run\d+\.slice/actord-run-\d+-actor-{k}\.scope/actor-{k}$", place), places
    finally:
        process.send_signal(2)
        process.wait(20)
    wait_for("the end of the scopes", lambda: not subprocess.run(
        ["systemctl", "list-units", "--plain", "--no-legend", "actord-run*"], capture_output=True, text=True).stdout.strip(), 10)


@story("the policy and the number of invocations are those of ActorScope=job")
def same():
    each, job = run("--set", "Actor.ActorScope=each"), run()
    assert each["policy_sha256"] == job["policy_sha256"]
    assert each["invocations"] == job["invocations"], (each["invocations"], job["invocations"])
    assert each["limits_not_enforced"] == job["limits_not_enforced"]


tell()
