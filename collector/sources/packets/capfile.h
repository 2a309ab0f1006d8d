/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capfile.h - packets with their times, from a capture file or a device
 *
 * Wraps libpcap; files may be compressed (instream.h).
 */
#ifndef COLLECTOR_SOURCES_PACKETS_CAPFILE_H
#define COLLECTOR_SOURCES_PACKETS_CAPFILE_H

#include <stddef.h>
#include <stdint.h>

#include "collector/sources/packets/packet.h"
#include "lib/wire/tele.h"

struct capfile;
struct err;

struct capfile_packet {
	int64_t time_ns; /* As stamped: wall clock. */
	/* Borrowed until the next one is read. */
	const uint8_t *bytes;
	size_t n;
	uint32_t length; /* On the wire. */
};

/* "-" is stdin.  0 or -errno with 'err' filled; free with capfile_close(). */
int capfile_open(const char *path, struct capfile **ret_file, struct err *err);
/* -EPERM without CAP_NET_RAW, -ENODEV without that device. */
int capfile_open_device(const char *device, int snaplen_bytes, int buffer_bytes,
			struct capfile **ret_file, struct err *err);
void capfile_close(struct capfile *file); /* Accepts NULL. */

enum packet_link capfile_link(const struct capfile *file);

/* Reads only packets that match the filter, see pcap-filter(7). */
int capfile_filter(struct capfile *file, const char *filter, struct err *err);

/*
 * Returns 1 with the next packet, 0 if a device has none just now, -ENODATA at the
 * end of a file (also where it is cut off, with a warning), or -EINVAL with 'err'
 * filled.
 */
int capfile_next(struct capfile *file, struct capfile_packet *ret_packet,
		 struct err *err);

/* Bytes of a file that were read, before decompression; 0 for a pipe or device. */
uint64_t capfile_at(const struct capfile *file);

/* Packets skipped for impossible times; packets dropped by the kernel. */
uint64_t capfile_bad(const struct capfile *file);
uint64_t capfile_drops(struct capfile *file);

/*
 * The name of a file without its folder and endings: "captures/p0.pcap.xz" is "p0".
 * Without a name, as for "-", 'fallback'.
 */
void capfile_name(const char *path, const char *fallback,
		  char ret_name[TELE_MAX_NAME + 1]);

#endif
