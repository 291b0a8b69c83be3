#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Quotas: why a queued job waits although a place is free, quotas that change, and a user database that does not answer."""
import contextlib

from bus import *

FOUR = ENDLESS + [("Scaling.Actors", "4")]


def configure(bus, text):
    bus.stop()
    open(bus.dir + "/config/actord/actord.conf", "w").write(text)
    bus.start()


@story("a queued job says what it waits for: actors, memory, an earlier job of its user; one without a place says nothing")
def waiting():
    with Bus("MaxJobs=4\nMaxActorsPerUser=6\n") as bus:
        first, second, third = bus.submit(overrides=FOUR), bus.submit(overrides=FOUR), bus.submit(overrides=ENDLESS)
        wait_for("the first one runs", lambda: bus.state(first) == "running")
        words = wait_for("words", lambda: bus.get(second, "Waiting"))
        assert "has up to 4 actors" in words and "before it have up to 4, and MaxActorsPerUser=6" in words, words
        assert "earlier job" in bus.get(third, "Waiting"), bus.get(third, "Waiting")
        equal(bus.get(first, "Waiting"), "", "it runs")
        assert "waiting: it waits for room in its user's quota" in bus.ctl("status", second).out, bus.ctl("status", second).out
        bus.call("/org/actord1", MANAGER, "StopJob", "t", first)
        wait_for("it runs", lambda: bus.state(second) == "running")
        equal(bus.get(second, "Waiting"), "", "it waits no more")
        wait_for("what waited for it runs, too", lambda: bus.state(third) == "running")
        fourth, fifth = bus.submit(overrides=ENDLESS), bus.submit(overrides=FOUR)
        wait_for("the fourth one runs", lambda: bus.state(fourth) == "running")
        wait_for("words", lambda: bus.get(fifth, "Waiting"))
        configure(bus, "[Daemon]\nMaxJobs=3\n")
        equal((bus.state(fifth), bus.get(fifth, "Waiting")), ("queued", ""), "a place is all that it waits for")


@story("after a restart a job that no longer fits its user's quota ends with a reason, and one that fits goes on")
def changed():
    with Bus("MaxJobs=1\n") as bus:
        first, large, small = bus.submit(overrides=ENDLESS), bus.submit(overrides=FOUR), bus.submit(overrides=ENDLESS + [("Scaling.Actors", "2")])
        wait_for("the first one runs", lambda: bus.state(first) == "running")
        configure(bus, f"[Daemon]\nMaxJobs=1\n[User {os.getuid()}]\nMaxActorsPerUser=2\n")
        equal(bus.ended(large), "failed", "the large one")
        fault = bus.get(large, "Fault")
        assert "cannot run any more: it has up to 4 actors" in fault and "have 2 together (MaxActorsPerUser=)" in fault, fault
        equal(bus.state(small), "queued", "the small one")
        e = refused(bus, overrides=FOUR)
        assert "The job cannot run: it has up to 4 actors" in e, e
        bus.call("/org/actord1", MANAGER, "StopJob", "t", first)
        wait_for("the small one runs", lambda: bus.state(small) == "running")


HANGING = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <unistd.h>

struct passwd *getpwuid(uid_t uid) {
        struct passwd *(*real)(uid_t) = (struct passwd *(*)(uid_t)) dlsym(RTLD_NEXT, "getpwuid");

        while (access(getenv("HANGS"), F_OK) == 0)
                usleep(20000);
        return real(uid);
}

