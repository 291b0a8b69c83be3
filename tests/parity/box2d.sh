#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The Box2D tasks under Gymnasium's own controllers, ours and theirs.
set -e
. "$(dirname "$0")/venv.sh"
exec "$venv/bin/python" "$here/box2d.py" "$build/env-box2d.so" "${PARITY_EPISODES:-1000}"
