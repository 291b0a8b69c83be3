#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Cold, warm and hot starts of actors, in the sandbox.
exec "${B:-build}/bench/invoker"
