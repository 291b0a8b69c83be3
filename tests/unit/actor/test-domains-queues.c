/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests of faas and two-ponds: requests and water are neither lost nor made, single steps equal the
 * equations computed by hand, and the baselines have the returns that a policy must beat.
 * tests/unit/actor/test-envs.c checks what holds for every environment. */
#include "tests/unit/domains-fixture.h"

/* faas: the numbers of its state, as actor/envs/faas.c orders them */

enum { STEPS, LAST, FUNCTIONS };
enum {
        CONTAINERS,
        SHARES,
        QUEUE,
        BASE,
        PHASE,
        BURST,
        ARRIVALS,
        SERVED,
        DROPPED,
        UTILIZATION,
        SLO,
        N_FUNCTION
};
enum { NOTHING, CONTAINER_MORE, CONTAINER_LESS, SHARES_MORE, SHARES_LESS };

static void test_faas_conserves(void) {
        g_autoptr(Env) env = env_new("faas");
        double before[NUMBERS_MAX], after[NUMBERS_MAX], n_dropped = 0, n_bursts = 0, n_arrived = 0;
        ActordRandom actions;

        random_begin(&actions, SEED, RANDOM_ACTION, 0, 0, 0);
        env_reset(env, SEED);
        for (int i = 0; i < 4000; i++) {
                get_state(env, before);
                step_choice(env, (int32_t) random_below(&actions, 5));
                get_state(env, after);
                for (int k = 0; k < 5; k++) {
                        const double *a = &before[FUNCTIONS + k * N_FUNCTION];
                        const double *b = &after[FUNCTIONS + k * N_FUNCTION];

                        assert_near(b[QUEUE], a[QUEUE] + b[ARRIVALS] - b[SERVED] - b[DROPPED], 1e-9);
                        g_assert_cmpfloat(b[QUEUE], <=, 500);
                        g_assert_cmpfloat(b[SERVED], <=, b[CONTAINERS] * b[SHARES] / 1024 * 10 + 1e-9);
                        n_dropped += b[DROPPED];
                        n_bursts += b[BURST];
                        n_arrived += b[ARRIVALS];
                }
        }
        g_assert_cmpfloat(n_dropped, >, 0);
        /* the share of steps that the Markov chain of bursts spends in a burst */
        assert_near(n_bursts / 20000, 0.03 / (0.03 + 0.15), 0.03);
        g_assert_cmpfloat(n_arrived / 20000, >, 10);
        g_assert_cmpfloat(n_arrived / 20000, <, 60);
}

static void test_faas_begins(void) {
        g_autoptr(Env) env = env_with("faas", "Neighbours", "0");
        double state[NUMBERS_MAX];

        /* In a snapshot three sums, the last actions of 16 agents, and the latency and the requests of each
         * step come before the functions. */
        g_assert_cmpuint(env->spec.snapshot_bytes, ==,
                        (3 + 16 + 2 * 200 + FUNCTIONS + N_FUNCTION) * sizeof(double));
        for (int i = 0; i < 50; i++) {
                const double *own = &state[FUNCTIONS];

                env_reset(env, SEED);
                get_state(env, state);
                assert_near(own[CONTAINERS], ceil(own[BASE] * (1 + 0.3 * sin(own[PHASE]))) + 2, 0);
                g_assert_cmpfloat(own[SHARES], ==, 1024);
                g_assert_cmpfloat((double) env_observation(env)[3], ==, 0); /* without neighbours */
        }
}

