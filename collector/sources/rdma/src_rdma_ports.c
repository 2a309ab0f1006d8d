/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src_rdma_ports.c - devices, their ports and the files of their counters in sysfs.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/sources/rdma/src_rdma_priv.h"
#include "lib/base/log.h"
#include "lib/base/sort.h"

#define MAX_PORTS 256

static const char *const port_files[N_FILES] = {
	"port_xmit_data",
	"port_rcv_data",
	"port_xmit_packets",
	"port_rcv_packets",
};

/* Reads a small file again from its start; returns its length or -errno. */
static ssize_t
read_again(int fd, char *text, size_t size)
{
	ssize_t got = pread(fd, text, size - 1, 0);

	if (got < 0)
		return -errno;
	text[got] = '\0';
	return got;
}

static ssize_t
read_path(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;

	if (fd < 0)
		return -errno;
	got = read_again(fd, text, size);
	close(fd);
	return got;
}

int
rdma_read_counter(int fd, uint64_t *ret_value)
{
	char text[64], *end;
	ssize_t got = read_again(fd, text, sizeof text);

	if (got < 0)
		return (int)got;
	if (text[0] < '0' || text[0] > '9')
		return -ENODATA;
	errno = 0;
	*ret_value = strtoull(text, &end, 10);
	return errno || (*end != '\n' && *end != '\0') ? -ENODATA : 0;
}

static bool
is_wanted(const struct rdma_source *s, const struct port *port)
{
	for (size_t i = 0; i < s->names.n; i++)
		if (!strcmp(s->names.items[i], port->device) ||
		    !strcmp(s->names.items[i], port->name))
			return true;
	return s->names.n == 0;
}

static struct port *
find_port(struct rdma_source *s, const char *name)
{
	for (size_t i = 0; i < s->ports.n; i++)
		if (!strcmp(s->ports.items[i].name, name))
			return &s->ports.items[i];
	return NULL;
}

void
rdma_close_port(struct port *port)
{
	for (size_t i = 0; i < N_FILES; i++) {
		if (port->fds[i] >= 0)
			close(port->fds[i]);
		port->fds[i] = -1;
	}
}

/* The driver's name is the last part of the target of device/driver. */
static void
find_driver(const struct rdma_source *s, const char *device, char *ret, size_t size)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *slash;
	ssize_t got;

	snprintf(path, sizeof path, "%s/sys/class/infiniband/%s/device/driver",
		 s->sysroot, device);
	got = readlink(path, target, sizeof target - 1);
	target[got > 0 ? got : 0] = '\0';
	slash = strrchr(target, '/');
	snprintf(ret, size, "%.63s", slash ? slash + 1 : target);
}

static void
open_port(struct rdma_source *s, struct port *port)
{
	char path[PATH_MAX], driver[64];

	find_driver(s, port->device, driver, sizeof driver);
	port->unit_bytes = rdma_unit_bytes(driver, s->units);
	for (size_t i = 0; i < N_FILES; i++) {
		snprintf(path, sizeof path,
			 "%s/sys/class/infiniband/%s/ports/%" PRIu32 "/counters/%s",
			 s->sysroot, port->device, port->port, port_files[i]);
		port->fds[i] = open(path, O_RDONLY | O_CLOEXEC);
		port->counters[i] = (struct rdma_counter){ 0 };
	}
	port->is_useless = port->fds[XMIT_DATA] < 0 || port->fds[RCV_DATA] < 0;
	if (port->is_useless)
		log_warn("rdma", "%s has no byte counters (driver %s)", port->name,
			 driver);
}

/* Updates state and rate, and announces changes. */
static void
look_at_port(struct rdma_source *s, struct port *port)
{
	char path[PATH_MAX], text[64];
	double rate_bps = 0;
	bool is_up = false;

	snprintf(path, sizeof path, "%s/sys/class/infiniband/%s/ports/%" PRIu32 "/rate",
		 s->sysroot, port->device, port->port);
	if (read_path(path, text, sizeof text) > 0)
		rate_bps = rdma_parse_rate_bps(text);
	snprintf(path, sizeof path,
		 "%s/sys/class/infiniband/%s/ports/%" PRIu32 "/state", s->sysroot,
		 port->device, port->port);
	if (read_path(path, text, sizeof text) > 0)
		is_up = strstr(text, "ACTIVE") != NULL;
	if (rate_bps != port->rate_bps || is_up != port->is_up)
		port->is_announced = false;
	port->rate_bps = rate_bps;
	port->is_up = is_up;
}

static void
see_port(struct rdma_source *s, const char *device, uint32_t number)
{
	struct port fresh = { .port = number, .index = UINT32_MAX };
	struct port *port;

	if (strlen(device) >= sizeof fresh.device)
		return;
	snprintf(fresh.device, sizeof fresh.device, "%s", device);
	snprintf(fresh.name, sizeof fresh.name, "%s/%" PRIu32, device, number);
	if (!is_wanted(s, &fresh))
		return;
	port = find_port(s, fresh.name);
	if (!port && s->ports.n >= MAX_PORTS)
		return;
	if (!port) {
		for (size_t i = 0; i < N_FILES; i++)
			fresh.fds[i] = -1;
		vec_push(&s->ports, fresh);
		port = &s->ports.items[s->ports.n - 1];
	}
	if (port->fds[XMIT_DATA] < 0 && !port->is_useless)
		open_port(s, port);
	port->was_seen = true;
	look_at_port(s, port);
}

static void
see_device(struct rdma_source *s, const char *device)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof path, "%s/sys/class/infiniband/%s/ports", s->sysroot,
		 device);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		unsigned long port = strtoul(entry->d_name, NULL, 10);

		if (port >= 1 && port < 65536)
			see_port(s, device, (uint32_t)port);
	}
	if (dir)
		closedir(dir);
}

static int
by_port_name(const void *a, const void *b)
{
	return strcmp(((const struct port *)a)->name, ((const struct port *)b)->name);
}

void
rdma_lose_port(struct rdma_source *s, struct port *port)
{
	rdma_close_port(port);
	if (port->is_announced && s->sink)
		s->sink->gone(s->sink->ctx, port->number);
	port->is_announced = port->is_useless = false;
	port->index = UINT32_MAX;
}

int
rdma_scan(struct rdma_source *s)
{
	char path[PATH_MAX];
	struct dirent *entry;
	size_t n_before = s->ports.n;
	DIR *dir;

	snprintf(path, sizeof path, "%s/sys/class/infiniband", s->sysroot);
	dir = opendir(path);
	if (!dir)
		return -errno;
	for (size_t i = 0; i < s->ports.n; i++)
		s->ports.items[i].was_seen = false;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			see_device(s, entry->d_name);
	closedir(dir);
	for (size_t i = 0; i < s->ports.n; i++)
		if (!s->ports.items[i].was_seen)
			rdma_lose_port(s, &s->ports.items[i]);
	/* Directories are unordered; sort for stable numbers. */
	if (n_before == 0)
		sort_items(s->ports.items, s->ports.n, by_port_name);
	return 0;
}
