/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* iot5g-discrete and iot5g-continuous: give a moving device as much bandwidth and power as its link needs,
 * and no more.
 *
 * The interface is that of "Reinforcement Learning Environment for 5G-Enabled IoT Device Resource
 * Management" (Sherlock and Balyan, IEEE) and of its authors' poster of 2025. The observation is the bit
 * error rate, the allocated bandwidth, the signal power, and the device's distance and angle to the
 * transmitter. An action adjusts bandwidth and power. Reward, ranges, episode and channel are not published.
 * Here they are actord's own model, so results cannot be compared with those of the authors.
 *
 * Bandwidth B = 50 kHz 20^b and power P = -20 dBm + 43 dB p, with b and p in [0, 1]. A continuous action
 * moves b by at most 0.1 and p by at most 0.1; a discrete one is a row and a column of three, 3 i + j: i
 * moves b by -0.05, 0 or 0.05, j moves p by as much. The device walks in a sector of 120 degrees, 20 to 200
 * m away. Its radial and angular velocities are Gauss-Markov processes that turn at the edges. Let d be the
 * distance and phi the angle. Then:
 *
 *     received = P - (32.4 + 20 log10 3.5 + 31.9 log10 d) - min(12 (phi / 65 degrees)^2, 30) - shadowing
 *     SNR      = received - (-174 + 9 + 10 log10 B), both in dB
 *     BER      = 0.2 exp(-1.5 snr / (2^(R/B) - 1)), at least 1e-9, R = 250 kbit/s
 *
 * These are: path loss over a logarithmic distance; the sector antenna of 3GPP TR 38.901; thermal noise with
 * a noise figure of 9 dB; and the bound of M-QAM at R/B bits for each symbol (Goldsmith, Wireless
 * Communications, chapter 9), used for any R/B. Shadowing is an AR(1) process of ShadowingStd dB. A step is
 * a second. The reward is
 *
 *     -|log10 BER - TargetLogBER| - BandwidthWeight b - PowerWeight p */
#include <math.h>

#include "actor/envs/builtin.h"
#include "actor/envs/option.h"
#include "actor/envs/picture.h"
#include "actor/envs/state.h"
#include "include/environment-options.h"
#include "lib/space.h"

#define BANDWIDTH_MIN_HZ 50e3
#define BANDWIDTH_RATIO  20.0
#define POWER_MIN_DBM    -20.0
#define POWER_RANGE_DB   43.0
#define RATE             250e3
#define CARRIER_GHZ      3.5
#define NOISE_DBM_HZ     (-174.0 + 9.0)
#define LOG_BER_MIN      -9.0
#define DISTANCE_MIN     20.0
#define DISTANCE_MAX     200.0
#define ANGLE_MAX        (M_PI / 3)
#define BEAM_WIDTH       (65 * M_PI / 180)
#define BEAM_LOSS_MAX    30.0
#define MEMORY           0.9 /* how much velocities and shadowing keep from one second to the next */
#define RADIAL_STD       1.5
#define ANGULAR_STD      0.02
#define SHIFT_CONTINUOUS 0.1
#define SHIFT_DISCRETE   0.05
#define DEVIATION_MAX    1000.0 /* limit of a snapshot's velocities and shadowing; no draw reaches it */

enum { BANDWIDTH, POWER, DISTANCE, ANGLE, RADIAL, ANGULAR, SHADOWING, N_STATE, N_OBSERVATION = 5 };

typedef struct Link {
        double state[N_STATE];
        double target, bandwidth_weight, power_weight, shadowing_std;
        bool continuous;
} Link;

#define ENV_INSTANCE Link
static const EnvOption link_options[] = { IOT5G_OPTIONS(ENV_OPTION) };

static int link_init(void *instance, const ActordOption *options, uint32_t n_options) {
        Link *l = instance;

        *l = (Link){};
        return env_options_parse(ENV_OPTIONS(link_options), options, n_options, l);
}

static int continuous_init(void *instance, const ActordOption *options, uint32_t n_options) {
        Link *l = instance;
        int r;

        r = link_init(instance, options, n_options);
        l->continuous = true;
        return r;
}

