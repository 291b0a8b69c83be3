#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The template builds with the installed header alone, and what it builds is a working environment: it is copied
# out of the tree, so that nothing else of the tree can help it.
set -u

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

n=0
failed=0
check() { # check DESCRIPTION COMMAND...
        local what=$1 log
        shift
        n=$((n + 1))
        if log=$("$@" 2>&1); then
                echo "ok $n - $what"
        else
                echo "not ok $n - $what"
                sed 's/^/# /' <<<"$log"
                failed=1
        fi
}

mkdir -p "$work/include" "$work/env"
cp -r "$root/include/actord" "$work/include/"
cp "$root"/examples/env-template/{line.c,Makefile} "$work/env/"

# A stand-in for the program that loads environments: it provides the random functions and tries the ABI.
cat >"$work/host.c" <<'HOST'
#include <actord/env.h>
#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct ActordRandom { uint64_t state; };

uint32_t actord_random_u32(ActordRandom *random) {
        random->state = random->state * 6364136223846793005u + 1442695040888963407u;
        return (uint32_t) (random->state >> 32);
}

double actord_random_uniform(ActordRandom *random, double low, double high) {
        return low + (high - low) * (actord_random_u32(random) / 4294967296.0);
}

double actord_random_normal(ActordRandom *random) {
        return 0;
}

static const ActordEnv *env;
static _Alignas(64) unsigned char instance[4096];

/* Always to the right: with no slip the goal is 4 or 5 steps away and pays 1 less a cent for each step before. */
static void walk_to_the_goal(void) {
        const ActordOption options[] = { { "Squares", "10" }, { "Slip", "0" } };
        int32_t right = 1;
        ActordRandom random = { 1 };
        ActordStep step = { 0 };
        float observation[2] = { -1, 77 };
        int n = 0;

        memset(instance, 0, sizeof(instance));
        assert(env->init(instance, options, 2) == 0);
        assert(env->reset(instance, &random, observation) == 0);
        assert(observation[0] > 0.3f && observation[0] < 0.7f);
        for (; !step.terminated; n++)
                assert(n < 10 && env->step(instance, &right, &random, observation, &step) == 0);
        assert((n == 4 || n == 5) && step.reward == 1 && observation[0] == 1 && observation[1] == 77);
        env->close(instance);
}

/* A restored walk goes on like the one it was taken from, slips included. */
static void snapshot_and_go_on(void) {
        unsigned char snapshot[64];
        ActordRandom random = { 2 }, again;
        ActordStep step, step_again;
        float observation, observation_again;
        int32_t action = 1, bad = 2, nowhere = 1 << 30;

        memset(instance, 0, sizeof(instance));
        assert(env->init(instance, NULL, 0) == 0);
        assert(env->reset(instance, &random, &observation) == 0);
        assert(env->snapshot(instance, snapshot) == 0);
        again = random;
        assert(env->step(instance, &action, &random, &observation, &step) == 0);
        assert(env->restore(instance, snapshot) == 0);
        assert(env->step(instance, &action, &again, &observation_again, &step_again) == 0);
        assert(observation == observation_again && memcmp(&step, &step_again, sizeof(step)) == 0);
        assert(env->step(instance, &bad, &random, &observation, &step) == -EINVAL);
        assert(env->restore(instance, &nowhere) == -EINVAL);
        env->close(instance);
}

static void refuse_options(void) {
        const ActordOption unknown = { "Sqares", "10" }, low = { "Squares", "2" }, text = { "Slip", "much" };
        ActordEnvSpec spec;

        assert(env->spec(&unknown, 1, &spec) == -EINVAL);
        assert(env->spec(&low, 1, &spec) == -EINVAL);
        assert(env->spec(&text, 1, &spec) == -EINVAL);
}

int main(int argc, char *argv[]) {
        ActordEnvSpec spec;
        void *dl = dlopen(argv[1], RTLD_NOW);

        if (!dl)
                return fprintf(stderr, "%s\n", dlerror()), 1;
        env = dlsym(dl, "actord_env");
        assert(env && env->abi == ACTORD_ENV_ABI && env->struct_bytes == sizeof(ActordEnv));
        assert(env->spec(NULL, 0, &spec) == 0);
        assert(strcmp(spec.name, "Line") == 0 && spec.instance_bytes <= sizeof(instance) && spec.snapshot_bytes <= 64);
        assert(spec.action.kind == ACTORD_DISCRETE && spec.action.n_choices == 2);

        walk_to_the_goal();
        snapshot_and_go_on();
        refuse_options();
        return 0;
}
HOST

undefined() { # nothing but libc, libm and the documented random functions is asked of the loader
        ! nm -D --undefined-only "$work/env/line.so" | grep ' U ' | grep -v -e @ -e actord_random_
}

exported() {
        [ "$(nm -D --defined-only "$work/env/line.so" | awk '{ print $3 }')" = actord_env ]
}

echo 1..5
check "the template builds with include/actord alone" \
        make -s -C "$work/env" ACTORD_INCLUDE="$work/include" CFLAGS="-O2 -Werror"
check "it exports actord_env and nothing else" exported
check "it needs only the random functions of its host" undefined
check "a host builds" ${CC:-gcc} -std=gnu17 -I"$work/include" -rdynamic -o "$work/host" "$work/host.c" -ldl
check "the environment loads, steps, snapshots and refuses" "$work/host" "$work/env/line.so"
exit $failed
