/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Stacked frames are stored once, without any effect on learning. An environment that declares its stacks
 * gives the same policy, bit for bit, as one that shows the same frames and declares nothing. One that
 * declares its stacks wrongly is refused. */
#include <errno.h>
#include <glib.h>
#include <math.h>
#include <string.h>

#include "learner/job/loop.h"
#include "lib/rng.h"
#include "lib/settings/settings.h"
#include "lib/slot.h"

enum { FRAMES = 3, SIDE = 6, FRAME = SIDE * SIDE };

/* Frames of noise with a dot that the policy moves; an episode ends or is cut off after some steps. */
typedef struct Camera {
        uint32_t steps, length, at;
        uint8_t stack[FRAMES][FRAME];
} Camera;

static bool claims, truncates, forgets, jumps;

static int camera_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        *ret = (ActordEnvSpec){
                .name = "Camera",
                .observation = { .kind = ACTORD_BOX,
                                .element = ACTORD_U8,
                                .n_dims = 3,
                                .shape = { FRAMES, SIDE, SIDE },
                                .high = 255 },
                .action = { .kind = ACTORD_DISCRETE, .element = ACTORD_I32, .n_choices = 3 },
                .n_agents = 1,
                .reward_low = 0,
                .reward_high = 1,
                .solved_return = NAN,
                .instance_bytes = sizeof(Camera),
                .snapshot_bytes = sizeof(Camera),
                .flags = truncates ? ACTORD_ENV_TRUNCATES : 0,
                .stack = claims ? FRAMES : 0,
        };
        return 0;
}

static int camera_init(void *instance, const ActordOption *options, uint32_t n_options) {
        return 0;
}

static void camera_see(Camera *c, ActordRandom *random) {
        memmove(c->stack[0], c->stack[1], sizeof(c->stack) - FRAME);
        for (uint32_t i = 0; i < FRAME; i++)
                c->stack[FRAMES - 1][i] = (uint8_t) random_below(random, 40);
        c->stack[FRAMES - 1][c->at] = 255;
}

static int camera_reset(void *instance, ActordRandom *random, void *ret_observation) {
        Camera *c = instance;

        c->steps = 0;
        c->length = 1 + random_below(random, 9);
        c->at = random_below(random, FRAME);
        camera_see(c, random);
        for (uint32_t k = 0; k < FRAMES - 1 && !forgets; k++)
                memcpy(c->stack[k], c->stack[FRAMES - 1], FRAME);
        memcpy(ret_observation, c->stack, sizeof(c->stack));
        return 0;
}

static int camera_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        Camera *c = instance;
        int32_t choice;
        bool last;

        memcpy(&choice, action, sizeof(choice));
        c->at = (c->at + (uint32_t) choice) % FRAME;
        camera_see(c, random);
        if (jumps && c->steps == 1)
                c->stack[0][0]++;
        last = ++c->steps >= c->length;
        *ret = (ActordStep){
                .reward = choice == 1,
                .terminated = last && (!truncates || c->length % 2 == 0),
                .truncated = last && truncates && c->length % 2 == 1,
        };
        memcpy(ret_observation, c->stack, sizeof(c->stack));
        return 0;
}

static int camera_snapshot(const void *instance, void *ret) {
        memcpy(ret, instance, sizeof(Camera));
        return 0;
}

static int camera_restore(void *instance, const void *snapshot) {
        memcpy(instance, snapshot, sizeof(Camera));
        return 0;
}

static void camera_close(void *instance) {
}

static const ActordEnv camera = {
        .abi = ACTORD_ENV_ABI,
        .struct_bytes = sizeof(ActordEnv),
        .spec = camera_spec,
        .init = camera_init,
        .reset = camera_reset,
        .step = camera_step,
        .snapshot = camera_snapshot,
        .restore = camera_restore,
        .close = camera_close,
};

static Fused *loop_new(const char *sections) {
        g_autofree char *message = NULL;
        g_autofree char *text = g_strdup_printf(
                        "[Job]\nEnvironment=CartPole-v1\nSeed=11\n[Scaling]\nActors=2\nMaxActors=3\n"
                        "[Actor]\n"
                        "EnvsPerActor=3\nRolloutSteps=16\n%s",
                        sections);
        JobSettings settings;
        Fused *fused;

        if (settings_parse(text, "test.conf", NULL, 0, NULL, &settings, &message) < 0)
                g_error("%s", message);
        g_assert_cmpint(fused_new(&settings, &camera, &fused), ==, 0);
        return fused;
}

static void learn(const char *sections, uint8_t ret_sha256[32]) {
        static const uint32_t counts[] = { 2, 3, 1, 2, 3, 3 };
        Fused *fused = loop_new(sections);

        for (size_t i = 0; i < G_N_ELEMENTS(counts); i++) {
                Statistics statistics;
                FusedTimes times;

                g_assert_cmpint(fused_round(fused, counts[i], &statistics, &times), ==, 0);
        }
        fused_hash_policy(fused, ret_sha256);
        fused_free(fused);
}

