/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tests pictures: the shapes that environments draw of themselves, their pixels, and the files with these
 * pixels. */
#include <endian.h>
#include <gio/gio.h>
#include <glib/gstdio.h>

#include "actor/envs/builtin.h"
#include "actor/envs/picture.h"
#include "actorctl/recording/canvas.h"
#include "actorctl/recording/recording.h"
#include "lib/slot.h"
#include "tests/unit/env-fixture.h"

typedef struct Scene {
        ActordView view;
        ActordShape shapes[ACTORD_SHAPES_MAX];
} Scene;

static uint32_t pixel(const Canvas *canvas, uint32_t x, uint32_t y) {
        const uint8_t *p = canvas->pixels + 3 * ((size_t) y * canvas->width + x);

        g_assert_cmpuint(x, <, canvas->width);
        g_assert_cmpuint(y, <, canvas->height);
        return (uint32_t) p[0] << 16 | (uint32_t) p[1] << 8 | p[2];
}

/* The pixel in which a point of the view lies. */
static uint32_t pixel_at(const Canvas *canvas, const ActordView *view, double x, double y) {
        double scale = canvas->width / (view->right - view->left);

        return pixel(canvas, (uint32_t) ((x - view->left) * scale), (uint32_t) ((view->top - y) * scale));
}

static void test_canvas(void) {
        g_autofree Scene *scene = g_new0(Scene, 1);
        Picture p = picture_begin(&scene->view, scene->shapes, 0, 0, 6, 4, 0.02, COLOUR_PAPER);
        Canvas *canvas = canvas_new(&scene->view);
        uint32_t edge;

        g_assert_cmpuint(canvas->width, ==, 600);
        g_assert_cmpuint(canvas->height, ==, 400);

        picture_disc(&p, 1, 1, 0.5, COLOUR_RED);
        picture_line(&p, 2, 1, 4, 1, 0.1, COLOUR_BLUE);
        picture_box(&p, 1, 2, 2, 3.005, COLOUR_GRASS);
        /* An L: not all polygons are convex. */
        picture_polygon(&p,
                        (const double[][2]){ { 3, 2 }, { 5, 2 }, { 5, 2.5 }, { 3.5, 2.5 }, { 3.5, 3.5 },
                                        { 3, 3.5 } },
                        6, 0, COLOUR_INK);
        picture_disc(&p, 1e12, -1e12, 1, COLOUR_RED);
        canvas_paint(canvas, &scene->view, scene->shapes);

        g_assert_cmphex(pixel(canvas, 100, 300), ==, COLOUR_RED);
        g_assert_cmphex(pixel(canvas, 100, 345), ==, COLOUR_RED);
        g_assert_cmphex(pixel(canvas, 100, 355), ==, COLOUR_PAPER);
        g_assert_cmphex(pixel(canvas, 138, 338), ==, COLOUR_PAPER); /* beside the disc */
        g_assert_cmphex(pixel(canvas, 407, 300), ==, COLOUR_BLUE);  /* the round end */
        g_assert_cmphex(pixel(canvas, 409, 308), ==, COLOUR_PAPER);
        g_assert_cmphex(pixel(canvas, 150, 150), ==, COLOUR_GRASS);
        g_assert_cmphex(pixel(canvas, 320, 100), ==, COLOUR_INK);
        g_assert_cmphex(pixel(canvas, 450, 175), ==, COLOUR_INK);
        g_assert_cmphex(pixel(canvas, 450, 100), ==, COLOUR_PAPER);

        /* The upper edge of the box goes through the middle of a row of pixels. */
        edge = pixel(canvas, 150, 99) & 0xff;
        g_assert_cmpuint(edge, >=, 0x99 - 2);
        g_assert_cmpuint(edge, <=, 0x99 + 2);
        (void) canvas_free(canvas);
}

static Canvas *paint(const Env *env, Scene *scene) {
        Canvas *canvas;

        g_assert_cmpint(env->abi->draw(env->instance, &scene->view, scene->shapes), ==, 0);
        canvas = canvas_new(&scene->view);
        canvas_paint(canvas, &scene->view, scene->shapes);
        return canvas;
}

