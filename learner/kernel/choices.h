/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Actions of one choice or several, each drawn from a categorical distribution of its own. The probability
 * of an action is a product, so logarithms and entropies are sums over its numbers, in order. Columns are as
 * in learner/kernel/kernels.h. */
#pragma once

#include "include/policy.h"
#include "learner/kernel/kernels.h"

/* logits [n_action][stride] become log-probabilities in place. choices: [n_choices][stride]. entropies,
 * [n_choices][stride]: gets the entropy of each number of the action, if it has several numbers. */
void choices_forward(const Network *network, float *logits, const int32_t *choices, uint32_t stride,
                float *entropies, float *ret_log_probability, float *ret_entropy);
/* entropies: from choices_forward(), the entropy of each number of the action. If the action has one number,
 * this is ret_entropy of choices_forward(). */
void choices_backward(const Network *network, const float *log_probabilities, const int32_t *choices,
                uint32_t stride, const float *entropies, const float *d_log_probability,
                const float *d_entropy, float *ret_d_logits);
