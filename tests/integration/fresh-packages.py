#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The Debian packages: made from this build, checked by lintian, installed on a system that has never seen actord, tested by their own tests
(packaging/debian/tests), upgraded under a running job, removed and purged. Runs as root inside `tests/lane/fast.sh --fresh`."""
import functools, glob, os, pwd, shutil, sys
from story import *

OUT = os.path.join(STATE, "deb")
TESTS = os.path.join(ROOT, "packaging", "debian", "tests")
STATE_OF_DAEMON = "/var/lib/actord"
ALL = ("actord", "actord-environments", "libactord-dev", "python3-actord", "cockpit-actord")
# The test needs the program that shows manual pages.
NAMES = tuple(name for name in ALL if name != "cockpit-actord" or shutil.which("cockpit-bridge"))


sh = functools.partial(bash, timeout=300)


def packages():
    return " ".join(sorted(p for p in glob.glob(OUT + "/*.deb") if os.path.basename(p).split("_")[0] in NAMES))


def files_of(*names):
    lines = sh("dpkg -L " + " ".join(names)).stdout.splitlines()
    return [line for line in lines if os.path.isfile(line)]


@story("the packages are made, and lintian finds nothing")
def made():
    sh(f"{ROOT}/packaging/deb.sh {OUT} {BUILD}", timeout=600)
    equal(sorted(os.path.basename(p).split("_")[0] for p in glob.glob(OUT + "/*.deb")), sorted(ALL), "packages")
    # Objects that were built for tests have their symbols.
    sh(f"lintian --allow-root --fail-on error,warning --suppress-tags unstripped-binary-or-object,unstripped-static-library {OUT}/*.changes")


@story("they install on a system that has never seen actord, and their own tests pass")
def installed():
    assert not os.path.exists("/usr/bin/actorctl"), "actorctl is there already"
    # Images of containers have this file, which keeps packages from starting or stopping services.
    if os.path.exists("/usr/sbin/policy-rc.d"):
        os.unlink("/usr/sbin/policy-rc.d")
    sh("dpkg --install " + packages())
    pwd.getpwnam("_actord")
    assert not os.path.lexists("/etc/systemd/user/default.target.wants/actord.service"), "each user's session starts a daemon"
    for name in "run", "service", "plugin":
        place = os.path.join(STATE, "try-" + name)
        os.mkdir(place)
        sh(os.path.join(TESTS, name), env=dict(os.environ, AUTOPKGTEST_TMP=place))
    assert "Hopper" in sh("actorctl env list").stdout
    sh("python3 -c 'import actord; print(actord.__version__)'")


@story("an upgrade replaces the daemon, and a job goes on in its place")
def upgraded():
    sh("actorctl --system submit /usr/share/doc/actord/examples/hopper.conf")
    invoker = wait_for("the job's invoker", lambda: pids("actord-invoker"), 30)[0]
    daemon = sh("systemctl show -P MainPID actord").stdout
    sh("systemctl enable --now actord-metrics.socket")
    sh("dpkg --install " + packages())
    sh("systemctl is-active actord-metrics.socket")
    assert sh("systemctl show -P MainPID actord").stdout.strip() not in ("0", daemon.strip()), "the old daemon still runs, or none"
    sh("actorctl --system list")
    assert invoker in pids("actord-invoker"), "the job's invoker has ended"


@story("removed: no process and no file but what the daemon and its administrator wrote; purged: nothing but the user")
def removed():
    files = files_of(*NAMES)
    assert len(files) > 60, files
    os.makedirs("/etc/actord", exist_ok=True)
    with open("/etc/actord/actord.conf", "w") as f:
        f.write("[Daemon]\nMaxJobs=3\n")
    sh("dpkg --remove " + " ".join(NAMES))
    equal([f for f in files if os.path.exists(f)], [], "files that are left")
    equal(sh("systemctl is-active actord-metrics.socket", check=False).stdout.strip(), "inactive", "the socket for metrics")
    assert not any(name.startswith("actord") for _, name in processes().values()), processes()
    assert os.path.exists(STATE_OF_DAEMON + "/ledger.sqlite") and os.path.exists("/etc/actord/actord.conf")
    sh("dpkg --purge " + " ".join(NAMES))
    equal([p for p in (STATE_OF_DAEMON, "/etc/actord", "/usr/lib/actord", "/usr/share/actord", "/usr/share/doc/actord") if os.path.exists(p)], [], "places")
    for link in "multi-user.target.wants/actord.service", "sockets.target.wants/actord-metrics.socket":
        assert not os.path.lexists("/etc/systemd/system/" + link), link
    pwd.getpwnam("_actord")


missing = [name for name in ("dpkg-buildpackage", "dh_python3", "lintian") if not shutil.which(name)]
if missing:
    print("1..0 # SKIP " + ", ".join(missing) + " missing: packaging/dependencies.sh test installs them")
    sys.exit(0)
tell()
