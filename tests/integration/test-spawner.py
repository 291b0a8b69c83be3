#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The spawner without a manager: levels, user ids, descriptors, mounts, a cgroup of its own, and hostile records."""
import concurrent.futures, errno, os, re, shutil, socket, struct, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from launching import *
from story import Skip, equal, shared_library, story


@story("root: the strongest level is full, with a range of user ids and nothing of the host")
def full():
    need_root()
    need_namespaces()
    with launch() as l:
        check_common(l)
        assert LEVELS[l.level] == "full" and l.words["level"] == ["3"], l.level
        assert l.words["uid"] == ["0 0"] and l.words["gid"] == ["0"] and l.words["groups"] == ["0"]
        assert l.words["uid_map"][0].split() == ["0", str(UID_FIRST), "65536"]
        assert l.words["pid1"] == ["1"]
        assert l.words["net"] != [os.readlink("/proc/self/ns/net")]
        assert os.stat(f"/proc/{l.pid}").st_uid == UID_FIRST


@story("root: each weaker level can be demanded, and none of them runs as root")
def demanded():
    need_root()
    for sandbox, name in ((USERNS, "userns"), (PROCESS, "process"), (NONE, "none")):
        if sandbox == USERNS and not namespaces():
            continue
        with launch(sandbox=sandbox) as l:
            check_common(l)
            assert LEVELS[l.level] == name
            assert os.stat(f"/proc/{l.pid}").st_uid == UID_FIRST, name
            assert status(l, "Uid").split()[0] == ("0" if sandbox == USERNS else str(UID_FIRST))
            if sandbox != USERNS:
                assert status(l, "CapEff").strip("0") == "" and l.words["groups"] == ["0"]
                assert l.words["pid1"] == ["0"]
            else:
                assert l.words["uid_map"][0].split() == ["0", str(UID_FIRST), "1"]


@story("an ordinary user gets user namespaces, and the process level where those are forbidden")
def ordinary():
    user = NOBODY if ROOTLY else None
    with launch(user=user) as l:
        check_common(l)
        if LEVELS[l.level] != "userns":
            raise Skip("this host gives ordinary users no user namespaces")
        assert l.words["uid_map"][0].split() == ["0", str(user or os.getuid()), "1"]
        assert l.words["pid1"] == ["1"]
    with launch(user=user, sandbox=PROCESS) as l:
        check_common(l)
        assert LEVELS[l.level] == "process"
    with launch(user=user, sandbox=FULL) as l:
        assert l.step == "namespaces" and "Sandbox=full" in l.message, l.message


def own_cgroups():
    mounts = [x.split()[4] for x in open("/proc/self/mountinfo") if " - cgroup2 " in x]
    return {d for d, _, _ in os.walk(mounts[0]) if re.search(r"/actord-(job-)?[0-9]+-7009$", d)} if mounts else set()


@story("where unshare and clone3 are forbidden, auto falls to the process level and a demand is refused in words")
def forbidden():
    need_root()
    need_namespaces()
    limits = ["sh", "-c", 'unshare -U sh -c \'exit 0\' || exit 77; '
              'mount -t proc proc /proc && echo 0 >/proc/sys/user/max_user_namespaces || exit 77; '
              '"$@"; while set -- /proc/[0-9]*; [ $# -gt 1 ]; do sleep 0.05; done', "sh"]
    # The shell is PID 1 there: it stays until the spawner's processes have ended, since the end of PID 1 ends all of them.
    wrap = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", *limits]
    if subprocess.run([*wrap, "true"], stderr=subprocess.DEVNULL).returncode != 0:
        raise Skip("a child cannot be kept from user namespaces here")
    before = own_cgroups()
    with launch(wrap=wrap, sandbox=USERNS, job=7009, exit_with_daemon=0) as l:
        assert l.step == "namespaces" and "userns" in l.message, (l.step, l.message)
    assert own_cgroups() <= before, "a cgroup was left of a launch that failed"
    with launch(wrap=wrap) as l:
        check_common(l)
        assert LEVELS[l.level] == "process" and l.words["pid1"] == ["0"]


