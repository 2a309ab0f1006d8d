/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor_net.c - checks of interfaces, their drivers and programs, and of the ports of
 * the bus and of the metrics.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/config.h"
#include "collector/doctor/doctor.h"
#include "collector/sources/bpf/src_bpf_probe.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/strbuf.h"
#include "lib/base/words.h"
#include "lib/daemon/control.h"
#include "lib/daemon/settings.h"
#include "lib/wire/bus.h"
#include "lib/wire/bus_keys.h"
#include "lib/wire/bus_socket.h"
#include "topology/settings.h"

#define ASK_NS INT64_C(500000000)

/* ---- Queues ---------------------------------------------------------------------- */

struct queues {
	int ifindex;
	char root[32];  /* Kind of the root queue. */
	bool is_clsact; /* Whether it is clsact or ingress, to which filters attach. */
};

static void
take_queue(struct queues *queues, const struct nlmsghdr *head)
{
	const struct tcmsg *message = NLMSG_DATA(head);
	const struct rtattr *attribute = TCA_RTA(message);
	int left = (int)TCA_PAYLOAD(head);

	if (head->nlmsg_type != RTM_NEWQDISC || message->tcm_ifindex != queues->ifindex)
		return;
	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
		const char *kind = RTA_DATA(attribute);

		if (attribute->rta_type != TCA_KIND)
			continue;
		if (message->tcm_parent == TC_H_ROOT)
			snprintf(queues->root, sizeof queues->root, "%s", kind);
		if (strcmp(kind, "clsact") == 0 || strcmp(kind, "ingress") == 0)
			queues->is_clsact = true;
	}
}

/* Returns 0 or -errno. */
static int
read_queues(struct queues *queues)
{
	struct {
		struct nlmsghdr head;
		struct tcmsg message;
	} request = {
		.head = { .nlmsg_len = sizeof request,
			  .nlmsg_type = RTM_GETQDISC,
			  .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.message = { .tcm_family = AF_UNSPEC, .tcm_ifindex = queues->ifindex },
	};

	_Alignas(struct nlmsghdr) char buffer[32768];
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), rc = 0;
	bool is_end = false;

	if (fd < 0)
		return -errno;
	if (send(fd, &request, sizeof request, 0) < 0)
		rc = -errno;
	while (rc == 0 && !is_end) {
		ssize_t n = recv(fd, buffer, sizeof buffer, 0);
		unsigned left = (unsigned)n;

		if (n <= 0) {
			rc = n < 0 ? -errno : -EPIPE;
			break;
		}
		for (const struct nlmsghdr *head = (const struct nlmsghdr *)buffer;
		     NLMSG_OK(head, left); head = NLMSG_NEXT(head, left)) {
			if (head->nlmsg_type == NLMSG_DONE ||
			    head->nlmsg_type == NLMSG_ERROR)
				is_end = true;
			else
				take_queue(queues, head);
		}
	}
	close(fd);
	return rc;
}

/* ---- One interface --------------------------------------------------------------- */

static void
look_at_programs(struct doctor *doctor, const char *name, int ifindex)
{
	char names[256];

	for (int i = 0; i < 2; i++) {
		const char *side = i ? "ingress" : "egress";
		int n = src_bpf_others(ifindex, i, names, sizeof names);

		if (n > 0)
			doctor_add(
				doctor, FINDING_WARN, "programs",
				"packets that they drop or redirect before ours are not "
				"counted; run 'bpftool net' to identify them",
				"%s: %d other TCX program%s on %s (%s)", name, n,
				n == 1 ? "" : "s", side, names);
		else if (n == -EPERM)
			doctor_add(doctor, FINDING_WARN, "programs", "run as root",
				   "%s: other programs on %s not checked", name, side);
		else if (n == 0)
			doctor_add(doctor, FINDING_OK, "programs", NULL,
				   "%s: no other TCX programs on %s", name, side);
	}
}

static void
look_at_queues(struct doctor *doctor, const char *name, int ifindex)
{
	struct queues queues = { .ifindex = ifindex };
	int rc = read_queues(&queues);

	if (rc < 0) {
		doctor_add(doctor, FINDING_WARN, "queue", NULL, "%s: not checked: %s",
			   name, strerror(-rc));
		return;
	}
	doctor_add(doctor, FINDING_OK, "queue", NULL, "%s: %s", name,
		   *queues.root ? queues.root : "noqueue");
	if (queues.is_clsact)
		doctor_add(
			doctor, FINDING_WARN, "programs",
			"run 'tc filter show dev NAME ingress' and 'egress' to identify "
			"them; TCX programs run before them",
			"%s: has a clsact or ingress queue, possibly with other filters",
			name);
}

