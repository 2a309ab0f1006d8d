/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/paths/port_maps.h"

#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/port_translate.skel.h"
#include "collector/sources/bpf/libbpf_log.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"

/* Values that the headers of libbpf 1.1 and Linux 6.1 do not have. */
#define TCX_INGRESS   ((enum bpf_attach_type)46)
#define TCX_EGRESS    ((enum bpf_attach_type)47)
#define TCX_BEFORE    (1u << 3) /* Without a relative: before all others. */
#define BPF_FS_NUMBER 0xcafe4a11

struct port_maps {
	struct port_translate_bpf *skel; /* Owned. */
	char *directory;                 /* Owned. */
	char *paths[2];                  /* Owned.  Of the maps, by direction. */
};

static const char *const map_names[] = { "ports_out", "ports_in" };
/* Of attachments, followed by the interface's number; a BPF file system has no dots. */
static const char *const prefixes[] = { "out_", "in_" };

/* ---- Opening --------------------------------------------------------------------- */

/* Makes the directory in a BPF file system. */
static int
make_directory(const char *directory, struct err *err)
{
	struct statfs fs;

	if (mkdir(directory, 0700) < 0 && errno != EEXIST)
		return err_set_errno(err, directory, errno,
				     "cannot make directory in a BPF file system");
	if (statfs(directory, &fs) < 0)
		return err_set_errno(err, directory, errno, "cannot read");
	if ((uint32_t)fs.f_type == BPF_FS_NUMBER)
		return 0;
	err_set(err, directory, 0, 0,
		"not in a BPF file system; run 'mount -t bpf bpf /sys/fs/bpf'");
	return -ENOTSUP;
}

static struct bpf_map *
map_of(const struct port_maps *maps, enum port_direction direction)
{
	return direction == PORT_OUT ? maps->skel->maps.ports_out
				     : maps->skel->maps.ports_in;
}

static int
load(struct port_maps *maps)
{
	int rc = 0;

	libbpf_log_init();
	maps->skel = port_translate_bpf__open();
	if (!maps->skel)
		return -errno;
	for (int i = 0; i < 2 && rc == 0; i++) {
		maps->paths[i] = xasprintf("%s/%s", maps->directory, map_names[i]);
		rc = bpf_map__set_pin_path(map_of(maps, i), maps->paths[i]);
	}
	return rc < 0 ? rc : port_translate_bpf__load(maps->skel);
}

int
port_maps_open(const char *directory, struct port_maps **ret_maps, struct err *err)
{
	struct port_maps *maps;
	int rc = make_directory(directory, err);

	if (rc < 0)
		return rc;
	maps = xcalloc(1, sizeof *maps);
	maps->directory = xstrdup(directory);
	rc = load(maps);
	if (rc < 0) {
		port_maps_close(maps);
		err_set_errno(err, directory, rc, "cannot load the BPF programs");
		if (rc == -EINVAL)
			err_append(err, " (maps of another version are pinned there, "
					"or the kernel is older than Linux 5.15)");
		else if (rc == -EPERM || rc == -EACCES)
			err_append(err, " (requires CAP_BPF and CAP_NET_ADMIN)");
		return rc;
	}
	*ret_maps = maps;
	return 0;
}

void
port_maps_close(struct port_maps *maps)
{
	if (!maps)
		return;
	port_translate_bpf__destroy(maps->skel);
	for (int i = 0; i < 2; i++)
		free(maps->paths[i]);
	free(maps->directory);
	free(maps);
}

/* ---- Attaching ------------------------------------------------------------------- */

/* The interface of a TCX link, which is 0 after the interface has gone. */
static unsigned
interface_of(int link_fd)
{
	struct bpf_link_info info = { 0 };
	uint32_t length = sizeof info;

	if (bpf_obj_get_info_by_fd(link_fd, &info, &length) < 0)
		return 0;
	/* The member for TCX begins alike. */
	return info.xdp.ifindex;
}

/* Exchanges the program of a pinned attachment.  -ENOENT if there is none to use. */
static int
exchange(const char *path, unsigned ifindex, int prog_fd)
{
	int fd = bpf_obj_get(path), rc;

	if (fd < 0)
		return -errno;
	rc = interface_of(fd) == ifindex ? bpf_link_update(fd, prog_fd, NULL) : -ENOENT;
	close(fd);
	if (rc == -ENOENT)
		unlink(path);
	return rc;
}

