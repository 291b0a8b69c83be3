/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Draws a robot from far away, without perspective. So a sphere is a disc, and a capsule is a line with
 * round ends. The built-in models have only these shapes (Pusher's upright cylinders are discs from above),
 * so neither OpenGL nor a graphics driver is needed. Users' models also have boxes and meshes: a box becomes
 * a hexagon, and a mesh is shown as its bounding box. Bodies' positions lag behind qpos by a stage of the
 * integrator, which is too small to see. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "actor/envs/mujoco/engine.h"
#include "actor/envs/picture.h"

/* A geom is drawn with at most two shapes and a shadow. The floor has 2 * TILES + 1 tiles in each direction;
 * half of them are drawn. */
enum { GEOMS_MAX = 128, TILES = 8 };

typedef struct Eye {
        double right[3], up[3], forward[3];
        bool floor_seen; /* the floor is seen from above, and not from its edge */
} Eye;

static_assert(3 * GEOMS_MAX + (2 * TILES + 1) * (2 * TILES + 1) / 2 < ACTORD_SHAPES_MAX,
                "all shapes are drawn");

/* The oblique view looks 20 degrees to the side and 25 degrees down. */
#define SIDE_SINE   0.342020143325669
#define SIDE_COSINE 0.939692620785908
#define DOWN_SINE   0.422618261740699
#define DOWN_COSINE 0.906307787036650
#define ASPECT      1.5
#define OUTLINE     (1 / 250.0) /* width of outlines, in widths of the picture */

static const Eye eyes[] = {
        [MUJOCO_SEEN_ASIDE] = { { 1, 0, 0 }, { 0, 0, 1 }, { 0, 1, 0 }, false },
        [MUJOCO_SEEN_ABOVE] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, -1 }, true },
        [MUJOCO_SEEN_ASLANT] = { { SIDE_COSINE, -SIDE_SINE, 0 },
                        { SIDE_SINE * DOWN_SINE, SIDE_COSINE *DOWN_SINE, DOWN_COSINE },
                        { SIDE_SINE * DOWN_COSINE, SIDE_COSINE *DOWN_COSINE, -DOWN_SINE }, true },
};

typedef struct Stroke {
        double ends[2][3], radius, depth;
        int geom;
} Stroke;

static double along(const double axis[3], const double at[3]) {
        return axis[0] * at[0] + axis[1] * at[1] + axis[2] * at[2];
}

static void project(const Eye *eye, const double at[3], double ret[2]) {
        ret[0] = along(eye->right, at);
        ret[1] = along(eye->up, at);
}

/* Sorts by depth, since lines that are further away are painted first. */
static int compare(const void *a, const void *b) {
        double x = ((const Stroke *) a)->depth, y = ((const Stroke *) b)->depth;

        return (x < y) - (x > y);
}

/* Half the length of the line between the round ends. */
static double half_length(int type, const mjtNum *size) {
        if (type == mjGEOM_CAPSULE)
                return size[1];
        return type == mjGEOM_CYLINDER ? fmax(0, size[1] - size[0]) : 0;
}

static int collect(const MujocoInstance *m, const Eye *eye, Stroke *ret) {
        int n = 0;

        for (int g = 0; g < m->model->ngeom && n < GEOMS_MAX; g++) {
                const mjtNum *at = m->data->geom_xpos + 3 * g, *axes = m->data->geom_xmat + 9 * g;
                const mjtNum *size = m->model->geom_size + 3 * g;
                Stroke *s = &ret[n];

                if (m->model->geom_type[g] == mjGEOM_PLANE)
                        continue;
                *s = (Stroke){ .radius = size[0], .geom = g };
                for (int k = 0; k < 3; k++) {
                        double half = half_length(m->model->geom_type[g], size) * axes[3 * k + 2];

                        s->ends[0][k] = at[k] - half;
                        s->ends[1][k] = at[k] + half;
                }
                s->depth = along(eye->forward, at);
                n++;
        }
        qsort(ret, (size_t) n, sizeof(*ret), compare);
        return n;
}