static void test_faas_reward(void) {
        g_autoptr(Env) env = env_new("faas");
        const float *o = env_observation(env);

        env_reset(env, SEED);
        step_choice(env, NOTHING);
        assert_near(env->step.reward, 0.3 * (double) o[0] + 0.7 * (double) o[1], 1e-6);

        step_choice(env, CONTAINER_LESS);
        g_assert_cmpfloat(env->step.reward, >, 0);
        step_choice(env, CONTAINER_MORE); /* undoes CONTAINER_LESS, so it is penalised */
        g_assert_cmpfloat(env->step.reward, ==, -1);
        step_choice(env, NOTHING);
        step_choice(env, CONTAINER_LESS); /* undoes nothing: the action before it was NOTHING */
        g_assert_cmpfloat(env->step.reward, >, 0);

        for (int i = 0; i < 8; i++) /* 1024 + 8 * 128 = 2048 */
                step_choice(env, SHARES_MORE);
        g_assert_cmpfloat(env->step.reward, >, 0);
        step_choice(env, SHARES_MORE);
        g_assert_cmpfloat(env->step.reward, ==, -1);
        for (int i = 0; i < 15; i++)
                step_choice(env, SHARES_LESS);
        g_assert_cmpfloat(env->step.reward, >, -1);
        step_choice(env, SHARES_LESS);
        g_assert_cmpfloat(env->step.reward, ==, -1);

        for (int i = 0; i < 10; i++)
                step_choice(env, CONTAINER_LESS);
        g_assert_cmpfloat((double) o[4], ==, 0);
        g_assert_cmpfloat(env->step.reward, ==, -1); /* illegal */
        step_choice(env, NOTHING);
        g_assert_cmpfloat(env->step.reward, ==, -1); /* requests, and no container to serve them */
}

/* Two containers of half a core each, 3 requests in their queue and the arrivals of a calm function: one
 * step equals the equations computed by hand. */
static void test_faas_queue(void) {
        g_autoptr(Env) env = env_with("faas", "Neighbours", "0");
        double state[NUMBERS_MAX] = {}, *own = &state[FUNCTIONS], load, u, latency, left;

        own[CONTAINERS] = 2;
        own[SHARES] = 512;
        own[QUEUE] = 3;
        own[BASE] = 0.5;
        own[SLO] = 1;
        set_state(env, state);
        step_choice(env, NOTHING);
        get_state(env, state);

        load = 3 + own[ARRIVALS];
        left = fmax(load - 10, 0); /* two half cores serve 10 requests in 10 s */
        u = fmin(load / 10, 1);
        latency = 2 + pow(u, sqrt(6) - 1) / (1 - fmin(u, 0.99)) + (3 + left) / 2;
        g_assert_cmpfloat(own[QUEUE], ==, left);
        assert_near(own[UTILIZATION], u, 1e-12);
        assert_near(own[SLO], fmin(1, 2 / latency), 1e-12);
}

/* Sixteen functions have CPU shares worth 20 cores each, but the node has only 6 cores for each function. So
 * all functions are slower. */
static void test_faas_contention(void) {
        g_autoptr(Env) env = env_with("faas", "Neighbours", "15");
        double state[NUMBERS_MAX], crowded;

        env_reset(env, SEED);
        get_state(env, state);
        for (int k = 0; k < 16; k++) {
                double *f = &state[FUNCTIONS + k * N_FUNCTION];

                f[CONTAINERS] = 10;
                f[SHARES] = 2048;
                f[QUEUE] = 500;
        }
        set_state(env, state);
        step_choice(env, NOTHING);
        get_state(env, state);
        crowded = state[FUNCTIONS + SERVED];
        /* 10 s on 6 cores of the node, not on the 20 that its shares are worth */
        assert_near(crowded, 60, 1e-9);
}

/* A function whose CPU shares are worth 20 cores gets at most its node's cores. The node has 3 cores, then
 * 60. */
static void test_faas_cores(void) {
        for (int n_cores = 3; n_cores <= 60; n_cores += 57) {
                ActordOption options[] = { env_option("Neighbours", "0"),
                        env_option("Cores", n_cores == 3 ? "3" : "60") };
                g_autoptr(Env) env = env_new_with("faas", options, 2);
                double state[NUMBERS_MAX], *own = &state[FUNCTIONS];

                env_reset(env, SEED);
                get_state(env, state);
                own[CONTAINERS] = 10;
                own[SHARES] = 2048;
                own[QUEUE] = 500;
                set_state(env, state);
                step_choice(env, NOTHING);
                get_state(env, state);
                assert_near(own[SERVED], fmin(n_cores, 20) * 10, 1e-9);
        }
}

/* The mean return of 50 episodes without any action (0), with random actions (1), or by the rule that the
 * neighbours follow (2). */
