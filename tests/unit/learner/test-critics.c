/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* DDPG, TD3, SAC, TD3+BC, and policies that make an action from noise. Compares targets and gradients with
 * plain loops in double precision. Checks how often the policy takes a step, and how its targets follow. */
#include "learner/algorithm/critics.h"
#include "lib/rng.h"
#include "lib/sampler.h"
#include "tests/unit/gradient-reference.h"

enum { STEPS = 8, ENVS = 3, ROWS = 32, OBSERVATIONS = 3, ACTIONS = 2, ROUNDS = 3 };

/* The weight of the consistency loss (consistency_distance()) in the policy's loss. */
#define CONSISTENCY_WEIGHT 100.0

/* Each round takes one gradient step. The tests check the last step. */
static void open_bed(Bed *bed, const char *algorithm, const char *learner) {
        g_autofree char *sections = g_strdup_printf(
                        "Algorithm=%s\n[Scaling]\nActors=2\n[Actor]\nEnvsPerActor=%u\nRolloutSteps=%u\n"
                        "[Learner]\nHiddenLayers=5 4\nReplayMin=1\nLearningRate=0.01\nMinibatchSize=%u\n"
                        "TrainRatio=0.0209\nMaxGradNorm=0\nGamma=0.8\nNSteps=2\nTau=0.25\n%s\n",
                        algorithm, ENVS, STEPS, ROWS, learner);
        ActordEnvSpec spec = bed_spec_box(OBSERVATIONS, ACTIONS, 0);

        spec.horizon_steps = 9;
        bed_start(bed, sections, &spec);
}

static void play(Bed *bed, uint32_t round) {
        bed_take_all(bed, 2, round & 1, round);
        bed_learn(bed, round, 2);
}

/* The parameters of all nets as a round began. */
typedef struct Nets {
        double parameters[NETS_MAX][256];
} Nets;

static void nets_read(const Bed *bed, Nets *ret) {
        for (Net net = 0; net < NETS_MAX; net++) {
                const Adam *adam = bed->learner->runtime->nets[net];

                for (size_t i = 0; adam && i < adam->n; i++)
                        ret->parameters[net][i] = (double) adam->parameters[i];
                g_assert_true(!adam || adam->n <= 256);
        }
}

/* A network's output for an observation and for the n_beside numbers `beside` that follow it. Finite
 * differences of these numbers need doubles, but the network reads floats. So it reads 0 instead of each
 * number, and the biases of the first layer contain their weighted sums. */
static void outputs_of(const Network *network, const double *parameters, const float *observation,
                const double *beside, uint32_t n_beside, LayerOutput output, double *ret) {
        g_autofree double *moved = g_memdup2(parameters, network->n_parameters * sizeof(double));
        double storage[LAYERS_MAX][16], *outputs[LAYERS_MAX];
        float input[OBSERVATIONS + ACTIONS + TIME_EMBEDDING] = {};
        const Layer *first = &network->layers[0];
        uint32_t layer = network_find(network, output);

        for (unsigned i = 0; i < LAYERS_MAX; i++)
                outputs[i] = storage[i];
        memcpy(input, observation, OBSERVATIONS * sizeof(float));
        for (uint32_t o = 0; o < first->n_out; o++)
                for (uint32_t k = 0; k < n_beside; k++)
                        moved[first->bias_at + o] += parameters[first->weight_at + o * first->n_reads +
                                                                     OBSERVATIONS + k] *
                                                     beside[k];
        reference_forward(network, moved, input, outputs);
        memcpy(ret, outputs[layer], network->layers[layer].n_out * sizeof(double));
}

static double critic_of(const Network *critic, const double *parameters, const float *observation,
                const double action[ACTIONS]) {
        double value;

        outputs_of(critic, parameters, observation, action, ACTIONS, OUTPUT_VALUE, &value);
        return value;
}

typedef struct Given {
        const Bed *bed;
        const Nets *nets; /* as they were when the gradient was taken */
        Net critic;
        double temperature;
        double q_weight, lambda; /* of TD3+BC; 0: another algorithm */
        double eta;              /* of policies that make actions from noise */
        bool online;             /* no Dataset=: the policy's loss is the critics' term alone */
} Given;

