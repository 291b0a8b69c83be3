# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
#
# Which files the checks look at: what git tracks, or all that a release holds.

sources() { # sources SUFFIX...    paths from the top of the tree, one per line
    local suffix
    for suffix; do
        if git rev-parse --git-dir >/dev/null 2>&1; then
            git ls-files -- "*$suffix"
        else
            find . -name 'build*' -prune -o -type f -name "*$suffix" -print | sed 's|^\./||'
        fi
    done | while read -r file; do [ ! -f "$file" ] || echo "$file"; done | sort
}

rooms() { # rooms SUFFIX...    the folders at the top that hold such files
    sources "$@" | grep / | cut -d/ -f1 | sort -u
}
