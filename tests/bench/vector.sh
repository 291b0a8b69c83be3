#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Our environments beside EnvPool's and Gymnasium's, which are installed into build/venv-vector; VECTOR_VENV= names a virtual environment that has them.
here=$(dirname "$0")
venv=${VECTOR_VENV:-${B:-build}/venv-vector}
if [ ! -x "$venv/bin/python" ]; then
        python3 -m venv "$venv" || exit 0
fi
"$venv/bin/python" -c 'import gymnasium, mujoco' 2>/dev/null || "$venv/bin/pip" install -q 'gymnasium[mujoco]' || {
        echo "no Gymnasium can be installed here: nothing to compare with"
        exit 0
}
"$venv/bin/python" -c 'import envpool' 2>/dev/null || "$venv/bin/pip" install -q envpool ||
        echo "EnvPool has no wheel for this Python: its column stays empty"
mujoco=$("$venv/bin/python" -c 'import os, mujoco; print(os.path.dirname(mujoco.__file__))')
make -s -C "$here/../.." MUJOCO="$mujoco" all || echo "our tasks on Gymnasium's MuJoCo were not built: their column stays empty"
exec "$venv/bin/python" "$here/vector.py" "$@"