static const Batch *batch_of(const Given *g) {
        return g->bed->learner->runtime->batch;
}

static double reference_critic_loss(const void *arg, const double *parameters) {
        const Given *g = arg;
        const Batch *b = batch_of(g);
        double sum = 0;

        for (uint32_t i = 0; i < ROWS; i++) {
                double action[ACTIONS];

                for (unsigned k = 0; k < ACTIONS; k++)
                        action[k] = (double) b->actions[i * ACTIONS + k];
                sum += pow(critic_of(g->bed->learner->runtime->networks[NET_CRITIC], parameters,
                                           b->observations + (size_t) i * OBSERVATIONS, action) -
                                                (double) b->target[i],
                                2);
        }
        return sum / ROWS;
}

/* The normal numbers with which the action of row i was drawn. */
static void stream_of(const Given *g, RandomPurpose purpose, uint32_t i, double ret[ACTIONS]) {
        ActordRandom random;

        random_begin(&random, g->bed->settings.seed, purpose, i, ROUNDS - 1, 0);
        for (unsigned k = 0; k < ACTIONS; k++)
                ret[k] = actord_random_normal(&random);
}

/* An action of the squashed policy, and its log-probability. */
static double squashed_of(const Given *g, const double *parameters, const float *observation,
                const double normal[ACTIONS], double ret_action[ACTIONS]) {
        const Network *network = &g->bed->page.network;
        double mean[ACTIONS], share[ACTIONS], sum = 0;

        outputs_of(network, parameters, observation, NULL, 0, OUTPUT_ACTION, mean);
        outputs_of(network, parameters, observation, NULL, 0, OUTPUT_LOG_STD, share);
        for (unsigned k = 0; k < ACTIONS; k++) {
                double log_sd = -5 + 3.5 * (share[k] + 1);

                ret_action[k] = tanh(mean[k] + exp(log_sd) * normal[k]);
                sum -= normal[k] * normal[k] / 2 + log_sd + log(2 * M_PI) / 2 +
                       log(1 - ret_action[k] * ret_action[k]);
        }
        return sum;
}

static double least_of(const Given *g, bool target, const float *observation, const double *action) {
        const Runtime *rt = g->bed->learner->runtime;
        double least = INFINITY;

        for (Net net = NET_CRITIC + target; net < NETS_MAX && rt->nets[net]; net += 2)
                least = fmin(least, critic_of(rt->networks[NET_CRITIC], g->nets->parameters[net],
                                                    observation, action));
        return least;
}

/* f(s, x, t) of lib/sampler.h: the action that the network estimates from the noisy action x. */
static void denoised_of(const Network *network, const double *parameters, const float *observation,
                double time, const double x[ACTIONS], double ret[ACTIONS]) {
        double beside[ACTIONS + TIME_EMBEDDING];
        Moment m;

        moment_of(time, &m);
        for (unsigned k = 0; k < ACTIONS; k++)
                beside[k] = (double) m.in * x[k];
        for (unsigned k = 0; k < TIME_EMBEDDING; k++)
                beside[ACTIONS + k] = (double) m.embedding[k];
        outputs_of(network, parameters, observation, beside, ACTIONS + TIME_EMBEDDING, OUTPUT_ACTION, ret);
        for (unsigned k = 0; k < ACTIONS; k++)
                ret[k] = (double) m.skip * x[k] + (double) m.out * ret[k];
}

/* A row's random draws: noise for the two *_distance() functions, noise for each pass, and a noise level. */
typedef struct Drawn {
        double distance[ACTIONS], passes[PASSES_MAX][ACTIONS];
        uint32_t boundary;
} Drawn;

static Drawn drawn_of(const Given *g, RandomPurpose purpose, uint32_t i, uint32_t n_boundaries) {
        ActordRandom random;
        Drawn drawn = {};

        random_begin(&random, g->bed->settings.seed, purpose, i, ROUNDS - 1, 0);
        for (unsigned k = 0; k < ACTIONS; k++)
                drawn.distance[k] = actord_random_normal(&random);
        for (uint32_t pass = 0; pass < g->bed->settings.passes; pass++)
                for (unsigned k = 0; k < ACTIONS; k++)
                        drawn.passes[pass][k] = actord_random_normal(&random);
        drawn.boundary = random_below(&random, n_boundaries - 1); /* in a diffusion: its step, minus 1 */
        return drawn;
}