/* Fills the last part of a link's target, or "". */
static void
target_of(const struct doctor *doctor, const char *link, char *name, size_t size)
{
	char target[4096], *path = xasprintf("%s%s", doctor->sysroot, link);
	ssize_t n = readlink(path, target, sizeof target - 1);
	const char *slash;

	free(path);
	target[n > 0 ? n : 0] = '\0';
	slash = strrchr(target, '/');
	snprintf(name, size, "%.63s", slash ? slash + 1 : target);
}

static bool
exists(const struct doctor *doctor, const char *path)
{
	char *below = xasprintf("%s%s", doctor->sysroot, path);
	bool so = access(below, F_OK) == 0;

	free(below);
	return so;
}

/* Checks the hardware: eBPF counts TCP and UDP, but not RDMA. */
static void
look_at_interface(struct doctor *doctor, const char *name)
{
	char *driver_link = xasprintf("/sys/class/net/%s/device/driver", name);
	char *rdma = xasprintf("/sys/class/net/%s/device/infiniband", name);
	char *speed = doctor_line(doctor, "/sys/class/net/%s/speed", name);
	char *state = doctor_line(doctor, "/sys/class/net/%s/operstate", name);
	long mbps = speed ? strtol(speed, NULL, 10) : -1;
	char driver[64], rate[32] = "speed unknown";
	int ifindex = *doctor->sysroot ? 0 : (int)if_nametoindex(name);

	target_of(doctor, driver_link, driver, sizeof driver);
	if (mbps > 0)
		snprintf(rate, sizeof rate, "%g Gb/s", (double)mbps / 1000);
	if (exists(doctor, rdma))
		doctor_add(
			doctor, FINDING_WARN, "interface",
			"bytes of RDMA come from the device's counters (source rdma), "
			"by port and not by job, unless counters are bound to processes",
			"%s: %s, %s, %s; carries RDMA, which eBPF does not see", name,
			*driver ? driver : "no driver", state ? state : "state unknown",
			rate);
	else
		doctor_add(doctor, FINDING_OK, "interface", NULL,
			   "%s: %s, %s, %s; all its traffic passes the kernel", name,
			   *driver ? driver : "no hardware",
			   state ? state : "state unknown", rate);
	if (ifindex) {
		look_at_queues(doctor, name, ifindex);
		look_at_programs(doctor, name, ifindex);
	}
	free(driver_link);
	free(rdma);
	free(speed);
	free(state);
}

/* The configured interfaces, or all physical ones. */
static size_t
look_at_each(struct doctor *doctor)
{
	char *list = xstrdup(doctor->config->interfaces), *rest = NULL;
	char *path = xasprintf("%s/sys/class/net", doctor->sysroot);
	struct dirent **found = NULL;
	size_t n_seen = 0;
	int n;

	for (char *word = strtok_r(list, ", ", &rest); word;
	     word = strtok_r(NULL, ", ", &rest)) {
		char *entry = xasprintf("/sys/class/net/%s", word);

		n_seen++;
		if (strpbrk(word, "*?["))
			doctor_add(
				doctor, FINDING_OK, "interface", NULL,
				"%s: a pattern; its interfaces are not checked one by one",
				word);
		else if (exists(doctor, entry))
			look_at_interface(doctor, word);
		else
			doctor_add(doctor, FINDING_WARN, "interface",
				   "run 'ip link' to list interfaces",
				   "%s: does not exist (yet)", word);
		free(entry);
	}
	n = n_seen ? 0 : scandir(path, &found, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		char *device = xasprintf("/sys/class/net/%s/device", found[i]->d_name);

		if (found[i]->d_name[0] != '.' && exists(doctor, device)) {
			look_at_interface(doctor, found[i]->d_name);
			n_seen++;
		}
		free(device);
		free(found[i]);
	}
	free(found);
	free(path);
	free(list);
	return n_seen;
}

void
doctor_check_interfaces(struct doctor *doctor)
{
	char *path = xasprintf("%s/sys/class/infiniband", doctor->sysroot);
	struct dirent **found = NULL;
	int n;

	if (!look_at_each(doctor))
		doctor_add(doctor, FINDING_WARN, "interface",
			   "name those to count: [source] interface = ...",
			   "this host has no physical interface");
	n = scandir(path, &found, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		if (found[i]->d_name[0] != '.')
			doctor_add(doctor, FINDING_OK, "rdma", NULL,
				   "%s: counted by its port counters",
				   found[i]->d_name);
		free(found[i]);
	}
	free(found);
	free(path);
}

/* ---- The bus --------------------------------------------------------------------- */

