/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The options of environments: the keys of [Environment]. Each environment has a list, and each key has a
 * row. The catalogue (include/environments.h) uses the key and the default of a row. The environment's own
 * file makes its parser from the whole row (ENV_OPTION() of actor/envs/option.h). The help of a key is in
 * ENVIRONMENT_OPTIONS, once for all environments that have the key.
 *
 * X(key, kind, member, low, high, default): kind is NUMBER, WHOLE, BOOL or WORD. member: the member of the
 * environment's own struct that holds the value. A number must be between low and high; these may be
 * constants of the environment's file. For a WORD, low is the list of words. A BOOL has neither. */
#pragma once

/* clang-format off */
#define CARTPOLE_OPTIONS(X) \
        X(SuttonBartoReward, BOOL, sutton_barto_reward, , , "no")
#define PENDULUM_OPTIONS(X) \
        X(Gravity, NUMBER, gravity, -1000, 1000, "10")
#define MOUNTAINCAR_OPTIONS(X) \
        X(GoalVelocity, NUMBER, goal_velocity, -SPEED_MAX, SPEED_MAX, "0")
#define CATCH_OPTIONS(X) \
        X(ImageSize, WHOLE, image_size, 0, IMAGE_SIZE_MAX, "0")
#define PHYDRL_CARTPOLE_OPTIONS(X) \
        X(Friction, NUMBER, friction, 0, 20, "5") \
        X(ModelGain, NUMBER, model_gain, 0, 10, "1.2") \
        X(Disturbance, NUMBER, disturbance, 0, 100, "0") \
        X(LyapunovReward, BOOL, lyapunov_reward, , , "no") \
        X(TerminateWhenUnsafe, BOOL, terminate_when_unsafe, , , "no") \
        X(BarePlant, BOOL, bare_plant, , , "no")
#define IOT5G_OPTIONS(X) \
        X(TargetLogBER, NUMBER, target, LOG_BER_MIN, 0, "-5") \
        X(BandwidthWeight, NUMBER, bandwidth_weight, 0, 100, "0.5") \
        X(PowerWeight, NUMBER, power_weight, 0, 100, "1") \
        X(ShadowingStd, NUMBER, shadowing_std, 0, 20, "3")
#define FAAS_OPTIONS(X) \
        X(Agents, WHOLE, agents, 1, N_FUNCTIONS_MAX, "1") \
        X(Neighbours, WHOLE, neighbours, 0, N_FUNCTIONS_MAX - 1, "4") \
        X(SLOSec, NUMBER, slo_seconds, 0, 3600, "2") \
        X(Cores, NUMBER, cores, 0, 1024, "0") \
        X(Stay, NUMBER, stay, 0, 1000000, "0")
#define SHARES_OPTIONS(X) \
        X(Agents, WHOLE, agents, 1, SHARES_JOBS_MAX, "1") \
        X(Jobs, WHOLE, jobs, SHARES_JOBS_MIN, SHARES_JOBS_MAX, "4") \
        X(Cores, NUMBER, cores, 1, CORES_MAX, "8") \
        X(WeightPrice, NUMBER, weight_price, 0, WEIGHT_PRICE, "2") \
        X(Pause, NUMBER, pause, 1, 1000000, "10")
#define TWO_PONDS_OPTIONS(X) \
        X(StormScale, NUMBER, storm_scale, 0, SCALE_MAX, "0") \
        X(FloodWeight, NUMBER, flood_weight, 0, 1e6, "10")
#define LUNARLANDER_OPTIONS(X) \
        X(Gravity, NUMBER, gravity, -12, 0, "-10") \
        X(EnableWind, BOOL, enable_wind, , , "no") \
        X(WindPower, NUMBER, wind_power, 0, 1000, "15") \
        X(TurbulencePower, NUMBER, turbulence_power, 0, 1000, "1.5")
/* Options of all stormwater tasks; theta has one more, and gamma another. */
#define STORMWATER_OPTIONS(X) \
        X(Storms, WORD, storms, storms_words, , "random") \
        X(Storm, WHOLE, storm, 0, N_HELD_OUT, "0") \
        X(Controller, WORD, controller, controller_words, , "agent") \
        X(Actions, WORD, actions, actions_words, , "openings") \
        X(Forecast, BOOL, forecast, , , "yes") \
        X(RewardScale, NUMBER, reward_scale, 1e-9, SCALE_MAX, "1")
#define STORMWATER_THETA_OPTIONS(X) \
        STORMWATER_OPTIONS(X) \
        X(FloodWeight, NUMBER, flood_weight, 0, SCALE_MAX, "1e6")