@story("auto takes no weaker level because memory or processes ran out for a moment: the launch fails, and can be tried again")
def momentary():
    need_root()
    need_namespaces()
    library = shared_library("tests/integration/refuse-clone.c", "-ldl")

    def refused(error, times):
        return ("env", f"LD_PRELOAD={library}", f"CLONE_ERROR={error}", f"CLONE_TIMES={times}")

    for error in (errno.ENOMEM, errno.EAGAIN, errno.ENFILE):
        with launch(wrap=refused(error, 2)) as l:                # two: in the job's cgroup, and outside of it
            equal((l.step, l.error), ("namespaces", -error), (l.message, LEVELS[l.level]))
            assert "sandbox level full cannot be prepared now" in l.message and os.strerror(error) in l.message, l.message
    with launch(wrap=refused(errno.ENOSPC, 99)) as l:            # so the kernel says that namespaces are forbidden
        check_common(l)
        equal(LEVELS[l.level], "process", l.message)


@story("the root of a container that was given few user ids gets user namespaces with its own id")
def container():
    need_root()
    need_namespaces()
    with launch(wrap=["unshare", "--user", "--map-root-user", "--mount"]) as l:
        check_common(l)
        assert LEVELS[l.level] == "userns", l.level
        assert l.words["uid_map"][0].split() == ["0", "0", "1"]


@story("a cgroup of its own where there is no manager: delegated, used, removed after the job")
def own_cgroup():
    need_root()
    beside()
    before = os.umask(0o077)                                 # it belongs to a user, but the job may write there all the same
    try:
        launched = launch()
    finally:
        os.umask(before)
    with launched as l:
        assert l.error == 0, l.message
        if not l.metering:
            raise Skip("no cgroup2 hierarchy is writable here")
        assert l.metering == 1 and "/actord-" in l.group
        assert l.words["leaf"] == ["yes"], l.words["leaf"]
        assert f"0::{l.group}/invoker" in l.words["in"], l.words["in"]
        mounts = [x.split()[4] for x in open("/proc/self/mountinfo") if " - cgroup2 " in x]
        path = mounts[0] + l.group
        for name in "", "/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads":
            assert is_given(path + name, UID_FIRST), name
        for name in "/cgroup.freeze", "/memory.max", "/cpu.max":
            assert not os.path.exists(path + name) or os.stat(path + name).st_gid == 0, name
        # The stand-in sits in its leaf now.
        assert str(l.pid) in open(path + "/leaf/cgroup.procs").read().split()
    assert not os.path.exists(path) and not os.path.exists(os.path.dirname(path)), "the cgroup outlived its job"
    with launch(sandbox=PROCESS) as l:                       # this level's child moves there
        assert f"0::{l.group}/invoker" in l.words["in"], l.words["in"]


@story("the count of a life's own cgroup can be read again and again, also after its spawner has gone, until it is removed")
def settled_again():
    need_root()
    place = dict(exit_with_daemon=0, job=7010)
    with launch(**place) as l:
        if not l.metering:
            raise Skip("no cgroup2 hierarchy is writable here")
        l.process.kill()                                     # it would remove the life's own
        signal.pidfd_send_signal(l.pid_fd, signal.SIGKILL)
        select.select([l.pid_fd], [], [], 5)
        first, second = settle(**place), settle(**place)
        assert first[0] == 0 and first[1] > 0 and first == second, (first, second)
        assert settle(**place, purpose=REMOVE)[0] == 0
        assert settle(**place)[0] == -errno.ENOENT
        assert settle(**place, purpose=REMOVE)[0] == 0, "removing it again is an error"


@story("a life that fails to launch, its daemon there or gone, takes nothing of what the job's earlier lives counted")
def failed_later():
    need_root()
    place = dict(exit_with_daemon=0, job=7011)
    with launch(**place, life=1) as l:
        if not l.metering:
            raise Skip("no cgroup2 hierarchy is writable here")
        signal.pidfd_send_signal(l.pid_fd, signal.SIGKILL)
        select.select([l.pid_fd], [], [], 5)
        error, first = settle(**place)
        assert error == 0 and first > 0, (error, first)
        os.rename(beside() + "/actord-invoker", beside() + "/away")
        try:
            with open(beside() + "/actord-invoker", "w") as f:
                f.write("no program")
            os.chmod(beside() + "/actord-invoker", 0o755)
            failed = launch(**place, life=2)
            assert failed.step == "exec" and "cannot be started" in failed.message, failed.message
            failed.process.wait(10)
        finally:
            os.rename(beside() + "/away", beside() + "/actord-invoker")
        error, second = settle(**place)
        assert error == 0 and second >= first, f"{first} ns, and after a launch that failed {second} ns, error {error}"


