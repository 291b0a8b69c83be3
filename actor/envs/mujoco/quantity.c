/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The quantities of lib/terms.h on MuJoCo's data. As in the rewards of Gymnasium's robots, velocities are
 * differences over the step, and not qvel. */
#include "actor/envs/mujoco/quantity.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_velocity(uint32_t quantity) {
        return quantity == QUANTITY_VELOCITY || quantity == QUANTITY_VX || quantity == QUANTITY_VY ||
               quantity == QUANTITY_VZ;
}

static int find_joint(const mjModel *model, const char *name, int *ret, char *message, size_t n) {
        int id = mj_name2id(model, mjOBJ_JOINT, name);

        if (id < 0) {
                (void) snprintf(message, n, "the model has no joint %s", name);
                return -EINVAL;
        }
        if (model->jnt_type[id] != mjJNT_HINGE && model->jnt_type[id] != mjJNT_SLIDE) {
                (void) snprintf(message, n,
                                "joint %s is neither a hinge nor a slide, so it has no single position",
                                name);
                return -EINVAL;
        }
        *ret = id;
        return 0;
}

static int measure_find(const Term *term, const mjModel *model, Measure *ret, char *message, size_t n) {
        *ret = (Measure){ .term = *term, .slot = -1 };
        for (uint32_t i = 0; i < quantity_names(term->quantity); i++) {
                const char *name = term->names[i];
                int r;

                if (term->quantity == QUANTITY_POSITION || term->quantity == QUANTITY_VELOCITY) {
                        r = find_joint(model, name, &ret->parts[i].id, message, n);
                        if (r < 0)
                                return r;
                        continue;
                }
                ret->parts[i].id = mj_name2id(model, mjOBJ_BODY, name);
                if (ret->parts[i].id < 0) {
                        ret->parts[i].id = mj_name2id(model, mjOBJ_SITE, name);
                        ret->parts[i].site = true;
                }
                if (ret->parts[i].id < 0) {
                        (void) snprintf(message, n, "the model has no body and no site %s", name);
                        return -EINVAL;
                }
        }
        return 0;
}

int measures_find(const Terms *terms, const mjModel *model, int *n_slots, Measures *ret, char *message,
                size_t n_message) {
        assert(terms);
        assert(model);
        assert(ret);

        ret->n = terms->n;
        for (uint32_t i = 0; i < terms->n; i++) {
                char reason[128];
                int r;

                r = measure_find(&terms->terms[i], model, &ret->all[i], reason, sizeof(reason));
                if (r < 0) {
                        (void) snprintf(message, n_message, "term %u (%s): %s", i + 1,
                                        quantity_to_string(terms->terms[i].quantity), reason);
                        return r;
                }
                if (is_velocity(terms->terms[i].quantity))
                        ret->all[i].slot = (*n_slots)++;
        }
        return 0;
}

static const mjtNum *position_of(const mjData *data, const Measure *m, int part) {
        return (m->parts[part].site ? data->site_xpos : data->xpos) + 3 * m->parts[part].id;
}

static double distance(const mjtNum *a, const mjtNum *b) {
        double squares = 0;

        for (int i = 0; i < 3; i++)
                squares += (a[i] - b[i]) * (a[i] - b[i]);
        return sqrt(squares);
}

static double largest(const MeasureOf *of) {
        double most = 0;

        for (int i = of->n_skipped; i < of->model->nq; i++)
                most = fmax(most, fabs(of->data->qpos[i]));
        for (int i = 0; i < of->model->nv; i++)
                most = fmax(most, fabs(of->data->qvel[i]));
        return most;
}

/* The value of a quantity that is a function of the positions. For a velocity: the position that changes at
 * this velocity. */
static double place_of(const Measure *m, const mjModel *model, const mjData *data) {
        switch ((Quantity) m->term.quantity) {
        case QUANTITY_POSITION:
        case QUANTITY_VELOCITY: return data->qpos[model->jnt_qposadr[m->parts[0].id]];
        case QUANTITY_X:
        case QUANTITY_VX: return position_of(data, m, 0)[0];
        case QUANTITY_Y:
        case QUANTITY_VY: return position_of(data, m, 0)[1];
        case QUANTITY_Z:
        case QUANTITY_VZ: return position_of(data, m, 0)[2];
        case QUANTITY_UPRIGHT:
                return (m->parts[0].site ? data->site_xmat : data->xmat)[9 * m->parts[0].id + 8];
        case QUANTITY_DISTANCE: return distance(position_of(data, m, 0), position_of(data, m, 1));
        case QUANTITY_ALIVE:
        case QUANTITY_HEALTHY:
        case QUANTITY_CONTROL:
        case QUANTITY_LARGEST:
        case _QUANTITY_MAX: break;
        }
        return 0;
}

static double number_of(const Measure *m, const MeasureOf *of) {
        switch (m->term.quantity) {
        case QUANTITY_ALIVE: return 1;
        case QUANTITY_HEALTHY: return !of->terminated;
        case QUANTITY_CONTROL: return of->ctrl_squares;
        case QUANTITY_LARGEST: return largest(of);
        }
        if (m->slot >= 0)
                return (place_of(m, of->model, of->data) - of->before[m->slot]) / of->seconds;
        return place_of(m, of->model, of->data);
}

static double transformed(const Measure *m, const MeasureOf *of) {
        double x = number_of(m, of);

        if (m->term.transform == TERM_ABS)
                return fabs(x);
        return m->term.transform == TERM_SQUARE ? x * x : x;
}

void measures_keep(const Measures *measures, const mjModel *model, const mjData *data, double *ret_slots) {
        for (uint32_t i = 0; i < measures->n; i++)
                if (measures->all[i].slot >= 0)
                        ret_slots[measures->all[i].slot] = place_of(&measures->all[i], model, data);
}

double measures_sum(const Measures *measures, const MeasureOf *of) {
        double sum = 0;

        /* in the order of the text, since a sum of floating-point numbers depends on the order */
        for (uint32_t i = 0; i < measures->n; i++)
                sum += measures->all[i].term.number * transformed(&measures->all[i], of);
        return sum;
}

static bool holds(const Term *term, double x) {
        switch ((TermComparison) term->comparison) {
        case TERM_LESS: return x < term->number;
        case TERM_LESS_OR_EQUAL: return x <= term->number;
        case TERM_GREATER: return x > term->number;
        case TERM_GREATER_OR_EQUAL: return x >= term->number;
        case _TERM_COMPARISON_MAX: break;
        }
        return false;
}

bool measures_any(const Measures *measures, const MeasureOf *of) {
        for (uint32_t i = 0; i < measures->n; i++)
                if (holds(&measures->all[i].term, transformed(&measures->all[i], of)))
                        return true;
        return false;
}
