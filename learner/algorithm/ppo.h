/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The functions of PPO's Algorithm, for algorithms that apply PPO to other observations. */
#pragma once

#include "learner/algorithm/algorithm.h"

void ppo_init(const JobSettings *settings, double state[ALGORITHM_STATE_MAX]);
int ppo_learn(Runtime *runtime);
void ppo_plain(Runtime *runtime, Tape *tape);