LEFT = "user.actord.left"


@story("cgroups that stayed behind after a kill -9 are removed by the next job, and no others")
def left_behind():
    need_root()
    with launch() as l:
        if not l.metering:
            raise Skip("no cgroup2 hierarchy is writable here")
        mounts = [x.split()[4] for x in open("/proc/self/mountinfo") if " - cgroup2 " in x]
        parent = mounts[0] + os.path.dirname(os.path.dirname(l.group))
    process = subprocess.Popen(["sleep", "60"])
    dead = subprocess.Popen(["true"])
    dead.wait()
    empty, populated, young, other, open_books = [f"{parent}/{name}" for name in (
        f"actord-{dead.pid}-7001", f"actord-{dead.pid}-7002", f"actord-{os.getpid()}-7003", f"actord-{dead.pid}-7004x",
        f"actord-job-{dead.pid}-7005")]  # the last belongs to a daemon that may come back to read it, for a day
    try:
        for path in (empty, empty + "/leaf", populated, young, other, open_books):
            os.mkdir(path)
        open(populated + "/cgroup.procs", "w").write(str(process.pid))
        with launch() as l:
            check_common(l)
        assert not os.path.exists(empty), "an abandoned cgroup was left"
        assert all(map(os.path.exists, (populated, young, other, open_books))), "a cgroup of another user was removed"
        try:
            os.setxattr(other, "user.actord.try", b"")
        except OSError:
            print("# this kernel keeps no attribute of a cgroup: one of a daemon that never comes back stays", flush=True)
            return
        seen = os.getxattr(open_books, LEFT)
        with launch() as l:
            check_common(l)
        equal(os.getxattr(open_books, LEFT), seen, "the first look counts")
        os.setxattr(open_books, LEFT, struct.pack("Q", int(time.time()) - 25 * 3600))
        with launch() as l:
            check_common(l)
        assert not os.path.exists(open_books), "a cgroup was left whose daemon had a day to come back"
    finally:
        process.kill()
        process.wait()
        for path in (empty + "/leaf", empty, populated, young, other, open_books):
            if os.path.exists(path):
                os.rmdir(path)


@story("descriptors become read-only mounts: as root, as a user, from a home directory of mode 0700")
def mounts():
    need_namespaces()
    path = plugin(directory_mode=0o700)
    directory = place()
    places = [("/plugin/mine.so", path, 1), ("/model", directory, 1), ("/python", virtual_environment(), 1)]
    with launch(mounts=places) as l:
        check_common(l)
        assert l.words["mount"] == ["/plugin/mine.so file 1 content of a plugin", "/model dir 1", "/python dir 1"], \
            l.words["mount"]
    with launch(mounts=places, sandbox=PROCESS) as l:
        assert l.words["mount"][0] == "/plugin/mine.so plain 1"
    if ROOTLY:
        os.chown(os.path.dirname(path), NOBODY, NOBODY)
        with launch(mounts=places[:1], user=NOBODY) as l:
            if LEVELS[l.level] == "userns":
                assert l.words["mount"] == ["/plugin/mine.so file 1 content of a plugin"], l.words["mount"]


@story("a file opened in another mount namespace is found again, and only if it is the same file")
def other_namespace():
    need_root()
    need_namespaces()
    path = plugin()
    reader, writer = os.pipe()
    # A child in its own mount namespace opens the file and keeps it; we take the descriptor through /proc.
    child = subprocess.Popen(["unshare", "--mount", "sh", "-c", f"exec 5<{path}; echo x; exec sleep 300"], stdout=writer)
    os.close(writer)
    try:
        assert os.read(reader, 1), "no mount namespace for the child"
        fd = os.open(f"/proc/{child.pid}/fd/5", os.O_RDONLY)
        with launch(mounts=[("/plugin/mine.so", path, 1)], fds={5: fd}) as l:
            assert l.words["mount"] == ["/plugin/mine.so file 1 content of a plugin"], (l.message, l.words)
        os.rename(path, path + ".old")
        shutil.copy(path + ".old", path)
        with launch(mounts=[("/plugin/mine.so", path, 1)], fds={5: fd}) as l:
            assert l.error == 0 or l.step == "mounts", l.message
    finally:
        child.kill()
        child.wait()