static double faas_return(int how) {
        g_autoptr(Env) env = env_new("faas");
        const float *o = env_observation(env);
        ActordRandom actions;
        double sum = 0;

        random_begin(&actions, SEED, RANDOM_ACTION, 0, 0, 0);
        for (int i = 0; i < 50; i++) {
                env_reset(env, SEED);
                for (int k = 0, last = NOTHING; k < 200; k++) {
                        int choice = how == 1 ? (int) random_below(&actions, 5) : NOTHING;

                        if (how == 2 && (o[0] > 0.8f || o[1] < 0.9f) && o[4] < 0.5f &&
                                        last != CONTAINER_LESS)
                                choice = CONTAINER_MORE;
                        else if (how == 2 && o[0] < 0.4f && o[4] > 0.05f && last != CONTAINER_MORE)
                                choice = CONTAINER_LESS;
                        last = choice;
                        step_choice(env, choice);
                        sum += env->step.reward;
                }
        }
        return sum / 50;
}

static void test_faas_baselines(void) {
        double still = faas_return(0), any = faas_return(1), ruled = faas_return(2);

        g_test_message("nothing %.1f, any action %.1f, rule-based %.1f", still, any, ruled);
        g_assert_cmpfloat(ruled, >, still + 5);
        g_assert_cmpfloat(still, >, any + 20);
}

static void test_faas_options(void) {
        ActordOption half = env_option("Neighbours", "2.5"), many = env_option("Neighbours", "16");
        ActordEnvSpec spec;

        g_assert_cmpint(env_find("faas")->spec(&half, 1, &spec), ==, -EINVAL);
        g_assert_cmpint(env_find("faas")->spec(&many, 1, &spec), ==, -EINVAL);
}

/* two-ponds: the numbers of its state, as actor/envs/two-ponds.c orders them */

enum {
        TAKEN,
        SCALE,
        POND,
        STREAM = POND + 2,
        ROOF,
        MEADOW = ROOF + 2,
        RAIN = MEADOW + 2,
        SOAKED,
        DISCHARGE,
        FLOOD
};

static double water(const double *s) {
        double on_land = 1e6 * (0.25 * (s[ROOF] + s[ROOF + 1]) + 0.75 * (s[MEADOW] + s[MEADOW + 1]));

        return s[POND] + s[POND + 1] + s[STREAM] + on_land + s[SOAKED] + s[DISCHARGE] + s[FLOOD] - s[RAIN];
}

static void test_ponds_conserve(void) {
        g_autoptr(Env) env = env_with("two-ponds", "StormScale", "2");
        double state[NUMBERS_MAX], begun;
        ActordRandom actions;

        random_begin(&actions, SEED, RANDOM_ACTION, 0, 0, 0);
        env_reset(env, SEED);
        get_state(env, state);
        begun = water(state);
        for (int i = 0; i < 96; i++) {
                uint32_t action[32];

                action_draw(&env->spec, &actions, action);
                env_step(env, SEED, action);
                get_state(env, state);
                assert_near(water(state), begun, 1e-6);
        }
        /* a storm of 16.2 mm, twice (StormScale=2), on two square kilometres */
        assert_near(state[RAIN], 2 * 0.0162 * 2e6, 1e-6);
        g_assert_cmpfloat(state[DISCHARGE], >, 10000);
}

/* A pond of 1 m depth loses in 30 s the water that flows through an orifice that is open by 1 m, or by 0.1
 * m. */
static void test_ponds_orifice(void) {
        static const double openings[] = { 1, 0.1 };

        for (int i = 0; i < 2; i++) {
                g_autoptr(Env) env = env_with("two-ponds", "FloodWeight", "0");
                double state[NUMBERS_MAX] = { [POND] = 1000 }, depth = 1, out;
                float action[2] = { (float) (2 * pow(openings[i], 0.25) - 1), -1 };

                set_state(env, state);
                env_step(env, SEED, action);
                get_state(env, state);
                for (int k = 0; k < 30; k++) {
                        double height = fmin(openings[i], depth);

                        out = fmin(height * sqrt(2 * 9.81 * (depth - height / 2)) * 30 / 1000, depth);
                        depth -= out;
                }
                /* the tolerance is for the orifice's opening, which follows from an action in single
                 * precision */
                assert_near(state[POND], 1000 * depth, 1e-3);
                assert_near(state[POND] + state[STREAM] + state[DISCHARGE], 1000, 1e-9);
                g_assert_cmpfloat(state[POND + 1], ==, 0);
        }
}

