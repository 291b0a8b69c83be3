#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plays the daemon: sends launch records to the spawner and looks, through a stand-in for the invoker, at what a job is started with."""
import array, ctypes, fcntl, os, select, shutil, signal, socket, stat, struct, subprocess, sys, tempfile, time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from story import BUILD, ROOT, Skip, story, tell

TRAIN, MANAGER_NONE = 0, 2
AUTO, FULL, USERNS, PROCESS, NONE = range(5)
LEVELS = ["none", "process", "userns", "full"]
UID_FIRST = 0x40100000
SEALS = 0x0002 | 0x0004 | 0x0008
LAUNCH = struct.Struct("<IIQQIIIIIIIIQQQII")
MOUNT = struct.Struct("<120sII")
ANSWER = struct.Struct("<IIiIIi128s256s256s")
STEPS = ["none", "message", "namespaces", "identity", "scope", "delegation", "mounts", "exec"]
ROOTLY = os.geteuid() == 0
NOBODY = 65534


def beside():
    """A directory with a copy of the spawner, the stand-in, and something called the learner."""
    if not hasattr(beside, "path"):
        beside.path = tempfile.mkdtemp(prefix="actord-spawner-")
        os.chmod(beside.path, 0o755)
        shutil.copy(os.path.join(BUILD, "actord-spawn"), beside.path)
        shutil.copy("/bin/true", os.path.join(beside.path, "actord-learner"))
        subprocess.run(["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-I", ROOT, "-o", beside.path + "/actord-invoker",
                        ROOT + "/tests/integration/stand-in-invoker.c"], check=True)
    return beside.path


def sealed(text=b"settings"):
    fd = os.memfd_create("settings", os.MFD_ALLOW_SEALING)
    os.write(fd, text)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
    return fd


class Launched:
    def __init__(self, answer, pid_fd, process, words):
        abi, step, error, self.level, self.metering, self.pid, unit, group, message = ANSWER.unpack(answer)
        self.step, self.error, self.pid_fd, self.process = STEPS[step], error, pid_fd, process
        self.unit, self.group, self.message = (x.split(b"\0")[0].decode() for x in (unit, group, message))
        self.words = words

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid_fd is not None:
            signal.pidfd_send_signal(self.pid_fd, signal.SIGKILL)
            select.select([self.pid_fd], [], [], 5)
            os.close(self.pid_fd)
        self.process.wait(10)
        try:  # as the daemon does: what the spawner leaves behind is ours to reap
            os.waitpid(self.pid, 0) if self.pid else None
        except ChildProcessError:
            pass


def record(sandbox=AUTO, uid_first=None, n_uids=None, mounts=(), **fields):
    f = dict(abi=1, bytes=LAUNCH.size + 32 * MOUNT.size, job=7, life=1, purpose=TRAIN, manager=MANAGER_NONE,
             uid_first=uid_first if uid_first is not None else (UID_FIRST if ROOTLY else os.getuid()),
             n_uids=n_uids if n_uids is not None else (65536 if ROOTLY else 1), sandbox=sandbox, scope_each=0,
             exit_with_daemon=1, has_checkpoint=0, resume_round=0, n_episodes=0, stop=10_000_000,
             n_mounts=len(mounts), reserved=0)
    f.update(fields)
    places = [MOUNT.pack(at.encode(), read_only, 0) for at, _, read_only in mounts]
    return LAUNCH.pack(*f.values()) + b"".join(places) + bytes(MOUNT.size * (32 - len(places)))


