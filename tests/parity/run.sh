#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Compiles our MuJoCo module once more, against the engine of the Python package, and compares it with Gymnasium.
# shellcheck disable=SC2154 # venv.sh sets here, root, build and venv
set -e

. "$(dirname "$0")/venv.sh"
engine=$("$venv/bin/python" -c 'import mujoco, os; print(os.path.dirname(mujoco.__file__))')
make -s -C "$root" B="$build" MUJOCO="$engine" all
ACTORD_BUILD=$build exec "$venv/bin/python" "$here/parity.py" "$@"
