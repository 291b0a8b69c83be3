#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The linter shellcheck finds nothing in our shell scripts, and Python can parse our Python files.
. tests/tap.sh
. tests/sources.sh

command -v shellcheck >/dev/null || skip_all "shellcheck is missing: packaging/dependencies.sh test"
scripts() { # scripts INTERPRETER...    files that begin by naming it
    local file
    sources "" | while read -r file; do
        head -c 64 "$file" | head -n 1 | tr -d '\0' | grep -qE "^#!.*\b($1)\$" && echo "$file"
    done
}

mapfile -t shell < <({ scripts 'sh|bash'; sources .sh; } | sort -u)
check "shell scripts" shellcheck --severity=warning "${shell[@]}"
mapfile -t python < <({ scripts python3; sources .py; } | sort -u)
check "Python scripts" python3 -c 'import ast, sys
for path in sys.argv[1:]: ast.parse(open(path).read(), path)' "${python[@]}"
finish
