# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plays the daemon for tests of the spawner: sends a launch record, and learns from a stand-in for the invoker what a job is started with."""
import array, atexit, contextlib, ctypes, fcntl, os, select, shutil, signal, socket, struct, subprocess, tempfile

from story import ROOT, Skip, tell

BUILD = os.environ.get("ACTORD_BUILD", os.path.join(ROOT, os.environ.get("B", "build")))
TRAIN, TRIAL, SETTLE, REMOVE = 0, 3, 5, 6
MANAGER_SYSTEM, MANAGER_USER, MANAGER_NONE = range(3)
AUTO, FULL, USERNS, PROCESS, NONE = range(5)
LEVELS = ["none", "process", "userns", "full"]
UID_FIRST = 0x40100000
SEALS = 0x0002 | 0x0004 | 0x0008
LAUNCH = struct.Struct("<IIQQIIIIIIIIQQIIIIIIQ")
MOUNT = struct.Struct("<120sII")
ANSWER = struct.Struct("<IIiIIiQIIQ128s256s256s")
STEPS = ["none", "message", "namespaces", "identity", "scope", "delegation", "mounts", "exec"]
ROOTLY = os.geteuid() == 0
NOBODY = 65534
UNKNOWN = 2**64 - 1


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


def is_given(path, group):
    """Whether a cgroup was handed to a job: the job's group has the owner's rights there, or the job is the owner."""
    found = os.stat(path)
    as_owner = (found.st_mode & 0o700) >> 3
    return found.st_gid == group and (found.st_mode & as_owner == as_owner or found.st_uid == group)


def sealed(text=b"settings"):
    fd = os.memfd_create("settings", os.MFD_ALLOW_SEALING)
    os.write(fd, text)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
    return fd


class Launched:
    def __init__(self, answer, pid_fd, process, words, place):
        abi, step, error, self.level, self.metering, self.pid, self.cpu_nsec, owner, _, life, unit, group, message = ANSWER.unpack(answer)
        self.place = place
        self.step, self.error, self.pid_fd, self.process = STEPS[step], error, pid_fd, process
        self.unit, self.group, self.message = (x.split(b"\0")[0].decode() for x in (unit, group, message))
        self.words = words

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid_fd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pid_fd, signal.SIGKILL)
            select.select([self.pid_fd], [], [], 5)
            os.close(self.pid_fd)
        self.process.wait(60)
        try:  # as the daemon does: we must reap the processes that the spawner leaves behind
            os.waitpid(self.pid, 0) if self.pid else None
        except ChildProcessError:
            pass
        if self.pid or self.step == "exec":                      # it failed late: there may be a cgroup already
            settle(**self.place, purpose=REMOVE)


def record(sandbox=AUTO, uid_first=None, n_uids=None, mounts=(), **fields):
    f = dict(abi=6, bytes=LAUNCH.size + 32 * MOUNT.size, job=7, life=1, purpose=TRAIN, manager=MANAGER_NONE,
             uid_first=uid_first if uid_first is not None else (UID_FIRST if ROOTLY else os.getuid()),
             n_uids=n_uids if n_uids is not None else (65536 if ROOTLY else 1), sandbox=sandbox, scope_each=0,
             exit_with_daemon=1, has_checkpoint=0, resume_round=0, n_episodes=0,
             n_mounts=len(mounts), cluster=0, journal=0, owner=os.getpid(), submitter=os.getuid(), reserved=0, alone=0)
    f.update(fields)
    places = [MOUNT.pack(at.encode(), read_only, 0) for at, _, read_only in mounts]
    return LAUNCH.pack(*f.values()) + b"".join(places) + bytes(MOUNT.size * (32 - len(places)))


def start_spawner(theirs, user=None, wrap=()):
    setup = (lambda: (os.setgroups([]), os.setresgid(user, user, user), os.setresuid(user, user, user))) if user else None
    program = beside() + "/actord-spawn"
    process = subprocess.Popen([*wrap, program, f"--fd={theirs.fileno()}"], pass_fds=[theirs.fileno()], preexec_fn=setup)
    theirs.close()
    return process


