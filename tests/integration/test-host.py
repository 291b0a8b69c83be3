#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""actorctl -H HOST: a daemon behind ssh. A program that runs the bridge on this host stands in for ssh."""
import shutil

from bus import *

FILE = os.path.join(EXAMPLES, "cartpole.conf")
SSH = """#!/bin/sh
echo "$@" >> {dir}/ssh.said
[ "$3" = broken ] && echo "ssh: connect to host broken port 22: Connection refused" >&2 && exit 255
exec systemd-stdio-bridge --bus-path="$DBUS_SESSION_BUS_ADDRESS"
"""


class Remote(Bus):
    """A daemon whose bus is reached through ssh alone."""

    def __init__(self):
        if not shutil.which("systemd-stdio-bridge"):
            raise Skip("systemd-stdio-bridge is not installed")
        super().__init__()
        os.mkdir(self.dir + "/bin")
        with open(self.dir + "/bin/ssh", "w") as f:
            f.write(SSH.format(dir=self.dir))
        os.chmod(self.dir + "/bin/ssh", 0o755)
        self.far = dict(self.env, PATH=f"{self.dir}/bin:{os.environ['PATH']}")

    def over(self, host, *words):
        return ctl(*map(str, words), "-H", host, env=self.far, timeout=60)

    def said(self):
        return open(self.dir + "/ssh.said").read().splitlines()


@story("a job is submitted, followed, frozen, billed and stopped on another host, over ssh to its bridge")
def there():
    with Remote() as bus:
        r = bus.over("alice@far", "submit", FILE, "--set", "Job.StopReturn=", "--set", "Job.StopSteps=100000000")
        equal((r.status, r.out), (0, "1\n"), r.err)
        equal(bus.said(), ["-xT -- alice@far systemd-stdio-bridge"], "what ssh was told")
        wait_for("a round", lambda: bus.get(1, "Round") > 0)
        equal([row["job"] for row in bus.over("far", "list", "--json").json], [1], "list")
        equal(bus.over("far", "status", 1, "--json").json["state"], "running", "status")
        for words in ("bill", 1), ("rounds", 1), ("show", 1), ("cat", 1), ("decisions", 1), ("metrics", 1), ("quota",), ("totals",), ("status",):
            equal(bus.over("far", *words).status, 0, words)
        equal(bus.over("far", "freeze", 1).status, 0, "freeze")
        wait_for("it is frozen", lambda: bus.state(1) == "frozen")
        equal((bus.over("far", "thaw", 1).status, bus.over("far", "stop", 1).status), (0, 0), "thaw and stop")
        equal((bus.ended(1), bus.over("far", "watch", 1).status), ("interrupted", 0), "watch")
        equal(bus.over("far", "remove", 1).status, 0, "remove")
        r = bus.over("far", "submit", FILE, "--set", "Job.StopReturn=", "--set", "Job.StopSteps=512", "--wait", "--json")
        equal((r.status, r.state), (0, "finished"), r.err)
        r = bus.over("far", "stop", 99)
        equal((r.status, r.err), (2, "actorctl: There is no job 99.\n"), "no such job")


@story("a host that cannot be reached, files that ssh does not pass, and options that name two daemons are refused in words")
def refusals():
    with Remote() as bus:
        r = bus.over("broken", "list")
        assert r.status == 1 and "Connection refused" in r.err and "`ssh broken systemd-stdio-bridge` must connect" in r.err, (r.status, r.err)
        r = bus.over("far", "submit", FILE, "--set", f"Job.Environment={shared_library(HOSTILE)}")
        assert r.status == 2 and "are not sent over ssh: submit it on the other host" in r.err, (r.status, r.err)
        for origin in "1", FILE:
            r = bus.over("far", "submit", FILE, f"--from={origin}")
            assert r.status == 2 and f"--from={origin}: a checkpoint cannot be sent over ssh" in r.err, (r.status, r.err)
        for words, said in (("list", "--user"), "leave out --user"), (("status", "r1"), "--host"), (("run", FILE), "takes no --host"):
            r = bus.over("far", *words)
            assert r.status == 2 and said in r.err, (words, r.status, r.err)
        equal(bus.jobs(), [], "jobs")


tell()
