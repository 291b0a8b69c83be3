/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A robot seen from far away, so that nothing grows smaller with its distance: then a sphere is a disc and a capsule a stroke with round
 * ends, which is all that our models are made of (and Pusher's upright cylinders are discs from above), and neither OpenGL nor a graphics driver is needed. Bodies' places lag behind qpos by
 * a stage of the integrator, which is less than eyes can tell. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "actor/envs/mujoco/engine.h"
#include "actor/envs/picture.h"

/* Two shapes and a shadow each, besides the floor's tiles: so many in each direction, half of them drawn. */
enum { GEOMS_MAX = 128, TILES = 8 };

typedef struct Eye {
        double right[3], up[3], forward[3];
        bool floor_seen; /* from above, not edge on */
} Eye;

static_assert(3 * GEOMS_MAX + (2 * TILES + 1) * (2 * TILES + 1) / 2 < ACTORD_SHAPES_MAX, "all is drawn");

/* Of the oblique one: 20 degrees to the side, 25 degrees down. */
#define SIDE_SINE   0.342020143325669
#define SIDE_COSINE 0.939692620785908
#define DOWN_SINE   0.422618261740699
#define DOWN_COSINE 0.906307787036650
#define ASPECT      1.5
#define OUTLINE     (1 / 250.0) /* of the picture's width */

static const Eye eyes[] = {
        [MUJOCO_SEEN_ASIDE] = { { 1, 0, 0 }, { 0, 0, 1 }, { 0, 1, 0 }, false },
        [MUJOCO_SEEN_ABOVE] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, -1 }, true },
        [MUJOCO_SEEN_ASLANT] = { { SIDE_COSINE, -SIDE_SINE, 0 },
                        { SIDE_SINE * DOWN_SINE, SIDE_COSINE *DOWN_SINE, DOWN_COSINE },
                        { SIDE_SINE * DOWN_COSINE, SIDE_COSINE *DOWN_COSINE, -DOWN_SINE }, true },
};

typedef struct Stroke {
        double ends[2][3], radius, depth;
        int body;
} Stroke;

static double along(const double axis[3], const double at[3]) {
        return axis[0] * at[0] + axis[1] * at[1] + axis[2] * at[2];
}

static void project(const Eye *eye, const double at[3], double ret[2]) {
        ret[0] = along(eye->right, at);
        ret[1] = along(eye->up, at);
}

/* In the order in which they are painted: what is far away first. */
static int compare(const void *a, const void *b) {
        double x = ((const Stroke *) a)->depth, y = ((const Stroke *) b)->depth;

        return (x < y) - (x > y);
}

static int collect(const MujocoInstance *m, const Eye *eye, Stroke *ret) {
        int n = 0;

        for (int g = 0; g < m->model->ngeom && n < GEOMS_MAX; g++) {
                const mjtNum *at = m->data->geom_xpos + 3 * g, *axes = m->data->geom_xmat + 9 * g;
                const mjtNum *size = m->model->geom_size + 3 * g;
                Stroke *s = &ret[n];

                if (m->model->geom_type[g] == mjGEOM_PLANE)
                        continue;
                *s = (Stroke){ .radius = size[0], .body = m->model->geom_bodyid[g] };
                for (int k = 0; k < 3; k++) {
                        double half = m->model->geom_type[g] == mjGEOM_CAPSULE ? size[1] * axes[3 * k + 2]
                                                                               : 0;

                        s->ends[0][k] = at[k] - half;
                        s->ends[1][k] = at[k] + half;
                }
                s->depth = along(eye->forward, at);
                n++;
        }
        qsort(ret, (size_t) n, sizeof(*ret), compare);
        return n;
}

static uint32_t colour_of(const MujocoInstance *m, int body) {
        const char *name = m->model->names + m->model->name_bodyadr[body];

        if (body == 0)
                return COLOUR_GREY;
        if (strcmp(name, "target") == 0 || strcmp(name, "goal") == 0)
                return COLOUR_RED;
        return strstr(name, "left") ? COLOUR_SHADE : COLOUR_WOOD;
}

static void draw_stroke(
                Picture *p, const Eye *eye, const Stroke *s, double radius, bool flat, uint32_t colour) {
        double ends[2][2];

        for (int i = 0; i < 2; i++) {
                const double at[3] = { s->ends[i][0], s->ends[i][1], flat ? 0 : s->ends[i][2] };

                project(eye, at, ends[i]);
        }
        picture_line(p, ends[0][0], ends[0][1], ends[1][0], ends[1][1], radius, colour);
}

/* A chessboard that shows how far it has gone. */
static void draw_floor(Picture *p, const Eye *eye, const double middle[3], double tile) {
        double x0 = floor(middle[0] / tile), y0 = floor(middle[1] / tile);

        for (int i = -TILES; i <= TILES; i++)
                for (int k = -TILES; k <= TILES; k++) {
                        double corners[4][2];

                        if (fmod(fabs(x0 + i + y0 + k), 2) != 0)
                                continue;
                        for (int c = 0; c < 4; c++)
                                project(eye,
                                                (const double[3]){ (x0 + i + (c == 1 || c == 2)) * tile,
                                                                (y0 + k + (c >= 2)) * tile, 0 },
                                                corners[c]);
                        picture_polygon(p, (const double(*)[2]) corners, 4, 0, COLOUR_PALE);
                }
}

/* The ground in section. */
static void draw_ground(Picture *p, double tile) {
        const ActordView *view = p->view;

        for (double x = floor(view->left / tile); x * tile < view->right; x++)
                picture_box(p, x * tile, view->bottom, (x + 1) * tile, 0,
                                fmod(fabs(x), 2) == 0 ? COLOUR_PALE : COLOUR_GREY);
}

int mujoco_draw(const void *instance, ActordView *ret_view, ActordShape *ret_shapes) {
        const MujocoInstance *m = instance;
        const MujocoTask *task = m->task;
        const Eye *eye = &eyes[task->seen];
        double width = task->seen_width, height = width / ASPECT, tile = width / 6, middle[3] = {}, at[2];
        double outline = width * OUTLINE;
        Stroke strokes[GEOMS_MAX];
        Picture p;
        int n;

        if (!task->seen_fixed) {
                middle[0] = m->data->xpos[3];
                middle[1] = eye->floor_seen ? m->data->xpos[4] : 0;
        }
        middle[2] = task->seen_height;
        project(eye, middle, at);
        p = picture_begin(ret_view, ret_shapes, at[0] - width / 2, at[1] - height / 2, at[0] + width / 2,
                        at[1] + height / 2, m->model->opt.timestep * task->frame_skip, COLOUR_PAPER);

        n = collect(m, eye, strokes);
        if (eye->floor_seen)
                draw_floor(&p, eye, middle, tile);
        else if (!task->seen_fixed)
                draw_ground(&p, tile);
        for (int i = 0; i < n && task->seen == MUJOCO_SEEN_ASLANT; i++)
                draw_stroke(&p, eye, &strokes[i], strokes[i].radius * 0.8, true, COLOUR_GREY);
        for (int i = 0; i < n; i++) {
                draw_stroke(&p, eye, &strokes[i], strokes[i].radius + outline / 2, false, COLOUR_INK);
                draw_stroke(&p, eye, &strokes[i], strokes[i].radius - outline / 2, false,
                                colour_of(m, strokes[i].body));
        }
        return 0;
}