/* With the groups 100000 and up, and GROUP as the last one. */
int getgrouplist(const char *user, gid_t group, gid_t *groups, int *n) {
        int has = atoi(getenv("GROUPS_N")), room = *n;

        for (int i = 0; i < has && i < room; i++)
                groups[i] = i == has - 1 ? atoi(getenv("GROUP")) : 100000 + i;
        *n = has;
        return has > room ? -1 : has;
}
"""


class SlowBus(Bus):
    """A daemon whose user database does not answer while a certain file exists. After that it has us in so many groups, with this one last."""

    def __init__(self, config, n_groups=1, group=os.getgid()):
        super().__init__(config)
        self.hangs, library, source = self.dir + "/hangs", self.dir + "/hanging.so", self.dir + "/hanging.c"
        open(source, "w").write(HANGING)
        subprocess.run([os.environ.get("CC", "cc").split()[-1], "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
        self.slow = {"LD_PRELOAD": library, "HANGS": self.hangs, "GROUPS_N": str(n_groups), "GROUP": str(group)}
        self.hang()

    def asking(self):
        """Processes of the daemon that query the user database."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                stat = open(f"/proc/{pid}/stat").read()
                if "(actord-groups)" in stat and int(stat[stat.rindex(")") + 2:].split()[1]) == self.daemon.pid:
                    found.append(int(pid))
        return found

    def hang(self):
        open(self.hangs, "w").close()

    def answer(self):
        os.unlink(self.hangs)

    def start(self, wait=True):
        env, self.env = self.env, dict(self.env, **self.slow)
        try:
            super().start(False)
        finally:
            self.env = env
        wait_for("the daemon has its name", self.has_name, 60 if WRAP else 20)


@story("while the user database does not answer, other calls are served, a submission waits and then fails with a reason, a queued job says why it waits")
def database():
    with SlowBus(f"MaxJobs=1\n[Group {os.getgid()}]\nMaxJobsPerUser=2\n") as bus:
        words = ["busctl", "--user", "--json=short", "call", "org.actord1", "/org/actord1", MANAGER, "SubmitJob", "ssa(ss)a{sh}a{sv}", JOB_TEXT, "a.conf",
                 "2", *[w for o in ENDLESS for w in o], "0", "0"]
        asked = [subprocess.Popen(words, env=bus.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
        wait_for("a process that asks", lambda: bus.asking())
        for _ in range(20):
            equal(bus.jobs(), [], "others are served")
        assert len(bus.asking()) == 1, "one user is asked for once"
        assert all(p.poll() is None for p in asked), "they wait"
        bus.answer()
        wait_for("an answer to each", lambda: all(p.poll() is not None for p in asked))
        outcomes = [(p.returncode, p.stderr.read()) for p in asked]
        equal(sorted(o[0] for o in outcomes), [0, 0, 1], "MaxJobsPerUser=2")
        assert any("MaxJobsPerUser=2" in o[1] for o in outcomes), outcomes
        equal({r["quota"]: r["limit"] for r in bus.ctl("quota", "--json").json}["jobs"], 2, "the group's quota")
        running, queued = sorted(row[0] for row in bus.jobs())
        wait_for("the first one runs", lambda: bus.state(running) == "running")

        bus.stop()
        bus.hang()
        bus.start()
        wait_for("it says so", lambda: "user database has not answered yet" in bus.get(queued, "Waiting"))
        bus.call("/org/actord1", MANAGER, "StopJob", "t", running)
        equal(bus.ended(running), "interrupted", "a running job does not depend on it")
        e = refused(bus, overrides=ENDLESS)
        assert "user database does not say which groups" in e and "try again" in e, e
        equal(bus.state(queued), "queued", "as long as the quota is not known")
        bus.answer()
        wait_for("it is asked again", lambda: bus.state(queued) == "running", 30)


@story("each group counts of a user in thousands of them")
def many_groups():
    with SlowBus("[Group 99999]\nMaxJobsPerUser=9\n[Group 77123]\nMaxJobsPerUser=2\n", 5000, 77123) as bus:
        bus.answer()
        equal({r["quota"]: r["limit"] for r in bus.ctl("quota", "--json").json}["jobs"], 2, "the last group's quota")


if not shutil.which("dbus-daemon") or not shutil.which("busctl"):
    print("1..0 # SKIP dbus-daemon and busctl are needed")
    sys.exit(0)
tell()
