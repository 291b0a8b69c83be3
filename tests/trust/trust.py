# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the parts of `make check-trust` share: the fixtures of the integration tests, a long and a short form, and a seed that is printed.

TRUST_LONG=1      the long form: ten minutes for all parts; otherwise about three
TRUST_SEED=N      what is drawn, and when; printed by each part, so that a failure can be tried again"""
import os, random, sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "integration"))
from story import *

LONG_FORM = os.environ.get("TRUST_LONG", "") not in ("", "0")
SEED = int(os.environ.get("TRUST_SEED", "1"))


def dice(*words):
    """A generator of its own for each part, so that one part's draws are the same whatever the others do."""
    return random.Random(" ".join(map(str, (SEED, *words))))


def begin():
    print(f"# TRUST_SEED={SEED}, the {'long' if LONG_FORM else 'short'} form", flush=True)
