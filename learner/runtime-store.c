/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The verbs that reach beyond a round: target networks, and data of earlier rounds. All draws come from
 * random streams that belong to the update. */
#include <assert.h>
#include <string.h>

#include "learner/runtime-internal.h"
#include "lib/rng.h"

void runtime_copy(Runtime *rt, Net to, Net from) {
        assert(rt->nets[to] && rt->nets[from] && rt->nets[to]->n == rt->nets[from]->n);

        memcpy(rt->nets[to]->parameters, rt->nets[from]->parameters, rt->nets[to]->n * sizeof(float));
}

void runtime_copy_targets(Runtime *rt) {
        static const Net targets[][2] = {
                { NET_TARGET, NET_POLICY },
                { NET_CRITIC_TARGET, NET_CRITIC },
                { NET_CRITIC_2_TARGET, NET_CRITIC_2 },
        };

        for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
                if (rt->nets[targets[i][0]])
                        runtime_copy(rt, targets[i][0], targets[i][1]);
}

void runtime_average(Runtime *rt, Net to, Net from, double share) {
        float *x = rt->nets[to]->parameters, part = (float) share, rest = (float) (1.0 - share);
        const float *y = rt->nets[from]->parameters;

        assert(rt->nets[to]->n == rt->nets[from]->n);

        for (size_t i = 0; i < rt->nets[to]->n; i++)
                x[i] = rest * x[i] + part * y[i];
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

void runtime_bootstrap(Runtime *rt) {
        Batch *b = rt->batch;

        assert(b == rt->replay->drawn);

        for (uint32_t row = 0; row < b->step_rows; row++)
                b->target[row] = b->scaled[row] + rt->replay->discounts[row] * b->value[b->step_rows + row];
}
