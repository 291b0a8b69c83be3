#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A new algorithm needs a word in ALGORITHMS, and one file with an Algorithm of that name: with a throwaway word, parser, printer and learner need no
other change."""
import os, re, subprocess

from throwaway import Tree, read, sources_of, tell

TABLE = "include/settings.h"
# Strings that each object file must hold after a word is added.
READERS = {"lib/settings/print.c": b"throwaway", "lib/settings/text.c": b"throwaway", "learner/algorithm/algorithm.c": b"algorithm_THROWAWAY"}


def words():
    lines = re.search(r"^#define ALGORITHMS\(X\)(?:.*\\\n)*.*", read(TABLE), re.M).group()
    found = re.findall(r'X\(([A-Z0-9]+), "([a-z0-9-]+)"\)', lines)
    assert len(found) >= 5, found
    return found


def with_one_more(line):
    return line.replace("(X)", '(X) X(THROWAWAY, "throwaway")')


def one_more_is_derived():
    tree = Tree()
    tree.edit(TABLE, "#define ALGORITHMS(X)", with_one_more)
    tree.derives(READERS)


# A whole algorithm: actor-critic with a loss of its own, which has no gradient written down.
THROWAWAY = """
#include "learner/algorithm/algorithm.h"

static void loss(Tape *t, const void *arg) {
        Node error = tape_subtract(t, tape_term(t, TERM_VALUE), tape_column(t, COLUMN_TARGET));
        Node policy = tape_multiply(t, tape_column(t, COLUMN_ADVANTAGE), tape_exp(t, tape_term(t, TERM_LOG_PROBABILITY)));

        tape_loss(t, policy, -1.0);
        tape_loss(t, tape_huber(t, error, 1.0), 0.5);
        tape_sum(t, 0, policy, -1.0);
}

static void loss_now(Runtime *runtime, Tape *tape) {
        loss(tape, NULL);
}

static int learn(Runtime *runtime) {
        const JobSettings *s = runtime_settings(runtime);
        double sum, norm;
        int r;

        runtime_recompute(runtime, NET_POLICY);
        runtime_advantage(runtime, s->gamma, s->lambda);
        r = runtime_gradient(runtime, NET_POLICY, runtime_rows(runtime), loss, NULL, &sum, 1);
        if (r < 0)
                return r;
        return runtime_apply(runtime, NET_POLICY, s->learning_rate, s->max_grad_norm, &norm);
}

const Algorithm algorithm_THROWAWAY = { .name = "throwaway", .learn = learn, .loss = loss_now };
"""


def one_file_is_an_algorithm():
    tree, source = Tree(), "learner/algorithm/throwaway.c"
    tree.edit(TABLE, "#define ALGORITHMS(X)", with_one_more)
    os.makedirs(os.path.join(tree.dir.name, os.path.dirname(source)))
    with open(os.path.join(tree.dir.name, source), "w", encoding="utf-8") as f:
        f.write(THROWAWAY)
    out, r = tree.compile(source)
    assert r.returncode == 0, r.stderr
    symbols = subprocess.run(["nm", out], capture_output=True, text=True, check=True).stdout.split("\n")
    used = {line.split()[-1] for line in symbols if " U " in line and "GLOBAL_OFFSET_TABLE" not in line and "stack_chk" not in line}
    strange = sorted(name for name in used if not re.match(r"(runtime|tape)_", name))
    assert used and not strange, f"an algorithm needs more than learner/runtime.h and learner/tape/tape.h: {strange}"


def no_gradient_is_written_by_hand():
    """A loss is recorded: no algorithm touches the gradients of what it reads."""
    for path in sources_of("learner"):
        if path.startswith("learner/algorithm/"):
            found = re.findall(r"\bd_terms\b|\bd_log_probability\b|\bd_entropy\b|\bLossJet\b", read(path))
            assert not found, f"{path} has {found[0]}"


def nothing_else_lists_them():
    """There is one other list in C: lib/algorithm-traits.c, with a row for each."""
    for path in sources_of("actorctl", "daemon", "include", "invoker", "learner", "lib"):
        if path not in (TABLE, "lib/algorithm-traits.c"):
            named = sorted({name for name, _ in words() if re.search(rf"\b(ALGORITHM|algorithm)_{name}\b", read(path))})
            assert len(named) < 3, f"{path} has a list of algorithms of its own: {named}"


def the_manual_describes_each():
    text = read("docs/job.conf.5").replace("\\-", "-")
    missing = [word for _, word in words() if not re.search(rf"\b{re.escape(word)}\b", text)]
    assert not missing, missing


tell(one_more_is_derived, one_file_is_an_algorithm, no_gradient_is_written_by_hand, nothing_else_lists_them, the_manual_describes_each)