/* The picture shows the pole where it is. */
static void test_cartpole(void) {
        static const double states[][4] = { { 0, 0, 0, 0 }, { 1.5, 0, 0.2, 0 }, { -1, 0, -0.15, 0 } };
        g_autofree Scene *scene = g_new0(Scene, 1);
        g_autoptr(Env) env = env_new("CartPole-v1");

        for (size_t i = 0; i < G_N_ELEMENTS(states); i++) {
                double x = states[i][0], theta = states[i][2];
                Canvas *canvas;

                g_assert_cmpint(env->abi->set_state(env->instance, states[i], env->observation), ==, 0);
                canvas = paint(env, scene);
                for (double along = 0.3; along < 1.0; along += 0.1) {
                        double away = along * sin(theta), up = 0.1 + along * cos(theta);

                        g_assert_cmphex(pixel_at(canvas, &scene->view, x + away, up), ==, COLOUR_WOOD);
                        g_assert_cmphex(pixel_at(canvas, &scene->view, x + away - 0.1, up), ==,
                                        COLOUR_PAPER);
                        g_assert_cmphex(pixel_at(canvas, &scene->view, x + away + 0.1, up), ==,
                                        COLOUR_PAPER);
                }
                g_assert_cmphex(pixel_at(canvas, &scene->view, x - 0.2, -0.05), ==, COLOUR_INK);
                g_assert_cmphex(pixel_at(canvas, &scene->view, x - 0.3, -0.05), ==, COLOUR_PAPER);
                (void) canvas_free(canvas);
        }
}

static void test_pendulum(void) {
        g_autofree Scene *scene = g_new0(Scene, 1);
        g_autoptr(Env) env = env_new("Pendulum-v1");
        const double left[2] = { M_PI / 2, 0 };
        Canvas *canvas;

        g_assert_cmpint(env->abi->set_state(env->instance, left, env->observation), ==, 0);
        canvas = paint(env, scene);
        g_assert_cmphex(pixel_at(canvas, &scene->view, -0.8, 0), ==, COLOUR_RED);
        g_assert_cmphex(pixel_at(canvas, &scene->view, 0.8, 0), ==, COLOUR_PAPER);
        g_assert_cmphex(pixel_at(canvas, &scene->view, 0, 0.8), ==, COLOUR_PAPER);
        (void) canvas_free(canvas);
}

/* Drawing changes no step of an environment, and the pictures change from step to step. */
static void test_environment(gconstpointer data) {
        const EnvironmentRow *row = data;
        g_autofree Scene *scene = g_new0(Scene, 1);
        g_autoptr(Env) watched = NULL, alone = NULL;
        Canvas *before, *after;
        ActordRandom actions;

        if (row->module[0] && !env_find(row->name)) {
                g_test_skip("its module is not built here, or not for the engine that is");
                return;
        }
        if (!env_has_picture(env_find(row->name))) {
                g_test_skip("it draws nothing");
                return;
        }
        watched = env_new(row->name);
        alone = env_new(row->name);
        env_reset(watched, 5);
        env_reset(alone, 5);
        before = paint(watched, scene);
        random_begin(&actions, 5, RANDOM_ACTION, 0, 0, 0);
        for (int i = 0; i < 20; i++) {
                uint32_t action[32];

                action_draw(&alone->spec, &actions, action);
                g_assert_cmpint(watched->abi->draw(watched->instance, &scene->view, scene->shapes), ==, 0);
                g_assert_cmpint(picture_check(&scene->view, scene->shapes), ==, 0);
                g_assert_cmpuint(scene->view.n_shapes, >, 1);
                g_assert_cmpuint(scene->view.n_shapes, <,
                                ACTORD_SHAPES_MAX); /* so no shape was left out for lack of room */
                env_step(watched, 5, action);
                env_step(alone, 5, action);
                g_assert_cmpmem(watched->observation, watched->observation_bytes, alone->observation,
                                alone->observation_bytes);
                g_assert_cmpfloat(watched->step.reward, ==, alone->step.reward);
                if (env_ended(alone))
                        break;
        }
        after = paint(watched, scene);
        g_assert_cmpint(memcmp(before->pixels, after->pixels, (size_t) 3 * after->width * after->height), !=,
                        0);
        (void) canvas_free(before);
        (void) canvas_free(after);
}

/* Frames are shown unchanged, small ones enlarged by a whole factor. An odd side gets a black line, since
 * video codecs need even sides. */
