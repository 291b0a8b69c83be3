#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Atari games through the bridge against the same games in plain Python.
# shellcheck disable=SC2034,SC2154 # venv.sh reads the first, and sets here, build and venv
set -e
PARITY_REQUIREMENTS=requirements-atari.txt
. "$(dirname "$0")/venv.sh"
exec "$venv/bin/python" "$here/atari.py" "$build/actorctl" "$venv"
