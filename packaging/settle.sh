#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Tells the running system what was installed or removed. It prints a line for each step, and why a step was left out. `make install` and
# `make uninstall` call it if DESTDIR is empty; the scripts of a package may do so, too. It never fails: the installation is complete without it.
# usage: packaging/settle.sh installed|leaving|gone PREFIX
set -u

what=${1:-}
prefix=${2:-/usr}
bus=/usr/share/dbus-1/system.d/org.actord1.conf

say() {
    printf 'actord: %s\n' "$*"
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# try DONE COMMAND...: says DONE, or which command failed and the first line that it printed
try() {
    done_text=$1
    shift
    if said=$("$@" 2>&1); then
        say "$done_text"
    else
        say "\`$*\` failed: $(printf '%s' "$said" | head -n 1)"
    fi
}

systemd_runs() {
    [ -d /run/systemd/system ] && have systemctl
}

bus_runs() {
    [ -S /run/dbus/system_bus_socket ] || [ -S /var/run/dbus/system_bus_socket ]
}

# make_user NAME HOME
make_user() {
    if getent passwd "$1" >/dev/null; then
        say "user $1 exists already"
    elif have systemd-sysusers; then
        try "user $1 was created" systemd-sysusers "$prefix/lib/sysusers.d/actord.conf"
    else
        say "user $1 was not created, since systemd-sysusers is missing; its service needs the user: useradd --system --home-dir $2 --shell /usr/sbin/nologin $1"
    fi
}

reload_manager() {
    if systemd_runs; then
        try "systemd has read its units again" systemctl daemon-reload
        [ ! -d /var/log/journal ] && [ ! -d /run/log/journal ] || try "the journal's catalog was built again" journalctl --update-catalog
    else
        say "no systemd runs here, so no unit was read; \`actorctl run\` needs none"
    fi
}

# Call this after make_user: a bus ignores the rules for a user that it does not know.
reload_bus() {
    if ! bus_runs; then
        say "no system bus runs here, so none has read its rules again"
    elif have busctl; then
        try "the system bus has read its rules again" busctl --quiet call org.freedesktop.DBus /org/freedesktop/DBus \
            org.freedesktop.DBus ReloadConfig
    elif have dbus-send; then
        try "the system bus has read its rules again" dbus-send --system --print-reply --dest=org.freedesktop.DBus \
            /org/freedesktop/DBus org.freedesktop.DBus.ReloadConfig
    else
        say "the system bus has not read its rules again, since busctl and dbus-send are missing: run systemctl reload dbus"
    fi
}

# A daemon or spawner of the build before does not understand the programs that are there now, and each launch would fail. The daemon and
# the spawner belong to the socket, so they are restarted with it.
restart_units() {
    if systemd_runs && systemctl --quiet is-active actord-spawn.socket 2>/dev/null; then
        try "the daemon was restarted with the new programs, and jobs continue" systemctl try-restart actord-spawn.socket actord.service
    fi
}

# Jobs continue without the daemon, so their slice must be stopped as well.
stop_units() {
    systemd_runs || return 0
    for unit in actord.service actord-spawn.socket actord-metrics.socket; do
        if systemctl --quiet is-enabled "$unit" 2>/dev/null; then
            try "$unit was disabled" systemctl --quiet disable "$unit"
        fi
    done
    for unit in actord-metrics.socket actord.service actord-spawn.socket actord-spawn.service actord.slice; do
        if systemctl --quiet is-active "$unit" 2>/dev/null; then
            try "$unit was stopped" systemctl stop "$unit"
        fi
    done
    systemctl reset-failed actord.service actord-spawn.service actord-spawn.socket 2>/dev/null
}

if [ "$(id -u)" -ne 0 ]; then
    [ "$what" = leaving ] || say "not root, so the running system was not told of the change"
    exit 0
fi

case $what in
installed)
    make_user _actord /var/lib/actord
    make_user _actord-metrics /
    reload_manager
    reload_bus
    restart_units
    [ "$prefix" = /usr ] || say "systemd and D-Bus look below /usr: link $prefix/share/dbus-1/system.d/org.actord1.conf to $bus, and $prefix/share/polkit-1/actions/org.actord1.policy likewise"
    ! systemd_runs || say "to start actord now and at each boot: systemctl enable --now actord"
    ;;
leaving) stop_units ;;
gone)
    reload_manager
    reload_bus
    say "left in place: /var/lib/actord (ledger and checkpoints), /etc/actord, and users _actord and _actord-metrics"
    ;;
*)
    echo "usage: packaging/settle.sh installed|leaving|gone PREFIX" >&2
    exit 2
    ;;
esac
exit 0