/* F (lib/sampler.h): the noise that the network estimates in the action x at step i of a diffusion. */
static void noise_of(const Network *network, const double *parameters, const float *observation, uint32_t i,
                const double x[ACTIONS], double ret[ACTIONS]) {
        double beside[ACTIONS + TIME_EMBEDDING];
        Moment m;

        diffusion_moment(network->passes, i, &m);
        memcpy(beside, x, ACTIONS * sizeof(double));
        for (unsigned k = 0; k < TIME_EMBEDDING; k++)
                beside[ACTIONS + k] = (double) m.embedding[k];
        outputs_of(network, parameters, observation, beside, ACTIONS + TIME_EMBEDDING, OUTPUT_ACTION, ret);
}

/* Computes x, the action that the passes of a diffusion make from noise. If `other` is not NULL, returns the
 * divergence of these passes from the passes of a network with the parameters `other`. */
static double diffused_of(const Given *g, const double *parameters, const double *other,
                const float *observation, const Drawn *drawn, double x[ACTIONS]) {
        const Network *network = &g->bed->page.network;
        uint32_t n = network->passes;
        double sd = 1, divergence = 0;

        memset(x, 0, ACTIONS * sizeof(double));
        for (uint32_t i = n; i >= 1; i--) {
                double left = diffusion_left(n, i), before = diffusion_left(n, i - 1);
                double beta = diffusion_beta(n, i), f[ACTIONS], theirs[ACTIONS] = {};

                for (unsigned k = 0; k < ACTIONS; k++)
                        x[k] += sd * drawn->passes[n - i][k];
                noise_of(network, parameters, observation, i, x, f);
                if (other)
                        noise_of(network, other, observation, i, x, theirs);
                for (unsigned k = 0; k < ACTIONS; k++) {
                        double a = CLAMP((x[k] - sqrt(1 - left) * f[k]) / sqrt(left), -1, 1);

                        divergence += beta / (2 * (1 - beta) * (1 - left)) * pow(f[k] - theirs[k], 2);
                        x[k] = sqrt(before) * beta / (1 - left) * a +
                               sqrt(1 - beta) * (1 - before) / (1 - left) * x[k];
                }
                sd = sqrt(beta * (1 - before) / (1 - left));
        }
        return divergence;
}

/* The action that the passes make from the drawn noise. */
static void sampled_of(const Given *g, const double *parameters, const float *observation,
                const Drawn *drawn, double ret[ACTIONS]) {
        const uint32_t passes = g->bed->settings.passes;

        if (g->bed->page.network.act == ACT_DIFFUSION) {
                (void) diffused_of(g, parameters, NULL, observation, drawn, ret);
                return;
        }
        for (uint32_t pass = 0; pass < passes; pass++) {
                double time = pass == 0 ? 80 : 80 - 78.0 * pass / (passes - 1), x[ACTIONS];

                for (unsigned k = 0; k < ACTIONS; k++)
                        x[k] = pass == 0 ? time * drawn->passes[0][k]
                                         : ret[k] + sqrt(time * time - 0.002 * 0.002) *
                                                                               drawn->passes[pass][k];
                denoised_of(&g->bed->page.network, parameters, observation, time, x, ret);
                for (unsigned k = 0; k < ACTIONS; k++)
                        ret[k] = CLAMP(ret[k], -1, 1);
        }
}

/* The number of noise levels in consistency training (sampler_boundaries()) at the third gradient step. */
static uint32_t boundaries_of(const Given *g) {
        const JobSettings *s = &g->bed->settings;

        return sampler_boundaries((ROUNDS - 1) / ((double) s->stop_steps * s->train_ratio));
}