def launch(data=None, fds=None, user=None, wrap=(), **fields):
    """One launch through `actord-spawn --fd=3`; mounts: (place, path, read_only)."""
    mounts = fields.get("mounts", ())
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with tempfile.TemporaryDirectory() as state, tempfile.TemporaryFile() as _:
        os.chmod(state, 0o777)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listening.bind("")
        listening.listen()
        out, words_fd = os.pipe()
        own = [sealed(), words_fd, os.open(state, os.O_DIRECTORY), listening.fileno(), os.open("/dev/null", os.O_RDONLY)]
        own += [os.open(path, os.O_RDONLY) for _, path, _ in mounts]
        for i, fd in (fds or {}).items():
            own[i] = fd
        setup = (lambda: (os.setgroups([]), os.setresgid(user, user, user), os.setresuid(user, user, user))) if user else None
        program = beside() + "/actord-spawn"
        process = subprocess.Popen([*wrap, program, f"--fd={theirs.fileno()}"], pass_fds=[theirs.fileno()], preexec_fn=setup)
        theirs.close()
        if data is None:
            data = record(**{**fields, **({"uid_first": user, "n_uids": 1} if user and "uid_first" not in fields else {})})
        ours.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", own))])
        os.close(words_fd)
        ours.settimeout(30)
        answer, ancillary, _, _ = ours.recvmsg(ANSWER.size, socket.CMSG_SPACE(4))
        pid_fd = struct.unpack("i", ancillary[0][2])[0] if ancillary else None
        ours.close()
        words = {}
        if pid_fd is not None:
            text = b""
            while not text.endswith(b"end\n"):
                assert select.select([out], [], [], 10)[0], "the stand-in is silent: " + text.decode()
                part = os.read(out, 65536)
                assert part, "the stand-in ended: " + text.decode()
                text += part
            for line in text.decode().splitlines():
                key, _, value = line.partition(" ")
                words.setdefault(key, []).append(value)
        os.close(out)
        listening.close()
        for fd in own[:3] + own[4:]:
            if fd != words_fd and fd not in (fds or {}).values():
                os.close(fd)
        return Launched(answer, pid_fd, process, words)


def status(launched, key):
    return next(v.split(":")[1].strip() for v in launched.words["status"] if v.startswith(key + ":"))


def check_common(l):
    assert l.error == 0, l.message
    w = l.words
    assert w["argv"] == ["1 actord-invoker"]
    assert w["settings"] == ["yes"] and w["job"] == ["7"]
    assert w["environment"] == ["PATH=/usr/bin:/bin 0"], w["environment"]
    assert w["directory"][0].startswith("1 "), w["directory"]
    assert int(w["sealed"][0]) & SEALS == SEALS
    expected = [0, 1, 2, 3, 4, 5, 6, 7, 8] + ([9] if l.metering else []) + [10, 11]
    n_mounts = len(w.get("mount", []))
    assert list(map(int, w["fds"][0].split())) == expected + list(range(16, 16 + n_mounts)), w["fds"]


def need_root():
    if not ROOTLY:
        raise Skip("needs root")


def plugin(mode=0o644, directory_mode=0o755):
    directory = tempfile.mkdtemp(prefix="actord-plugin-")
    path = directory + "/mine.so"
    with open(path, "w") as f:
        f.write("content of a plugin")
    os.chmod(path, mode)
    os.chmod(directory, directory_mode)
    return path


@story("root: the strongest level is full, with a range of user ids and nothing of the host")
def full():
    need_root()
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


@story("where unshare and clone3 are forbidden, auto falls to the process level and a demand is refused in words")
def forbidden():
    need_root()
    limits = ["sh", "-c", 'unshare -U sh -c \'exit 0\' || exit 77; '
              'mount -t proc proc /proc && echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"', "sh"]
    wrap = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", *limits]
    with launch(wrap=wrap, sandbox=USERNS) as l:
        assert l.step == "namespaces" and "userns" in l.message, (l.step, l.message)
    with launch(wrap=wrap) as l:
        check_common(l)
        assert LEVELS[l.level] == "process" and l.words["pid1"] == ["0"]


@story("the root of a container that was given few user ids gets what it can have: user namespaces with its own id")
def container():
    need_root()
    with launch(wrap=["unshare", "--user", "--map-root-user", "--mount"]) as l:
        check_common(l)
        assert LEVELS[l.level] == "userns", l.level
        assert l.words["uid_map"][0].split() == ["0", "0", "1"]


