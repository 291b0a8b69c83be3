#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Jobs of many actors: their policies do not depend on how many processes play the actors, and an actor that waits takes little memory."""
import re, resource, statistics
from story import *

TINY = ("Actor.EnvsPerActor=1", "Actor.RolloutSteps=4", "Learner.Epochs=1", "Job.StopReturn=")
FILES_OF_A_PROCESS, FILES_BESIDE = 8, 100
PARKED_KIB_MOST = 300


def need_files(n_actors, n_processes):
    """A descriptor for each actor's memory, and those of its process: actord(8), LIMITS OF THE HOST."""
    needed, most = FILES_BESIDE + n_actors + FILES_OF_A_PROCESS * n_processes, resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if 0 <= most < needed:
        raise Skip(f"{n_actors} actors in {n_processes} processes need {needed} open files, {most} are allowed (ulimit -Hn)")


def words(n_actors, rounds, *more):
    sets = (*TINY, f"Scaling.Actors={n_actors}", f"Learner.MinibatchSize={4 * n_actors}", f"Job.StopSteps={4 * n_actors * rounds}", *more)
    return ["run", os.path.join(EXAMPLES, "cartpole.conf"), "--json", *set_words(*sets)]


def learned(n_actors, rounds, *more):
    r = ctl(*words(n_actors, rounds, *more))
    equal((r.status, r.json["result"]), (0, "finished"), r.err)
    equal(r.json["env_steps"], 4 * n_actors * rounds, "steps")
    return r.json["policy_sha256"]


@story("1,500 actors in 150 processes learn what one process learns for all of them")
def many():
    need_files(1500, 150)
    equal(learned(1500, 3, "Actor.Processes=150"), learned(1500, 3, "Distribution.Policy=fused", "Learner.Threads=1"), "policies")


@story("10,000 actors in 50 processes end a round, and 10,001 are refused")
def most():
    need_files(10000, 50)
    learned(10000, 1, "Actor.Processes=50")
    r = ctl(*words(10001, 1))
    assert r.status != 0 and "from 1 to 10000" in r.err, r.err


def parked_kib(pid):
    """The proportional memory of each actor below this process; actors that end while they are read are left out."""
    for p in descendants(pid):
        try:
            if not open(f"/proc/{p}/cmdline").read().startswith("actord-actor"):
                continue
            yield int(re.search(r"^Pss:\s+(\d+)", open(f"/proc/{p}/smaps_rollup").read(), re.M).group(1))
        except (OSError, AttributeError):
            pass


def held_by(pid):
    """[(descriptor, what it is)] of a process, from 3 up; an eventfd has its number in the kernel."""
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        what = os.readlink(f"/proc/{pid}/fd/{fd}")
        if "eventfd" in what:
            what = "eventfd " + re.search(r"^eventfd-id:\s*(\d+)", open(f"/proc/{pid}/fdinfo/{fd}").read(), re.M).group(1)
        if int(fd) > 2:
            found.append((int(fd), what))
    return found


def descriptors_of_actors(n_actors, n_processes, *more):
    """{pid: its descriptors} of a job's actors, once each of them carries out orders."""
    seen = {}

    def during(p):
        def steady():
            # An actor with the invoker's memory files is still on its way into the sandbox.
            pids = descendants(p.pid, "actord-actor")
            try:
                seen.update(actors={pid: held_by(pid) for pid in pids})
            except (FileNotFoundError, ProcessLookupError):
                return False
            except PermissionError as e:
                seen.update(skip=e)
                return True
            return len(pids) == n_processes and all(what.startswith("eventfd") for held in seen["actors"].values() for _, what in held)
        try:
            wait_for(f"{n_processes} actors without the invoker's descriptors", steady, 60)
        except AssertionError as e:
            seen.update(late=e)
        finally:
            p.send_signal(2)

    r = ctl(*words(n_actors, 1000000, f"Actor.Processes={n_processes}", *more), during=during)
    if "skip" in seen:
        raise Skip(f"this user may not look at the descriptors of an actor: {seen['skip'].strerror}")
    assert "late" not in seen, (seen["late"], list(seen.get("actors", {}).values())[:3], r.err)
    return seen["actors"]


# From 2,048 descriptors on, an actor begins with the invoker's table (invoker/fork.c). 2,400 actors have so many before the first process starts.
@story("an actor has an eventfd of its own and no other descriptor but the standard ones, however many there are; a second eventfd if it asks the learner")
def alone():
    need_files(2400, 12)
    for n_actors, n_processes, n_held, *more in (12, 12, 1), (2400, 12, 1), (12, 12, 2, "Distribution.Policy=single-learner-fine"), \
            (2400, 12, 2, "Distribution.Policy=single-learner-fine"), (2400, 12, 1, "Actor.Sandbox=process"):
        actors = descriptors_of_actors(n_actors, n_processes, *more)
        equal({len(held) for held in actors.values()}, {n_held}, f"descriptors of each of {n_actors} actors {more}")
        eventfds = {what for held in actors.values() for _, what in held}
        equal(len(eventfds), n_held * n_processes, f"eventfds of all {n_actors} actors {more}")


@story(f"an actor of CartPole takes at most {PARKED_KIB_MOST} KiB")
def parked():
    run = subprocess.Popen([CTL, *words(40, 1000000)], env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for("40 actors are there", lambda: len(list(parked_kib(run.pid))) == 40)
        kib = statistics.median(parked_kib(run.pid))
    finally:
        run.send_signal(2)
        run.wait()
    assert kib <= PARKED_KIB_MOST, kib


tell()