/* The consistency loss of row i: the distance between the policy `parameters` and the target policy. */
static double consistency_distance(
                const Given *g, const double *parameters, uint32_t i, const Drawn *drawn, uint32_t n) {
        const Network *network = g->bed->learner->runtime->network;
        const float *observation = batch_of(g)->observations + (size_t) i * OBSERVATIONS;
        double late = sampler_boundary(n, drawn->boundary + 1), early = sampler_boundary(n, drawn->boundary);
        double x[ACTIONS], y[ACTIONS], said[ACTIONS], wanted[ACTIONS], sum = 0;

        for (unsigned k = 0; k < ACTIONS; k++) {
                double recorded = (double) batch_of(g)->actions[i * ACTIONS + k];

                x[k] = recorded + late * drawn->distance[k];
                y[k] = recorded + early * drawn->distance[k];
        }
        denoised_of(network, parameters, observation, late, x, said);
        denoised_of(network, g->nets->parameters[NET_TARGET], observation, early, y, wanted);
        for (unsigned k = 0; k < ACTIONS; k++)
                sum += CONSISTENCY_WEIGHT * pow(said[k] - wanted[k], 2) / (late - early);
        return sum;
}

static double diffusion_distance(const Given *g, const double *parameters, uint32_t i, const Drawn *drawn) {
        const Network *network = g->bed->learner->runtime->network;
        const float *observation = batch_of(g)->observations + (size_t) i * OBSERVATIONS;
        double left = diffusion_left(network->passes, drawn->boundary + 1), x[ACTIONS], f[ACTIONS], sum = 0;

        for (unsigned k = 0; k < ACTIONS; k++)
                x[k] = sqrt(left) * (double) batch_of(g)->actions[i * ACTIONS + k] +
                       sqrt(1 - left) * drawn->distance[k];
        noise_of(network, parameters, observation, drawn->boundary + 1, x, f);
        for (unsigned k = 0; k < ACTIONS; k++)
                sum += pow(drawn->distance[k] - f[k], 2) / ACTIONS;
        return sum;
}

/* The loss at step 3, where the first critic values the policy's actions and the second gives the scale. */
static double reference_generative_loss(const void *arg, const double *parameters) {
        const Given *g = arg;
        const Runtime *rt = g->bed->learner->runtime;
        bool diffuses = rt->network->act == ACT_DIFFUSION;
        uint32_t n = diffuses ? rt->network->passes + 1 : boundaries_of(g);
        double distances = 0, values = 0, sizes = 0;

        for (uint32_t i = 0; i < ROWS; i++) {
                const float *observation = batch_of(g)->observations + (size_t) i * OBSERVATIONS;
                Drawn drawn = drawn_of(g, RANDOM_POLICY, i, n);
                double action[ACTIONS];

                if (g->bed->settings.algorithm == ALGORITHM_PI_FT)
                        distances += diffused_of(g, parameters, g->nets->parameters[NET_TARGET], observation,
                                        &drawn, action);
                else if (!g->online && diffuses)
                        distances += diffusion_distance(g, parameters, i, &drawn);
                else if (!g->online)
                        distances += consistency_distance(g, parameters, i, &drawn, n);

                sampled_of(g, parameters, observation, &drawn, action);
                values += critic_of(rt->networks[NET_CRITIC], g->nets->parameters[NET_CRITIC], observation,
                                action);
                sampled_of(g, g->nets->parameters[NET_POLICY], observation, &drawn, action);
                sizes += fabs(critic_of(rt->networks[NET_CRITIC], g->nets->parameters[NET_CRITIC_2],
                                observation, action));
        }
        return distances / ROWS - g->eta * values / sizes;
}

static double reference_policy_loss(const void *arg, const double *parameters) {
        const Given *g = arg;
        double sum = 0;

        for (uint32_t i = 0; i < ROWS; i++) {
                const float *observation = batch_of(g)->observations + (size_t) i * OBSERVATIONS;
                double action[ACTIONS], normal[ACTIONS];

                if (g->bed->page.network.act == ACT_DETERMINISTIC) {
                        outputs_of(&g->bed->page.network, parameters, observation, NULL, 0, OUTPUT_ACTION,
                                        action);
                        sum -= (g->q_weight > 0 ? g->lambda : 1) *
                               critic_of(g->bed->learner->runtime->networks[NET_CRITIC],
                                               g->nets->parameters[NET_CRITIC], observation, action);
                        for (unsigned k = 0; g->q_weight > 0 && k < ACTIONS; k++)
                                sum += pow(action[k] - (double) batch_of(g)->actions[i * ACTIONS + k], 2) /
                                       ACTIONS;
                        continue;
                }
                stream_of(g, RANDOM_POLICY, i, normal);
                sum += g->temperature * squashed_of(g, parameters, observation, normal, action);
                sum -= least_of(g, false, observation, action);
        }
        return sum / ROWS;
}