@story("a cgroup of its own where there is no manager: delegated, used, removed after the job")
def own_cgroup():
    need_root()
    with launch() as l:
        if not l.metering:
            raise Skip("no cgroup2 hierarchy is writable here")
        assert l.metering == 1 and "/actord-" in l.group
        assert l.words["leaf"] == ["yes"], l.words["leaf"]
        mounts = [x.split()[4] for x in open("/proc/self/mountinfo") if " - cgroup2 " in x]
        path = mounts[0] + l.group
        assert os.stat(path + "/cgroup.procs").st_uid == UID_FIRST
        assert os.stat(path + "/memory.max").st_uid == 0 if os.path.exists(path + "/memory.max") else True
        # The stand-in sits in its leaf now.
        assert str(l.pid) in open(path + "/leaf/cgroup.procs").read().split()
    assert not os.path.exists(path), "the cgroup outlived its job"


@story("descriptors become read-only mounts: as root, as a user, from a home directory of mode 0700")
def mounts():
    path = plugin(directory_mode=0o700)
    directory = tempfile.mkdtemp(prefix="actord-dir-")
    os.chmod(directory, 0o755)
    places = [("/plugin/mine.so", path, 1), ("/data", directory, 1), ("/scratch", directory, 0)]
    with launch(mounts=places) as l:
        check_common(l)
        assert l.words["mount"] == ["/plugin/mine.so file 1 content of a plugin", "/data dir 1", "/scratch dir 0"], \
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
    path = plugin()
    reader, writer = os.pipe()
    # A child in its own mount namespace opens the file and keeps it; we take the descriptor through /proc.
    child = subprocess.Popen(["unshare", "--mount", "sh", "-c", f"exec 5<{path}; echo x >&{writer}; exec sleep 30"],
                             pass_fds=[writer])
    os.read(reader, 1)
    try:
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
    cases = {
        "short": dict(data=good[:-1]),
        "empty": dict(data=good[:8]),
        "root": dict(uid_first=0, n_uids=1) if ROOTLY else dict(uid_first=0),
        "person": dict(uid_first=1000, n_uids=65536),
        "beyond": dict(uid_first=0x44000000 - 10, n_uids=65536),
        "wrap": dict(uid_first=0xfffffff0, n_uids=0xffffffff),
        "abi": dict(abi=2),
        "purpose": dict(purpose=9),
        "sandbox": dict(sandbox=99),
        "mounts": dict(n_mounts=0xffffffff),
        "dots": dict(mounts=[("/a/../etc", "/etc/passwd", 1)]),
        "relative": dict(mounts=[("etc", "/etc/passwd", 1)]),
        "device": dict(mounts=[("/x", "/dev/null", 1)]),
        "each": dict(scope_each=1),
        "settings": dict(fds={0: unsealed}),
        "settings-file": dict(fds={0: null}),
        "state": dict(fds={2: null}),
        "socket": dict(fds={3: plain.fileno()}),
        "checkpoint": dict(has_checkpoint=1),
    }
    for name, arguments in cases.items():
        with launch(**arguments) as l:
            assert l.error < 0 and l.pid_fd is None and l.pid == 0 and len(l.message) > 20, (name, l.error, l.message)
            assert l.step == ("scope" if name == "each" else "message"), (name, l.step)


@story("a program that cannot be started is said, and leaves nothing behind")
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


@story("a daemon that went away before the answer leaves no job running")
def gone():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen([beside() + "/actord-spawn", f"--fd={theirs.fileno()}"], pass_fds=[theirs.fileno()])
    theirs.close()
    ours.close()
    assert process.wait(15) == 1


@story("started by hand it says what it is")
def by_hand():
    program = beside() + "/actord-spawn"
    assert subprocess.run([program], capture_output=True).returncode == 2
    assert subprocess.run([program, "--fd=0"], capture_output=True).returncode == 2
    assert b"actord" in subprocess.run([program, "--help"], capture_output=True).stdout


PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
try:
    tell()
finally:
    if hasattr(beside, "path"):
        shutil.rmtree(beside.path)
