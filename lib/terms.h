/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reward= and Terminate= of a user's own model, as a line of a job file: "velocity slide 1, control -0.001"
 * and "z torso <= 0.7, abs position hinge >= 0.2". The list of quantities is fixed, and each term has one of
 * them: there are no expressions. The names of a model's parts are not looked up here, so a line can be
 * checked without the model. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TERMS_MAX      16u
#define TERM_NAMES_MAX 2u
#define TERM_NAME_MAX  64u
#define TERM_LIMIT     1e6 /* the largest weight or threshold, so that no sum overflows */

/* X(NAME, word, number of names that follow, meaning) */
#define QUANTITIES(X)                                                                            \
        X(ALIVE, "alive", 0, "1 at each step")                                                   \
        X(HEALTHY, "healthy", 0, "1 at each step that does not end the episode")                 \
        X(CONTROL, "control", 0, "the sum of the squares of the controls")                       \
        X(LARGEST, "largest", 0, "the largest size of an observed position or of a velocity")    \
        X(POSITION, "position", 1, "of a hinge (radians) or slide joint (metres)")               \
        X(VELOCITY, "velocity", 1, "of that position, over the step")                            \
        X(X, "x", 1, "of a body or site")                                                        \
        X(Y, "y", 1, "of a body or site")                                                        \
        X(Z, "z", 1, "of a body or site: its height")                                            \
        X(VX, "vx", 1, "velocity along x of a body or site, over the step")                      \
        X(VY, "vy", 1, "the same along y")                                                       \
        X(VZ, "vz", 1, "the same along z")                                                       \
        X(UPRIGHT, "upright", 1, "the cosine between a body's or site's z axis and the world's") \
        X(DISTANCE, "distance", 2, "between two bodies or sites")

typedef enum Quantity {
#define X(name, word, n_names, help) QUANTITY_##name,
        QUANTITIES(X)
#undef X
                        _QUANTITY_MAX,
} Quantity;

typedef enum TermTransform { TERM_AS_IS, TERM_ABS, TERM_SQUARE, _TERM_TRANSFORM_MAX } TermTransform;
typedef enum TermComparison {
        TERM_LESS,
        TERM_LESS_OR_EQUAL,
        TERM_GREATER,
        TERM_GREATER_OR_EQUAL,
        _TERM_COMPARISON_MAX
} TermComparison;

typedef enum TermsKind { TERMS_REWARD, TERMS_TERMINATE } TermsKind;

typedef struct Term {
        uint32_t quantity, transform;
        uint32_t comparison; /* for TERMINATE */
        char names[TERM_NAMES_MAX][TERM_NAME_MAX];
        double number; /* a weight or a threshold */
} Term;

typedef struct Terms {
        uint32_t n;
        Term terms[TERMS_MAX];
} Terms;

const char *quantity_to_string(uint32_t quantity);
uint32_t quantity_names(uint32_t quantity);

/* 0; -EINVAL with a message about the wrong term. An empty text has no terms. */
int terms_parse(const char *text, TermsKind kind, Terms *ret, char *message, size_t n_message);