/* Whether a collector answers at the control socket of the settings. */
static bool
is_running(struct doctor *doctor)
{
	static const char *const words[] = { "ping", NULL };
	char *path = xasprintf("%s/collector.sock", doctor->config->runtime_dir);
	struct strbuf reply = STRBUF_EMPTY;
	struct err err = { 0 };
	int rc = control_ask(path, words, ASK_NS, &reply, &err);

	if (rc == 0)
		doctor_add(doctor, FINDING_OK, "collector", NULL, "running (%s)", path);
	else if (rc == -EACCES || rc == -EPERM)
		doctor_add(doctor, FINDING_WARN, "collector", "run as root",
			   "not checked: %s", path);
	else
		doctor_add(doctor, FINDING_OK, "collector", NULL, "not running (%s)",
			   path);
	strbuf_free(&reply);
	free(path);
	return rc == 0;
}

/* Checks that 'address', "HOST:PORT" in numbers, is free to be bound. */
static void
look_at_port(struct doctor *doctor, const char *what, const char *address)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	const char *colon = strrchr(address, ':');
	char host[64];
	int fd, port = colon ? atoi(colon + 1) : 0, one = 1;

	if (!colon || port <= 0 || port > 65535 ||
	    (size_t)(colon - address) >= sizeof host) {
		doctor_add(doctor, FINDING_OK, what, NULL, "%s: not checked", address);
		return;
	}
	snprintf(host, sizeof host, "%.*s", (int)(colon - address), address);
	a.sin_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, strcmp(host, "*") == 0 ? "0.0.0.0" : host,
		      &a.sin_addr) != 1) {
		doctor_add(doctor, FINDING_OK, what, NULL, "%s: not checked", address);
		return;
	}
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (const struct sockaddr *)&a, sizeof a) == 0)
		doctor_add(doctor, FINDING_OK, what, NULL, "%s is free", address);
	else
		doctor_add(
			doctor, FINDING_FAIL, what,
			"run 'ss -ltnp' to see which program uses it, or choose another in the settings",
			"%s: %s", address, strerror(errno));
	close(fd);
}

/* Checks a directory of keys, unless it is "" or the one before. */
static void
look_at_keys(struct doctor *doctor, const char *dir, const char *before)
{
	struct bus_keys *keys = NULL;
	struct err err = { 0 };
	int r;

	if (!*dir || strcmp(dir, before) == 0)
		return;
	r = bus_keys_load(dir, &keys, &err);
	if (r == 0)
		doctor_add(doctor, FINDING_OK, "keys", NULL,
			   "%s: %zu allowed, %zu "
			   "server%s",
			   dir, keys->allowed.n, keys->servers.n,
			   words_plural(keys->servers.n));
	else if (r == -EACCES && geteuid() != 0)
		doctor_add(doctor, FINDING_WARN, "keys", "run as root", "%s", err.text);
	else
		doctor_add(doctor, FINDING_FAIL, "keys",
			   "run 'antiphase keys new' to make a pair", "%s: %s", dir,
			   err.text);
	bus_keys_free(keys);
}

static void
look_at_all_keys(struct doctor *doctor)
{
	struct settings *scheduler = doctor_scheduler_settings(doctor);
	struct settings *topology = settings_new(&settings_topology);
	const char *own = doctor->config->keys,
		   *of_scheduler = settings_text(scheduler, "scheduler", "keys"),
		   *of_topology;

	settings_load(topology, doctor->config_file, NULL);
	of_topology = settings_text(topology, "topology", "keys");
	look_at_keys(doctor, own, "");
	look_at_keys(doctor, of_scheduler, own);
	if (strcmp(of_topology, own) != 0)
		look_at_keys(doctor, of_topology, of_scheduler);
	if (!*own && !settings_is_none(doctor->config->endpoint) &&
	    !bus_endpoint_is_local(doctor->config->endpoint))
		doctor_add(doctor, FINDING_FAIL, "keys",
			   "run 'antiphase setup', or set [bus] keys",
			   "%s is beyond this host, and needs keys",
			   doctor->config->endpoint);
	settings_free(topology);
	settings_free(scheduler);
}

void
doctor_check_bus(struct doctor *doctor)
{
	const char *endpoint = doctor->config->endpoint;

	look_at_all_keys(doctor);
	/* A running collector uses the ports itself. */
	if (is_running(doctor))
		return;
	if (strncmp(endpoint, "tcp://", 6) == 0 && !doctor->config->is_connect)
		look_at_port(doctor, "bus", endpoint + 6);
	if (!settings_is_none(doctor->config->metrics))
		look_at_port(doctor, "metrics", doctor->config->metrics);
}
