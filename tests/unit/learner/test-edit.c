/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests networks with edited inputs (LinkEditing=). A tape must compute their inputs as double precision
 * does, and to the bit as lib/forward.c does. An input that is masked must have a gradient of exactly 0. */
#include <glib.h>
#include <math.h>
#include <string.h>

#include "learner/tape/tape.h"
#include "lib/forward.h"
#include "lib/network.h"
#include "lib/slot.h"

enum { ROWS = 32, REAL = 29 };

typedef struct Bench {
        float weight[ROWS] __attribute__((aligned(64)));
        float terms[_TERM_MAX][ROWS] __attribute__((aligned(64)));
        float d_terms[_TERM_MAX][ROWS] __attribute__((aligned(64)));
        float values[TAPE_NODES_MAX][ROWS] __attribute__((aligned(64)));
        float d[TAPE_NODES_MAX][ROWS] __attribute__((aligned(64)));
        double sums[1];
} Bench;

/* Draws inputs (terms) for the first REAL rows. The other rows only fill up the shard: their weight is 0. */
static void bench_fill(Bench *bench) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(1);

        memset(bench, 0, sizeof(*bench));
        for (unsigned i = 0; i < REAL; i++) {
                bench->weight[i] = 1.0f / REAL;
                for (unsigned k = 0; k < _TERM_MAX; k++)
                        bench->terms[k][i] = (float) g_rand_double_range(rand, -1, 1);
        }
        memset(bench->d_terms, 0xff, sizeof(bench->d_terms));
        memset(bench->d, 0xff, sizeof(bench->d));
}

static void bench_execute(Bench *bench, const Tape *tape) {
        TapePlace place = {
                .stride = ROWS,
                .weight = bench->weight,
                .values = bench->values[0],
                .d = bench->d[0],
                .sums = bench->sums,
        };

        for (unsigned k = 0; k < _TERM_MAX; k++) {
                place.terms[k] = bench->terms[k];
                place.d_terms[k] = bench->d_terms[k];
        }
        tape_execute(tape, &place);
}

/* Tests a network that reads only x2, x0 x0 and x0 x2 of an observation (x0, x1, x2). */
static void test_gradient(void) {
        static const Network network = {
                .n_observation = 3,
                .n_edited = 3,
                .monomials = { { 2, MONOMIAL_LINEAR }, { 0, 0 }, { 0, 2 } },
        };
        static const Network plain = { .n_observation = 3 };
        const TapeShape shape = { .networks = { &network, &plain } };
        static Bench bench;
        Node joined;
        Tape tape;

        bench_fill(&bench);
        tape_begin_with(&tape, &shape);
        joined = tape_join(&tape, tape_term(&tape, 0),
                        tape_join(&tape, tape_term(&tape, 1), tape_term(&tape, 2)));
        g_assert_cmpuint(tape_edit(&tape, 1, joined), ==, joined);
        tape_loss(&tape, tape_half_square(&tape, tape_total(&tape, tape_edit(&tape, 0, joined))), 1);
        bench_execute(&bench, &tape);

        for (unsigned i = 0; i < REAL; i++) {
                double x = (double) bench.terms[0][i], z = (double) bench.terms[2][i];
                double y = z + x * x + x * z;

                g_assert_cmpfloat_with_epsilon((double) bench.d_terms[0][i], y * (2 * x + z) / REAL, 1e-6);
                g_assert_cmpfloat((double) bench.d_terms[1][i], ==, 0);
                g_assert_cmpfloat_with_epsilon((double) bench.d_terms[2][i], y * (1 + x) / REAL, 1e-6);
        }
}

/* A policy for observations of three numbers. It reads two of them and two of their products. Its weights
 * are drawn at random. */
typedef struct Policy {
        ActordEnvSpec spec;
        JobPage page;
        PolicyHead *bank;
        float *parameters;
} Policy;