static uint32_t colour_of(const MujocoInstance *m, int geom) {
        int body = m->model->geom_bodyid[geom];
        const char *name = m->model->names + m->model->name_bodyadr[body];
        const float *rgba = m->model->geom_rgba + 4 * (size_t) geom;
        uint32_t colour = 0;

        if (m->version == 0) { /* a user's model has its own colours */
                for (int i = 0; i < 3; i++)
                        colour = colour << 8 | (uint32_t) (255 * fmaxf(0, fminf(1, rgba[i])));
                return colour;
        }
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

static bool is_box(const MujocoInstance *m, int geom) {
        int type = m->model->geom_type[geom];

        return type == mjGEOM_BOX || type == mjGEOM_MESH;
}

static int compare_points(const void *a, const void *b) {
        const double *p = a, *q = b;

        if (p[0] != q[0])
                return p[0] > q[0] ? 1 : -1;
        return (p[1] > q[1]) - (p[1] < q[1]);
}

static bool turns_left(const double a[2], const double b[2], const double c[2]) {
        return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) > 0;
}

/* The outline of a box is the convex hull of its projected corners (Andrew's monotone chain). */
static void draw_box(Picture *p, const MujocoInstance *m, const Eye *eye, int geom, double radius, bool flat,
                uint32_t colour) {
        const mjtNum *at = m->data->geom_xpos + 3 * (size_t) geom,
                     *axes = m->data->geom_xmat + 9 * (size_t) geom;
        const mjtNum *size = m->model->geom_size + 3 * (size_t) geom;
        double corners[8][2], hull[17][2];
        uint32_t n = 0;

        for (int c = 0; c < 8; c++) {
                double corner[3];

                for (int k = 0; k < 3; k++)
                        corner[k] = at[k] + (c & 1 ? 1 : -1) * size[0] * axes[3 * k] +
                                    (c & 2 ? 1 : -1) * size[1] * axes[3 * k + 1] +
                                    (c & 4 ? 1 : -1) * size[2] * axes[3 * k + 2];
                if (flat)
                        corner[2] = 0;
                project(eye, corner, corners[c]);
        }
        qsort(corners, 8, sizeof(corners[0]), compare_points);
        for (int pass = 0; pass < 2; pass++) {
                uint32_t first = n;

                for (int i = 0; i < 8; i++) {
                        const double *corner = corners[pass == 0 ? i : 7 - i];

                        while (n >= first + 2 && !turns_left(hull[n - 2], hull[n - 1], corner))
                                n--;
                        memcpy(hull[n++], corner, sizeof(hull[0]));
                }
                n--; /* the last point of one half is the first point of the other */
        }
        if (n >= 3)
                picture_polygon(p, (const double(*)[2]) hull, n, radius, colour);
}

/* A chessboard, which shows how far the robot has moved. */
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

/* Draws the ground, seen from the side, as tiles in two colours. */
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
                if (is_box(m, strokes[i].geom))
                        draw_box(&p, m, eye, strokes[i].geom, 0, true, COLOUR_GREY);
                else
                        draw_stroke(&p, eye, &strokes[i], strokes[i].radius * 0.8, true, COLOUR_GREY);
        for (int i = 0; i < n; i++) {
                uint32_t colour = colour_of(m, strokes[i].geom);

                if (is_box(m, strokes[i].geom)) {
                        draw_box(&p, m, eye, strokes[i].geom, outline, false, COLOUR_INK);
                        draw_box(&p, m, eye, strokes[i].geom, 0, false, colour);
                        continue;
                }
                draw_stroke(&p, eye, &strokes[i], strokes[i].radius + outline / 2, false, COLOUR_INK);
                draw_stroke(&p, eye, &strokes[i], fmax(0, strokes[i].radius - outline / 2), false, colour);
        }
        return 0;
}
