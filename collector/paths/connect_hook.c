/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/paths/connect_hook.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/connect_port.skel.h"
#include "collector/sources/bpf/libbpf_log.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"

struct connect_hook {
	struct connect_port_bpf *skel; /* Owned, as the attachments in it. */
};

/* The kernel's number of our network namespace.  0 or -errno. */
static int
read_netns(uint64_t *ret_cookie)
{
	socklen_t length = sizeof *ret_cookie;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), rc = 0;

	if (fd < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, ret_cookie, &length) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

static int
load(struct connect_hook *hook)
{
	uint64_t cookie;
	int rc = read_netns(&cookie);

	if (rc < 0)
		return rc;
	libbpf_log_init();
	hook->skel = connect_port_bpf__open();
	if (!hook->skel)
		return -errno;
	hook->skel->rodata->netns_cookie = cookie;
	return connect_port_bpf__load(hook->skel);
}

static int
attach_one(const struct bpf_program *program, int cgroup, struct bpf_link **ret_link)
{
	*ret_link = bpf_program__attach_cgroup(program, cgroup);
	return *ret_link ? 0 : -errno;
}

static int
attach(struct connect_hook *hook, const char *root)
{
	struct connect_port_bpf *skel = hook->skel;
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = attach_one(skel->progs.antiphase_connect4, fd,
			&skel->links.antiphase_connect4);
	if (rc == 0)
		rc = attach_one(skel->progs.antiphase_connect6, fd,
				&skel->links.antiphase_connect6);
	close(fd);
	return rc;
}

int
connect_hook_open(const char *root, struct connect_hook **ret_hook, struct err *err)
{
	struct connect_hook *hook = xcalloc(1, sizeof *hook);
	int rc = load(hook);

	if (rc < 0)
		err_set_errno(err, NULL, rc, "cannot load the BPF programs");
	else if ((rc = attach(hook, root)) < 0)
		err_set_errno(err, root, rc, "cannot attach programs");
	if (rc == -EPERM || rc == -EACCES)
		err_append(err, " (requires CAP_BPF and CAP_NET_ADMIN)");
	if (rc < 0) {
		connect_hook_close(hook);
		return rc;
	}
	*ret_hook = hook;
	return 0;
}

void
connect_hook_close(struct connect_hook *hook)
{
	if (!hook)
		return;
	connect_port_bpf__destroy(hook->skel);
	free(hook);
}

/* ---- Ports ----------------------------------------------------------------------- */

int
connect_hook_put(struct connect_hook *hook, const struct connect_key *key,
		 uint16_t port)
{
	return bpf_map__update_elem(hook->skel->maps.offers, key, sizeof *key, &port,
				    sizeof port, BPF_NOEXIST);
}

void
connect_hook_remove(struct connect_hook *hook, const struct connect_key *key)
{
	(void)bpf_map__delete_elem(hook->skel->maps.offers, key, sizeof *key, 0);
}

bool
connect_hook_has(struct connect_hook *hook, const struct connect_key *key)
{
	uint16_t port;

	return bpf_map__lookup_elem(hook->skel->maps.offers, key, sizeof *key, &port,
				    sizeof port, 0) == 0;
}

/* ---- Jobs ------------------------------------------------------------------------ */

int
connect_hook_set_job(struct connect_hook *hook, uint64_t cgroup, uint32_t job)
{
	struct bpf_map *map = hook->skel->maps.jobs;

	if (job == 0)
		return bpf_map__delete_elem(map, &cgroup, sizeof cgroup, 0);
	return bpf_map__update_elem(map, &cgroup, sizeof cgroup, &job, sizeof job,
				    BPF_ANY);
}

void
connect_hook_each_group(struct connect_hook *hook,
			void (*found)(void *ctx, uint64_t cgroup, uint32_t job),
			void *ctx)
{
	const struct bpf_map *map = hook->skel->maps.jobs;
	uint64_t cgroup, next;
	uint32_t job;
	int rc = bpf_map__get_next_key(map, NULL, &next, sizeof next);

	while (rc == 0) {
		cgroup = next;
		rc = bpf_map__get_next_key(map, &cgroup, &next, sizeof next);
		if (bpf_map__lookup_elem(map, &cgroup, sizeof cgroup, &job, sizeof job,
					 0) == 0)
			found(ctx, cgroup, job);
	}
}

/* ---- What was seen --------------------------------------------------------------- */

bool
connect_hook_has_seen(struct connect_hook *hook, const struct connect_end *to)
{
	uint8_t yes;

	return bpf_map__lookup_elem(hook->skel->maps.seen, to, sizeof *to, &yes,
				    sizeof yes, 0) == 0;
}

void
connect_hook_counts(const struct connect_hook *hook, struct connect_counts *ret_counts)
{
	*ret_counts = hook->skel->bss->counts;
}
