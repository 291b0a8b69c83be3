#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Gymnasium and its MuJoCo in a virtual environment below the build folder; our MuJoCo module once more, compiled against that engine;
# then the comparison. Without a package index there is nothing to compare with, and that is said.
set -e

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

engine=$("$venv/bin/python" -c 'import mujoco, os; print(os.path.dirname(mujoco.__file__))')
library=$(ls "$engine"/libmujoco.so.*)
mkdir -p "$build/parity"
cp "$build/actorctl" "$build/actord-trial" "$build/parity/"
(
        cd "$root"
        "${CC:-gcc}" -std=gnu17 -D_GNU_SOURCE -I. -I"$engine/include" -O2 -ffp-contract=off -fno-math-errno -fno-strict-aliasing \
                -fvisibility=hidden -fPIC -shared -o "$build/parity/env-mujoco.so" actor/envs/mujoco/*.c "$library" \
                -Wl,-rpath,"$engine" -lm
)
ACTORD_BUILD=$build PARITY_ENGINE=$build/parity exec "$venv/bin/python" "$here/parity.py" "$@"
