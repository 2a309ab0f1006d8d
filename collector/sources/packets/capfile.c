/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/packets/capfile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>

#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/instream.h"
#include "lib/base/log.h"

#define TIMEOUT_MS 10
#define MAX_TIME_S INT64_C(4000000000)

struct capfile {
	pcap_t *pcap;
	struct instream *stream; /* Of 'pcap', which closes it; NULL: a device. */
	char *name;              /* Owned. */
	enum packet_link link;
	uint64_t n_packets, n_bad;
	uint64_t drops;      /* Of a device, in 64 bits. */
	uint32_t last_drops; /* As libpcap counts them. */
	bool is_live;
};

static ssize_t
read_cookie(void *cookie, char *bytes, size_t n)
{
	struct err err = { 0 };
	ssize_t got = instream_read(cookie, (uint8_t *)bytes, n, &err);

	if (got < 0) {
		log_warn("pcap", "%s: %s", err.file, err.text);
		errno = EIO;
		return -1;
	}
	return got;
}

static int
close_cookie(void *cookie)
{
	instream_close(cookie);
	return 0;
}

/* Opens a file, compressed or not, for libpcap. */
static int
open_stream(struct capfile *file, const char *path, struct err *err)
{
	static const cookie_io_functions_t functions = { .read = read_cookie,
							 .close = close_cookie };
	char text[PCAP_ERRBUF_SIZE] = "";
	struct instream *stream;
	FILE *stdio;
	int error = instream_open(path, &stream, err);

	if (error < 0)
		return error;
	stdio = fopencookie(stream, "r", functions);
	if (!stdio) {
		instream_close(stream);
		return err_set_errno(err, path, errno, "cannot read");
	}
	file->pcap = pcap_fopen_offline_with_tstamp_precision(
		stdio, PCAP_TSTAMP_PRECISION_NANO, text);
	if (!file->pcap) {
		fclose(stdio);
		return err_set(err, path, 0, 0,
			       "%s: expected a capture file (pcap or pcapng)", text);
	}
	file->stream = stream;
	return 0;
}

static int
activate(struct capfile *file, const char *device, int snaplen_bytes, int buffer_bytes,
	 struct err *err)
{
	char text[PCAP_ERRBUF_SIZE] = "";
	int error;

	file->pcap = pcap_create(device, text);
	if (!file->pcap)
		return err_set(err, device, 0, 0, "%s", text);
	pcap_set_snaplen(file->pcap, snaplen_bytes);
	pcap_set_buffer_size(file->pcap, buffer_bytes);
	pcap_set_timeout(file->pcap, TIMEOUT_MS);
	pcap_set_tstamp_precision(file->pcap, PCAP_TSTAMP_PRECISION_NANO);
	error = pcap_activate(file->pcap);
	if (error < 0) {
		err_set(err, device, 0, 0, "cannot capture: %s%s",
			pcap_geterr(file->pcap),
			error == PCAP_ERROR_PERM_DENIED ? " (CAP_NET_RAW is needed)"
							: "");
		return error == PCAP_ERROR_PERM_DENIED      ? -EPERM
		       : error == PCAP_ERROR_NO_SUCH_DEVICE ? -ENODEV
							    : -EIO;
	}
	if (pcap_setnonblock(file->pcap, 1, text) < 0)
		return err_set(err, device, 0, 0, "%s", text);
	file->is_live = true;
	return 0;
}

static int
set_link(struct capfile *file, struct err *err)
{
	int link = pcap_datalink(file->pcap);
	const char *name = pcap_datalink_val_to_name(link);

	switch (link) {
	case DLT_EN10MB:
		file->link = PACKET_ETHERNET;
		return 0;
	case DLT_LINUX_SLL:
		file->link = PACKET_SLL;
		return 0;
	case DLT_LINUX_SLL2:
		file->link = PACKET_SLL2;
		return 0;
	case DLT_RAW:
	case DLT_IPV4:
	case DLT_IPV6:
		file->link = PACKET_IP;
		return 0;
	default:
		return err_set(err, file->name, 0, 0,
			       "link type %s is not supported: expected "
			       "EN10MB, LINUX_SLL, LINUX_SLL2 or RAW",
			       name ? name : "unknown");
	}
}

