/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* two-ponds: open and close the orifices of two stormwater ponds during a storm. Neither pond may flood, and
 * the flow of the stream below them should stay low.
 *
 * actord's own model, after scenario theta of pystorms ("pystorms: A simulation sandbox for the development
 * and evaluation of stormwater control algorithms", Rimer et al., Environmental Modelling & Software 2023).
 * From theta are the two catchments of 100 ha (25 % impervious, width 500 m, slope 0.5 %), Horton's
 * infiltration (3.0 to 0.5 mm/h, 4 /h), the ponds of 1000 m2 and 2 m depth, each with a bottom orifice of 1
 * m by 1 m, the hourly rain of the storm and the measure of performance. This model computes no dynamic
 * wave, so its results cannot be compared with those of theta, which runs on the engine EPA SWMM.
 *
 * Two actions in [-1, 1] set the orifices' openings for a step of 15 minutes; 96 steps are an episode of a
 * day. An opening is ((1 + action) / 2)^4 m, so small openings can be set most exactly. The rain is the
 * storm times StormScale=; if that is 0, it is the storm times a number drawn from [0.5, 2). The observation
 * is the depths of both ponds and the flow of the stream (theta's states and its measure), and the rain of
 * this hour and of the next (mm/h). The reward of a step is the mean over its inner steps of 30 s of
 *
 *     -10 max(0, stream - 0.5 m3/s) - FloodWeight (number of ponds that flood)
 *
 * theta has a weight of 1e6. Each inner step is computed by explicit Euler; no more water leaves a store
 * than is in it:
 *
 *     runoff   W / n (d - d_p)^(5/3) sqrt(S) of depth d on each part of a catchment: n = 0.015 and d_p =
 *              1 mm where it is impervious, n = 0.15 and d_p = 4 mm elsewhere (Manning's equation for a
 *              sheet of water, as in SWMM)
 *     orifice  w min(a, h) sqrt(2 g (h - min(a, h) / 2)), w = 1 m, of opening a (m) under depth h
 *     stream   a linear reservoir of 5 minutes below both orifices
 *     flood    what a full pond cannot hold
 *
 * The state ends with four sums in m3 (rain, infiltration, discharge, flood), so that users can check the
 * balance of a day's water. */
#include <math.h>

#include "actor/envs/builtin.h"
#include "actor/envs/option.h"
#include "actor/envs/picture.h"
#include "actor/envs/state.h"
#include "include/environment-options.h"
#include "lib/space.h"

#define GRAVITY            9.81
#define SECONDS            30.0
#define N_SUBSTEPS         30
#define HORIZON            96
#define AREA               1e6 /* m2, of a catchment */
#define IMPERVIOUS         0.25
#define WIDTH              500.0
#define SLOPE              0.005
#define POND_AREA          1000.0
#define POND_DEPTH         2.0
#define ORIFICE_WIDTH      1.0
#define STREAM_SECONDS     300.0
#define FLOW_THRESHOLD     0.5
#define FLOW_WEIGHT        10.0
#define INFILTRATION_MAX   3.0 /* mm/h */
#define INFILTRATION_MIN   0.5
#define INFILTRATION_DECAY 4.0 /* 1/h */
#define SCALE_MAX          10.0
/* A snapshot with a larger number (m or m3) is refused: the whole storm has less water. */
#define WATER_MAX 1e9

enum { N_PONDS = 2, N_RAIN_HOURS = 10, N_OBSERVATION = N_PONDS + 3 };
enum {
        N_STEPS_TAKEN,
        SCALE,
        POND,
        STREAM = POND + N_PONDS,
        ROOF,
        MEADOW = ROOF + N_PONDS,
        RAIN = MEADOW + N_PONDS,
        INFILTRATION,
        DISCHARGE,
        FLOOD,
        N_STATE
};

static const double storm[N_RAIN_HOURS] = { 0, 1.2, 2.3, 3.2, 3.1, 3.1, 2.1, 1.1, 0.1, 0 }; /* mm/h */

typedef struct TwoPonds {
        /* In the order of the enum above. Water in ponds and stream is in m3; water on both parts of each
         * catchment (roof, meadow) is a depth in m. The sums at the end are in m3. */
        double state[N_STATE];
        double storm_scale, flood_weight;
} TwoPonds;

#define ENV_INSTANCE TwoPonds
static const EnvOption two_ponds_options[] = { TWO_PONDS_OPTIONS(ENV_OPTION) };

static int two_ponds_init(void *instance, const ActordOption *options, uint32_t n_options) {
        TwoPonds *t = instance;

        *t = (TwoPonds){};
        return env_options_parse(ENV_OPTIONS(two_ponds_options), options, n_options, t);
}

static int two_ponds_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        TwoPonds t;
        int r;

        r = two_ponds_init(&t, options, n_options);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec){
                .name = "two-ponds",
                .observation = space_of_numbers(N_OBSERVATION, 0, INFINITY),
                .action = space_of_numbers(N_PONDS, -1, 1),
                .horizon_steps = HORIZON,
                .n_agents = 1,
                .reward_low = -INFINITY,
                .reward_high = 0,
                .solved_return = NAN,
                .instance_bytes = sizeof(TwoPonds),
                .snapshot_bytes = sizeof(t.state),
        };
        return 0;
}