static int link_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        Link l;
        int r;

        r = link_init(&l, options, n_options);
        if (r < 0)
                return r;

        *ret = (ActordEnvSpec){
                .name = "iot5g-discrete",
                .observation = space_of_numbers(N_OBSERVATION, -1, 1),
                .action = space_of_choices(9),
                .horizon_steps = 200,
                .n_agents = 1,
                .reward_low = LOG_BER_MIN - l.bandwidth_weight - l.power_weight,
                .reward_high = 0,
                .solved_return = NAN,
                .instance_bytes = sizeof(Link),
                .snapshot_bytes = sizeof(l.state),
        };
        return 0;
}

static int continuous_spec(const ActordOption *options, uint32_t n_options, ActordEnvSpec *ret) {
        ActordEnvSpec spec;
        int r;

        r = link_spec(options, n_options, &spec);
        if (r < 0)
                return r;

        strcpy(spec.name, "iot5g-continuous");
        spec.action = space_of_numbers(2, -1, 1);
        *ret = spec;
        return 0;
}

/* log10 of the bit error rate, by the equations at the top of this file. */
static double link_log_ber(const double s[N_STATE]) {
        double bandwidth = BANDWIDTH_MIN_HZ * pow(BANDWIDTH_RATIO, s[BANDWIDTH]);
        double turned = s[ANGLE] / BEAM_WIDTH;
        double loss = 32.4 + 20 * log10(CARRIER_GHZ) + 31.9 * log10(s[DISTANCE]) +
                      fmin(12 * turned * turned, BEAM_LOSS_MAX) + s[SHADOWING];
        double received = POWER_MIN_DBM + POWER_RANGE_DB * s[POWER] - loss;
        double snr = pow(10, (received - NOISE_DBM_HZ - 10 * log10(bandwidth)) / 10);

        return fmax(log10(0.2) - 1.5 * snr / (exp2(RATE / bandwidth) - 1) * M_LOG10E, LOG_BER_MIN);
}

static void link_observe(const Link *l, void *ret_observation) {
        const double *s = l->state;
        float observation[N_OBSERVATION] = { (float) (link_log_ber(s) / -LOG_BER_MIN), (float) s[BANDWIDTH],
                (float) s[POWER], (float) (s[DISTANCE] / DISTANCE_MAX), (float) (s[ANGLE] / ANGLE_MAX) };

        memcpy(ret_observation, observation, sizeof(observation));
}

static int link_reset(void *instance, ActordRandom *random, void *ret_observation) {
        Link *l = instance;
        double *s = l->state;

        s[BANDWIDTH] = actord_random_uniform(random, 0, 1);
        s[POWER] = actord_random_uniform(random, 0, 1);
        s[DISTANCE] = actord_random_uniform(random, DISTANCE_MIN, DISTANCE_MAX);
        s[ANGLE] = actord_random_uniform(random, -ANGLE_MAX, ANGLE_MAX);
        s[RADIAL] = RADIAL_STD * actord_random_normal(random);
        s[ANGULAR] = ANGULAR_STD * actord_random_normal(random);
        s[SHADOWING] = l->shadowing_std * actord_random_normal(random);
        link_observe(l, ret_observation);
        return 0;
}

/* The next value of a Gauss-Markov process with the standard deviation `deviation`. */
static double wander(double x, double deviation, ActordRandom *random) {
        return MEMORY * x + sqrt(1 - MEMORY * MEMORY) * deviation * actord_random_normal(random);
}

/* Walks for one second along one coordinate, and turns round at its ends. */
static void walk(double *place, double *speed, double low, double high) {
        double next = *place + *speed;

        if (next < low || next > high)
                *speed = -*speed;
        *place = fmin(fmax(next, low), high);
}

static int link_action(const Link *l, const void *action, double ret[2]) {
        float raw[2];
        int32_t choice, row;

        if (!l->continuous) {
                memcpy(&choice, action, sizeof(choice));
                if (choice < 0 || choice >= 9)
                        return -EINVAL;
                row = choice / 3 - 1;
                ret[0] = SHIFT_DISCRETE * row;
                ret[1] = SHIFT_DISCRETE * (choice % 3 - 1);
                return 0;
        }

        memcpy(raw, action, sizeof(raw));
        if (isnan(raw[0]) || isnan(raw[1]))
                return -EINVAL;
        for (int i = 0; i < 2; i++)
                ret[i] = SHIFT_CONTINUOUS * fmin(fmax((double) raw[i], -1), 1);
        return 0;
}

