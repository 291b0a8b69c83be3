/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Catch: a ball falls through a board of 10 by 5 fields, one row in each step, and a paddle in the last row
 * has to catch it. The task is from "Recurrent Models of Visual Attention" (Mnih et al., 2014), in bsuite's
 * size. The observation is the board as an image of bytes, 255 for ball and paddle and 0 elsewhere: the
 * smallest task that is learned from pixels. */
#include <math.h>
#include <stdio.h>

#include "actor/envs/builtin.h"
#include "actor/envs/option.h"
#include "actor/envs/picture.h"
#include "actor/envs/state.h"
#include "include/environment-options.h"
#include "lib/space.h"

enum { ROWS = 10, COLUMNS = 5, MIDDLE = COLUMNS / 2, CHOICES = 3, IMAGE_SIZE_MAX = 256 };
enum { BALL_ROW, BALL_COLUMN, PADDLE, N_STATE };

typedef struct Catch {
        double image_size; /* option: pixels along a side; 0: one for each field */
        uint32_t height, width;
        double state[N_STATE]; /* whole numbers */
} Catch;

#define ENV_INSTANCE Catch
static const EnvOption catch_options[] = { CATCH_OPTIONS(ENV_OPTION) };

static int catch_init(void *instance, const ActordOption *options, uint32_t n_options) {
        Catch *game = instance;
        int r;

        r = env_options_parse(ENV_OPTIONS(catch_options), options, n_options, instance);
        if (r < 0)
                return r;
        if (game->image_size > 0 && game->image_size < ROWS) {
                (void) fprintf(stderr, "[Environment] ImageSize=%g: it must be 0, or at least %d\n",
                                game->image_size, ROWS);
                return -EINVAL;
        }

        game->height = game->image_size > 0 ? (uint32_t) game->image_size : ROWS;
        game->width = game->image_size > 0 ? (uint32_t) game->image_size : COLUMNS;
        return 0;
}

static int catch_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        Catch game = {};
        int r;

        r = catch_init(&game, options, n_options);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec) {
                .name = "Catch-v0",
                .observation = {
                        .kind = ACTORD_BOX,
                        .element = ACTORD_U8,
                        .n_dims = 2,
                        .shape = { game.height, game.width },
                        .low = 0,
                        .high = UINT8_MAX,
                },
                .action = space_of_choices(CHOICES),
                .horizon_steps = ROWS - 1,
                .n_agents = 1,
                .reward_low = -1,
                .reward_high = 1,
                .solved_return = NAN,
                .instance_bytes = sizeof(Catch),
                .snapshot_bytes = sizeof(game.state),
        };
        return 0;
}

static void catch_observe(const Catch *game, void *ret_observation) {
        uint8_t *pixel = ret_observation;

        for (uint32_t y = 0; y < game->height; y++) {
                uint32_t row = y * ROWS / game->height;

                for (uint32_t x = 0; x < game->width; x++) {
                        uint32_t column = x * COLUMNS / game->width;
                        bool ball = row == game->state[BALL_ROW] && column == game->state[BALL_COLUMN];
                        bool paddle = row == ROWS - 1 && column == game->state[PADDLE];

                        *pixel++ = ball || paddle ? UINT8_MAX : 0;
                }
        }
}

static int catch_reset(void *instance, ActordRandom *random, void *ret_observation) {
        Catch *game = instance;

        game->state[BALL_ROW] = 0;
        game->state[BALL_COLUMN] = floor(actord_random_uniform(random, 0, COLUMNS));
        game->state[PADDLE] = MIDDLE;
        catch_observe(game, ret_observation);
        return 0;
}

static int catch_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        Catch *game = instance;
        int32_t choice;

        memcpy(&choice, action, sizeof(choice));
        if (choice < 0 || choice >= CHOICES || game->state[BALL_ROW] >= ROWS - 1)
                return -EINVAL;

        game->state[PADDLE] = env_clamp(game->state[PADDLE] + choice - 1, 0, COLUMNS - 1);
        game->state[BALL_ROW]++;
        catch_observe(game, ret_observation);

        *ret = (ActordStep){ .terminated = game->state[BALL_ROW] == ROWS - 1 };
        if (ret->terminated)
                ret->reward = game->state[PADDLE] == game->state[BALL_COLUMN] ? 1 : -1;
        return 0;
}

static bool field_possible(double field, uint32_t n) {
        return field >= 0 && field < n && field == floor(field);
}

static bool catch_possible(const double state[N_STATE]) {
        return field_possible(state[BALL_ROW], ROWS) && field_possible(state[BALL_COLUMN], COLUMNS) &&
               field_possible(state[PADDLE], COLUMNS);
}

ENV_STATE(catch, Catch)

/* Draws the board with its last row at the bottom. A step has no time of its own, and is shown for 0.2 s. */
static int catch_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes) {
        const Catch *game = instance;
        double ball[2] = { game->state[BALL_COLUMN] + 0.5, ROWS - game->state[BALL_ROW] - 0.5 };
        Picture p = picture_begin(
                        ret_view, ret_shapes, -0.5, -0.5, COLUMNS + 0.5, ROWS + 0.5, 0.2, COLOUR_PAPER);

        for (int column = 0; column <= COLUMNS; column++)
                picture_line(&p, column, 0, column, ROWS, 0.02, COLOUR_PALE);
        for (int row = 0; row <= ROWS; row++)
                picture_line(&p, 0, row, COLUMNS, row, 0.02, COLOUR_PALE);
        picture_box(&p, game->state[PADDLE], 0.1, game->state[PADDLE] + 1, 0.4, COLOUR_INK);
        picture_disc(&p, ball[0], ball[1], 0.35, COLOUR_RED);
        return 0;
}

const ActordEnv catch_v0_env = {
        .spec = catch_spec,
        .init = catch_init,
        .step = catch_step,
        ENV_STATE_OF(catch),
        .draw = catch_draw,
};
