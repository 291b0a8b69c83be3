#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Our MuJoCo module once more, compiled against the engine of Python's package; then the comparison with Gymnasium.
set -e

. "$(dirname "$0")/venv.sh"
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
