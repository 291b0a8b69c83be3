# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
#
# Sourced: sets root, build and venv, a virtual environment with the packages that requirements.txt, or the file of
# PARITY_REQUIREMENTS=, names. Without a package index there is nothing to compare with: the script says so and ends.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=${ACTORD_BUILD:-$root/build}
requirements=$here/${PARITY_REQUIREMENTS:-requirements.txt}
suffix=${requirements##*/requirements}
venv=$build/venv-parity${suffix%.txt}

if ! cmp -s "$requirements" "$venv/installed"; then
        rm -rf "$venv"
        python3 -m venv "$venv"
        if ! "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements" >"$venv/log" 2>&1; then
                echo "1..0 # SKIP the package index did not give what ${requirements##*/} names: $(tail -n1 "$venv/log")"
                exit 0
        fi
        cp "$requirements" "$venv/installed"
fi

