/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The convolution of a shard (some rows of a minibatch, learner/gradient.h), forward and backward.
 * convolution.c explains the method and the order of sums. rows is a multiple of 16. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "include/policy.h"

/* How many numbers the working memory of the functions below holds: a copy of the weights in another
 * order. */
size_t convolution_scratch(const Layer *layer);

/* x [n_in][rows] -> y [n_out][rows], without bias */
void convolution_forward(const Layer *layer, const float *weight, const float *x, uint32_t rows,
                float *scratch, float *y);
/* Computes dweight, the gradient by the weights, from dy [n_out][rows], the gradient by the outputs.
 * accumulate: adds it to dweight. */
void convolution_backward_weight(const Layer *layer, const float *dy, const float *x, uint32_t rows,
                bool accumulate, float *dweight);
/* Computes dx [n_in][rows], the gradient by the inputs, from dy. accumulate: adds it to dx. */
void convolution_backward_input(const Layer *layer, const float *weight, const float *dy, uint32_t rows,
                bool accumulate, float *scratch, float *dx);
