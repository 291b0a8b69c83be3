#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Limits of the host that are too low for a job: each ends in one sentence that names the limit and says what to do, on the terminal and in the job's
fault; no program ends without a word."""
import re, shutil
from story import *

SMALL = ("--set", "Job.StopSteps=1000")
STRANGER = 64321 # a user id that has no process


def limited(limit, *args, env=None, before=()):
    return ctl("run", os.path.join(EXAMPLES, "cartpole.conf"), "--json", *SMALL, *args, env=env,
               before=(*before, "bash", "-c", f'{limit} && exec "$0" "$@"'))


def well_or_named(limit, name, *args, **kw):
    """The run's result, which is good or names the limit. The limit may be too low even for actorctl or for its daemon: then there is no job, but
    there is a sentence."""
    r = limited(limit, *args, **kw)
    if r.status == 0:
        return r
    assert "ended without a last report" not in r.err and "Invalid argument" not in r.err, (limit, r.err)
    # Of memory, the loader and GLib have sentences of their own.
    assert name in r.err or "error while loading shared libraries" in r.err or "llocate" in r.err, (limit, r.status, r.out, r.err)
    # After the daemon is gone the fault says only that; the daemon's last message stands above it on the terminal.
    if r.json and "private daemon" not in r.fault:
        assert name in r.fault, (limit, r.fault)
        equal(r.err.count("goes on in life"), 0, limit)
    return r


def ends_well_or_names(*args, **kw):
    return well_or_named(*args, **kw).status == 0


@story("too few open files: RLIMIT_NOFILE is named, at whatever point it is reached")
def open_files():
    well = [n for n in (10, 12, 16, 20, 30, 48, 63, 64, 65, 68, 72, 76, 200) if ends_well_or_names(f"ulimit -n {n}", "RLIMIT_NOFILE")]
    assert 200 in well and 64 not in well, well
    # An actor takes a descriptor at least, and several where it has a cgroup.
    well = [n for n in (3, 10, 40, 70, 80, 90, 120) if ends_well_or_names("ulimit -n 100", "RLIMIT_NOFILE", "--set", f"Scaling.Actors={n}")]
    equal(well, [3], "numbers of actors that 100 open files are enough for")
    fault = limited("ulimit -n 100", "--set", "Scaling.Actors=120").fault
    needed = re.search(r"up to (\d+) are needed, and 100 are allowed", fault)
    assert needed and 120 * 7 < int(needed[1]) < 120 * 12 and "lower Actors=" in fault, fault
    # That many are enough.
    assert ends_well_or_names(f"ulimit -n {needed[1]}", "RLIMIT_NOFILE", "--set", "Scaling.Actors=120")


@story("a soft limit of open files is raised as far as the hard one goes")
def soft_limit():
    assert ends_well_or_names("ulimit -S -n 40", "RLIMIT_NOFILE", "--set", "Scaling.Actors=20")


@story("files may not grow: RLIMIT_FSIZE is named, and no program is killed by its signal")
def file_size():
    well = [kib for kib in (1, 10, 100, 1000, 100000) if ends_well_or_names(f"ulimit -f {kib}", "RLIMIT_FSIZE")]
    equal(well, [100000], "limits that are enough")
    assert not ends_well_or_names("ulimit -f 9000", "RLIMIT_FSIZE", "--set", "Learner.HiddenLayers=2048 2048")


@story("too little memory: RLIMIT_AS is named")
def memory():
    for kib in (20000, 30000, 40000, 50000):
        ends_well_or_names(f"ulimit -v {kib}", "RLIMIT_AS")


@story("too little data: RLIMIT_DATA is named wherever the job got to, and no limit that is not set")
def data():
    # With 1300 the daemon can begin, but its ledger then lacks memory; with 1400 it can start a spawner once, and not again.
    for kib in (1000, 1300, 1400, 1500, 2000, 3000, 4000):
        r = well_or_named(f"ulimit -d {kib}", "RLIMIT_DATA")
        if r.status == 0:
            continue
        if r.json and "private daemon" not in r.fault:
            assert "RLIMIT_AS" not in r.fault, (kib, r.fault)
        else:
            assert "RLIMIT_DATA" in r.err and "RLIMIT_AS" not in r.err or "llocate" in r.err, (kib, r.err)


@story("too few processes: RLIMIT_NPROC is named")
def processes_of_user():
    if os.geteuid() != 0:
        # This user has processes already, and may start no more.
        assert not ends_well_or_names("ulimit -u 1", "RLIMIT_NPROC")
        return
    if not shutil.which("setpriv"):
        raise Skip("setpriv is missing, and root has no such limit")
    before = ("setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups")
    # Through a shell: setpriv itself still has root's access to a closed directory.
    if subprocess.run([*before, "bash", "-c", f'exec "{CTL}" --version'], capture_output=True).returncode != 0:
        raise Skip("another user cannot start what was built here, and root has no such limit")
    place = os.path.join(STATE, "stranger")
    os.mkdir(place)
    os.chown(place, STRANGER, STRANGER)
    os.chmod(STATE, 0o755)
    env = dict(environment(), XDG_STATE_HOME=place, HOME=place)
    for n in range(1, 7):
        ends_well_or_names(f"ulimit -u {n}", "RLIMIT_NPROC", before=before, env=env)
    assert ends_well_or_names("true", "RLIMIT_NPROC", before=before, env=env)


def pids_cgroup():
    """A cgroup whose pids.max we may write: of the controller's own hierarchy, or below ours in the unified one."""
    places = [fields[4] for line in open("/proc/self/mountinfo") for fields in [line.split()]
              if "cgroup" in line.split(" - ")[1].split()[0] and os.path.isdir(fields[4])]
    for line in open("/proc/self/cgroup"):
        number, controllers, own = line.rstrip("\n").split(":", 2)
        for place in places:
            path = os.path.join(place + own, f"actord-test-{os.getpid()}")
            try:
                if not controllers:
                    with open(os.path.join(place + own, "cgroup.subtree_control"), "w") as f:
                        f.write("+pids")
                os.mkdir(path)
            except OSError:
                continue
            if os.path.exists(path + "/pids.max"):
                return path
            os.rmdir(path)
    raise Skip("no cgroup with the pids controller can be made here")


