#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The stormwater tasks against SWMM's own Python package. It leaves the engine in the build folder, where unit tests find it.
# shellcheck disable=SC2034,SC2154 # venv.sh reads the first, and sets here, build and venv
set -e
PARITY_REQUIREMENTS=requirements-swmm.txt
. "$(dirname "$0")/venv.sh"
exec "$venv/bin/python" "$here/stormwater.py" "$build/actorctl" "$venv"