#define STORMWATER_GAMMA_OPTIONS(X) \
        STORMWATER_THETA_OPTIONS(X) \
        X(LeftWeight, NUMBER, left_weight, 0, 1e12, "7e5")

/* MuJoCo's tasks, as in Gymnasium; actor/envs/mujoco/tasks.h has the largest weights. */
#define MUJOCO_WEIGHT(X, key, member, fallback) X(key, NUMBER, member, -WEIGHT_MAX, WEIGHT_MAX, fallback)
#define MUJOCO_BOUND(X, key, member, fallback)  X(key, NUMBER, member, -INFINITY, INFINITY, fallback)
#define MUJOCO_NOISE(X, fallback) X(ResetNoiseScale, NUMBER, reset_noise_scale, 0, NOISE_MAX, fallback)
#define MUJOCO_EXCLUDE(X) X(ExcludeCurrentPositions, BOOL, exclude_current_positions, , , "yes")
#define MUJOCO_INCLUDE(X) \
        X(IncludeCinert, BOOL, include_cinert, , , "yes") \
        X(IncludeCvel, BOOL, include_cvel, , , "yes") \
        X(IncludeQfrcActuator, BOOL, include_qfrc_actuator, , , "yes") \
        X(IncludeCfrcExt, BOOL, include_cfrc_ext, , , "yes")
/* Two kinds of robots: those that cannot fall, and those whose falls end an episode */
#define MUJOCO_MOVING(X, control) \
        MUJOCO_WEIGHT(X, ForwardRewardWeight, forward_reward_weight, "1") \
        MUJOCO_WEIGHT(X, CtrlCostWeight, ctrl_cost_weight, control)
#define MUJOCO_FALLING(X, reward) \
        MUJOCO_WEIGHT(X, HealthyReward, healthy_reward, reward) \
        X(TerminateWhenUnhealthy, BOOL, terminate_when_unhealthy, , , "yes")
#define MUJOCO_HEIGHT(X, least, most) \
        MUJOCO_BOUND(X, HealthyZMin, healthy_z_min, least) \
        MUJOCO_BOUND(X, HealthyZMax, healthy_z_max, most)
#define MUJOCO_LEANING(X, least, most) \
        MUJOCO_BOUND(X, HealthyAngleMin, healthy_angle_min, least) \
        MUJOCO_BOUND(X, HealthyAngleMax, healthy_angle_max, most)
#define HOPPER_OPTIONS(X) \
        MUJOCO_MOVING(X, "0.001") \
        MUJOCO_FALLING(X, "1") \
        MUJOCO_BOUND(X, HealthyStateMin, healthy_state_min, "-100") \
        MUJOCO_BOUND(X, HealthyStateMax, healthy_state_max, "100") \
        MUJOCO_HEIGHT(X, "0.7", "inf") \
        MUJOCO_LEANING(X, "-0.2", "0.2") \
        MUJOCO_NOISE(X, "0.005") \
        MUJOCO_EXCLUDE(X)
#define WALKER2D_OPTIONS(X) \
        MUJOCO_MOVING(X, "0.001") \
        MUJOCO_FALLING(X, "1") \
        MUJOCO_HEIGHT(X, "0.8", "2") \
        MUJOCO_LEANING(X, "-1", "1") \
        MUJOCO_NOISE(X, "0.005") \
        MUJOCO_EXCLUDE(X)
#define HALFCHEETAH_OPTIONS(X) \
        MUJOCO_MOVING(X, "0.1") \
        MUJOCO_NOISE(X, "0.1") \
        MUJOCO_EXCLUDE(X)
#define SWIMMER_OPTIONS(X) \
        MUJOCO_MOVING(X, "0.0001") \
        MUJOCO_NOISE(X, "0.1") \
        MUJOCO_EXCLUDE(X)
/* Options of v5 only; in v4 of the same task, the value is a constant. */
#define INVERTEDPENDULUM_V5_OPTIONS(X) \
        MUJOCO_NOISE(X, "0.01")
#define INVERTEDDOUBLEPENDULUM_V5_OPTIONS(X) \
        MUJOCO_WEIGHT(X, HealthyReward, healthy_reward, "10") \
        MUJOCO_NOISE(X, "0.1")
#define REACHER_V5_OPTIONS(X) \
        MUJOCO_WEIGHT(X, RewardDistWeight, reward_dist_weight, "1") \
        MUJOCO_WEIGHT(X, RewardControlWeight, reward_control_weight, "1")
