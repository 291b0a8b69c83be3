#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# run.sh on the newest engine: our MuJoCo tasks step for step as Gymnasium's. It leaves that engine in the build folder, where
# tests/unit/actor/test-mujoco-engines.c finds it.
PARITY_REQUIREMENTS=requirements-newest.txt exec "$(dirname "$0")/run.sh" "$@"