/* Lambda in (5) of Fujimoto & Gu (2021): q_weight over the mean |Q| of the policy's actions. */
static double lambda_of(const Given *g) {
        const Network *critic = g->bed->learner->runtime->networks[NET_CRITIC];
        double sum = 0;

        for (uint32_t i = 0; i < ROWS; i++) {
                const float *observation = batch_of(g)->observations + (size_t) i * OBSERVATIONS;
                double action[ACTIONS];

                outputs_of(&g->bed->page.network, g->nets->parameters[NET_POLICY], observation, NULL, 0,
                                OUTPUT_ACTION, action);
                sum += fabs(critic_of(critic, g->nets->parameters[NET_CRITIC], observation, action));
        }
        return g->q_weight / (sum / ROWS);
}

/* Targets come from the nets as they were before the step. */
static void check_targets(const Given *g, double noise, double noise_clip) {
        const Runtime *rt = g->bed->learner->runtime;
        const Batch *b = batch_of(g);

        for (uint32_t i = 0; i < ROWS; i++) {
                const float *next = b->observations + (size_t) (b->step_rows + i) * OBSERVATIONS;
                double action[ACTIONS], normal[ACTIONS], value = 0;

                stream_of(g, RANDOM_TARGET, i, normal);
                if (act_passes(g->bed->page.network.act)) {
                        Drawn drawn = drawn_of(g, RANDOM_TARGET, i, 2);
                        Net teacher = g->bed->settings.algorithm == ALGORITHM_PI_FT ? NET_POLICY
                                                                                    : NET_TARGET;

                        sampled_of(g, g->nets->parameters[teacher], next, &drawn, action);
                } else if (g->bed->page.network.act == ACT_DETERMINISTIC) {
                        outputs_of(rt->network, g->nets->parameters[NET_TARGET], next, NULL, 0,
                                        OUTPUT_ACTION, action);
                        for (unsigned k = 0; k < ACTIONS; k++)
                                action[k] = CLAMP(action[k] + CLAMP(noise * normal[k], -noise_clip,
                                                                              noise_clip),
                                                -1, 1);
                } else
                        value -= g->temperature *
                                 squashed_of(g, g->nets->parameters[NET_POLICY], next, normal, action);
                value += least_of(g, true, next, action);
                g_assert_cmpfloat_with_epsilon((double) b->target[i],
                                (double) b->scaled[i] + (double) rt->replay->discounts[i] * value, 1e-4);
        }
}

static void check_algorithm(const char *algorithm, const char *learner, double noise, Given g) {
        Nets before = {}, after = {};
        double parameters[256];
        Bed bed = {};

        open_bed(&bed, algorithm, learner);
        g.bed = &bed;
        g.nets = &before;
        for (uint32_t round = 0; round < ROUNDS; round++) {
                nets_read(&bed, &before);
                play(&bed, round);
        }
        check_targets(&g, noise, 0.3);

        /* The newest gradient is the policy's. The critics had taken their steps before it was computed. */
        nets_read(&bed, &after);
        for (Net net = NET_CRITIC; net < NETS_MAX; net += 2)
                memcpy(before.parameters[net], after.parameters[net], sizeof(after.parameters[net]));
        memcpy(parameters, before.parameters[NET_POLICY], sizeof(parameters));
        if (g.q_weight > 0)
                g.lambda = lambda_of(&g);
        differences_check(bed.learner->runtime->gradients[0], parameters, bed.page.network.n_parameters,
                        g.eta > 0 ? reference_generative_loss : reference_policy_loss, &g);

        /* Now the critics' gradients, at the parameters that they have now. */
        for (Net net = NET_CRITIC; net < NETS_MAX && bed.learner->runtime->nets[net]; net += 2) {
                Rows rows = runtime_rows(bed.learner->runtime);
                double loss;

                g.critic = net;
                g_assert_cmpint(runtime_gradient(bed.learner->runtime, g.critic, rows, critics_loss,
                                                &g.critic, &loss, 1),
                                ==, 0);
                memcpy(parameters, after.parameters[g.critic], sizeof(parameters));
                g_assert_cmpfloat_with_epsilon(loss, reference_critic_loss(&g, parameters), 1e-4);
                differences_check(bed.learner->runtime->gradients[0], parameters,
                                bed.learner->runtime->networks[NET_CRITIC]->n_parameters,
                                reference_critic_loss, &g);
        }
        bed_close(&bed);
}