static void test_frames(void) {
        static const ActordFrame small = { 5, 3, 0.1 }, odd = { 601, 401, 0 }, broad = { 1600, 1, 0 };
        g_autofree uint8_t *pixels = g_malloc0(3 * 1600 * 401);
        ActordFrame bad = small;
        Canvas *canvas = canvas_new_of(&small);

        for (int i = 0; i < 3; i++)
                pixels[3 * (5 * 2 + 4) + i] = (uint8_t) (10 + i); /* lower right */
        canvas_copy(canvas, &small, pixels);
        g_assert_cmpuint(canvas->width, ==, 630);
        g_assert_cmpuint(canvas->height, ==, 378);
        g_assert_cmphex(pixel(canvas, 629, 377), ==, 0x0a0b0c);
        g_assert_cmphex(pixel(canvas, 4 * 126, 2 * 126), ==, 0x0a0b0c);
        g_assert_cmphex(pixel(canvas, 4 * 126 - 1, 377), ==, 0);
        canvas_copy(canvas, &odd, pixels); /* larger than the canvas: only a part is copied */
        (void) canvas_free(canvas);

        canvas = canvas_new_of(&odd);
        g_assert_cmpuint(canvas->width, ==, 602);
        g_assert_cmpuint(canvas->height, ==, 402);
        canvas_copy(canvas, &odd, pixels);
        (void) canvas_free(canvas);
        canvas = canvas_new_of(&broad);
        g_assert_cmpuint(canvas->width, ==, 1600);
        (void) canvas_free(canvas);

        g_assert_cmpint(frame_check(&small), ==, 0);
        bad.width = ACTORD_FRAME_SIDE_MAX + 1;
        g_assert_cmpint(frame_check(&bad), ==, -EINVAL);
        bad.width = 0;
        g_assert_cmpint(frame_check(&bad), ==, -EINVAL);
        bad = small;
        bad.step_seconds = NAN;
        g_assert_cmpint(frame_check(&bad), ==, -EINVAL);
}

static void test_impossible(void) {
        const ActordView good = { 0, 0, 1, 1, 0.1, 0, 1 };
        const ActordShape disc = { .n_points = 1, .radius = 1 };
        ActordShape shape = disc;
        ActordView view = good;

        g_assert_cmpint(picture_check(&good, &disc), ==, 0);
        view.right = 0;
        g_assert_cmpint(picture_check(&view, &disc), ==, -EINVAL);
        view.right = INFINITY;
        g_assert_cmpint(picture_check(&view, &disc), ==, -EINVAL);
        view = good;
        view.step_seconds = NAN;
        g_assert_cmpint(picture_check(&view, &disc), ==, -EINVAL);
        view = good;
        view.n_shapes = ACTORD_SHAPES_MAX + 1;
        g_assert_cmpint(picture_check(&view, &disc), ==, -EINVAL);

        shape.radius = -1;
        g_assert_cmpint(picture_check(&good, &shape), ==, -EINVAL);
        shape = disc;
        shape.points[0][1] = NAN;
        g_assert_cmpint(picture_check(&good, &shape), ==, -EINVAL);
        shape = disc;
        shape.n_points = 0;
        g_assert_cmpint(picture_check(&good, &shape), ==, -EINVAL);
        shape.n_points = ACTORD_SHAPE_POINTS + 1;
        g_assert_cmpint(picture_check(&good, &shape), ==, -EINVAL);
}

static void test_shorter_tables(void) {
        const ActordEnv *whole = builtin_env_find("Pendulum-v1");
        ActordEnv older = *whole;

        g_assert_true(env_has_picture(whole));
        g_assert_false(env_has_frame(whole));
        older.struct_bytes = offsetof(ActordEnv, paint);
        g_assert_true(env_has_picture(&older));
        older.struct_bytes = offsetof(ActordEnv, draw);
        g_assert_false(env_has_picture(&older));
        g_assert_true(env_has_state(&older));
}

/* Files */

static Canvas *noise(uint32_t width, uint32_t height, ActordRandom *random) {
        Canvas *canvas = g_new0(Canvas, 1);

        canvas->width = width;
        canvas->height = height;
        canvas->pixels = g_malloc((size_t) 3 * width * height);
        for (size_t i = 0; i < (size_t) 3 * width * height; i++)
                canvas->pixels[i] = (uint8_t) (51 * random_below(random, 6));
        return canvas;
}

static char *keep(const Encoder *encoder, bool folder, Canvas *const *canvases, size_t n, double seconds) {
        g_autofree char *directory = g_dir_make_tmp("actord-picture-XXXXXX", NULL);
        char *path = folder ? g_strdup(directory) : g_build_filename(directory, "file", NULL);
        void *encoding;

        g_assert_cmpint(encoder->begin(path, canvases[0], seconds, &encoding), ==, 0);
        for (size_t i = 0; i < n; i++)
                g_assert_cmpint(encoder->frame(encoding, canvases[i]), ==, 0);
        g_assert_cmpint(encoder->end(encoding), ==, 0);
        return path;
}

