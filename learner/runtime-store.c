/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions that use more than the present round: target networks, and data of earlier rounds. All draws
 * come from the update's own random streams. */
#include <assert.h>
#include <string.h>

#include "learner/runtime-internal.h"
#include "lib/rng.h"

static void net_copy(Adam *to, const Adam *from) {
        assert(to->n == from->n);

        memcpy(to->parameters, from->parameters, to->n * sizeof(float));
}

/* Polyak averaging. */
static void net_average(Adam *to, const Adam *from, double share) {
        float *x = to->parameters, part = (float) share, rest = (float) (1.0 - share);
        const float *y = from->parameters;

        assert(to->n == from->n);

        for (size_t i = 0; i < to->n; i++)
                x[i] = rest * x[i] + part * y[i];
}

void runtime_copy_targets(Runtime *rt) {
        for (Net net = 0; net < NETS_MAX; net += 2)
                if (rt->nets[net_target_of(net)])
                        net_copy(rt->nets[net_target_of(net)], rt->nets[net]);
}

void runtime_follow(Runtime *rt) {
        uint32_t member;

        for (Net net = 0; net < NETS_MAX; net += 2) {
                Adam *target = rt->nets[net_target_of(net)];

                if (!target)
                        continue;
                switch ((Follows) algorithm_net(rt->settings->algorithm, net, &member)->follows) {
                case FOLLOWS_NONE:
                case FOLLOWS_NEVER: break;
                case FOLLOWS_COPY: net_copy(target, rt->nets[net]); break;
                case FOLLOWS_AVERAGE: net_average(target, rt->nets[net], rt->settings->tau); break;
                }
        }
}

void runtime_push(Runtime *rt) {
        assert(rt->buffer);

        buffer_push(rt->buffer, rt->live, rt->n_live_actors);
}

void runtime_draw(Runtime *rt, uint32_t pass) {
        uint32_t age = 0;

        assert(rt->buffer);

        if (pass > 0) {
                ActordRandom random;

                random_begin(&random, rt->settings->seed, RANDOM_REPLAY, 0, rt->update, pass);
                age = random_below(&random, buffer_count(rt->buffer));
        }
        rt->batch = buffer_at(rt->buffer, age, &rt->n_actors);
}

uint64_t runtime_store(Runtime *rt) {
        assert(rt->replay);

        replay_enter(rt->replay, rt->live, rt->n_live_actors, rt->settings->carry == CARRY_RESET);
        return replay_count(rt->replay);
}

Rows runtime_replay(Runtime *rt, uint32_t draw, double gamma) {
        uint64_t n_windows = rt->replay->first[rt->replay->n_slots];
        Batch *b = rt->replay->drawn;
        ActordRandom random;

        assert(n_windows > 0 && n_windows <= UINT32_MAX);

        random_begin(&random, rt->settings->seed, RANDOM_REPLAY, 0, rt->update, draw);
        for (uint32_t row = 0; row < b->step_rows; row++)
                replay_gather(rt->replay, random_below(&random, (uint32_t) n_windows), gamma, row);

        rt->batch = b;
        rt->n_actors = 1;
        rt->work.draw = draw;
        return runtime_rows(rt);
}