/* The rain at `hour` hours of the episode, in mm/h. */
static double rain_at(const TwoPonds *t, double hour) {
        return hour < N_RAIN_HOURS ? storm[(int) hour] * t->state[SCALE] : 0;
}

static double stream_flow(const TwoPonds *t) {
        return t->state[STREAM] / STREAM_SECONDS;
}

static void two_ponds_observe(const TwoPonds *t, void *ret_observation) {
        double hour = t->state[N_STEPS_TAKEN] * N_SUBSTEPS * SECONDS / 3600;
        float observation[N_OBSERVATION] = { (float) (t->state[POND] / POND_AREA),
                (float) (t->state[POND + 1] / POND_AREA), (float) stream_flow(t), (float) rain_at(t, hour),
                (float) rain_at(t, hour + 1) };

        memcpy(ret_observation, observation, sizeof(observation));
}

static int two_ponds_reset(void *instance, ActordRandom *random, void *ret_observation) {
        TwoPonds *t = instance;
        double drawn = actord_random_uniform(random, 0.5, 2);

        memset(t->state, 0, sizeof(t->state));
        t->state[SCALE] = t->storm_scale > 0 ? t->storm_scale : drawn;
        for (int i = 0; i < N_PONDS; i++)
                t->state[POND + i] = actord_random_uniform(random, 0, 0.2) * POND_AREA;
        two_ponds_observe(t, ret_observation);
        return 0;
}

/* The m3 that run off one part of a catchment in an inner step. *depth (m): the water that stays on it. */
static double run_off(double *depth, double share, double roughness, double held) {
        double sheet = fmax(*depth - held, 0);
        double flow = WIDTH / roughness * pow(sheet, 5.0 / 3.0) * sqrt(SLOPE);
        double water = fmin(flow * SECONDS, sheet * AREA * share);

        *depth -= water / (AREA * share);
        return water;
}

/* Returns how much water reaches pond i in an inner step, in m3. */
static double catch_rain(TwoPonds *t, int i, double hour) {
        double *s = t->state, *roof = &s[ROOF + i], *meadow = &s[MEADOW + i];
        double rain = rain_at(t, hour) / 1000 / 3600 * SECONDS, capacity, soaked;

        *roof += rain;
        *meadow += rain;
        s[RAIN] += rain * AREA;

        capacity = INFILTRATION_MIN +
                   (INFILTRATION_MAX - INFILTRATION_MIN) * exp(-INFILTRATION_DECAY * hour);
        soaked = fmin(capacity / 1000 / 3600 * SECONDS, *meadow);
        *meadow -= soaked;
        s[INFILTRATION] += soaked * AREA * (1 - IMPERVIOUS);

        return run_off(roof, IMPERVIOUS, 0.015, 0.001) + run_off(meadow, 1 - IMPERVIOUS, 0.15, 0.004);
}

static double orifice_flow(double depth, double opening) {
        double height = fmin(opening, depth);

        return ORIFICE_WIDTH * height * sqrt(2 * GRAVITY * (depth - height / 2));
}

