#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Whole jobs, measured from outside. HOPPER=1 adds the runs of a million steps (ten minutes).
exec python3 "$(dirname "$0")/jobs.py" ${HOPPER:+cartpole start clock evaluation memory sandbox hopper}
