/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes a directory of PNG files, one for each picture, from frame-00001.png on. */
#include <endian.h>
#include <errno.h>
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#include "actorctl/recording/recording.h"

typedef struct Folder {
        char *path;
        uint64_t n;
} Folder;

/* The checksum of a chunk (PNG specification, annex D), bit by bit. */
static uint32_t crc32_more(uint32_t crc, const uint8_t *p, size_t n) {
        for (size_t i = 0; i < n; i++) {
                crc ^= p[i];
                for (int k = 0; k < 8; k++)
                        crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
        }
        return crc;
}

static void append32(GByteArray *to, uint32_t x) {
        x = htobe32(x);
        g_byte_array_append(to, (const guint8 *) &x, sizeof(x));
}

static void append_chunk(GByteArray *to, const char *type, const void *data, size_t n) {
        guint at;

        append32(to, (uint32_t) n);
        at = to->len;
        g_byte_array_append(to, (const guint8 *) type, 4);
        g_byte_array_append(to, data, (guint) n);
        append32(to, ~crc32_more(~0u, to->data + at, n + 4));
}

/* Each row begins with the number of its filter. 2 is the difference from the row above, which turns flat
 * areas into zeros. */
static uint8_t *filter(const Canvas *canvas, size_t *ret_n) {
        size_t row = 3 * (size_t) canvas->width;
        uint8_t *all = g_malloc((row + 1) * canvas->height), *p = all;

        for (uint32_t y = 0; y < canvas->height; y++) {
                const uint8_t *here = canvas->pixels + y * row;

                *p++ = 2;
                for (size_t i = 0; i < row; i++)
                        *p++ = (uint8_t) (here[i] - (y > 0 ? here[i - row] : 0));
        }
        *ret_n = (size_t) (p - all);
        return all;
}

static void deflate(const uint8_t *data, size_t n, GByteArray *to) {
        g_autoptr(GZlibCompressor) compressor = g_zlib_compressor_new(G_ZLIB_COMPRESSOR_FORMAT_ZLIB, 6);
        GConverterResult result = G_CONVERTER_CONVERTED;
        uint8_t buffer[1 << 14];

        while (result == G_CONVERTER_CONVERTED) {
                gsize n_read, n_written;

                result = g_converter_convert(G_CONVERTER(compressor), data, n, buffer, sizeof(buffer),
                                G_CONVERTER_INPUT_AT_END, &n_read, &n_written, NULL);
                if (result == G_CONVERTER_ERROR)
                        break;
                g_byte_array_append(to, buffer, (guint) n_written);
                data += n_read;
                n -= n_read;
        }
}

static int png_begin(const char *path, const Canvas *canvas, double seconds, void **ret) {
        Folder *folder = g_new0(Folder, 1);

        folder->path = g_strdup(path);
        *ret = folder;
        return 0;
}

static int png_frame(void *encoder, const Canvas *canvas) {
        const uint32_t size[2] = { htobe32(canvas->width), htobe32(canvas->height) };
        g_autoptr(GByteArray) file = g_byte_array_new(), packed = g_byte_array_new();
        g_autofree uint8_t *rows = NULL;
        g_autofree char *path = NULL;
        Folder *folder = encoder;
        uint8_t head[13] = { [8] = 8, [9] = 2 }; /* three colours with 8 bits each */
        FILE *out;
        size_t n;
        int r = 0;

        rows = filter(canvas, &n);
        deflate(rows, n, packed);
        memcpy(head, size, sizeof(size));
        g_byte_array_append(file, (const guint8 *) "\x89PNG\r\n\x1a\n", 8);
        append_chunk(file, "IHDR", head, sizeof(head));
        append_chunk(file, "IDAT", packed->data, packed->len);
        append_chunk(file, "IEND", "", 0);

        path = g_strdup_printf("%s/frame-%05" G_GUINT64_FORMAT ".png", folder->path, ++folder->n);
        out = fopen(path, "wxe");
        if (!out)
                return -errno;
        if (fwrite(file->data, 1, file->len, out) != file->len)
                r = -EIO;
        return fclose(out) != 0 && r >= 0 ? -errno : r;
}

static int png_end(void *encoder) {
        Folder *folder = encoder;

        g_free(folder->path);
        g_free(folder);
        return 0;
}

const Encoder encoder_png = { png_begin, png_frame, png_end };
