#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Installs with apt the packages that are missing for building, for tests, for the tests in a virtual machine (tests/vm) or for those on a
# Slurm cluster (tests/slurm).
# usage: packaging/dependencies.sh [build|test|vm|slurm]...        (default: build)
# If nothing is missing it prints nothing and needs no privilege.
set -eu

# Each line: a package, then its purpose.
list_build() {
    cat <<'END'
gcc                   the compiler
libc6-dev             its headers
make                  the build
pkg-config            finds the libraries below
libsystemd-dev        event loop, D-Bus, journal, readiness
libseccomp-dev        the actors' and the learner's system call lists
libcap-dev            dropping capabilities
libglib2.0-dev        containers, key files, options and the test framework, on the control side
libsqlite3-dev        the ledger
g++                   the thin layer above Box2D, which is C++
libbox2d-dev          physics of the Box2D environments
python3-dev           the library that the bridge to environments in Python links
libhdf5-dev           data sets, written and read
libmujoco-dev         physics of the MuJoCo environments
libsmartcols-dev      tables of actorctl
libjson-glib-dev      JSON of actorctl
libyaml-dev           configurations of other projects, which actorctl imports
nettle-dev            SHA-256 of policies and checkpoints
libgnutls28-dev       encryption between a job and its nodes of a cluster
libmunge-dev          authentication of the two to each other
END
}

# The lane is the container in which tests run with a systemd of its own (tests/lane).
list_test() {
    cat <<'END'
python3               tests/run, and tests written in Python
python3-venv          other projects' programs, from the package index, which read what we write in their formats
git                   the list of files that the style checks read
systemd               the lane's PID 1
systemd-container     systemd-nspawn, which boots the lane
dbus                  the lane's system bus
dbus-user-session     the session bus of the lane's ordinary user
libpam-systemd        the service manager of that user
polkitd               authorisation on the system bus
uidmap                ranges of user ids for ordinary users
procps                ps and pgrep in tests
python3-pyte          a terminal emulator, for the tests of what actorctl shows
cockpit-ws            the page of packaging/cockpit in a real Cockpit
cockpit-bridge        the part of Cockpit that runs as the user
cockpit-system        lets that part become root through sudo
chromium-headless-shell  a browser, for that page and for reports
prometheus            reads the figures of actord-metrics.socket
sudo                  administrative access in Cockpit
python3-torch         loads exported policies as the page of policies says
python3-jsonschema    compares the JSON of actorctl with its schema
python3-pip           `make wheel`, for the tests of the package for Python
debhelper             the Debian packages
dh-python             the Debian package of the Python client
lintian               checks the Debian packages
python3-numpy         a dependency of that package, as the lane has no network
zsh                   its completion of actorctl
sqlite3               reads the ledger as users would
man-db                checking the manual pages
binutils              readelf, for what a program links
clang                 fuzzers, and a second opinion on warnings
libclang-rt-dev       the fuzzers' run-time library
clang-format          one formatter for the whole tree
clang-tidy            static analysis
cppcheck              static analysis
shellcheck            static analysis of the scripts
valgrind              memory errors in the daemon
END
}

list_vm() {
    cat <<'END'
qemu-system-x86       the virtual machine
mmdebstrap            makes its root
e2fsprogs             mkfs.ext4, which turns the root into a disk
debian-archive-keyring  the keys that the packages of the root are checked against
END
}

list_slurm() {
    cat <<'END'
slurm-client          sbatch, squeue, scancel, srun
slurmctld             the cluster's controller
slurmd                its nodes
slurmdbd              its accounts
mariadb-server        the database of the accounts
munge                 authentication in the cluster
iproute2              a network for each node
END
}

say() {
    printf 'packaging/dependencies.sh: %s\n' "$*" >&2
}

missing() {
    for package; do
        status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) || status=
        [ "$status" = installed ] || printf '%s\n' "$package"
    done
}

# Prints the command prefix that gives root, or fails. Without a terminal sudo must not wait for a password.
elevate() {
    if [ "$(id -u)" -eq 0 ]; then
        return 0
    fi
    command -v sudo >/dev/null 2>&1 || return 1
    if [ -t 0 ]; then
        printf 'sudo\n'
    else
        sudo -n true 2>/dev/null || return 1
        printf 'sudo -n\n'
    fi
}

# In a container without a service manager the scripts of packages must not start services.
policy=/usr/sbin/policy-rc.d
hold_services() {
    [ ! -d /run/systemd/system ] && [ ! -e "$policy" ] || return 0
    held=yes
    trap release_services EXIT
    trap 'exit 1' HUP INT TERM
    printf '#!/bin/sh\nexit 101\n' | $root tee "$policy" >/dev/null
    $root chmod 755 "$policy"
}

release_services() {
    [ "$held" = yes ] && $root rm -f "$policy"
}

# --no-remove: a test's dependency must never replace a package that the machine needs, such as its init.
install_packages() {
    $root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends --no-remove \
        -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 "$@"
}

[ $# -gt 0 ] || set -- build
wanted=
for purpose; do
    case $purpose in
    build | test | vm | slurm) wanted="$wanted $("list_$purpose" | awk '{ print $1 }' | tr '\n' ' ')" ;;
    *)
        say "unknown purpose \"$purpose\": it must be build, test, vm or slurm."
        exit 2
        ;;
    esac
done

# shellcheck disable=SC2086 # lists of words from here on
if ! command -v dpkg-query >/dev/null 2>&1; then
    say "this is not a Debian system; if something is missing, install the equivalents of these packages yourself:$wanted"
    exit 0
fi
# shellcheck disable=SC2086
needed=$(missing $wanted | tr '\n' ' ')
[ -n "$needed" ] || exit 0

if ! root=$(elevate); then
    say "these packages are missing and only root can install them: apt-get install --no-install-recommends $needed"
    exit 1
fi
held=no
hold_services
say "installing $needed"
# Continue if one of several archives is unreachable: the installation itself says which packages cannot be found.
$root apt-get update -q >&2 || say "apt-get update reported errors; trying with the lists that there are."
# shellcheck disable=SC2086
if ! install_packages $needed >&2; then
    say "apt could not install everything; see why with: apt-get install --no-install-recommends $needed"
    exit 1
fi