static int
attach_anew(const char *path, unsigned ifindex, enum port_direction direction,
	    int prog_fd)
{
	struct bpf_link_create_opts opts;
	int fd, rc;

	memset(&opts, 0, sizeof opts);
	opts.sz = sizeof opts;
	opts.flags = direction == PORT_IN ? TCX_BEFORE : 0;
	fd = bpf_link_create(prog_fd, (int)ifindex,
			     direction == PORT_IN ? TCX_INGRESS : TCX_EGRESS, &opts);
	if (fd < 0)
		return fd;
	rc = bpf_obj_pin(fd, path);
	/* Unpinned, it ends with the descriptor. */
	close(fd);
	return rc;
}

static int
attach_one(struct port_maps *maps, unsigned ifindex, enum port_direction direction)
{
	const struct bpf_program *program = direction == PORT_IN
						    ? maps->skel->progs.antiphase_in
						    : maps->skel->progs.antiphase_out;
	char *path =
		xasprintf("%s/%s%u", maps->directory, prefixes[direction], ifindex);
	int rc = exchange(path, ifindex, bpf_program__fd(program));

	if (rc == -ENOENT)
		rc = attach_anew(path, ifindex, direction, bpf_program__fd(program));
	free(path);
	return rc;
}

int
port_maps_attach(struct port_maps *maps, const char *interface, struct err *err)
{
	unsigned ifindex = if_nametoindex(interface);
	int rc;

	if (!ifindex)
		return err_set_errno(err, interface, errno, "no such interface");
	rc = attach_one(maps, ifindex, PORT_IN);
	if (rc == 0)
		rc = attach_one(maps, ifindex, PORT_OUT);
	if (rc == 0)
		return 0;
	/* So an older kernel calls an unknown type of attachment. */
	if (rc == -EINVAL)
		rc = -EOPNOTSUPP;
	err_set_errno(err, interface, rc, "cannot attach programs");
	if (rc == -EOPNOTSUPP)
		err_append(err, " (requires TCX: Linux 6.6)");
	return rc;
}

/* ---- Entries --------------------------------------------------------------------- */

int
port_maps_put(struct port_maps *maps, enum port_direction direction,
	      const struct port_flow *flow, const struct port_entry *entry)
{
	return bpf_map__update_elem(map_of(maps, direction), flow, sizeof *flow, entry,
				    sizeof *entry, BPF_ANY);
}

int
port_maps_remove(struct port_maps *maps, enum port_direction direction,
		 const struct port_flow *flow)
{
	return bpf_map__delete_elem(map_of(maps, direction), flow, sizeof *flow, 0);
}

int
port_maps_each(struct port_maps *maps, enum port_direction direction,
	       void (*found)(void *ctx, const struct port_flow *flow,
			     const struct port_entry *entry),
	       void *ctx)
{
	const struct bpf_map *map = map_of(maps, direction);
	const struct port_flow *before = NULL;
	struct port_entry entry;
	struct port_flow flow;
	int rc;

	while ((rc = bpf_map__get_next_key(map, before, &flow, sizeof flow)) == 0) {
		if (bpf_map__lookup_elem(map, &flow, sizeof flow, &entry, sizeof entry,
					 0) == 0)
			found(ctx, &flow, &entry);
		before = &flow;
	}
	return rc == -ENOENT ? 0 : rc;
}

/* ---- Undoing --------------------------------------------------------------------- */

/* Without its pin an attachment ends, because no process holds it. */
static int
unpin(const char *directory, const char *name, struct err *err)
{
	char *path = xasprintf("%s/%s", directory, name);
	int rc = 0;

	if (unlink(path) < 0 && errno != ENOENT)
		rc = err_set_errno(err, path, errno, "cannot remove");
	free(path);
	return rc;
}

int
port_maps_undo(const char *directory, enum port_direction direction, struct err *err)
{
	const char *prefix = prefixes[direction];
	DIR *dir = opendir(directory);
	const struct dirent *entry;
	int rc = 0;

	if (!dir)
		return errno == ENOENT
			       ? 0
			       : err_set_errno(err, directory, errno, "cannot read");
	while (rc == 0 && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, prefix, strlen(prefix)))
			rc = unpin(directory, entry->d_name, err);
	closedir(dir);
	if (rc == 0)
		rc = unpin(directory, map_names[direction], err);
	if (rc == 0)
		rmdir(directory);
	return rc;
}