int
capfile_filter(struct capfile *file, const char *filter, struct err *err)
{
	struct bpf_program program;
	int error;

	if (pcap_compile(file->pcap, &program, filter, 1, PCAP_NETMASK_UNKNOWN) < 0)
		return err_set(err, NULL, 0, 0, "filter '%s': %s", filter,
			       pcap_geterr(file->pcap));
	error = pcap_setfilter(file->pcap, &program);
	pcap_freecode(&program);
	return error < 0 ? err_set(err, NULL, 0, 0, "filter '%s': %s", filter,
				   pcap_geterr(file->pcap))
			 : 0;
}

/* ---- Access ---------------------------------------------------------------------- */

void
capfile_close(struct capfile *file)
{
	if (!file)
		return;
	if (file->pcap)
		pcap_close(file->pcap);
	free(file->name);
	free(file);
}

/* The common end of both ways to open; 'error' is the result so far. */
static int
finish(struct capfile *file, int error, struct capfile **ret_file, struct err *err)
{
	if (error == 0)
		error = set_link(file, err);
	if (error < 0)
		capfile_close(file);
	else
		*ret_file = file;
	return error;
}

int
capfile_open(const char *path, struct capfile **ret_file, struct err *err)
{
	struct capfile *file = xcalloc(1, sizeof *file);

	file->name = xstrdup(path);
	return finish(file, open_stream(file, path, err), ret_file, err);
}

int
capfile_open_device(const char *device, int snaplen_bytes, int buffer_bytes,
		    struct capfile **ret_file, struct err *err)
{
	struct capfile *file = xcalloc(1, sizeof *file);

	file->name = xstrdup(device);
	return finish(file, activate(file, device, snaplen_bytes, buffer_bytes, err),
		      ret_file, err);
}

enum packet_link
capfile_link(const struct capfile *file)
{
	return file->link;
}

/* The time of a packet; false if it is out of range. */
static bool
time_of(const struct pcap_pkthdr *header, int64_t *ret_ns)
{
	/* Opened with nanosecond times: tv_usec holds nanoseconds. */
	if (header->ts.tv_sec < 0 || header->ts.tv_sec > MAX_TIME_S ||
	    header->ts.tv_usec < 0 || header->ts.tv_usec >= 1000000000)
		return false;
	*ret_ns = header->ts.tv_sec * INT64_C(1000000000) + header->ts.tv_usec;
	return true;
}

int
capfile_next(struct capfile *file, struct capfile_packet *ret_packet, struct err *err)
{
	struct pcap_pkthdr *header;
	const u_char *bytes;

	for (;;) {
		int got = pcap_next_ex(file->pcap, &header, &bytes);

		if (got == 0)
			return 0;
		if (got == PCAP_ERROR && (file->is_live || file->n_packets == 0))
			return err_set(err, file->name, 0, 0, "%s",
				       pcap_geterr(file->pcap));
		if (got == PCAP_ERROR)
			log_warn("pcap", "%s: ends after packet %" PRIu64 ": %s",
				 file->name, file->n_packets, pcap_geterr(file->pcap));
		if (got < 0)
			return -ENODATA;
		file->n_packets++;
		if (time_of(header, &ret_packet->time_ns))
			break;
		file->n_bad++;
	}
	ret_packet->bytes = bytes;
	ret_packet->n = header->caplen;
	ret_packet->length = header->len;
	return 1;
}

uint64_t
capfile_at(const struct capfile *file)
{
	return file->stream ? instream_at(file->stream) : 0;
}

uint64_t
capfile_bad(const struct capfile *file)
{
	return file->n_bad;
}

uint64_t
capfile_drops(struct capfile *file)
{
	struct pcap_stat stats;

	if (file->is_live && pcap_stats(file->pcap, &stats) == 0) {
		uint32_t drops = stats.ps_drop + stats.ps_ifdrop;

		file->drops += drops - file->last_drops;
		file->last_drops = drops;
	}
	return file->drops;
}

void
capfile_name(const char *path, const char *fallback, char ret_name[TELE_MAX_NAME + 1])
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t length = strcspn(base, ".");

	if (!strcmp(path, "-") || length == 0)
		snprintf(ret_name, TELE_MAX_NAME + 1, "%s", fallback);
	else
		snprintf(ret_name, TELE_MAX_NAME + 1, "%.*s", (int)length, base);
}
