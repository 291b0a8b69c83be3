#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs as root in /src under a fresh systemd, in the container of tests/lane as well as in the machine of tests/vm:
# prepares what a test may rely on, then runs the tests. Prints one TAP document.
# usage: tests/lane/inside.sh TEST...
set -euo pipefail

bail() {
    echo "Bail out! $*"
    exit 1
}

# The steps of `make install` without DESTDIR; the files themselves are there already. On a fresh system nothing is done.
settle_installation() {
    systemd-sysusers 2>/dev/null
    systemd-tmpfiles --create >/dev/null 2>&1 || true # a container may not write all that the system's own files ask
    [ -z "${LANE_FRESH:-}" ] || return 0
    packaging/settle.sh installed /usr | sed 's/^/# /'
}

# An ordinary user with a manager of its own, as after a login.
add_tester() {
    id tester >/dev/null 2>&1 || useradd --create-home --shell /bin/bash tester
    loginctl enable-linger tester
    systemctl start "user@$(id -u tester).service"
}

# Now, while the journal can still be read: it goes with the lane.
show_journal() {
    echo "# The last lines of the journal:"
    journalctl --boot --no-pager --lines=150 --output=short-monotonic 2>&1 | sed 's/^/# /'
}

{
    [ "$(cat /proc/1/comm)" = systemd ] || bail "PID 1 is not systemd."
    settle_installation || bail "what was installed could not be put in place."
    add_tester || bail "no ordinary user could be made."
} </dev/null

status=0
HOME=/root tests/run --tap --deadline="${TEST_DEADLINE:-120}" "$@" || status=1
[ $status -eq 0 ] || show_journal
exit $status
