#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""One daemon at a time has a ledger and a name on the bus: who waits for them, who ends, and when a daemon gives its name back."""
import shutil

from bus import *


@story("a child of a killed daemon, which has its descriptors for a moment, does not keep the next daemon out")
def child_of_killed():
    for kind in "/", "socket:":  # the ledger's lock; the connection to the bus
        with Bus() as bus:
            with copies_of_descriptors(bus.daemon.pid, kind):
                os.kill(bus.daemon.pid, signal.SIGKILL)
                bus.start(wait=False)
                time.sleep(0.7)
            wait_for("the new daemon is there", lambda: bus.has_name() and bus.jobs() == [])


@story("a second daemon ends soon and disturbs nothing")
def second_daemon():
    with Bus("IdleExitSec=1\n") as bus:
        job = bus.submit(overrides=ENDLESS)
        p = subprocess.run([os.path.join(BUILD, "actord"), "--user"], env=bus.env, capture_output=True, text=True, timeout=20 * PATIENCE)
        assert p.returncode == os.EX_UNAVAILABLE and "Another actord" in p.stderr, p
        p = subprocess.run([os.path.join(BUILD, "actord"), "--user", "--state=" + bus.dir + "/other"], env=bus.env, capture_output=True, text=True,
                           timeout=20 * PATIENCE)
        assert p.returncode == os.EX_UNAVAILABLE and "Another actord" in p.stderr, p
        assert bus.state(job) in ("starting", "running")


@story("a daemon whose name another one has begins no life of a job; the next one does")
def nameless():
    with Bus() as bus:
        job = bus.submit(overrides=ENDLESS)
        wait_for("the job runs", lambda: bus.state(job) == "running")
        invokers = bus.processes("actord-invoker")
        bus.stop(signal.SIGKILL)
        for pid in invokers:
            os.kill(pid, signal.SIGKILL)
        with open(bus.dir + "/other.log", "w") as log:
            other = subprocess.Popen([os.path.join(BUILD, "actord"), "--user", "--state=" + bus.dir + "/other"], env=bus.env, stderr=log)
        try:
            wait_for("the other daemon has the name", bus.has_name)
            bus.start(wait=False)
            equal(bus.daemon.wait(timeout=20 * PATIENCE), os.EX_UNAVAILABLE, "status")
            equal(bus.processes("actord-invoker"), [], "what it started")
        finally:
            other.terminate()
            other.wait()
        bus.start()
        wait_for("the job runs again", lambda: bus.state(job) == "running" and bus.get(job, "Life") == 2)


@story("an idle daemon ends by itself, a busy one does not")
def idle():
    with Bus("IdleExitSec=1\n") as bus:
        job = bus.submit(overrides=ENDLESS)
        time.sleep(2.5)
        assert bus.daemon.poll() is None
        bus.call("/org/actord1", MANAGER, "StopJob", "t", job)
        assert bus.daemon.wait(timeout=15 * PATIENCE) == 0


if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