static void test_ddpg(void) {
        check_algorithm("ddpg", "PolicyDelay=1", 0, (Given){});
}

static void test_td3(void) {
        check_algorithm("td3", "PolicyDelay=1\nTargetNoise=0.4\nNoiseClip=0.3", 0.4, (Given){});
}

static void test_sac(void) {
        check_algorithm("sac", "Temperature=0.3", 0, (Given){ .temperature = 0.3 });
}

static void test_td3_bc(void) {
        check_algorithm("td3-bc",
                        "Dataset=a.hdf5\nQWeight=1.5\nPolicyDelay=1\nTargetNoise=0.4\nNoiseClip=0.3", 0.4,
                        (Given){ .q_weight = 1.5 });
}

/* With this StopSteps= the training has a dozen noise levels (boundaries_of()). */
static void test_consistency(const void *passes) {
        g_autofree char *learner = g_strdup_printf(
                        "Dataset=a.hdf5\nEta=40\nPasses=%s\n[Job]\nStopSteps=20000", (const char *) passes);

        check_algorithm("consistency", learner, 0, (Given){ .eta = 40 });
}

static void test_diffusion_ql(const void *passes) {
        g_autofree char *learner =
                        g_strdup_printf("Dataset=a.hdf5\nEta=0.3\nPasses=%s\n", (const char *) passes);

        check_algorithm("diffusion-ql", learner, 0, (Given){ .eta = 0.3 });
}

/* PI-FT keeps the policy near a pretrained one. Here that is the policy with which the job began. */
static void test_pi_ft(const void *passes) {
        g_autofree char *learner = g_strdup_printf("Eta=0.3\nPasses=%s\n", (const char *) passes);

        check_algorithm("pi-ft", learner, 0, (Given){ .eta = 0.3 });
}

static void test_online(void) {
        check_algorithm("consistency", "Passes=2\nEta=0.3", 0, (Given){ .eta = 0.3, .online = true });
        check_algorithm("diffusion-ql", "Passes=5\nEta=0.3", 0, (Given){ .eta = 0.3, .online = true });
}

/* After two steps of the critics (PolicyDelay=2) the policy takes one, and targets move by a quarter. */
static void test_delay(void) {
        Nets before = {}, after = {};
        const Runtime *rt;
        Bed bed = {};

        open_bed(&bed, "td3", "PolicyDelay=2");
        rt = bed.learner->runtime;
        for (uint32_t round = 0; round < 4; round++) {
                nets_read(&bed, &before);
                play(&bed, round);
                nets_read(&bed, &after);
                g_assert_cmpuint(rt->nets[NET_CRITIC]->step, ==, round + 1);
                g_assert_cmpuint(rt->nets[NET_CRITIC_2]->step, ==, round + 1);
                g_assert_cmpuint(rt->nets[NET_POLICY]->step, ==, (round + 1) / 2);
                for (Net net = NET_TARGET; net < NETS_MAX && rt->nets[net]; net += 2)
                        for (size_t i = 0; i < rt->nets[net]->n; i++) {
                                double share = round & 1 ? 0.25 : 0;

                                g_assert_cmpfloat_with_epsilon(after.parameters[net][i],
                                                (1 - share) * before.parameters[net][i] +
                                                                share * after.parameters[net - 1][i],
                                                1e-6);
                        }
        }
        bed_close(&bed);
}

