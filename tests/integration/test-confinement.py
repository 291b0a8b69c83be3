#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The separation of a job's processes from each other and from the host, seen from outside while the job runs."""
from story import *

SHARED = ("actord-segment", "actord-policy", "actord-job-page", "actord-settings", "actor-")


def status_of(pid):
    with open(f"/proc/{pid}/status") as f:
        return dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)


def addresses(pid):
    """{name of a memfd: addresses where this process has it}"""
    found = {}
    try:
        with open(f"/proc/{pid}/maps") as f:
            lines = f.read().splitlines()
    except OSError as e:
        raise Skip(f"this user may not look at the maps of process {pid}: {e.strerror}")
    for line in lines:
        m = re.search(r"^([0-9a-f]+)-.* /memfd:(\S+)", line)
        if m and m[2].startswith(SHARED):
            found.setdefault(m[2], set()).add(m[1])
    return found


def look():
    """The invoker's and two actors' addresses and states in the middle of a job."""
    seen = {}

    def during(p):
        try:
            wait_for("two actors", lambda: len(descendants(p.pid, "actord-actor")) >= 2, 30)
            time.sleep(0.3)
            for comm in "actord-invoker", "actord-actor":
                for pid in descendants(p.pid, comm):
                    try:
                        seen[pid] = comm, addresses(pid), status_of(pid)
                    except (FileNotFoundError, ProcessLookupError):
                        continue
                    except Skip as e:
                        seen["skip"] = e
        finally:
            p.send_signal(signal.SIGINT)

    run("cartpole", "Scaling.Actors=2", "Actor.RolloutSteps=2048", "Job.StopReturn=", "Job.StopSteps=100000000", during=during, ok=False)
    if "skip" in seen:
        raise seen["skip"]
    return list(seen.values())


@story("an actor's memory lies at other addresses than the invoker's and other actors'")
def elsewhere():
    processes = look()
    invoker = [x[1] for x in processes if x[0] == "actord-invoker"]
    actors = [x[1] for x in processes if x[0] == "actord-actor"]
    assert len(invoker) == 1 and len(actors) >= 2, processes
    for a in actors:
        assert {"actord-policy", "actord-job-page", "actord-settings"} <= set(a), a
        for name in a:
            assert not a[name] & invoker[0].get(name, set()), (name, a[name], invoker[0])
    for name in "actord-policy", "actord-job-page", "actord-settings":
        assert not actors[0][name] & actors[1][name], (name, actors)


@story("in run mode, too, the invoker has given up privileges and calls that it never makes, and so have its children")
def parent():
    processes = look()
    assert len(processes) >= 3, processes
    for name, _, status in processes:
        equal(status["NoNewPrivs"], "1", f"{name}: no_new_privs")
        if "Seccomp" in status:
            equal(status["Seccomp"], "2", f"{name}: a filter of system calls")


@story("a plugin cannot pretend that its sandbox failed, whenever it ends")
def pretending():
    so, conf = shared_library(HOSTILE), os.path.join(STATE, "hostile.conf")
    with open(conf, "w") as f:
        f.write(f"[Job]\nEnvironment={so}\nStopSteps=2048\n[Actor]\nRetries=1\n")
    for how, status in ("early", 200), ("pretend", 205):
        r = run(conf, "Environment.How=" + how, ok=False)
        assert r.state == "failed" and f"status {status}" in r.fault and "sandbox" not in r.fault, (how, r.fault, r.err)


def connect_as(user, path):
    """The result of connect() in a process of another user."""
    code = (f"import os, socket; os.setgroups([]); os.setresgid(*[{user}] * 3); os.setresuid(*[{user}] * 3)\n"
            f"socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect({path!r})")
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr


@story("a run's daemon has one caller: no socket of it, and none of its job, is there for another user")
def one_caller():
    seen = {}

    def during(p):
        daemon = wait_for("its daemon", lambda: descendants(p.pid, "actord"), 30)[0]
        wait_for("an actor", lambda: descendants(p.pid, "actord-actor"), 30)
        words = open(f"/proc/{daemon}/cmdline").read().split("\0")
        state = next(w for w in words if w.startswith("--state=")).partition("=")[2]
        seen["mode"] = os.stat(state).st_mode & 0o777
        seen["sockets"] = [os.path.join(d, f) for d, _, files in os.walk(state) for f in files if f.endswith(".sock")]
        inodes = [m[1] for fd in os.listdir(f"/proc/{daemon}/fd") if (m := re.match(r"socket:\[(\d+)\]", os.readlink(f"/proc/{daemon}/fd/{fd}")))]
        rows = [line.split() for line in open("/proc/net/unix").read().splitlines()[1:]]
        seen["listens"] = [row for row in rows if row[6] in inodes and int(row[3], 16) & 0x10000]
        seen["left open"] = [fd for fd in os.listdir(f"/proc/{daemon}/fd") if os.readlink(f"/proc/{daemon}/fd/{fd}") == EXAMPLES]
        seen["stranger"] = [connect_as(64321, path) for path in seen["sockets"]] if os.geteuid() == 0 else []
        p.send_signal(signal.SIGINT)

    run("cartpole", "Job.StopReturn=", "Job.StopSteps=100000000", during=during, ok=False,
        before=("bash", "-c", f'exec 19<"{EXAMPLES}"; exec "$0" "$@"'))
    equal((seen["mode"], seen["listens"]), (0o700, []), "mode of its directory, sockets that it listens on")
    equal(seen["left open"], [], "descriptors that its caller had left open")
    assert seen["sockets"] and all("PermissionError" in said for said in seen["stranger"]), seen


tell()
