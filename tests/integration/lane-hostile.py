#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Misuse of the installed spawner: by a user whose file system does not answer, and by a daemon under an attacker's control."""
import array, errno, json, os, pwd, re, signal, socket, subprocess, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from hostile_fs import HostileFs
from launching import *
from story import EXAMPLES, equal, story, wait_for

SPAWN_SOCKET = "/run/actord/spawn.sock"
DAEMON, TESTER = pwd.getpwnam("_actord"), pwd.getpwnam("tester")


class Asked:
    """One launch that the daemon's user requests through the spawner's socket."""

    def __init__(self, uid=None, fds=None, data=None, **fields):
        fields = {"manager": MANAGER_SYSTEM, "exit_with_daemon": 0, "job": 900, **fields}
        mounts = fields.get("mounts", ())
        data = data or record(**fields)
        own = [sealed(), os.open("/dev/null", os.O_RDWR), os.open("/run", os.O_DIRECTORY), -1, os.open("/dev/null", os.O_RDONLY)]
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listening.bind("")
        listening.listen()
        own[3] = os.dup(listening.fileno())
        listening.close()
        own += [os.dup(source) if isinstance(source, int) else os.open(source, os.O_RDONLY) for _, source, _ in mounts]
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(40)
        os.seteuid(DAEMON.pw_uid if uid is None else uid)
        try:
            self.socket.connect(SPAWN_SOCKET)
        finally:
            os.seteuid(0)
        for i, fd in (fds or {}).items():
            os.close(own[i])
            own[i] = os.dup(fd)
        self.socket.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", own))])
        for fd in own:
            os.close(fd)

    def answer(self):
        answer, fds, *_ = socket.recv_fds(self.socket, ANSWER.size, 1)
        self.socket.close()
        if not answer:
            return "gone", -1, ""
        for fd in fds:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
            os.close(fd)
        fields = ANSWER.unpack(answer)
        return STEPS[fields[1]], fields[2], fields[-1].split(b"\0")[0].decode()


def job_of_tester():
    """A job of another user, from submission to its end."""
    words = ["runuser", "-u", "tester", "--", "actorctl", "--system", "submit", os.path.join(EXAMPLES, "cartpole.conf"), "--set", "Job.StopSteps=512",
             "--set", "Job.StopReturn="]
    r = subprocess.run(words, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert r.returncode == 0, r.stderr
    job = re.search(r"\d+", r.stdout).group()

    def get(name):
        r = subprocess.run(["busctl", "--json=short", "get-property", "org.actord1", "/org/actord1/job/" + job, "org.actord1.Job", name],
                           capture_output=True, text=True, timeout=60)
        return json.loads(r.stdout)["data"]
    wait_for("the end of the other user's job", lambda: get("State") == "ended", 40)
    equal(get("Result"), "finished", get("Fault"))


@story("launches that hang in their user's file system are limited in number, and do not delay another user's job")
def hanging():
    subprocess.run(["systemctl", "start", "actord.service"], check=True)
    with HostileFs() as fs:
        fs.hold()
        asked = [Asked(submitter=12345, mounts=[("/model", fs.directory, 1)]) for _ in range(8)]
        wait_for("launches that hang", lambda: fs.waiting() >= 8, 20)
        step, error, sentence = Asked(submitter=12345, mounts=[("/model", fs.directory, 1)]).answer()
        assert (step, error) == ("message", -errno.EAGAIN) and "user 12345" in sentence and "do not answer" in sentence, (step, error, sentence)
        job_of_tester()
        assert fs.waiting() >= 8
    for a in asked:
        a.socket.close()
    job_of_tester()


@story("a daemon under an attacker's control can launch only what the unit allows")
def taken_over():
    directory, venv = place(), virtual_environment()
    null, good = os.open("/dev/null", os.O_RDWR), record(manager=MANAGER_SYSTEM, exit_with_daemon=0, job=900)
    link = place() + "/link"
    os.symlink("/", link)
    cases = {
        "the host at /usr": dict(mounts=[("/usr", "/", 1)]),
        "the host as a model": dict(mounts=[("/model", "/", 1)]),
        "the host by another name": dict(mounts=[("/model", link, 1)]),
        "the host's settings": dict(mounts=[("/model", "/etc", 1)]),
        "below them": dict(mounts=[("/model", "/etc/ssl", 1)]),
        "the host's programs": dict(mounts=[("/model", "/usr", 1)]),
        "root's home": dict(mounts=[("/model", "/root", 1)]),
        "the kernel's files": dict(mounts=[("/model", "/proc/1", 1)]),
        "cgroups": dict(mounts=[("/model", "/sys/fs/cgroup", 1)]),
        "no virtual environment": dict(mounts=[("/python", directory, 1)]),
        "a writable mount": dict(mounts=[("/python", venv, 0)]),
        "over the root": dict(mounts=[("/", venv, 1)]),
        "a place above": dict(mounts=[("/plugin/../usr", venv, 1)]),
        "a folder for plugins": dict(mounts=[("/plugin/x", directory, 1)]),
        "a device as a plugin": dict(mounts=[("/plugin/x", "/dev/zero", 1)]),
        "no sandbox": dict(sandbox=NONE),
        "root's ids": dict(uid_first=0, n_uids=65536),
        "a person's id": dict(uid_first=TESTER.pw_uid, n_uids=1),
        "its own id": dict(uid_first=DAEMON.pw_uid, n_uids=1),
        "half of two ranges": dict(uid_first=UID_FIRST + 32768),
        "the user's manager": dict(manager=MANAGER_USER),
        "no manager": dict(manager=MANAGER_NONE),
        "a job of run mode": dict(exit_with_daemon=1),
        "a purpose": dict(purpose=77),
        "a trial": dict(purpose=TRIAL),
        "a trial without a manager": dict(purpose=TRIAL, manager=MANAGER_NONE),
        "settings that change": dict(fds={0: os.memfd_create("x", os.MFD_ALLOW_SEALING)}),
        "state that is none": dict(fds={2: null}),
        "a short record": dict(data=good[:-8]),
    }
    for name, words in cases.items():
        step, error, sentence = Asked(**words).answer()
        assert error < 0 and step in ("message", "mounts") and len(sentence) > 20, (name, step, error, sentence)
    assert len(cases) >= 15
    try:
        step, error, sentence = Asked(uid=TESTER.pw_uid).answer()
        assert error < 0, (step, error, sentence)
    except PermissionError:
        pass  # the socket is the daemon's alone
    job_of_tester()


play()
