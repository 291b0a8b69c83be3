#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A user's own environment in system mode: from a home directory that no other user may enter, through three programs, into a sandbox."""
import json, os, re, shutil, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from story import *

HOME = os.path.expanduser("~tester/envs")


def as_tester(*words, check=True):
    uid = subprocess.run(["id", "-u", "tester"], capture_output=True, text=True).stdout.strip()
    env = [f"XDG_RUNTIME_DIR=/run/user/{uid}", f"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/{uid}/bus", "HOME=" + os.path.expanduser("~tester")]
    r = subprocess.run(["runuser", "-u", "tester", "--", "env", *env, *words], capture_output=True, text=True, timeout=60,
                       cwd=HOME, stdin=subprocess.DEVNULL)
    assert not check or r.returncode == 0, f"{words}: {r.stdout} {r.stderr}"
    return r


# Prints before anything else of the environment runs: in the actor, after its sandbox has closed.
NOISE = """#include <stdio.h>
__attribute__((constructor)) static void talk(void) {
        for (int i = 0; i < 30000; i++)
                fprintf(stderr, "noise %d\\n", i);
}
"""


def journal(*matches):
    r = subprocess.run(["journalctl", "-o", "json", "--no-pager", *matches], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in r.stdout.splitlines()]


def settle():
    os.makedirs(HOME, exist_ok=True)
    subprocess.run(["chown", "tester:", HOME], check=True)
    os.chmod(os.path.expanduser("~tester"), 0o700)
    as_tester("cc", "-O2", "-fPIC", "-shared", "-o", "line.so", "/usr/share/doc/actord/examples/env-template/line.c", "-lm")
    with open(HOME + "/line.conf", "w") as f:
        f.write("[Job]\nEnvironment=./line.so\nStopSteps=4096\n[Scaling]\nActors=2\n")


def state(mode, job):
    return as_tester("busctl", mode, "get-property", "org.actord1", f"/org/actord1/job/{job}", "org.actord1.Job", "State").stdout


def train(mode, conf="line.conf"):
    job = re.search(r"\d+", as_tester("actorctl", mode, "submit", conf).stdout).group()
    wait_for("the end", lambda: "ended" in state(mode, job), 40)
    return {p: as_tester("busctl", mode, "get-property", "org.actord1", f"/org/actord1/job/{job}", "org.actord1.Job", p).stdout.split()[1].strip('"')
            for p in ("Result", "SandboxLevel", "PolicySHA256")} | {
        "Fault": as_tester("busctl", mode, "get-property", "org.actord1", f"/org/actord1/job/{job}", "org.actord1.Job", "Fault").stdout}


@story("system mode: a plugin below a home directory of mode 0700 trains in the full sandbox")
def system():
    settle()
    found = train("--system")
    assert found["Result"] == "finished" and found["SandboxLevel"] == "full", found
    system.policy = found["PolicySHA256"]


@story("user mode: the same plugin, the same policy")
def user():
    found = train("--user")
    assert found["Result"] == "finished" and found["SandboxLevel"] == "userns", found
    assert found["PolicySHA256"] == system.policy, (found, system.policy)


@story("an environment in Python trains in the full sandbox from where the system's daemon sees it; from a home directory with one's own daemon")
def python():
    source = os.path.join(BUILD, "venv")
    if not os.path.exists(source + "/ready"):
        raise Skip("test-bridge.py has made no virtual environment")
    shutil.copytree(source, "/opt/venv", symlinks=True)
    shutil.copytree(source, HOME + "/venv", symlinks=True)
    subprocess.run(["chown", "-R", "tester:", HOME + "/venv"], check=True)
    for name, place in (("opt", "/opt/venv"), ("home", "venv")):
        with open(f"{HOME}/{name}.conf", "w") as f:
            f.write(f"[Job]\nEnvironment=gym:CartPole-v1\nStopSteps=4096\n[Scaling]\nActors=2\n[Actor]\nPython={place}\n")
    found = train("--system", "opt.conf")
    assert found["Result"] == "finished" and found["SandboxLevel"] == "full", found
    own = train("--user", "home.conf")
    assert own["Result"] == "finished" and own["SandboxLevel"] == "userns", own
    equal(own["PolicySHA256"], found["PolicySHA256"], "policies")
    refused = as_tester("actorctl", "--system", "submit", "home.conf", check=False)
    assert refused.returncode != 0 and "sees no home directories and no /tmp" in refused.stderr, refused.stderr


@story("an actor that writes without end uses up its own share of the journal, and the daemon's entries still get there")
def noisy():
    os.makedirs("/etc/systemd/journald.conf.d", exist_ok=True)
    with open("/etc/systemd/journald.conf.d/share.conf", "w") as f:
        f.write("[Journal]\nRateLimitIntervalSec=30s\nRateLimitBurst=200\n")
    subprocess.run(["systemctl", "restart", "systemd-journald"], check=True)
    with open(HOME + "/noise.c", "w") as f:
        f.write(NOISE)
    as_tester("cc", "-O2", "-fPIC", "-shared", "-o", "line.so", "/usr/share/doc/actord/examples/env-template/line.c", "noise.c", "-lm")
    job = re.search(r"\d+", as_tester("actorctl", "--system", "submit", "line.conf").stdout).group()
    wait_for("the end", lambda: "ended" in state("--system", job), 40)
    wait_for("the daemon's word about the end",
             lambda: any("ended" in e["MESSAGE"] for e in journal(f"ACTORD_JOB={job}", "_SYSTEMD_UNIT=actord.service")), 5)
    words = journal(f"SYSLOG_IDENTIFIER=actord-actor-job-{job}")
    assert 100 < len(words) < 10000, len(words)
    # A writer that has ended before the journal comes to its first line has no unit there.
    equal({e["_SYSTEMD_UNIT"] for e in words if "_SYSTEMD_UNIT" in e}, {f"actord-job-{job}.scope"}, "units")


tell()