static void test_ponds_flood(void) {
        g_autoptr(Env) env = env_with("two-ponds", "StormScale", "2");
        float closed[2] = { -1, -1 };
        double state[NUMBERS_MAX];

        env_reset(env, SEED);
        for (int i = 0; i < 96; i++)
                env_step(env, SEED, closed);
        get_state(env, state);
        assert_near((double) env_observation(env)[0], 2, 1e-6);
        g_assert_cmpfloat(state[FLOOD], >, 10000);
        g_assert_cmpfloat(state[DISCHARGE], ==, 0);

        /* Both ponds flood in each inner step, and the stream is below its threshold, so the reward is
         * -FloodWeight for each pond. */
        env_reset(env, SEED);
        get_state(env, state);
        state[TAKEN] = 16;
        state[POND] = state[POND + 1] = 2000;
        state[ROOF] = state[ROOF + 1] = 0.01;
        set_state(env, state);
        env_step(env, SEED, closed);
        g_assert_cmpfloat(env->step.reward, ==, -20);
}

/* The rule-based baseline: while a pond has room, its opening lets 0.25 m3/s out, so that the stream stays
 * at its threshold. A pond that is almost full opens wide. */
static void rule(const Env *env, float ret[2]) {
        for (int i = 0; i < 2; i++) {
                double depth = (double) env_observation(env)[i];
                double wide = 0.25 / sqrt(2 * 9.81 * fmax(depth, 0.01));

                ret[i] = (float) (2 * pow(fmin(depth > 1.9 ? 1 : wide, 1), 0.25) - 1);
        }
}

/* The mean return on the storms with which examples/two-ponds.conf evaluates. */
static double storms_return(bool ruled) {
        g_autoptr(Env) env = env_new("two-ponds");
        double sum = 0;

        for (uint64_t i = 0; i < 20; i++) {
                ActordRandom random;

                random_begin(&random, 1, RANDOM_EVALUATE_RESET, 0, i, 0);
                g_assert_cmpint(env->abi->reset(env->instance, &random, env->observation), ==, 0);
                for (int k = 0; k < 96; k++) {
                        float action[2] = { 1, 1 };

                        if (ruled)
                                rule(env, action);
                        env_step(env, SEED, action);
                        sum += env->step.reward;
                }
        }
        return sum / 20;
}

/* The two baselines: "passive" leaves all openings open; "rule-based" calls rule(). */
static void test_ponds_baselines(void) {
        double passive = storms_return(false), ruled = storms_return(true);

        g_test_message("20 storms: passive %.2f, rule-based %.2f", passive, ruled);
        g_assert_cmpfloat(passive, <, -30);
        g_assert_cmpfloat(ruled, >, 0.85 * passive);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/domains/faas/conserves", test_faas_conserves);
        g_test_add_func("/domains/faas/begins", test_faas_begins);
        g_test_add_func("/domains/faas/reward", test_faas_reward);
        g_test_add_func("/domains/faas/queue", test_faas_queue);
        g_test_add_func("/domains/faas/contention", test_faas_contention);
        g_test_add_func("/domains/faas/cores", test_faas_cores);
        g_test_add_func("/domains/faas/baselines", test_faas_baselines);
        g_test_add_func("/domains/faas/options", test_faas_options);
        g_test_add_func("/domains/two-ponds/conserves", test_ponds_conserve);
        g_test_add_func("/domains/two-ponds/orifice", test_ponds_orifice);
        g_test_add_func("/domains/two-ponds/flood", test_ponds_flood);
        g_test_add_func("/domains/two-ponds/baselines", test_ponds_baselines);

        return g_test_run();
}
