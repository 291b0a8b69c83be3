#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The spawner under a real systemd: one delegated scope per launch, from the system's manager and from an ordinary user's."""
import errno, os, pwd, subprocess, sys, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from launching import *
from story import equal, story

TESTER = pwd.getpwnam("tester").pw_uid
USER_BUS = ["env", f"XDG_RUNTIME_DIR=/run/user/{TESTER}", f"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/{TESTER}/bus"]


def show(unit, *properties, user=False):
    words = ["runuser", "-u", "tester", "--", *USER_BUS] if user else []
    out = subprocess.run([*words, "systemctl", *(["--user"] if user else []), "show", unit, "-p", ",".join(properties)],
                         capture_output=True, text=True, check=True).stdout
    return dict(line.split("=", 1) for line in out.splitlines())


def gone(path, seconds=10):
    end = time.monotonic() + seconds
    while os.path.exists(path):
        assert time.monotonic() < end, path + " is still there"
        time.sleep(0.02)


@story("system mode: a scope in a slice of the job's own, delegated to the job's user, gone after the job")
def system_scope():
    with launch(manager=MANAGER_SYSTEM, exit_with_daemon=0, job=41) as l:
        check_common(l)
        assert l.metering == 2 and l.unit == "actord-job-41.scope", (l.metering, l.unit)
        assert l.group == "/actord.slice/actord-job41.slice/actord-job-41.scope", l.group
        properties = show(l.unit, "ActiveState", "Slice", "Delegate", "TasksMax", "TimeoutStopUSec", "CollectMode", "After")
        assert properties["ActiveState"] == "active" and properties["Slice"] == "actord-job41.slice", properties
        assert properties["Delegate"] == "yes" and properties["TasksMax"] == "infinity", properties
        assert properties["TimeoutStopUSec"] == "10s" and properties["CollectMode"] == "inactive-or-failed", properties
        assert "actord.service" in properties["After"].split(), properties
        path = "/sys/fs/cgroup" + l.group
        for name in ("", "/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads"):
            assert is_given(path + name, UID_FIRST), name
        for name in ("/cgroup.freeze", "/cgroup.kill", "/cgroup.max.depth"):
            assert not is_given(path + name, UID_FIRST), name
        assert l.words["leaf"] == ["yes"] and str(l.pid) in open(path + "/leaf/cgroup.procs").read().split()
        assert LEVELS[l.level] == "full", l.level
    gone(path)
    gone(os.path.dirname(path))


def burn(l, sec):
    """Lets a process of the test use that much CPU time in the job's cgroup."""
    pid = os.fork()
    if pid == 0:
        open(f"/sys/fs/cgroup{l.group}/leaf/cgroup.procs", "w").write("0")
        while time.process_time() < sec:
            pass
        os._exit(0)
    os.waitpid(pid, 0)


@story("the count of a scope can be read again and again when the scope is gone, for each life apart, until it is removed")
def settled():
    place = dict(manager=MANAGER_SYSTEM, exit_with_daemon=0, job=46)
    for life in 1, 2:
        l = launch(**place, life=life)
        before = l.cpu_nsec
        burn(l, 0.3)
        signal.pidfd_send_signal(l.pid_fd, signal.SIGKILL)
        select.select([l.pid_fd], [], [], 5)
        gone("/sys/fs/cgroup" + l.group)
        error, nsec = settle(**place, life=life)
        assert error == 0 and 0.3e9 <= nsec - before <= 0.6e9, (error, nsec, before)
        assert settle(**place, life=life) == (0, nsec), "another number the second time"
    equal([settle(**place, life=2, purpose=REMOVE)[0] for _ in range(2)], [0, 0], "removing it, twice")
    assert settle(**place, life=2)[0] == -errno.ENOENT
    assert show("actord-job46.slice", "ActiveState")["ActiveState"] == "inactive"
    l.place = place
    l.__exit__()


@story("the next life of a job gets a scope of the same name at once")
def next_life():
    for life in range(1, 6):
        with launch(manager=MANAGER_SYSTEM, exit_with_daemon=0, job=42, life=life) as l:
            assert l.error == 0 and l.unit == "actord-job-42.scope", l.message


@story("stopping the scope ends the job")
def stop():
    with launch(manager=MANAGER_SYSTEM, exit_with_daemon=0, job=43) as l:
        subprocess.run(["systemctl", "kill", "--signal=KILL", l.unit], check=True)
        assert select.select([l.pid_fd], [], [], 5)[0]


@story("thirty launches, one after another: each has its scope, each member is really in it")
def many():
    for i in range(30):
        with launch(manager=MANAGER_SYSTEM, exit_with_daemon=0, job=100 + i) as l:
            assert l.metering == 2, l.message
            assert f"0::{l.group}" in l.words["in"], l.words["in"]


@story("run mode with a manager: a scope named after the daemon's process")
def run_mode():
    with launch(manager=MANAGER_SYSTEM) as l:
        assert l.unit == f"actord-run-{os.getpid()}.scope", l.unit


def check_each(l, above, user=False):
    assert l.error == 0, l.message
    base = "/sys/fs/cgroup" + os.path.dirname(l.group)
    assert base.endswith(above), base
    assert "12" in l.words["fds"][0].split(), l.words["fds"]
    for k in range(3):
        unit = l.unit.replace(".scope", f"-actor-{k}.scope")
        assert show(unit, "ActiveState", user=user)["ActiveState"] == "active", unit
        pids = open(f"{base}/{unit}/cgroup.procs").read().split()
        assert len(pids) == 1 and open(f"/proc/{pids[0]}/comm").read().strip() == "actord-anchor", pids
        assert os.listdir(f"/proc/{pids[0]}/fd") == []
        assert is_given(f"{base}/{unit}/cgroup.procs", os.stat(f"/proc/{l.pid}").st_gid)
    assert is_given(base + "/cgroup.procs", os.stat(f"/proc/{l.pid}").st_gid)
    return base


@story("ActorScope=each: a slice for the job, a scope for each actor, all gone with the job")
def each():
    with launch(manager=MANAGER_SYSTEM, exit_with_daemon=0, job=44, scope_each=3) as l:
        base = check_each(l, "/actord.slice/actord-job44.slice")
    gone(base)
    with launch(manager=MANAGER_USER, user=TESTER, wrap=USER_BUS, exit_with_daemon=0, job=45, scope_each=3) as l:
        base = check_each(l, "/app-actord.slice/app-actord-job45.slice", user=True)
    gone(base)


@story("user mode: a scope of the user's manager, user namespaces, no root anywhere")
def user_mode():
    with launch(manager=MANAGER_USER, user=TESTER, wrap=USER_BUS, exit_with_daemon=0) as l:
        check_common(l)
        assert l.metering == 2 and l.unit == "actord-job-7.scope", l.unit
        assert "/app.slice/app-actord.slice/" in l.group, l.group
        assert LEVELS[l.level] == "userns", l.level
        assert l.words["leaf"] == ["yes"]
        assert os.stat("/sys/fs/cgroup" + l.group).st_uid == TESTER
        assert show(l.unit, "ActiveState", user=True)["ActiveState"] == "active"


@story("a manager that cannot be reached is said in words, and nothing runs")
def unreachable():
    with launch(manager=MANAGER_USER, user=TESTER, wrap=["env", "-u", "XDG_RUNTIME_DIR", "-u", "DBUS_SESSION_BUS_ADDRESS"]) as l:
        assert l.step == "scope" and l.pid_fd is None and "systemd" in l.message, (l.step, l.message)


play()
