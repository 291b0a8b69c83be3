# SPDX-License-Identifier: LGPL-2.1-or-later
"""What stories on the cluster of tests/slurm/cluster.sh share: users, nodes, faults, Slurm's own accounts."""
import os, re, shutil, subprocess, sys, threading, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "integration"))
from story import *

CLUSTER = os.environ.get("CLUSTER_DIR", "")
SECONDS = 25  # that anything may take here at most, on a quick machine; times PATIENCE elsewhere
AS = {"tester": 60100, "stranger": 60101}


def as_user(name):
    number = str(AS[name])
    return ["setpriv", "--reuid", number, "--regid", number, "--clear-groups", "env", "HOME=/tmp", f"USER={name}"]


def on_node(n):
    return ["nsenter", f"--net=/run/netns/n{n}"]


def shell(*words, check=True, timeout=60):
    p = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout * PATIENCE)
    assert not check or p.returncode == 0, f"{' '.join(words)}: {p.returncode} {p.stdout} {p.stderr}"
    return p.stdout.strip()


def in_mounts_of(n):
    """Before a command that sees what the slurmd of a node sees, and what its jobs will see."""
    return ["nsenter", "--mount", "--target", open(f"{CLUSTER}/node-n{n}.pid").read().strip()]


def late_munge(seconds):
    """A munged with the cluster's key and a late clock. Returns its socket's directory."""
    directory, shared = os.path.join(CLUSTER, f"late-{seconds}"), os.path.join(CLUSTER, "late-clock.so")
    os.mkdir(directory)
    shutil.chown(directory, "munge")
    if not os.path.exists(shared):
        shell("cc", "-shared", "-fPIC", "-o", shared, os.path.join(os.path.dirname(os.path.abspath(__file__)), "late-clock.c"))
    shell("setpriv", "--reuid=munge", "--regid=munge", "--init-groups", "env", f"LD_PRELOAD={shared}", f"LATE_SECONDS={seconds}", "munged", "--force",
          f"--key-file={CLUSTER}/munge/key", f"--socket={directory}/munge.socket.2", *(f"--{name}-file={directory}/{name}" for name in ("log", "seed", "pid")))
    return directory


def queue():
    """{job: (state, node)} of what is pending or running."""
    lines = shell("squeue", "-h", "-o", "%i %T %N").splitlines()
    return {w[0]: (w[1], w[2] if len(w) > 2 else "") for w in (line.split() for line in lines)}


def all_idle():
    return shell("sinfo", "-h", "-p", "main", "-o", "%T %D") == "idle 4"


def restore_nodes():
    """After a fault: cables in, slurmds up, nothing queued."""
    shell("scancel", "--quiet", *queue(), check=False)
    for n in range(1, 5):
        shell("ip", "link", "set", f"v{n}", "up")
        try:
            os.kill(int(open(f"{CLUSTER}/node-n{n}.pid").read()), 0)
        except (OSError, ValueError):
            shell(*on_node(n), "unshare", "--mount", "--propagation", "slave", "slurmd", "-N", f"n{n}")
    # A node that is down has no job that is about to end, which slurmctld would look at again only after half a minute.
    if not all_idle():
        shell("scontrol", "update", "nodename=n[1-4]", "state=down", "reason=story", check=False)
    shell("scontrol", "update", "nodename=n[1-4]", "state=resume", check=False)
    wait_for("all nodes are idle again", all_idle, SECONDS)


def children_of_slurm(comm, node=None):
    """Processes of this name on a node, by the network that they are on."""
    network = os.stat(f"/run/netns/n{node}").st_ino if node else None
    found = []
    for pid, (_, name) in processes().items():
        try:
            if name == comm and (not node or os.stat(f"/proc/{pid}/ns/net").st_ino == network):
                found.append(pid)
        except OSError:
            pass
    return found


def accounts(job):
    """What sacct says of an allocation that has ended: its state, its seconds and its CPUs. slurmdbd hears of jobs a while later."""
    text = shell("sacct", "-X", "-P", "-n", "-j", job, "-o", "State,ElapsedRaw,AllocCPUS,End")
    state, seconds, cpus, end = text.split("|") if text else ("", 0, 0, "")
    return (state, int(seconds), int(cpus)) if end not in ("", "Unknown") else None


def wait_for_accounts(job):
    return wait_for(f"job {job} has ended in the accounts", lambda: accounts(job), SECONDS)
