/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts of PPO, for algorithms that apply it to other observations. They are those of Algorithm. */
#pragma once

#include "learner/algorithm/algorithm.h"

void ppo_init(const JobSettings *settings, double state[ALGORITHM_STATE_MAX]);
int ppo_learn(Runtime *runtime);
void ppo_plain(Runtime *runtime, Tape *tape);
