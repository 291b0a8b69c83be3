# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sourced: sets root, build and venv, a virtual environment with what requirements.txt names. Without a package index there is nothing to compare
# with: that is said, and the script ends.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${ACTORD_BUILD:-$root/build}
venv=$build/venv

if ! cmp -s "$here/requirements.txt" "$venv/installed"; then
        rm -rf "$venv"
        python3 -m venv "$venv"
        if ! "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$here/requirements.txt" >"$venv/log" 2>&1; then
                echo "1..0 # SKIP the package index did not give what requirements.txt names: $(tail -n1 "$venv/log")"
                exit 0
        fi
        cp "$here/requirements.txt" "$venv/installed"
fi