@story("an outer cgroup's pids.max is too low: it is named, at whatever point it is reached")
def processes_of_cgroup():
    path = pids_cgroup()
    try:
        well = {}
        for n in (*range(1, 13), 16, 64):
            with open(path + "/pids.max", "w") as f:
                f.write(str(n))
            well[n] = ends_well_or_names(f"echo $$ >{path}/cgroup.procs", "pids.max", "--set", "Scaling.Actors=4", "--set", "Learner.Threads=2")
            wait_for("the cgroup is empty", lambda: not open(path + "/cgroup.procs").read())
        assert well[64] and not well[4], well
        print(f"# enough: {[n for n, w in well.items() if w]}", flush=True)
    finally:
        os.rmdir(path)


@story("too little CPU time: RLIMIT_CPU is named when it ends a learner")
def cpu_time():
    words = [os.path.join(BUILD, "actorctl"), "run", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Job.StopReturn=", "--set", "Job.StopSteps=1000000000",
             "--set", "Learner.Epochs=1000"]
    with tempfile.TemporaryFile("w+") as said:
        p = subprocess.Popen(["bash", "-c", 'ulimit -t 1 && exec "$0" "$@"', *words], stdout=subprocess.DEVNULL, stderr=said)
        try:
            wait_for("the limit is named", lambda: b"RLIMIT_CPU" in os.pread(said.fileno(), 1 << 16, 0) or p.poll() is not None, 120)
            told = os.pread(said.fileno(), 1 << 16, 0).decode()
            assert re.search(r"learner was killed by signal \d+ \[SIG(KILL|XCPU)\]; .*RLIMIT_CPU \(ulimit -t\)", told), told
        finally:
            p.send_signal(signal.SIGINT)
            p.wait(60 * PATIENCE)


@story("/dev/shm is not needed: shared memory is anonymous")
def no_shm():
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "umount", "-l", "/dev/shm"], capture_output=True).returncode != 0:
        raise Skip("/dev/shm cannot be taken away here")
    r = limited("umount -l /dev/shm", before=("unshare", "--mount"))
    equal((r.status, r.policy_sha256), (0, limited("true").policy_sha256), "policies")


@story("where no directory can be written, the message names both places that were tried")
def no_directory():
    r = limited("true", env=dict(environment(), XDG_STATE_HOME="/proc/none", TMPDIR="/proc/none"))
    assert r.status != 0 and "/proc/none/actord/runs" in r.err and "no directory can be made" in r.err, r.err


tell()
