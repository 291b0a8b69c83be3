# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# The vocabulary of tests in shell: source this file, call check for each test, then finish. The output of a failing command follows as comments.

tap_n=0
tap_failed=0

tap_point() { # tap_point STATUS DESCRIPTION [TEXT]
    tap_n=$((tap_n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tap_n - $2"
    else
        echo "not ok $tap_n - $2"
        tap_failed=1
        printf '%s\n' "${3:-}" | sed 's/^/# /'
    fi
}

check() { # check DESCRIPTION COMMAND...    the command succeeds
    local what=$1 text status=0
    shift
    text=$("$@" 2>&1) || status=$?
    tap_point $status "$what" "$text"
}

refuse() { # refuse DESCRIPTION COMMAND...    the command fails by itself, and not by a signal
    local what=$1 text status=0
    shift
    text=$("$@" 2>&1) || status=$?
    [ $status -gt 0 ] && [ $status -lt 126 ]
    tap_point $? "$what" "exit status $status: $text"
}

is() { # is DESCRIPTION SEEN EXPECTED
    [ "$2" = "$3" ]
    tap_point $? "$1" "seen:     $2
expected: $3"
}

skip() { # skip DESCRIPTION REASON
    tap_n=$((tap_n + 1))
    echo "ok $tap_n - $1 # SKIP $2"
}

skip_all() { # skip_all REASON
    echo "1..0 # SKIP $1"
    exit 0
}

wait_for() { # wait_for SECONDS COMMAND...    until it succeeds
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}

finish() {
    echo "1..$tap_n"
    exit $tap_failed
}
