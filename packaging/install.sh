#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Installs the files named on standard input, one "MODE:SOURCE:DESTINATION" a line, below a root; templates (*.in) get the values
# of NAME=VALUE arguments for @NAME@.
# usage: packaging/install.sh DESTDIR [NAME=VALUE]...
set -eu

# Every user reads the folders, whatever the umask of the administrator's shell is.
umask 022
destdir=$1
shift
expressions=
for pair; do
    expressions="$expressions;s|@${pair%%=*}@|${pair#*=}|g"
done

while IFS=: read -r mode source to; do
    mkdir -p "$destdir$(dirname "$to")"
    case $source in
    *.in)
        sed "${expressions#;}" "$source" >"$destdir$to.new"
        chmod "$mode" "$destdir$to.new"
        mv "$destdir$to.new" "$destdir$to"
        ;;
    *) install -m "$mode" "$source" "$destdir$to" ;;
    esac
done