#define PUSHER_V5_OPTIONS(X) \
        MUJOCO_WEIGHT(X, RewardNearWeight, reward_near_weight, "0.5") \
        MUJOCO_WEIGHT(X, RewardDistWeight, reward_dist_weight, "1") \
        MUJOCO_WEIGHT(X, RewardControlWeight, reward_control_weight, "0.1")
#define ANT_OPTIONS(X) \
        MUJOCO_WEIGHT(X, CtrlCostWeight, ctrl_cost_weight, "0.5") \
        MUJOCO_WEIGHT(X, ContactCostWeight, contact_cost_weight, "5e-4") \
        MUJOCO_BOUND(X, ContactForceMin, contact_force_min, "-1") \
        MUJOCO_BOUND(X, ContactForceMax, contact_force_max, "1") \
        MUJOCO_FALLING(X, "1") \
        MUJOCO_HEIGHT(X, "0.2", "1") \
        MUJOCO_NOISE(X, "0.1") \
        MUJOCO_EXCLUDE(X)
/* UseContactForces= exists only in v4 of Ant: v5 always subtracts the cost of contacts */
#define ANT_V4_OPTIONS(X) \
        X(UseContactForces, BOOL, include_cfrc_ext, , , "no") \
        ANT_OPTIONS(X)
#define ANT_V5_OPTIONS(X) \
        ANT_OPTIONS(X) \
        MUJOCO_WEIGHT(X, ForwardRewardWeight, forward_reward_weight, "1") \
        X(IncludeCfrcExt, BOOL, include_cfrc_ext, , , "yes")
#define HUMANOID_OPTIONS(X) \
        MUJOCO_WEIGHT(X, ForwardRewardWeight, forward_reward_weight, "1.25") \
        MUJOCO_WEIGHT(X, CtrlCostWeight, ctrl_cost_weight, "0.1") \
        MUJOCO_FALLING(X, "5") \
        MUJOCO_HEIGHT(X, "1", "2") \
        MUJOCO_NOISE(X, "0.01") \
        MUJOCO_EXCLUDE(X)
#define HUMANOID_ONLY_V5_OPTIONS(X) \
        MUJOCO_WEIGHT(X, ContactCostWeight, contact_cost_weight, "5e-7") \
        MUJOCO_BOUND(X, ContactCostMin, contact_cost_min, "-inf") \
        MUJOCO_BOUND(X, ContactCostMax, contact_cost_max, "10") \
        MUJOCO_INCLUDE(X)
#define HUMANOIDSTANDUP_V5_OPTIONS(X) \
        MUJOCO_WEIGHT(X, UphCostWeight, uph_cost_weight, "1") \
        MUJOCO_WEIGHT(X, CtrlCostWeight, ctrl_cost_weight, "0.1") \
        MUJOCO_WEIGHT(X, ImpactCostWeight, contact_cost_weight, "5e-7") \
        MUJOCO_BOUND(X, ImpactCostMin, contact_cost_min, "-inf") \
        MUJOCO_BOUND(X, ImpactCostMax, contact_cost_max, "10") \
        MUJOCO_NOISE(X, "0.01") \
        MUJOCO_EXCLUDE(X) \
        MUJOCO_INCLUDE(X)

/* The options of Environment=mujoco:FILE that are numbers. actor/envs/mujoco/mjcf.c reads those that are
 * texts. */
#define MJCF_NUMBER_OPTIONS(X) \
        X(FrameSkip, WHOLE, frame_skip, 1, FRAMES_MAX, "1") \
        X(Horizon, WHOLE, horizon_steps, 0, HORIZON_MAX, "1000") \
        X(ResetNoise, NUMBER, reset_noise, 0, NOISE_MAX, "0.01") \
        X(SkipPositions, WHOLE, n_skipped, 0, MUJOCO_OBSERVATION_MAX, "0") \
        X(VelocityClip, NUMBER, velocity_limit, 0, INFINITY, "inf")

/* Environment=job:FILE; an option without a default here has its default from the inner job. */
#define JOB_NUMBER_OPTIONS(X) \
        X(Beta, NUMBER, beta, 0, 1e6, JOB_TEXT(JOB_BETA_DEFAULT)) \
        X(Target, NUMBER, target, -JOB_TARGET_MAX, JOB_TARGET_MAX, "") \
        X(Rounds, NUMBER, rounds, 1, JOB_ROUNDS_MAX, JOB_TEXT(JOB_ROUNDS_DEFAULT)) \
        X(Episodes, NUMBER, episodes, 0, JOB_EPISODES_MAX, "")
/* clang-format on */