static int link_step(void *instance, const void *action, ActordRandom *random, void *ret_observation,
                ActordStep *ret) {
        Link *l = instance;
        double *s = l->state, shift[2];
        int r;

        r = link_action(l, action, shift);
        if (r < 0)
                return r;

        s[BANDWIDTH] = fmin(fmax(s[BANDWIDTH] + shift[0], 0), 1);
        s[POWER] = fmin(fmax(s[POWER] + shift[1], 0), 1);
        s[RADIAL] = wander(s[RADIAL], RADIAL_STD, random);
        s[ANGULAR] = wander(s[ANGULAR], ANGULAR_STD, random);
        s[SHADOWING] = wander(s[SHADOWING], l->shadowing_std, random);
        walk(&s[DISTANCE], &s[RADIAL], DISTANCE_MIN, DISTANCE_MAX);
        walk(&s[ANGLE], &s[ANGULAR], -ANGLE_MAX, ANGLE_MAX);
        link_observe(l, ret_observation);

        *ret = (ActordStep){ .reward = -fabs(link_log_ber(s) - l->target) -
                                       l->bandwidth_weight * s[BANDWIDTH] - l->power_weight * s[POWER] };
        return 0;
}

static bool link_valid(const double s[N_STATE]) {
        return s[BANDWIDTH] >= 0 && s[BANDWIDTH] <= 1 && s[POWER] >= 0 && s[POWER] <= 1 &&
               s[DISTANCE] >= DISTANCE_MIN && s[DISTANCE] <= DISTANCE_MAX && fabs(s[ANGLE]) <= ANGLE_MAX &&
               fabs(s[RADIAL]) <= DEVIATION_MAX && fabs(s[ANGULAR]) <= DEVIATION_MAX &&
               fabs(s[SHADOWING]) <= DEVIATION_MAX;
}

/* Accepts a valid state, and a state of zeros: an instance that never began an episode has that one. */
static bool link_possible(const double state[N_STATE]) {
        for (int i = 0; i < N_STATE; i++)
                if (state[i] != 0)
                        return link_valid(state);
        return true;
}

ENV_STATE(link, Link)

/* Draws the mast, its sector and the device from above, and three bars. The bars are bandwidth, power, and
 * how many decades the bit error rate is above or below the target; the last bar is green while this is less
 * than one decade. A step of 1 s is shown for a tenth of a second. */
static int link_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes) {
        const Link *l = instance;
        const double *s = l->state, scale = 4 / DISTANCE_MAX;
        double off = fabs(link_log_ber(s) - l->target);
        const double bars[] = { s[BANDWIDTH], s[POWER], fmin(off / 5, 1) };
        const uint32_t colours[] = { COLOUR_BLUE, COLOUR_YELLOW, off < 1 ? COLOUR_GREEN : COLOUR_RED };
        Picture p = picture_begin(ret_view, ret_shapes, -0.5, -2.4, 6.7, 2.4, 0.1, COLOUR_PAPER);

        for (int i = -8; i < 8; i++) {
                double a = ANGLE_MAX * i / 8, b = ANGLE_MAX * (i + 1) / 8;

                picture_polygon(&p,
                                (const double[][2]){ { 0, 0 }, { 4 * cos(a), 4 * sin(a) },
                                                { 4 * cos(b), 4 * sin(b) } },
                                3, 0.01, COLOUR_PALE);
        }
        picture_disc(&p, 0, 0, 0.15, COLOUR_INK);
        picture_disc(&p, scale * s[DISTANCE] * cos(s[ANGLE]), scale * s[DISTANCE] * sin(s[ANGLE]), 0.12,
                        COLOUR_RED);
        for (int i = 0; i < 3; i++) {
                double left = 4.6 + 0.7 * i;

                picture_box(&p, left, -1.5, left + 0.5, 1.5, COLOUR_PALE);
                picture_box(&p, left, -1.5, left + 0.5, -1.5 + 3 * bars[i], colours[i]);
        }
        return 0;
}

#define LINK_ENV(spec_function, init_function)                                                       \
        {                                                                                            \
                .spec = spec_function, .init = init_function, .step = link_step, ENV_STATE_OF(link), \
                .draw = link_draw,                                                                   \
        }

const ActordEnv iot5g_discrete_env = LINK_ENV(link_spec, link_init);
const ActordEnv iot5g_continuous_env = LINK_ENV(continuous_spec, continuous_init);
