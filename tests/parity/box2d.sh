#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The Box2D tasks under Gymnasium's own controllers, ours and theirs.
# shellcheck disable=SC2154 # venv.sh sets here, root, build and venv
set -e
. "$(dirname "$0")/venv.sh"
exec "$venv/bin/python" "$here/box2d.py" "$build/env-box2d.so" "${PARITY_EPISODES:-1000}"
