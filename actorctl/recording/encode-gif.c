/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes GIF89a with one palette for all pictures: 6 steps each of red, green and blue, and 40 greys. After
 * the first picture only the changed rectangle is written. It is packed by LZW (Welch, 1984) with codes of 9
 * to 12 bits. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/recording/recording.h"

enum { CUBE = 6, N_GREYS = 40, FIRST_GREY = CUBE * CUBE * CUBE, N_COLOURS = 256 };
enum { CODE_CLEAR = N_COLOURS, CODE_END, CODE_FIRST, CODES_MAX = 4096, TABLE_SIZE = 8192 };
enum { BLOCK_MAX = 255, NO_CODE = 0xffff };

typedef struct Packer {
        FILE *file;
        uint32_t bits, n_bits; /* bits that are not written yet */
        uint32_t width;        /* the number of bits in a code */
        uint8_t block[BLOCK_MAX];
        uint32_t n_block;
        uint32_t next; /* the code of the next new string */
        /* Strings, by the code of their prefix and their last byte, in a hash table with open addressing. */
        uint32_t keys[TABLE_SIZE];
        uint16_t codes[TABLE_SIZE];
} Packer;

typedef struct Gif {
        FILE *file;
        uint32_t width, height;
        /* seconds: how long each picture is shown. shown: the time of all pictures so far, minus the delays
         * that are written. */
        double seconds, shown;
        uint8_t *now, *before;
        bool has_before;
        Packer packer;
} Gif;

static void put16(FILE *file, uint32_t x) {
        (void) putc((int) (x & 0xff), file);
        (void) putc((int) (x >> 8 & 0xff), file);
}

/* LZW */

static void flush_block(Packer *p) {
        if (p->n_block == 0)
                return;
        (void) putc((int) p->n_block, p->file);
        (void) fwrite(p->block, 1, p->n_block, p->file);
        p->n_block = 0;
}

static void put_byte(Packer *p, uint32_t byte) {
        p->block[p->n_block++] = (uint8_t) byte;
        if (p->n_block == BLOCK_MAX)
                flush_block(p);
}

static void put_code(Packer *p, uint32_t code) {
        p->bits |= code << p->n_bits;
        for (p->n_bits += p->width; p->n_bits >= 8; p->n_bits -= 8) {
                put_byte(p, p->bits & 0xff);
                p->bits >>= 8;
        }
}

static void begin_table(Packer *p) {
        put_code(p, CODE_CLEAR);
        memset(p->codes, 0xff, sizeof(p->codes));
        p->next = CODE_FIRST;
        p->width = 9;
}

/* The place of a string in the table, or a free place for it. */
static uint32_t find(const Packer *p, uint32_t key) {
        uint32_t i = key * 2654435761u >> 19;

        while (p->codes[i] != NO_CODE && p->keys[i] != key)
                i = (i + 1) % TABLE_SIZE;
        return i;
}

static void pack(Packer *p, const uint8_t *pixels, size_t stride, uint32_t width, uint32_t height) {
        uint32_t prefix = NO_CODE;

        (void) putc(8, p->file);
        p->width = 9;
        begin_table(p);
        for (uint32_t y = 0; y < height; y++)
                for (uint32_t x = 0; x < width; x++) {
                        uint32_t byte = pixels[y * stride + x], key = prefix << 8 | byte, i;

                        if (prefix == NO_CODE) {
                                prefix = byte;
                                continue;
                        }
                        i = find(p, key);
                        if (p->codes[i] != NO_CODE) {
                                prefix = p->codes[i];
                                continue;
                        }
                        put_code(p, prefix);
                        prefix = byte;
                        if (p->next == CODES_MAX) {
                                begin_table(p);
                                continue;
                        }
                        /* The decoder learns each string one code later than this encoder does. So the codes
                         * get wider one code later than `next` would need. */
                        if (p->next == 1u << p->width && p->width < 12)
                                p->width++;
                        p->keys[i] = key;
                        p->codes[i] = (uint16_t) p->next++;
                }
        put_code(p, prefix);
        if (p->next == 1u << p->width && p->width < 12)
                p->width++;
        put_code(p, CODE_END);
        if (p->n_bits > 0)
                put_byte(p, p->bits & 0xff);
        flush_block(p);
        (void) putc(0, p->file);
        p->bits = p->n_bits = 0;
}

/* Colours */

static uint32_t step(uint32_t x) {
        return (x + 25) / 51;
}

