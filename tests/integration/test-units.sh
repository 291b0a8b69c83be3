#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The installed files: systemd accepts the units, their restrictions stay as tight as they are, the access rules parse, and an uninstall
# leaves nothing.
cd "$(dirname "$0")/../.." || exit 1
. tests/tap.sh

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
build=${B:-build}
units=$root/usr/lib/systemd/system

exposure() { # exposure UNIT: in tenths
    systemd-analyze security --offline=yes --no-pager "$units/$1" 2>/dev/null |
        sed -n 's/.*Overall exposure level.*: \([0-9]*\)\.\([0-9]\).*/\1\2/p' | sed 's/^0//'
}

at_most() { # at_most DESCRIPTION SEEN LIMIT
    [ "$2" ] || {
        skip "$1" "systemd-analyze cannot look at it here: $(systemd-analyze security --offline=yes --no-pager "$units/actord.service" 2>&1 | tail -n 1)"
        return
    }
    check "$1 ($2 of $3 tenths)" test "$2" -le "$3"
}

# Programs and users are not installed here, so complaints about them are ignored; only complaints about the units count.
verify() {
    local said
    said=$(systemd-analyze verify --man=no --recursive-errors=no "$@" 2>&1 | grep -F "$root" |
        grep -v -e 'is not executable' -e 'Unknown user' -e 'Failed to find user')
    [ -z "$said" ] || {
        echo "$said"
        return 1
    }
}

check "make install" sh -c "umask 077 && make -s --no-print-directory B='$build' install DESTDIR='$root'"
is "every user may enter the folders, also where root's umask is 077" "$(find "$root/usr" -type d ! -perm 755)" ""
is "everything that is listed is there, and nothing else" \
    "$(cd "$root" && find . -type f | sed 's/^\.//' | sort)" "$(make -s --no-print-directory B="$build" list-installed | sort -u)"
refuse "no template's place was left empty" grep -rIl '@[A-Z]*@' "$root/usr/lib/systemd" "$root/usr/share/dbus-1" \
    "$root/usr/share/pkgconfig"
check "the end of a user's daemon does not end the actord-cluster of its jobs" \
    grep -qx KillMode=process "$root/usr/lib/systemd/user/actord.service"
check "programs may be started by anybody" test "$(stat -c %a "$root/usr/lib/actord/actord-invoker")" = 755

if command -v systemd-analyze >/dev/null; then
    check "the units are sound" verify "$units"/actord.service "$units"/actord-spawn.service "$units"/actord-spawn.socket \
        "$units"/actord-metrics.socket "$units"/actord-metrics@x.service "$units"/actord.slice
    at_most "the daemon's exposure" "$(exposure actord.service)" 5
    at_most "the exposure of a request for metrics" "$(exposure actord-metrics@.service)" 8
    at_most "the spawner's exposure" "$(exposure actord-spawn.service)" 30
    # Jobs inherit each of these, and break by it.
    for word in RestrictNamespaces ProtectControlGroups PrivateUsers SystemCallFilter=@system-service ProtectKernelTunables; do
        refuse "the spawner's unit has no $word" grep -q "^$word" "$units/actord-spawn.service"
    done
else
    skip "the units are sound" "systemd-analyze is missing"
fi

for file in dbus-1/system.d/org.actord1.conf dbus-1/interfaces/org.actord1.xml polkit-1/actions/org.actord1.policy; do
    check "$(basename "$file") is well-formed" python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' \
        "$root/usr/share/$file"
done
check "each polkit action is one that the daemon asks for, and the other way round" python3 - "$root" <<'END'
import re, sys
actions = set(re.findall(r'<action id="(.*?)"', open(sys.argv[1] + "/usr/share/polkit-1/actions/org.actord1.policy").read()))
asked = set(re.findall(r'#define ACTION_\w+\s+"(.*?)"', open("daemon/access.h").read()))
assert actions == asked, (actions, asked)
END

cat >"$root/line.c" <<'END'
#include <actord/env.h>
int main(void) { return 0; }
END
check "a plugin's author finds the header by pkg-config" sh -c "cc -I'$root/usr/include' -o '$root/line' '$root/line.c' &&
    PKG_CONFIG_PATH='$root/usr/share/pkgconfig' pkg-config --exists actord"
rm -f "$root"/line*

check "make uninstall" make -s --no-print-directory B="$build" uninstall DESTDIR="$root"
is "nothing is left" "$(find "$root" -type f)" ""
is "no folder of ours is left" "$(find "$root" -path '*/actord*')" ""
finish
