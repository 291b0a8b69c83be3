/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* tensorboard: an event file is a sequence of records (TFRecord): the length of an Event, a checksum of the
 * length, the Event, and its checksum. An Event is a message of Protocol Buffers with the wall time, the
 * step, and a Summary of scalars. */
#include "actorctl/metrics/format.h"
#include "actorctl/metrics/scalars.h"
#include "actorctl/protobuf.h"

/* Fields of the messages, as tensorflow/core/util/event.proto and framework/summary.proto number them. */
enum { EVENT_WALL_TIME = 1, EVENT_STEP = 2, EVENT_FILE_VERSION = 3, EVENT_SUMMARY = 5 };
enum { SUMMARY_VALUE = 1 };
enum { VALUE_TAG = 1, VALUE_SIMPLE_VALUE = 2 };

/* CRC-32C (Castagnoli), bit by bit, since a round has only about a thousand bytes. */
static uint32_t crc32c(const uint8_t *data, size_t n) {
        uint32_t crc = UINT32_MAX;

        for (size_t i = 0; i < n; i++) {
                crc ^= data[i];
                for (int bit = 0; bit < 8; bit++)
                        crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
        }
        return ~crc;
}

/* The format masks checksums, since a checksum of bytes that contain checksums is weak. */
uint32_t tensorboard_checksum(const void *data, size_t n) {
        uint32_t crc = crc32c(data, n);

        return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static void append_u32(GByteArray *bytes, uint32_t value) {
        value = GUINT32_TO_LE(value);
        g_byte_array_append(bytes, (const uint8_t *) &value, sizeof(value));
}

static void append_record(GByteArray *bytes, const GByteArray *event) {
        uint64_t length = GUINT64_TO_LE((uint64_t) event->len);

        g_byte_array_append(bytes, (const uint8_t *) &length, sizeof(length));
        append_u32(bytes, tensorboard_checksum(&length, sizeof(length)));
        g_byte_array_append(bytes, event->data, event->len);
        append_u32(bytes, tensorboard_checksum(event->data, event->len));
}

static void begin(GByteArray *bytes, const JobStatus *job, const JobRounds *rounds) {
        g_autoptr(GByteArray) event = g_byte_array_new();

        proto_double(event, EVENT_WALL_TIME, (double) job->started_usec / 1e6);
        proto_string(event, EVENT_FILE_VERSION, "brain.Event:2");
        append_record(bytes, event);
}

static void add_scalar(GByteArray *summary, const Scalar *scalar) {
        GByteArray *inner = g_byte_array_new();

        proto_string(inner, VALUE_TAG, scalar->name);
        proto_float(inner, VALUE_SIMPLE_VALUE, (float) scalar->value);
        proto_message(summary, SUMMARY_VALUE, inner);
}

static void add(GByteArray *bytes, const JobStatus *job, const JobRounds *rounds, size_t row,
                const RoundBefore *before) {
        g_autoptr(GArray) scalars = scalars_of(rounds, row);
        g_autoptr(GByteArray) event = g_byte_array_new();
        GByteArray *summary = g_byte_array_new();

        for (guint i = 0; i < scalars->len; i++)
                add_scalar(summary, &g_array_index(scalars, Scalar, i));
        proto_double(event, EVENT_WALL_TIME, scalars_time(job, rounds, row));
        proto_unsigned(event, EVENT_STEP, scalars_step(rounds, row));
        proto_message(event, EVENT_SUMMARY, summary);
        append_record(bytes, event);
}

const MetricsFormat metrics_tensorboard = { "tensorboard", true, NULL, begin, add };