def settle(user=None, wrap=(), purpose=SETTLE, **fields):
    """Sends the daemon's request after the end of a life or, with REMOVE, of the job. Returns (error, what was counted)."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = start_spawner(theirs, user, wrap)
    ours.send(record(**{**fields, "purpose": purpose, "scope_each": 0, "mounts": (), **({"uid_first": user, "n_uids": 1} if user else {})}))
    ours.settimeout(30)
    answer = ANSWER.unpack(ours.recv(ANSWER.size))
    ours.close()
    process.wait(10)
    return answer[2], answer[6]


def launch(data=None, fds=None, user=None, wrap=(), **fields):
    """Makes one launch through `actord-spawn --fd=3`. mounts: (place, path, read_only)."""
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
        process = start_spawner(theirs, user, wrap)
        if data is None:
            data = record(**{**fields, **({"uid_first": user, "n_uids": 1} if user and "uid_first" not in fields else {})})
        ours.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", own))])
        os.close(words_fd)
        ours.settimeout(180)
        answer, ancillary, _, _ = ours.recvmsg(ANSWER.size, socket.CMSG_SPACE(4))
        pid_fd = struct.unpack("i", ancillary[0][2])[0] if ancillary else None
        ours.close()
        words = {}
        if pid_fd is not None:
            text = b""
            while not text.endswith(b"end\n"):
                assert select.select([out], [], [], 60)[0], "the stand-in is silent: " + text.decode()
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
        return Launched(answer, pid_fd, process, words, {"user": user, "wrap": wrap, **fields})


def launch_unheard(wrap=(), **fields):
    """Asks for a launch and leaves before the answer. Returns the pipe to which the stand-in writes, and the spawner's process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind("")
    listening.listen()
    out, words_fd = os.pipe()
    own = [sealed(), words_fd, os.open(place(0o777), os.O_DIRECTORY), listening.detach(), os.open("/dev/null", os.O_RDONLY)]
    ours.sendmsg([record(**fields)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", own))])
    for fd in own:
        os.close(fd)
    ours.close()
    return out, start_spawner(theirs, wrap=wrap)


def ends(out):
    """Whether all processes that can write to this pipe end within a while."""
    while select.select([out], [], [], 20)[0]:
        if not os.read(out, 65536):
            return True
    return False


def status(launched, key):
    return next(v.split(":")[1].strip() for v in launched.words["status"] if v.startswith(key + ":"))


def check_common(l):
    assert l.error == 0, l.message
    # The counters at the beginning, from which the usage of a life is computed: a number where there is a counter, and unknown elsewhere.
    assert (l.cpu_nsec == UNKNOWN) == (not l.metering), (l.cpu_nsec, l.metering)
    w = l.words
    assert w["argv"] == ["1 actord-invoker"]
    assert w["settings"] == ["yes"]
    assert w["environment"] == ["PATH=/usr/bin:/bin 0"], w["environment"]
    assert w["directory"][0].startswith("1 "), w["directory"]
    assert int(w["sealed"][0]) & SEALS == SEALS
    expected = [0, 1, 2, 3, 4, 5, 6, 7, 8] + ([9] if l.metering else []) + [10, 11]
    n_mounts = len(w.get("mount", []))
    assert list(map(int, w["fds"][0].split())) == expected + list(range(16, 16 + n_mounts)), w["fds"]


def need_root():
    if not ROOTLY:
        raise Skip("needs root")


def namespaces():
    """Whether this host gives us user and mount namespaces: a chroot and many containers do not."""
    return subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "true"], capture_output=True).returncode == 0


def need_namespaces():
    if not namespaces():
        raise Skip("this host forbids namespaces")


def virtual_environment():
    """A directory that passes for a virtual environment."""
    directory = place()
    os.makedirs(directory + "/bin")
    os.makedirs(directory + "/lib/python3.11/site-packages")
    open(directory + "/pyvenv.cfg", "w").close()
    open(directory + "/bin/python3", "w").close()
    return directory


def place(mode=0o755):
    """A directory that is removed after the tests."""
    directory = tempfile.mkdtemp(prefix="actord-place-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    os.chmod(directory, mode)
    return directory


def plugin(mode=0o644, directory_mode=0o755):
    directory = place(directory_mode)
    path = directory + "/mine.so"
    with open(path, "w") as f:
        f.write("content of a plugin")
    os.chmod(path, mode)
    return path


def play():
    """Tells the stories; as the daemon does, it reaps the processes that a spawner leaves behind."""
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        tell()
    finally:
        if hasattr(beside, "path"):
            shutil.rmtree(beside.path)