static void policy_make(Policy *p) {
        const JobSettings settings = {
                .algorithm = ALGORITHM_PHYDRL,
                .hidden_layers = { 1, { 7 } },
                .policy_input_augmentation = 2,
                .policy_link_editing = { .n = 9, .values = { 1, 0, 1, 0, 0, 1, 0, 0, 1 } },
        };
        g_autoptr(GRand) rand = g_rand_new_with_seed(2);

        p->spec = (ActordEnvSpec){
                .name = "toy",
                .observation = { ACTORD_BOX, ACTORD_F32, .n_dims = 1, .shape = { 3 }, .low = -9, .high = 9 },
                .action = { ACTORD_BOX, ACTORD_F32, .n_dims = 1, .shape = { 2 }, .low = -1, .high = 1 },
                .n_agents = 1,
                .reward_high = 1,
        };
        g_assert_cmpint(network_derive(&settings, &p->spec, &p->page.network), ==, 0);
        g_assert_cmpint(policy_layout(&p->page.network, NULL, 2, &p->page.policy), ==, 0);
        p->bank = aligned_alloc(64, p->page.policy.bank_bytes);
        memset(p->bank, 0, p->page.policy.bank_bytes);
        p->parameters = (float *) ((uint8_t *) p->bank + p->page.policy.parameters_at);
        for (uint64_t i = 0; i < p->page.network.n_parameters; i++)
                p->parameters[i] = (float) g_rand_double_range(rand, -1, 1);
}

/* The actions that the forward pass computes, row by row. */
static void policy_act(const Policy *p, const Bench *bench, float ret[ROWS][2]) {
        float observation[3], parameters[8];
        Forward *forward;

        g_assert_cmpuint(forward_parameters(&p->page.network), <=, G_N_ELEMENTS(parameters));
        g_assert_cmpint(forward_new(&p->page.network, &p->spec, &forward), ==, 0);
        forward_load(forward, p->bank, &p->page.policy);
        for (unsigned i = 0; i < REAL; i++) {
                for (unsigned k = 0; k < 3; k++)
                        observation[k] = bench->terms[k][i];
                forward_row(forward, observation, parameters);
                memcpy(ret[i], parameters, sizeof(ret[i]));
        }
        (void) forward_free(forward);
}

static void policy_loss(Tape *tape) {
        Node joined = tape_join(
                        tape, tape_term(tape, 0), tape_join(tape, tape_term(tape, 1), tape_term(tape, 2)));
        Node policy = tape_network(tape, 0, tape_edit(tape, 0, joined));

        tape_loss(tape, tape_total(tape, tape_output(tape, policy, OUTPUT_ACTION)), 1);
}

/* Acting and learning compute the same bits of an action, and an input that the policy does not read gets no
 * gradient. It reads x0, x2, x0 x2 and x2 x2, but not x1. */
static void test_policy(void) {
        static Bench bench;
        Policy p = {};
        TapeShape shape = { .networks = { &p.page.network }, .n_passes = { 1 }, .trained = 1 };
        TapePlace place = { .stride = ROWS,
                .weight = bench.weight,
                .values = bench.values[0],
                .d = bench.d[0],
                .sums = bench.sums };
        float acted[ROWS][2], d_input[EDITED_MAX * ROWS] __attribute__((aligned(64)));
        const Layer *last;
        Tape tape;

        policy_make(&p);
        g_assert_cmpuint(p.page.network.n_edited, ==, 4);
        bench_fill(&bench);
        policy_act(&p, &bench, acted);

        for (unsigned k = 0; k < _TERM_MAX; k++) {
                place.terms[k] = bench.terms[k];
                place.d_terms[k] = bench.d_terms[k];
        }
        g_assert_cmpint(pass_new(&p.page.network, &place.passes[0]), ==, 0);
        place.parameters[0] = p.parameters;
        place.d_input = d_input;
        tape_begin_with(&tape, &shape);
        policy_loss(&tape);
        tape_execute(&tape, &place);

        last = &p.page.network.layers[p.page.network.n_layers - 1];
        for (unsigned i = 0; i < REAL; i++) {
                for (unsigned k = 0; k < 2; k++)
                        g_assert_cmpmem(&acted[i][k], sizeof(float),
                                        &place.passes[0]->output[last - p.page.network.layers][k * ROWS + i],
                                        sizeof(float));
                g_assert_cmpfloat((double) bench.d_terms[1][i], ==, 0);
                g_assert_cmpfloat((double) bench.d_terms[0][i], !=, 0);
                g_assert_cmpfloat((double) bench.d_terms[2][i], !=, 0);
        }
        /* The action does not depend on the masked input either. */
        for (unsigned i = 0; i < REAL; i++)
                bench.terms[1][i] += 1;
        memcpy(bench.values, acted, sizeof(acted));
        policy_act(&p, &bench, acted);
        g_assert_cmpmem(bench.values, REAL * sizeof(acted[0]), acted, REAL * sizeof(acted[0]));
        place.passes[0] = pass_free(place.passes[0]);
        free(p.bank);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        g_test_add_func("/edit/gradient", test_gradient);
        g_test_add_func("/edit/policy", test_policy);
        return g_test_run();
}
