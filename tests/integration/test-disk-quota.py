#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The space that the files of a user's jobs may take (MaxDiskPerUser=): which files count, and what happens at the limit."""
import contextlib, glob, shutil

from bus import *


def disk_of(bus):
    return next((r["used"], r["limit"]) for r in bus.ctl("quota", "--json").json if r["quota"] == "disk")


def checkpoints_of(bus, job):
    """The space of its checkpoints, in whole blocks."""
    place = f"{bus.dir}/state/actord/jobs/{job}/state/"
    return [-os.stat(place + name).st_size // 4096 * -4096 for name in os.listdir(place)]


def limit_disk(bus, common, n_bytes):
    """The next daemon's limit for this user, after what the bus's configuration had at first."""
    with open(bus.dir + "/config/actord/actord.conf", "w") as f:
        f.write(f"{common}[User {os.getuid()}]\nMaxDiskPerUser={n_bytes}\n")


@story("beyond the limit of a user's files a running job keeps only its newest checkpoint, and another job is refused until files are removed")
def disk_quota():
    busy = ENDLESS + [("Checkpoint.IntervalSec", "0.2"), ("Checkpoint.Keep", "5")]
    with Bus() as bus:
        job = bus.submit(overrides=busy)
        wait_for("all that it keeps", lambda: bus.ledger().execute("SELECT count(*) FROM checkpoints").fetchone()[0] >= 6)
        bus.call("/org/actord1", MANAGER, "StopJob", "t", job)
        bus.ended(job)
        kept = checkpoints_of(bus, job)
        equal((len(kept), disk_of(bus)), (5, (sum(kept), None)), "without a limit")
        policy = shutil.copy(max(glob.glob(f"{bus.dir}/state/actord/jobs/{job}/state/*"), key=os.path.getmtime), bus.dir + "/policy.safetensors")
        size = max(kept)

        # Rows of an actord that did not count files.
        bus.stop()
        with contextlib.closing(sqlite3.connect(bus.dir + "/state/actord/ledger.sqlite")) as ledger:
            ledger.executescript("DELETE FROM files; DELETE FROM disk; UPDATE jobs SET environment = NULL")
        with open(bus.dir + "/config/actord/actord.conf") as f:
            common = f.read()
        limit_disk(bus, common, sum(kept) + 2 * size)
        bus.start()
        equal(disk_of(bus), (sum(kept), sum(kept) + 2 * size), "after a restart")
        second = bus.submit(overrides=busy)
        wait_for("its newest alone", lambda: f"Job {second} keeps only its newest checkpoint" in open(bus.dir + "/log").read())
        equal(bus.state(second), "running", "beyond the limit")
        bus.call("/org/actord1", MANAGER, "StopJob", "t", second)
        equal((bus.ended(second), len(checkpoints_of(bus, job))), ("interrupted", 5), "an ended job's files are left")
        assert 1 <= len(checkpoints_of(bus, second)) <= 2, checkpoints_of(bus, second)

        bus.stop()
        limit_disk(bus, common, size - 4096)
        bus.start()
        e = refused(bus)
        assert f"and {size - 4096 >> 10} KiB is the limit (MaxDiskPerUser=)" in e and "actorctl remove" in e, e
        bus.ctl("remove", second)
        equal(disk_of(bus)[0], sum(kept), "when the second one\'s are removed")
        # A daemon that is killed in the middle of a removal.
        bus.stop()
        place = bus.dir + "/state/actord/jobs/"
        os.rename(f"{place}{job}", f"{place}removed-{job}-0badcafe")
        bus.start()
        equal(disk_of(bus), (0, size - 4096), "when all are removed")
        with open(bus.dir + "/job.conf", "w") as f:
            f.write(JOB_TEXT)
        r = bus.ctl("submit", f.name, f"--from={policy}", "--set", "Job.StopSteps=1000000000", ok=False)
        assert r.status == 1 and "The files that come with the job take" in r.err, r.err
        wait_for("nothing of it is left", lambda: os.listdir(place) == [])
        third = bus.submit(overrides=[("Job.StopSteps", "2000"), ("Job.StopReturn", "")])
        equal((bus.ended(third), disk_of(bus)), ("finished", (size, size - 4096)), "its last checkpoint stays, whatever the limit")


@story("the space that a job reserves for its last checkpoint counts from its first round on, and is free when it has ended")
def reserved():
    with Bus() as bus:
        job = bus.submit(overrides=ENDLESS + [("Checkpoint.IntervalSec", "1000000")])
        wait_for("rounds", lambda: bus.get(job, "Round") >= 2)
        try:
            took = os.stat(f"{bus.dir}/state/actord/jobs/{job}/state/.checkpoint.reserve").st_blocks * 512
        except FileNotFoundError:
            took = 0
        if took == 0:
            raise Skip("this file system allocates nothing ahead")
        wait_for("it counts", lambda: disk_of(bus)[0] > 0)
        equal(disk_of(bus)[0], -took // 4096 * -4096, "before the first checkpoint")
        bus.call("/org/actord1", MANAGER, "StopJob", "t", job)
        bus.ended(job)
        equal(disk_of(bus)[0], sum(checkpoints_of(bus, job)), "when it has ended")


if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
