/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* More MuJoCo tasks against Gymnasium: those that observe, reset or reward in a way of their own. */
#include "tests/unit/mujoco-fixture.h"

/* Written by Gymnasium 1.4.0 on MuJoCo 4.0.0, as in test-mujoco.c; the place is read after mj_forward(). */
/* clang-format off */
static const Reference references[] = {
        {
                .name = "Swimmer-v4",
                .n_body = 4, .nq = 5, .nv = 5, .nu = 2,
                .mass = { 0, 35.6047167407, 35.6047167407, 35.6047167407 },
                .inertia0 = { 106.914150222, 106.914150222, 83.0621315984, 96.9469239298, 12.9187452242
                  },
                .damping = { 0, 0, 0, 0, 0 },
                .stiffness = { 0, 0, 0, 0, 0 },
                .range = { 0, 0, 0, 0, 0, 0, -1.74532925199, 1.74532925199, -1.74532925199, 1.74532925199
                  },
                .gear = { 150, 150 },
                .qpos = { 0, -0.002685546875, 0.001220703125, -0.004150390625, -0.00390625 },
                .qvel = { 0.00341796875, -0.00341796875, 0.000732421875, 0.004150390625, -0.004150390625
                  },
                .steps = {
                        { { 1, -0.25 }, 0.00532184755, { -0.0264670235, 0.047894798, -0.0442731736,
                          0.0114757205, 1.3430479, -1.33758471, 2.51229347, -1.94978745 } },
                        { { -0.875, -0.75 }, -0.000594330854, { -0.0604392311, 0.122891718, -0.124675547,
                          -0.020717806, 0.504966471, -0.395644418, 1.28524494, -2.07359997 } },
                        { { 0.625, 0.625 }, -0.0104489914, { -0.0851493452, 0.180649239, -0.191283152,
                          0.00545319852, 0.844970691, -0.831980592, 1.60261121, -1.28808236 } },
                        { { -0.75, -0.125 }, -0.00552367195, { -0.0993758819, 0.212881679, -0.225739406,
                          -0.0175490366, -0.0509482824, 0.100633301, 0.0452820009, -0.461812779 } },
                        { { -0.75, 0.625 }, -0.00634688472, { -0.0718922722, 0.165821626, -0.196302423,
                          0.00876846451, -1.24672224, 1.24354233, -2.3457767, 1.89622442 } },
                        { { -0.875, -0.625 }, 0.00918557833, { -0.0107570003, 0.059524696, -0.129543121,
                          0.0217536593, -1.70825388, 1.77846887, -2.92290632, 1.44159161 } },
                },
        },
};
/* clang-format on */

/* Gymnasium's figures over 30,000 to 40,000 steps. */
static void test_random_play(void) {
        static const RandomPlay cases[] = {
                { "Swimmer-v4", 20, -1.96, 7.29, 1000 },
        };

        if (!have_module())
                return;

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                check_random_play(&cases[i]);
}

static void test_room_for_contacts(void) {
        if (!have_module())
                return;

        for (size_t i = 0; i < G_N_ELEMENTS(references); i++)
                check_room(references[i].name, 4000);
}

int main(int argc, char *argv[]) {
        g_test_init(&argc, &argv, NULL);

        for (size_t i = 0; i < G_N_ELEMENTS(references); i++) {
                g_autofree char *model = g_strdup_printf("/mujoco-more/%s/model", references[i].name);
                g_autofree char *steps = g_strdup_printf("/mujoco-more/%s/first-steps", references[i].name);

                g_test_add_data_func(model, &references[i], test_model);
                g_test_add_data_func(steps, &references[i], test_first_steps);
        }
        g_test_add_func("/mujoco-more/random-play", test_random_play);
        g_test_add_func("/mujoco-more/room-for-contacts", test_room_for_contacts);

        return g_test_run();
}