#define SEES  "[Learner]\nConvolutions=4x3/1 8x2/1\nActivation=relu\nHiddenLayers=16\n"
#define READS "[Learner]\nHiddenLayers=16\n"
#define DQN                                                                                                \
        "[Job]\nAlgorithm=dqn\n" SEES "MinibatchSize=32\nReplaySize=200\nReplayMin=60\nTargetInterval=3\n" \
        "LearningRate=0.01\nTrainRatio=0.25\n"

static const struct {
        const char *name, *sections;
} cases[] = {
        { "ppo", SEES "Epochs=2\nMinibatchSize=32\n" },
        { "ppo/dense", READS "Epochs=2\nMinibatchSize=32\nNormalizeObservations=yes\n" },
        { "ppo/reset", SEES "Epochs=2\nMinibatchSize=32\n[Actor]\nCarry=reset\n" },
        { "impact", "[Job]\nAlgorithm=impact\n" SEES "Epochs=2\nMinibatchSize=32\nBufferBatches=3\n" },
        { "dqn", DQN },
        { "dqn/windows", DQN "NSteps=4\n" },
        { "dqn/reset", DQN "NSteps=2\n[Actor]\nCarry=reset\n" },
};

static void test_same(gconstpointer data) {
        const char *sections = cases[GPOINTER_TO_SIZE(data)].sections;

        for (unsigned cut = 0; cut <= 1; cut++) {
                uint8_t whole[32], once[32];

                truncates = cut;
                claims = false;
                learn(sections, whole);
                claims = true;
                learn(sections, once);
                g_assert_cmpmem(once, 32, whole, 32);
        }
}

static void expect_refused(void) {
        Fused *fused = loop_new(SEES);
        Statistics statistics;
        FusedTimes times;

        g_assert_cmpint(fused_round(fused, 2, &statistics, &times), ==, -EIO);
        g_assert_cmpuint(fused_fault(fused)->fault, ==, FAULT_ENVIRONMENT);
        g_assert_cmpint(fused_fault(fused)->detail, ==, EPROTO);
        fused_free(fused);
}

/* A round fails if the first stack of an episode is not one frame, repeated, or if a stack's older frames
 * differ from the newer frames of the stack before. */
static void test_lies(void) {
        claims = true;
        truncates = false;
        forgets = true;
        expect_refused();
        forgets = false;
        jumps = true;
        expect_refused();
        jumps = false;
}

/* If the environment declares its stacks, the segment stores one frame for each row and each last
 * observation. */
static void test_bytes(void) {
        SegmentLayout whole, once;
        ActordEnvSpec spec;

        truncates = true;
        claims = false;
        (void) camera_spec(NULL, 0, &spec);
        g_assert_cmpint(segment_layout(&spec, 2, 100, false, 0, &whole), ==, 0);
        claims = true;
        (void) camera_spec(NULL, 0, &spec);
        g_assert_cmpint(segment_layout(&spec, 2, 100, false, 0, &once), ==, 0);
        g_assert_cmpuint(whole.actions_at, >=, 2 * 101 * FRAMES * FRAME);
        g_assert_cmpuint(once.actions_at, <, 2 * 104 * FRAME);
        g_assert_cmpuint(once.snapshots_at[0] - once.finals_at, <, 2 * 101 * FRAME);
        g_assert_cmpuint(once.snapshot_stride, ==, whole.snapshot_stride);
}

/* Whatever ends a hostile actor writes into its segment, stack_reach() stays within the frames of the
 * slot. */
static void test_reach(void) {
        const uint8_t ends[] = { END_NOT, END_NOT, END_TERMINATED, END_NOT, END_NOT, END_TRUNCATED };

        g_assert_cmpuint(stack_reach(ends, 2, 0, 3), ==, 3);
        g_assert_cmpuint(stack_reach(ends, 2, 1, 3), ==, 3);
        g_assert_cmpuint(stack_reach(ends, 2, 2, 3), ==, 3);
        g_assert_cmpuint(stack_reach(ends, 2, 4, 3), ==, 0);
        g_assert_cmpuint(stack_reach(ends, 2, 6, 3), ==, 1);
        g_assert_cmpuint(stack_reach(ends, 2, 7, 3), ==, 0);
        g_assert_cmpuint(stack_back(4, 3, 0), ==, 3);
        g_assert_cmpuint(stack_back(4, 1, 0), ==, 1);
        g_assert_cmpuint(stack_back(4, 3, 3), ==, 0);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *path = g_strdup_printf("/stacks/same/%s", cases[i].name);

                g_test_add_data_func(path, GSIZE_TO_POINTER(i), test_same);
        }
        g_test_add_func("/stacks/lies", test_lies);
        g_test_add_func("/stacks/bytes", test_bytes);
        g_test_add_func("/stacks/reach", test_reach);
        return g_test_run();
}
