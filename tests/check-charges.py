#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A new charge needs a row of CHARGES, a row of PRICE_RATES, and the code that books and bills it: a throwaway charge changes the decisions of
Policy=auto, although no file of daemon/scheduler/ names a price."""
import os, re, shlex, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.chdir(ROOT)

# (file, the text to insert before, the text to insert): a fee for each round in which an actor takes part, which no sheet of ours has.
ROWS = [
    ("include/charges.h", "\n/* clang-format on */", ' \\\n        X(ENTRY, "entry", FULL, TRAINING, ACTORS, "idle ")'),
    ("daemon/bill/price-private.h", "        X(Energy, KWh, ", '        X(Execution, Entry, entry, 1e6, "price of an actor\'s part in a round") \\\n'),
    ("daemon/bill/price.c", "        add(record->cold ? &usage->n_cold", "        add(&usage->accounts[CHARGE_ENTRY].n_requests, 1);\n"),
    ("daemon/bill/price.c", "        for (Charge c = 0; c < _CHARGE_MAX; c++)\n                line_push(bill, c, \"requests\"",
     '        line_push(bill, CHARGE_ENTRY, "entries", (double) u->accounts[CHARGE_ENTRY].n_requests, s->entry);\n'),
]
PROGRAM = r"""
#include <stdio.h>
#include <string.h>
#include "daemon/scheduler/scheduler.h"
#include "tests/unit/sheet-fixture.h"

/* Where auto arrives, of 1 to 64 actors, when the same round comes again and again. */
static uint32_t settle(const char *text) {
        g_autoptr(PriceSheet) sheet = sheet_new(text);
        JobSettings s = { .n_actors_min = 1, .n_actors_max = 64, .envs_per_actor = 4, .rollout_steps = 32, .n_threads = 1, .time_price = 30,
                .memory_max_bytes = 1 << 30, .learner_memory_max_bytes = 1 << 30 };
        Statistics statistics = { .noise_scale = 128 };
        RoundFacts facts = {};
        SchedulerState state;

        s.present[SETTING_Scaling_MaxActors / 64] |= 1ull << (SETTING_Scaling_MaxActors % 64);
        s.scheduler.kind = SCHEDULER_AUTO;
        scheduler_init(&state, SCHEDULER_AUTO);
        for (uint64_t round = 0; round < 60; round++) {
                SchedulerView view = { &s, round > 0 ? &statistics : NULL, round > 0 ? &facts : NULL, round, NULL, 0, sheet };

                (void) scheduler_decide(&view, &state);
                facts = (RoundFacts){ state.n_actors, 100000000ull * state.n_actors, 1000000000, 1000000000, 1000000000, 0, UINT64_MAX };
        }
        return state.n_actors;
}

int main(void) {
        printf("%u %u\n", settle(SHEET("[Execution]\nGBSecond=0.00001\n")), settle(SHEET("[Execution]\nGBSecond=0.00001\nEntry=0.001\n")));
        return 0;
}
"""


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def built():
    """Every object of the build except those that the rows change."""
    return os.path.join(os.environ.get("B", "build"), "rooms.a")


def auto_weighs_a_new_charge():
    compiler = shlex.split(os.environ.get("CC", "cc"))
    flags = subprocess.run(["pkg-config", "--cflags", "glib-2.0", "libsystemd", "sqlite3"], capture_output=True, text=True).stdout.split()
    libraries = subprocess.run(["pkg-config", "--libs", "glib-2.0"], capture_output=True, text=True).stdout.split()
    with tempfile.TemporaryDirectory(prefix="actord-charge-") as folder:
        for room in ("daemon/bill", "include"):
            os.makedirs(os.path.join(folder, room))
        texts = {}
        for path, before, row in ROWS:
            text = texts.get(path, read(path))
            assert text.count(before) == 1, f"{path}: {before}"
            texts[path] = text.replace(before, row + before)
        for path, text in texts.items():
            with open(os.path.join(folder, path), "w", encoding="utf-8") as f:
                f.write(text)
        with open(os.path.join(folder, "main.c"), "w", encoding="utf-8") as f:
            f.write(PROGRAM)
        schedulers = sorted("daemon/scheduler/" + name for name in os.listdir("daemon/scheduler") if name.endswith(".c"))
        sources = [os.path.join(folder, "main.c"), os.path.join(folder, "daemon/bill/price.c"), "daemon/bill/price-round.c",
                   "daemon/bill/price-sheet.c", *schedulers]
        r = subprocess.run([*compiler, "-std=gnu17", "-D_GNU_SOURCE", "-I" + folder, "-I.", *flags, "-Werror=implicit", "-o",
                            os.path.join(folder, "settle"), *sources, built(), *libraries, "-lm"], capture_output=True, text=True)
        assert r.returncode == 0, r.stderr
        r = subprocess.run([os.path.join(folder, "settle")], capture_output=True, text=True)
        assert r.returncode == 0, r.stderr
        without, with_one = map(int, r.stdout.split())
        # A fee for each actor alone leads to fewer actors.
        assert with_one < without, f"{without} actors without the charge, {with_one} with it"


def schedulers_name_no_price():
    for name in sorted(os.listdir("daemon/scheduler")):
        text = re.sub(r"/\*.*?\*/", "", read("daemon/scheduler/" + name), flags=re.S)
        found = re.findall(r"price-private|CHARGE_[A-Z]+|CONVENTION_\w+|memory_max_bytes|gb_second", text)
        assert not found, f"daemon/scheduler/{name}: {found}"


CHECKS = [auto_weighs_a_new_charge, schedulers_name_no_price]
print(f"1..{len(CHECKS)}")
failed = 0
for i, check in enumerate(CHECKS, 1):
    name = check.__name__.replace("_", " ")
    try:
        check()
        print(f"ok {i} - {name}")
    except AssertionError as e:
        failed = 1
        print(f"not ok {i} - {name}\n# {e}")
sys.exit(failed)
