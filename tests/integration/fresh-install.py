#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""README's section "As a service", line by line as it stands there, on a system that has never seen actord; then daemons that cannot start, and what
each of them says; then the uninstallation. Runs as root inside `tests/lane/fast.sh --fresh`, where nothing has been prepared."""
import pwd, shutil
from pages import *

# Verbs of README that run until they are interrupted or the job ends.
FOLLOWS = ("watch", "logs")
AT_ONCE_SEC = 18 # less than the 25 s after which a bus gives up, on a slow machine too


def literal(line):
    """A line of README as its reader types it. As root, `sudo` may be missing; it is not part of this test."""
    place = os.path.join(STATE, "bin")
    if not shutil.which("sudo") and not os.path.exists(place):
        os.mkdir(place)
        with open(os.path.join(place, "sudo"), "w") as f:
            f.write('#!/bin/sh\nexec "$@"\n')
        os.chmod(os.path.join(place, "sudo"), 0o755)
    env = dict(os.environ, PATH=os.environ["PATH"] + ":" + place)
    if line.split()[1:2] and line.split()[1] in FOLLOWS:
        return bash(f"timeout --signal=INT --kill-after=10 10 {line}; true", env=env)
    return bash(line, timeout=600, env=env)


def refused(what):
    """The message of `actorctl` about a daemon that does not start, and the time until it comes."""
    start = time.monotonic()
    r = bash("actorctl --system list", check=False)
    seconds = time.monotonic() - start
    assert r.returncode != 0 and "actord does not start: see systemctl status actord" in r.stderr, (what, r.returncode, r.stderr)
    assert seconds < AT_ONCE_SEC, (what, seconds)
    return r.stderr


def status():
    return bash("systemctl status --no-pager --full actord", check=False).stdout


def stop_daemon():
    bash("systemctl stop actord.service; systemctl reset-failed actord.service", check=False)


@story("actord was never installed on this system")
def is_fresh():
    for path in ("/usr/bin/actorctl", "/usr/lib/systemd/system/actord.service", "/usr/share/dbus-1/system.d/org.actord1.conf"):
        assert not os.path.exists(path), path
    try:
        pwd.getpwnam("_actord")
        raise AssertionError("_actord is there already")
    except KeyError:
        pass
    assert bash("busctl status org.freedesktop.DBus", check=False).returncode == 0, "no bus"


@story("README's lines of \"As a service\" do what they say")
def readme():
    lines = section("README.md", "As a service")
    assert lines[0].startswith("sudo make install") and len(lines) > 5, lines
    said = {}
    for line in lines:
        r = literal(line)
        said[line.split()[1] if len(line.split()) > 1 else line] = r.stdout + r.stderr
    for step in ("user _actord was created", "systemd has read its units", "system bus has read its rules"):
        assert step in said["make"], (step, said["make"])
    assert re.search(r"\b1\b", said["submit"]), said["submit"]
    assert "Hopper" in said["actorctl"], said["actorctl"]
    assert "total" in said["bill"], said["bill"]
    assert "Job 1" in said["logs"], said["logs"]


@story("a price sheet of the institute's own, by the lines of docs/howto.md")
def price_sheet():
    lines = [c.text for c in commands("docs/howto.md") if "/etc/actord/price" in c.text and not c.text.startswith("sudoedit")]
    assert len(lines) == 2, lines
    for line in lines:
        literal(line)
    assert "institute" in bash("actorctl --system price list").stdout


@story("a second installation says that all is there, and the service goes on")
def again():
    said = bash(f"make -C {ROOT} --no-print-directory install", timeout=600).stdout
    assert "user _actord exists already" in said and "the daemon was restarted with the new programs" in said, said
    bash("systemctl is-active actord.service || actorctl --system list")


@story("a mistake in actord.conf: the unit fails once, systemctl status says which line, and so does actorctl, at once")
def configuration():
    stop_daemon()
    os.makedirs("/etc/actord", exist_ok=True)
    with open("/etc/actord/actord.conf", "w") as f:
        f.write("[Daemon]\nMaxJob=3\n")
    try:
        said = refused("actord.conf")
        assert "MaxJob" in said, said
        assert "MaxJob" in status() and "78/CONFIG" in status(), status()
        assert bash("systemctl show -P NRestarts actord").stdout.strip() == "0"
        # The next caller gets the same answer, as nothing has changed.
        assert "MaxJob" in refused("actord.conf, again")
    finally:
        os.unlink("/etc/actord/actord.conf")
    # The bus goes on waiting for 25 seconds, and asks for no further start meanwhile.
    bash("systemctl reset-failed actord.service")
    assert "systemctl start actord" in refused("the bus still waits")
    bash("systemctl start actord.service")
    bash("actorctl --system list")


@story("another process has the bus name: it is named")
def name_taken():
    stop_daemon()
    state = os.path.join(STATE, "other")
    os.mkdir(state)
    shutil.chown(state, "_actord")
    os.chmod(STATE, 0o755)
    other = subprocess.Popen(["setpriv", "--reuid=_actord", "--regid=_actord", "--clear-groups", "env", f"RUNTIME_DIRECTORY={state}/run",
                              "/usr/lib/actord/actord", "--system", "--state=" + state], stderr=subprocess.PIPE, text=True)
    try:
        wait_for("the name", lambda: bash("busctl --system status org.actord1", check=False).returncode == 0, 20)
        r = bash("systemctl start actord.service", check=False)
        assert r.returncode != 0 and f"process {other.pid} of user" in status() and "69/UNAVAILABLE" in status(), status()
        bash("actorctl --system list") # the other one answers
    finally:
        other.terminate()
        other.wait(20)
        stop_daemon()


@story("the bus has not read its rules: daemon and actorctl say so, and what to do")
def rules():
    stop_daemon()
    rules, reload = "/usr/share/dbus-1/system.d/org.actord1.conf", "busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus ReloadConfig"
    os.rename(rules, rules + ".away")
    try:
        bash(reload)
        r = bash("systemctl start actord.service", check=False)
        assert r.returncode != 0, r
        assert "systemctl reload dbus" in status() and "78/CONFIG" in status(), status()
        r = bash("runuser -u tester -- actorctl --system list", check=False)
        assert r.returncode != 0 and "systemctl reload dbus" in r.stderr, r.stderr
    finally:
        os.rename(rules + ".away", rules)
        bash(reload)
        stop_daemon()
    bash("actorctl --system list")


@story("a daemon that dies in every start is given up, and actorctl does not wait for the bus to do so")
def dies():
    stop_daemon()
    os.makedirs("/run/systemd/system/actord.service.d", exist_ok=True)
    with open("/run/systemd/system/actord.service.d/dies.conf", "w") as f:
        f.write("[Service]\nExecStart=\nExecStart=/bin/false\n")
    try:
        bash("systemctl daemon-reload")
        refused("/bin/false")
    finally:
        shutil.rmtree("/run/systemd/system/actord.service.d")
        bash("systemctl daemon-reload")
    bash("systemctl reset-failed actord.service; systemctl start actord.service")


@story("a masked unit is reported at once")
def masked():
    stop_daemon()
    bash("systemctl mask --runtime actord.service")
    try:
        assert "masked" in refused("masked")
    finally:
        bash("systemctl unmask --runtime actord.service")


@story("make uninstall stops and disables the units and removes every file; state and user stay")
def uninstalls():
    installed = bash(f"make -C {ROOT} -s --no-print-directory list-installed").stdout.split()
    bash("actorctl --system submit /usr/share/doc/actord/examples/hopper.conf")
    wait_for("a job", lambda: pids("actord-invoker"), 20)
    said = bash(f"make -C {ROOT} --no-print-directory uninstall", timeout=600).stdout
    assert "actord.service was stopped" in said and "actord.service was disabled" in said and "/var/lib/actord" in said, said
    left = [path for path in installed if os.path.exists(path)]
    assert not left, left
    assert not any(c.startswith("actord") for _, c in processes().values()), processes()
    assert bash("systemctl show -P LoadState actord.service").stdout.strip() == "not-found"
    assert os.path.exists("/var/lib/actord/ledger.sqlite") and pwd.getpwnam("_actord")
    assert not os.path.lexists("/etc/systemd/system/multi-user.target.wants/actord.service")


tell()