@story("hostile records are refused with a sentence, and nothing is started")
def hostile():
    good = record()
    null = os.open("/dev/null", os.O_RDWR)
    unsealed = os.memfd_create("x", os.MFD_ALLOW_SEALING)
    plain = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    _, pipe = os.pipe()
    cases = {
        "short": dict(data=good[:-1]),
        "empty": dict(data=good[:8]),
        "root": dict(uid_first=0, n_uids=1) if ROOTLY else dict(uid_first=0),
        "person": dict(uid_first=1000, n_uids=65536),
        "beyond": dict(uid_first=0x44000000 - 10, n_uids=65536),
        "wrap": dict(uid_first=0xfffffff0, n_uids=0xffffffff),
        "abi": dict(abi=0),
        "purpose": dict(purpose=9),
        "sandbox": dict(sandbox=99),
        "mounts": dict(n_mounts=0xffffffff),
        "dots": dict(mounts=[("/a/../etc", "/etc/passwd", 1)]),
        "relative": dict(mounts=[("etc", "/etc/passwd", 1)]),
        "device": dict(mounts=[("/plugin/x", "/dev/null", 1)]),
        "host": dict(mounts=[("/usr", "/", 1)]),
        "root": dict(mounts=[("/model", "/", 1)]),
        "root of another name": dict(mounts=[("/model", "/proc/self/root/.", 1)]),
        "kernel": dict(mounts=[("/model", "/proc", 1)]),
        "settings of the host": dict(mounts=[("/model", "/etc", 1)]),
        "no virtual environment": dict(mounts=[("/python", place(), 1)]),
        "a plugin that is a directory": dict(mounts=[("/plugin/x", place(), 1)]),
        "below a plugin": dict(mounts=[("/plugin/x/y", plugin(), 1)]),
        "below a model": dict(mounts=[("/model/y", place(), 1)]),
        "writable": dict(mounts=[("/model", place(), 0)]),
        "twice": dict(mounts=[("/model", place(), 1), ("/model", place(), 1)]),
        "part of a range": dict(uid_first=UID_FIRST + 1, n_uids=65536),
        "each": dict(scope_each=10001),
        "settings": dict(fds={0: unsealed}),
        "settings-file": dict(fds={0: null}),
        "state": dict(fds={2: null}),
        "socket": dict(fds={3: plain.fileno()}),
        "checkpoint": dict(has_checkpoint=1),
        "a trial of a manager": dict(purpose=TRIAL, manager=MANAGER_SYSTEM),
        "a trial with what a job has": dict(purpose=TRIAL),
        "a trial whose rows have no pipe": dict(purpose=TRIAL, fds={2: unsealed, 4: sealed()}),
        "a trial whose request can change": dict(purpose=TRIAL, fds={2: unsealed, 3: pipe, 4: unsealed}),
    }
    for name, arguments in cases.items():
        with launch(**arguments) as l:
            assert l.error < 0 and l.pid_fd is None and l.pid == 0 and len(l.message) > 20, (name, l.error, l.message)
            assert l.step == "message", (name, l.step)


@story("a program that cannot be started is reported, and leaves nothing behind")
def missing_program():
    os.rename(beside() + "/actord-invoker", beside() + "/away")
    try:
        with launch() as l:
            assert l.step == "exec" and "actord-invoker" in l.message
        with open(beside() + "/actord-invoker", "w") as f:
            f.write("no program")
        os.chmod(beside() + "/actord-invoker", 0o755)
        with launch() as l:
            assert l.step == "exec" and l.error < 0 and "cannot be started" in l.message, l.message
    finally:
        os.rename(beside() + "/away", beside() + "/actord-invoker")