/* A temperature falls while the entropy is above its target, and rises below it. */
static void test_temperature(void) {
        for (int i = 0; i < 2; i++) {
                Bed bed = {};
                double log_temperature;

                open_bed(&bed, "sac", i == 0 ? "TargetEntropy=-20" : "TargetEntropy=20");
                for (uint32_t round = 0; round < 3; round++)
                        play(&bed, round);
                log_temperature = bed.learner->runtime->state[2];
                g_assert_cmpfloat_with_epsilon(log_temperature, i == 0 ? -0.03 : 0.03, 1e-3);
                bed_close(&bed);
        }
}

/* A checkpoint is refused if its temperature, exp(state[2]), is too large for a float. */
static void test_temperature_high(void) {
        double *state;
        Bed bed = {};

        open_bed(&bed, "sac", "");
        state = bed.learner->runtime->state;
        g_assert_true(bed.learner->algorithm->possible(state));
        state[2] = 88;
        g_assert_true(bed.learner->algorithm->possible(state));
        state[2] = 89;
        g_assert_false(bed.learner->algorithm->possible(state));
        state[2] = -1e9;
        g_assert_true(bed.learner->algorithm->possible(state));
        bed_close(&bed);
}

/* Actors choose random actions until learning begins, and then the policy's. The third round begins with 96
 * steps in the replay store. In 6 slots these are 78 windows of 4 steps, fewer than ReplayMin=90. */
static void test_epsilon(void) {
        Bed bed = {};

        open_bed(&bed, "ddpg", "ReplayMin=90\nNSteps=4\nActionNoise=0.25");
        g_assert_cmpfloat(bed.page.network.action_noise, ==, 0.25);
        for (uint32_t round = 0; round < 4; round++) {
                const PolicyHead *head = policy_bank(bed.policy, &bed.page.policy, round);

                g_assert_cmpfloat(head->epsilon, ==, round < 3 ? 1 : 0);
                g_assert_cmpuint(bed.learner->runtime->nets[NET_CRITIC]->step, ==, round < 3 ? 0 : 1);
                play(&bed, round);
        }
        bed_close(&bed);
}

/* Masked inputs have a gradient of exactly 0: if no critic reads the action, the policy stays as it is. */
static void test_edited(void) {
        for (unsigned left = 0; left < 2; left++) {
                /* Five inputs; then the products of each with itself and those after it. */
                g_autofree char *links = g_strdup_printf("InputAugmentation=2\nPolicyDelay=1\nLinkEditing="
                                                         "1 1 1 0 0  1 1 1 0 0  1 1 0 %u  1 0 0  0 0  0",
                                left);
                Bed bed;
                g_autofree float *before = NULL;
                const Adam *policy;

                open_bed(&bed, "ddpg", links);
                policy = bed.learner->runtime->nets[NET_POLICY];
                before = g_memdup2(policy->parameters, policy->n * sizeof(float));
                for (uint32_t round = 0; round < ROUNDS; round++)
                        play(&bed, round);
                g_assert_cmpuint(policy->step, >, 0);
                g_assert_true((memcmp(before, policy->parameters, policy->n * sizeof(float)) == 0) == !left);
                bed_close(&bed);
        }
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/critics/ddpg", test_ddpg);
        g_test_add_func("/critics/td3", test_td3);
        g_test_add_func("/critics/sac", test_sac);
        g_test_add_func("/critics/td3-bc", test_td3_bc);
        g_test_add_data_func("/critics/consistency/1", "1", test_consistency);
        g_test_add_data_func("/critics/consistency/5", "5", test_consistency);
        g_test_add_data_func("/critics/diffusion-ql/1", "1", test_diffusion_ql);
        g_test_add_data_func("/critics/diffusion-ql/5", "5", test_diffusion_ql);
        g_test_add_data_func("/critics/pi-ft/1", "1", test_pi_ft);
        g_test_add_data_func("/critics/pi-ft/5", "5", test_pi_ft);
        g_test_add_func("/critics/online", test_online);
        g_test_add_func("/critics/delay", test_delay);
        g_test_add_func("/critics/temperature", test_temperature);
        g_test_add_func("/critics/temperature-high", test_temperature_high);
        g_test_add_func("/critics/epsilon", test_epsilon);
        g_test_add_func("/critics/edited", test_edited);
        return g_test_run();
}