static uint32_t get16(const uint8_t *p) {
        return p[0] | (uint32_t) p[1] << 8;
}

typedef struct Bits {
        const uint8_t *p;
        uint32_t bits, n, left; /* left: bytes of the block that are not read yet */
} Bits;

static uint32_t take_code(Bits *b, uint32_t width) {
        uint32_t code;

        while (b->n < width) {
                if (b->left == 0)
                        b->left = *b->p++;
                g_assert_cmpuint(b->left, >, 0);
                b->bits |= (uint32_t) *b->p++ << b->n;
                b->n += 8;
                b->left--;
        }
        code = b->bits & ((1u << width) - 1);
        b->bits >>= width;
        b->n -= width;
        return code;
}

/* Unpacks a picture as the format's description says: each code stands for a string, and each new string
 * is an earlier one and one more byte. Returns where the codes end. */
static const uint8_t *unpack(const uint8_t *p, uint8_t *ret, size_t n) {
        enum { CLEAR = 256, END, FIRST, MOST = 4096 };
        uint32_t width = 9, next = FIRST, before = MOST;
        uint16_t prefix[MOST];
        uint8_t last[MOST], string[MOST];
        Bits b = { .p = p + 1 };
        size_t done = 0;

        g_assert_cmpuint(*p, ==, 8);
        for (uint32_t code; (code = take_code(&b, width)) != END;) {
                /* A code that the table does not have yet stands for the last string and the first byte of
                 * this string. */
                bool is_new = code == next && before < MOST;
                uint32_t c = is_new ? before : code, length = 0;

                if (code == CLEAR) {
                        width = 9;
                        next = FIRST;
                        before = MOST;
                        continue;
                }
                g_assert_true(is_new || code < 256 || (code >= FIRST && code < next));
                for (; c >= FIRST; c = prefix[c])
                        string[length++] = last[c];
                string[length++] = (uint8_t) c;
                g_assert_cmpuint(done + length + is_new, <=, n);
                while (length > 0)
                        ret[done++] = string[--length];
                if (is_new)
                        ret[done++] = (uint8_t) c;
                if (before < MOST && next < MOST) {
                        prefix[next] = (uint16_t) before;
                        last[next++] = (uint8_t) c;
                        if (next == 1u << width && width < 12)
                                width++;
                }
                before = code;
        }
        g_assert_cmpuint(b.left, ==, 0);
        g_assert_cmpuint(*b.p, ==, 0);
        g_assert_cmpuint(done, ==, n);
        return b.p + 1;
}

static void test_gif(void) {
        enum { WIDTH = 120, HEIGHT = 90, N = 5 };
        g_autofree char *path = NULL, *data = NULL, *directory = NULL;
        g_autofree uint8_t *shown = g_new0(uint8_t, WIDTH * HEIGHT), *part = g_new(uint8_t, WIDTH * HEIGHT);
        const uint8_t *p, *palette;
        uint32_t hundredths = 0;
        Canvas *canvases[N];
        ActordRandom random;
        size_t n;

        random_begin(&random, 1, RANDOM_ACTION, 0, 0, 0);
        for (int i = 0; i < N; i++)
                canvases[i] = noise(WIDTH, HEIGHT, &random);
        /* The pictures are two of noise, a flat one (whose strings grow long), a copy of the flat one with
         * one other pixel, and this copy again. */
        memset(canvases[2]->pixels, 51, 3 * WIDTH * HEIGHT);
        for (int i = 3; i < N; i++) {
                memset(canvases[i]->pixels, 51, 3 * WIDTH * HEIGHT);
                canvases[i]->pixels[3 * (80 * WIDTH + 100)] = 255;
        }
        path = keep(&encoder_gif, false, canvases, N, 0.024);
        g_assert_true(g_file_get_contents(path, &data, &n, NULL));

        p = (const uint8_t *) data;
        g_assert_cmpmem(p, 6, "GIF89a", 6);
        g_assert_cmpuint(get16(p + 6), ==, WIDTH);
        g_assert_cmpuint(get16(p + 8), ==, HEIGHT);
        g_assert_cmphex(p[10], ==, 0xf7);
        palette = p + 13;
        p = palette + 3 * 256 + 19;
        for (int i = 0; i < N; i++) {
                uint32_t x, y, width, height;

                g_assert_cmpmem(p, 4, "\x21\xf9\x04\x04", 4);
                hundredths += get16(p + 4);
                g_assert_cmphex(p[8], ==, 0x2c);
                x = get16(p + 9);
                y = get16(p + 11);
                width = get16(p + 13);
                height = get16(p + 15);
                g_assert_cmpuint(x + width, <=, WIDTH);
                g_assert_cmpuint(y + height, <=, HEIGHT);
                if (i == 3)
                        g_assert_true(x == 100 && y == 80 && width == 1 && height == 1);
                p = unpack(p + 18, part, width * height);
                for (uint32_t k = 0; k < width * height; k++)
                        shown[(y + k / width) * WIDTH + x + k % width] = part[k];
                for (size_t k = 0; k < WIDTH * HEIGHT; k++)
                        g_assert_cmpmem(palette + 3 * shown[k], 3, canvases[i]->pixels + 3 * k, 3);
        }
        g_assert_cmphex(*p, ==, 0x3b);
        g_assert_cmpuint(hundredths, ==, 12); /* 12 = 5 x 2.4: rounding errors do not add up */
        for (int i = 0; i < N; i++)
                (void) canvas_free(canvases[i]);
        directory = g_path_get_dirname(path);
        g_assert_cmpint(g_unlink(path), ==, 0);
        g_assert_cmpint(g_rmdir(directory), ==, 0);
}