static uint8_t nearest_colour(const uint8_t *rgb) {
        uint32_t r = rgb[0], g = rgb[1], b = rgb[2];

        if (r == g && g == b && r % 51 != 0)
                return (uint8_t) (FIRST_GREY + (r * (N_GREYS - 1) + 127) / 255);
        return (uint8_t) ((step(r) * CUBE + step(g)) * CUBE + step(b));
}

static void put_palette(FILE *file) {
        for (int i = 0; i < N_COLOURS; i++) {
                int grey = ((i - FIRST_GREY) * 255 + (N_GREYS - 1) / 2) / (N_GREYS - 1);

                (void) putc(i < FIRST_GREY ? i / (CUBE * CUBE) * 51 : grey, file);
                (void) putc(i < FIRST_GREY ? i / CUBE % CUBE * 51 : grey, file);
                (void) putc(i < FIRST_GREY ? i % CUBE * 51 : grey, file);
        }
}

/* The smallest rectangle with all changes; it has at least one pixel. */
static void find_change(const Gif *gif, uint32_t ret_from[2], uint32_t ret_to[2]) {
        uint32_t left = gif->width, top = gif->height, right = 0, bottom = 0;

        for (uint32_t y = 0; y < gif->height; y++)
                for (uint32_t x = 0; x < gif->width; x++) {
                        size_t i = (size_t) y * gif->width + x;

                        if (gif->has_before && gif->now[i] == gif->before[i])
                                continue;
                        left = MIN(left, x);
                        right = MAX(right, x + 1);
                        top = MIN(top, y);
                        bottom = y + 1;
                }
        ret_from[0] = right > 0 ? left : 0;
        ret_from[1] = right > 0 ? top : 0;
        ret_to[0] = MAX(right, 1);
        ret_to[1] = MAX(bottom, 1);
}

static int gif_begin(const char *path, const Canvas *canvas, double seconds, void **ret) {
        Gif *gif = g_new0(Gif, 1);

        gif->file = fopen(path, "we");
        if (!gif->file) {
                int r = -errno;

                g_free(gif);
                return r;
        }
        gif->packer.file = gif->file;
        gif->width = canvas->width;
        gif->height = canvas->height;
        gif->seconds = seconds;
        gif->now = g_malloc((size_t) gif->width * gif->height);
        gif->before = g_malloc((size_t) gif->width * gif->height);

        (void) fwrite("GIF89a", 1, 6, gif->file);
        put16(gif->file, gif->width);
        put16(gif->file, gif->height);
        (void) fwrite("\xf7\0\0", 1, 3, gif->file); /* a palette of 256 colours of 8 bits */
        put_palette(gif->file);
        (void) fwrite("\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0", 1, 19, gif->file); /* repeats for ever */
        *ret = gif;
        return 0;
}

static int gif_frame(void *encoder, const Canvas *canvas) {
        Gif *gif = encoder;
        uint32_t from[2], to[2];
        double delay;

        for (size_t i = 0; i < (size_t) gif->width * gif->height; i++)
                gif->now[i] = nearest_colour(canvas->pixels + 3 * i);
        find_change(gif, from, to);

        /* Delays are whole hundredths of a second; later delays make up for rounding. */
        gif->shown += gif->seconds;
        delay = fmax(round(gif->shown * 100), 2);
        gif->shown -= delay / 100;

        (void) fwrite("\x21\xf9\x04\x04", 1, 4, gif->file); /* the previous picture stays below the next
                                                             * one */
        put16(gif->file, (uint32_t) delay);
        put16(gif->file, 0);
        (void) putc(0x2c, gif->file);
        put16(gif->file, from[0]);
        put16(gif->file, from[1]);
        put16(gif->file, to[0] - from[0]);
        put16(gif->file, to[1] - from[1]);
        (void) putc(0, gif->file);
        pack(&gif->packer, gif->now + (size_t) from[1] * gif->width + from[0], gif->width, to[0] - from[0],
                        to[1] - from[1]);

        memcpy(gif->before, gif->now, (size_t) gif->width * gif->height);
        gif->has_before = true;
        if (fflush(gif->file) != 0)
                return -errno;
        return ferror(gif->file) ? -EIO : 0;
}

static int gif_end(void *encoder) {
        Gif *gif = encoder;
        int r;

        (void) putc(0x3b, gif->file);
        r = ferror(gif->file) ? -EIO : 0;
        if (fclose(gif->file) != 0 && r >= 0)
                r = -errno;
        g_free(gif->now);
        g_free(gif->before);
        g_free(gif);
        return r;
}

const Encoder encoder_gif = { gif_begin, gif_frame, gif_end };
