/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The return that a search reaches in iot5g. Each second it tries bandwidths and powers in the environment
 * itself, from the true state with its shadowing and velocities, and moves to where the mean reward of a
 * second is greatest. A policy does not see that state. If one move does not reach that place, the search
 * moves towards it as far as it may. For comparison the program also makes moves at random.
 *
 *     iot5g-search iot5g-continuous|iot5g-discrete EPISODES */
#include <stdio.h>
#include <stdlib.h>

#include "tests/unit/domains-fixture.h"

enum {
        N_STATE = 7,
        STEPS = 200,
        DRAWS = 24, /* of the next second */
        GRID = 9,   /* places along each axis of a grid; the next grid is finer, around the best place */
        GRIDS = 3,
        CHOICES = 9,
};

typedef struct Search {
        Env *env;
        const ActordEnv *abi;
        double state[NUMBERS_MAX]; /* the true one */
        uint32_t step;
} Search;

/* The mean reward of one step from this state with this action. Each call uses the same DRAWS random
 * streams, so that actions can be compared. */
static double tried(const Search *s, const double state[N_STATE], const void *action) {
        float observation[8];
        double sum = 0;

        for (uint32_t k = 0; k < DRAWS; k++) {
                ActordRandom random;
                ActordStep step;

                random_begin(&random, SEED, RANDOM_TARGET, k, s->env->episode, s->step);
                g_assert_cmpint(s->abi->set_state(s->env->instance, state, observation), ==, 0);
                g_assert_cmpint(s->abi->step(s->env->instance, action, &random, observation, &step), ==, 0);
                sum += step.reward;
        }
        return sum / DRAWS;
}

/* Finds the bandwidth and the power with the greatest mean reward, whatever the present ones are. */
static void find_place(const Search *s, double ret[2]) {
        const int32_t stay = CHOICES / 2;
        const float still[2] = { 0, 0 };
        const void *action = s->env->spec.action.kind == ACTORD_DISCRETE ? (const void *) &stay
                                                                         : (const void *) still;
        double centre[2] = { 0.5, 0.5 }, reach = 0.5;

        for (int grid = 0; grid < GRIDS; grid++, reach /= 4) {
                double best = -INFINITY, next[2] = { centre[0], centre[1] };

                for (int i = 0; i < GRID * GRID; i++) {
                        double state[N_STATE], mean;

                        memcpy(state, s->state, sizeof(state));
                        state[0] = CLAMP(centre[0] + reach * (2.0 * (i / GRID) / (GRID - 1) - 1), 0, 1);
                        state[1] = CLAMP(centre[1] + reach * (2.0 * (i % GRID) / (GRID - 1) - 1), 0, 1);
                        mean = tried(s, state, action);
                        if (mean > best) {
                                best = mean;
                                next[0] = state[0];
                                next[1] = state[1];
                        }
                }
                memcpy(centre, next, sizeof(centre));
        }
        memcpy(ret, centre, sizeof(centre));
}

/* Chooses one of the nine moves. gap: the way to the best place. If the way is long, returns the move in
 * that direction; otherwise tries all moves, and returns the best one. */
static int32_t find_choice(const Search *s, const double gap[2]) {
        int32_t choice = 0;
        double best = -INFINITY;

        if (fabs(gap[0]) > 0.075 || fabs(gap[1]) > 0.075)
                return 3 * (1 + (gap[0] > 0.025) - (gap[0] < -0.025)) + 1 + (gap[1] > 0.025) -
                       (gap[1] < -0.025);
        for (int32_t k = 0; k < CHOICES; k++) {
                double mean = tried(s, s->state, &k);

                if (mean > best) {
                        best = mean;
                        choice = k;
                }
        }
        return choice;
}

static void search_step(Search *s) {
        double place[2], gap[2];

        get_state(s->env, s->state);
        find_place(s, place);
        for (int i = 0; i < 2; i++)
                gap[i] = place[i] - s->state[i];

        if (s->env->spec.action.kind == ACTORD_DISCRETE) {
                int32_t choice = find_choice(s, gap);

                set_state(s->env, s->state);
                env_step(s->env, SEED, &choice);
        } else {
                float move[2] = { (float) (10 * gap[0]), (float) (10 * gap[1]) };

                set_state(s->env, s->state);
                env_step(s->env, SEED, move);
        }
}

static void random_step(Search *s) {
        ActordRandom random;
        float move[2];
        int32_t choice;

        random_begin(&random, SEED, RANDOM_ACTION, 0, s->env->episode, s->step);
        choice = (int32_t) random_below(&random, CHOICES);
        for (int i = 0; i < 2; i++)
                move[i] = (float) actord_random_uniform(&random, -1, 1);
        env_step(s->env, SEED,
                        s->env->spec.action.kind == ACTORD_DISCRETE ? (void *) &choice : (void *) move);
}

static void play(const char *task, const char *word, void (*step)(Search *), unsigned n_episodes) {
        g_autoptr(Env) env = env_new(task);
        Search s = { .env = env, .abi = env->abi };
        double sum = 0, squares = 0;

        for (unsigned i = 0; i < n_episodes; i++) {
                double episode = 0;

                env_reset(env, SEED);
                for (s.step = 0; s.step < STEPS; s.step++) {
                        step(&s);
                        episode += env->step.reward;
                }
                sum += episode;
                squares += episode * episode;
        }
        printf("%s %.2f, deviation of the mean %.2f, of %u episodes\n", word, sum / n_episodes,
                        sqrt((squares / n_episodes - sum / n_episodes * sum / n_episodes) / n_episodes),
                        n_episodes);
}

int main(int argc, char *argv[]) {
        unsigned n_episodes = argc == 3 ? (unsigned) atoi(argv[2]) : 0;

        if (n_episodes == 0) {
                (void) fprintf(stderr, "usage: iot5g-search iot5g-continuous|iot5g-discrete EPISODES\n");
                return 2;
        }
        play(argv[1], "random", random_step, n_episodes);
        play(argv[1], "search", search_step, n_episodes);
        return 0;
}
