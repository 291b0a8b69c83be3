#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Invocations a second as the number of actors grows.
exec python3 "$(dirname "$0")/actors.py"