static uint32_t get32(const char *p) {
        uint32_t x;

        memcpy(&x, p, sizeof(x));
        return be32toh(x);
}

static void test_png(void) {
        enum { WIDTH = 70, HEIGHT = 64, ROW = 3 * WIDTH, PLACE = 33 };
        g_autoptr(GZlibDecompressor) inflate = g_zlib_decompressor_new(G_ZLIB_COMPRESSOR_FORMAT_ZLIB);
        g_autofree char *path = NULL, *file = NULL, *data = NULL;
        uint8_t rows[HEIGHT][1 + ROW];
        gsize n, n_read, n_written;
        ActordRandom random;
        Canvas *canvas;

        random_begin(&random, 2, RANDOM_ACTION, 0, 0, 0);
        canvas = noise(WIDTH, HEIGHT, &random);
        path = keep(&encoder_png, true, &canvas, 1, 1);
        file = g_build_filename(path, "frame-00001.png", NULL);
        g_assert_true(g_file_get_contents(file, &data, &n, NULL));

        g_assert_cmpmem(data, 8, "\x89PNG\r\n\x1a\n", 8);
        g_assert_cmpuint(get32(data + 16), ==, WIDTH);
        g_assert_cmpuint(get32(data + 20), ==, HEIGHT);
        g_assert_cmpmem(data + PLACE + 4, 4, "IDAT", 4);
        /* The last chunk, IEND, and its check sum are the same in all PNGs. */
        g_assert_cmpmem(data + n - 12, 12, "\0\0\0\0IEND\xae\x42\x60\x82", 12);
        g_assert_cmpint(g_converter_convert(G_CONVERTER(inflate), data + PLACE + 8, get32(data + PLACE),
                                        rows, sizeof(rows), G_CONVERTER_INPUT_AT_END, &n_read, &n_written,
                                        NULL),
                        ==, G_CONVERTER_FINISHED);
        g_assert_cmpuint(n_written, ==, sizeof(rows));
        for (int y = 0; y < HEIGHT; y++) {
                g_assert_cmpuint(rows[y][0], ==, 2);
                for (int x = 1; x <= ROW && y > 0; x++)
                        rows[y][x] = (uint8_t) (rows[y][x] + rows[y - 1][x]);
                g_assert_cmpmem(rows[y] + 1, ROW, canvas->pixels + y * ROW, ROW);
        }
        (void) canvas_free(canvas);
        g_assert_cmpint(g_unlink(file), ==, 0);
        g_assert_cmpint(g_rmdir(path), ==, 0);
}

int main(int argc, char **argv) {
        g_test_init(&argc, &argv, NULL);
        g_test_add_func("/picture/canvas", test_canvas);
        g_test_add_func("/picture/cartpole", test_cartpole);
        g_test_add_func("/picture/pendulum", test_pendulum);
        g_test_add_func("/picture/frames", test_frames);
        g_test_add_func("/picture/impossible", test_impossible);
        g_test_add_func("/picture/shorter-tables", test_shorter_tables);
        g_test_add_func("/picture/gif", test_gif);
        g_test_add_func("/picture/png", test_png);
        for (size_t i = 0; i < environment_count(); i++) {
                g_autofree char *path = g_strdup_printf("/picture/of/%s", environment_at(i)->name);

                g_test_add_data_func(path, environment_at(i), test_environment);
        }
        return g_test_run();
}