@story("a spawner that may open too few files says so, and never that a record is too long or a program is not installed")
def few_files():
    for most in range(7, 20):
        with launch(wrap=("prlimit", f"--nofile={most}:{most}")) as l:
            assert l.error == -errno.EMFILE and os.strerror(errno.EMFILE) in l.message, (most, l.step, l.error, l.message)


@story("a launch that hangs ends after its deadline, which is later with more scopes: here it asks a bus that never answers")
def deadline():
    def took(n_scopes):
        began = time.monotonic()
        try:
            launch(manager=MANAGER_USER, scope_each=n_scopes, wrap=("env", f"XDG_RUNTIME_DIR={runtime}", f"DBUS_SESSION_BUS_ADDRESS=unix:path={runtime}/bus"))
        except (struct.error, ConnectionError):
            pass                                             # no answer, as the daemon hears it
        return time.monotonic() - began

    with tempfile.TemporaryDirectory() as runtime, socket.socket(socket.AF_UNIX) as bus:
        os.chmod(runtime, 0o755)
        bus.bind(runtime + "/bus")
        bus.listen()
        beside()                                             # made once, before two launches use it
        with concurrent.futures.ThreadPoolExecutor() as pool:
            none, some = pool.map(took, (0, 100))
        assert none < 60, f"{none:.0f} s"
        assert none + 3 < some < 60, f"{none:.0f} s, and {some:.0f} s with 100 scopes"


@story("a daemon that went away before the answer leaves no job running")
def gone():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen([beside() + "/actord-spawn", f"--fd={theirs.fileno()}"], pass_fds=[theirs.fileno()])
    theirs.close()
    ours.close()
    assert process.wait(15) == 1


@story("with the capabilities of the system's service: an invoker whose daemon went away before the answer is killed, at each level")
def unheard():
    need_root()
    kept = re.search("^CapabilityBoundingSet=(.*)$", open(ROOT + "/units/actord-spawn.service.in").read(), re.M)[1].split()
    bound = ",".join(["-all", *("+" + name.removeprefix("CAP_").lower() for name in kept)])
    for sandbox in (FULL, USERNS, PROCESS) if namespaces() else (PROCESS,):
        out, process = launch_unheard(sandbox=sandbox, wrap=("setpriv", "--bounding-set=" + bound))
        try:
            equal(process.wait(20), 1, f"the spawner's exit status, level {LEVELS[4 - sandbox]}")
            assert ends(out), f"level {LEVELS[4 - sandbox]}: the invoker still runs"
        finally:
            process.kill()
            os.close(out)
            settle(purpose=REMOVE)


@story("started by hand it says what it is")
def by_hand():
    program = beside() + "/actord-spawn"
    assert subprocess.run([program], capture_output=True).returncode == 2
    assert subprocess.run([program, "--fd=0"], capture_output=True).returncode == 2
    assert b"actord" in subprocess.run([program, "--help"], capture_output=True).stdout


@story("control characters in a file's name are question marks in the journal")
def journal_line():
    need_root()
    said = tempfile.NamedTemporaryFile("r")
    fd = os.memfd_create("no file of any directory")
    with launch(mounts=[("/plugin/x\u202e\u009b31m.so", "/dev/null", 1)], fds={5: fd},
                wrap=("bash", "-c", f'JOURNAL_STREAM=1 exec "$0" "$@" 2>{said.name}')) as l:
        if l.level == PROCESS:
            raise Skip("nothing is mounted at level process")
        equal(l.step, "mounts", l.message)
        assert "\u202e" in l.message, l.message
    text = open(said.name, "rb").read()
    assert b"<3>job 7: /plugin/x" in text and b"?31m.so of the job cannot be mounted" in text, text
    assert all(byte == 10 or 32 <= byte < 127 for byte in text), text


@story("a record that is refused is said in the journal, also where it asks to settle")
def refused_settlement():
    said = tempfile.NamedTemporaryFile("r")
    error, _ = settle(bytes=1, wrap=("bash", "-c", f'JOURNAL_STREAM=1 exec "$0" "$@" 2>{said.name}'))
    assert error < 0, error
    text = open(said.name).read()
    assert text.startswith("<3>job 7: "), text


play()
