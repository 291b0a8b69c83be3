#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Elementary functions of the C library may round differently in its next release, so no file that decides a policy calls them;
the check reads the symbols of object files. lib/doubles.h and lib/elementary.h have our own. Exact functions (sqrt, fma, fmod) may be called."""
import os, re, subprocess, sys
from sources import finish, point, sources

INEXACT = re.compile(r"(exp|exp2|exp10|expm1|log|log2|log10|log1p|pow|sin|cos|tan|sincos|asin|acos|atan|atan2|sinh|cosh|tanh|asinh|acosh|"
                     r"atanh|cbrt|hypot|erf|erfc|lgamma|tgamma)[fl]?")
ROOMS = {"actor", "daemon", "invoker", "learner", "lib"}
# Environments equal Gymnasium's by the C library; references are what kernels are compared with; the time of an emulated fleet moves
# a clock, not a policy.
EXEMPT = ("actor/envs/", "learner/kernel/kernels-naive.c", "daemon/distribution.c")
BUILD = os.path.join(os.environ.get("ACTORD_BUILD", "build"), "o")


def called(path):
    names = subprocess.run(["nm", "--undefined-only", "--format=just-symbols", path], capture_output=True, text=True, check=True).stdout.split()
    return sorted({name.split("@")[0] for name in names if INEXACT.fullmatch(name.split("@")[0])})


objects = {source: os.path.join(BUILD, source[:-2] + ".o") for source in sources(".c")
           if source.split("/")[0] in ROOMS and not source.startswith(EXEMPT)}
built = {source: path for source, path in objects.items() if os.path.exists(path)}
if not built:
    print(f"1..0 # SKIP there are no object files in {BUILD}: make")
    sys.exit(77)
point("no file that decides a policy calls an elementary function of the C library",
      [f"{source} calls {', '.join(names)}: take it from lib/doubles.h or lib/elementary.h" for source, path in sorted(built.items())
       if (names := called(path))])
finish()