/* Advances by 30 s; returns the cost. */
static double flow(TwoPonds *t, const double opening[N_PONDS], double hour) {
        double *s = t->state, cost = 0, out, excess;

        for (int i = 0; i < N_PONDS; i++) {
                out = fmin(orifice_flow(s[POND + i] / POND_AREA, opening[i]) * SECONDS, s[POND + i]);
                s[POND + i] += catch_rain(t, i, hour) - out;
                s[STREAM] += out;

                excess = fmax(s[POND + i] - POND_AREA * POND_DEPTH, 0);
                s[POND + i] -= excess;
                s[FLOOD] += excess;
                cost += excess > 0 ? t->flood_weight : 0;
        }

        out = stream_flow(t) * SECONDS;
        s[STREAM] -= out;
        s[DISCHARGE] += out;
        return cost + FLOW_WEIGHT * fmax(out / SECONDS - FLOW_THRESHOLD, 0);
}

static int two_ponds_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        TwoPonds *t = instance;
        double opening[N_PONDS], cost = 0;
        float raw[N_PONDS];

        memcpy(raw, action, sizeof(raw));
        for (int i = 0; i < N_PONDS; i++) {
                if (isnan(raw[i]))
                        return -EINVAL;
                opening[i] = pow((1 + fmin(fmax((double) raw[i], -1), 1)) / 2, 4);
        }

        for (int i = 0; i < N_SUBSTEPS; i++) {
                double hour = (t->state[N_STEPS_TAKEN] * N_SUBSTEPS + i) * SECONDS / 3600;

                cost += flow(t, opening, hour);
        }
        t->state[N_STEPS_TAKEN]++;
        two_ponds_observe(t, ret_observation);

        *ret = (ActordStep){ .reward = -cost / N_SUBSTEPS };
        return 0;
}

static bool two_ponds_possible(const double state[N_STATE]) {
        for (int i = 0; i < N_STATE; i++)
                if (!(state[i] >= 0 && state[i] <= WATER_MAX))
                        return false;
        return state[N_STEPS_TAKEN] == floor(state[N_STEPS_TAKEN]) && state[SCALE] <= SCALE_MAX;
}

ENV_STATE(two_ponds, TwoPonds)

/* Draws the ponds in cross-section with their levels, and this hour's rain as lines above them. A bar beside
 * them is the stream's flow, with a mark at the highest flow that is allowed. A step is 15 minutes, and its
 * picture is shown for a tenth of a second. */
static int two_ponds_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes) {
        const TwoPonds *t = instance;
        double rain = rain_at(t, t->state[N_STEPS_TAKEN] * N_SUBSTEPS * SECONDS / 3600);
        double stream = fmin(stream_flow(t) / FLOW_THRESHOLD, 2.2);
        Picture p = picture_begin(ret_view, ret_shapes, 0, 0, 6, 4, 0.1, COLOUR_PAPER);

        for (int i = 0; i < N_PONDS; i++) {
                double left = 0.4 + 2.1 * i, depth = t->state[POND + i] / POND_AREA / POND_DEPTH;
                bool full = depth >= 1;

                picture_box(&p, left, 0.5, left + 1.6, 2.6, COLOUR_PALE);
                picture_box(&p, left, 0.5, left + 1.6, 0.5 + 2 * fmin(depth, 1),
                                full ? COLOUR_RED : COLOUR_BLUE);
                picture_line(&p, left, 2.5, left + 1.6, 2.5, 0.015, COLOUR_INK);
                for (int drop = 0; drop < (int) ceil(rain) && drop < 12; drop++)
                        picture_line(&p, left + 0.13 * drop + 0.1, 3.4, left + 0.13 * drop + 0.05, 3.1,
                                        0.015, COLOUR_BLUE);
        }
        picture_box(&p, 4.9, 0.5, 5.5, 3.2, COLOUR_PALE);
        picture_box(&p, 4.9, 0.5, 5.5, 0.5 + stream * 1.2, stream > 1 ? COLOUR_RED : COLOUR_GREEN);
        picture_line(&p, 4.8, 1.7, 5.6, 1.7, 0.015, COLOUR_INK);
        return 0;
}

const ActordEnv two_ponds_env = {
        .spec = two_ponds_spec,
        .init = two_ponds_init,
        .step = two_ponds_step,
        ENV_STATE_OF(two_ponds),
        .draw = two_ponds_draw,
};
