/* SPDX-License-Identifier: Apache-2.0 */
/* bus_keys.c - keys of the bus: CURVE pairs as text (Z85, RFC 32), in files. */
#include "lib/wire/bus_keys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zmq.h>

#include "lib/base/clk.h"
#include "lib/base/err.h"
#include "lib/base/file.h"
#include "lib/base/log.h"
#include "lib/base/sort.h"
#include "lib/base/strbuf.h"
#include "lib/wire/bus.h"

#define MAX_KEYS        65536
#define MAX_HOSTS_BYTES 65536 /* Of one list of hosts. */

/* Two changes within this time may leave a folder with the same time stamp. */
#define STAMP_US 100000

/* ---- Keys ------------------------------------------------------------------------ */

int
bus_key_check(const char *z85)
{
	uint8_t bytes[BUS_KEY_BYTES];
	int error = 0;

	/* zmq_z85_decode() does not check for other characters. */
	for (size_t i = 0; z85[i]; i++) {
		if (i >= BUS_Z85_CHARS || z85[i] <= ' ' || z85[i] > '~')
			return -EINVAL;
	}
	if (strlen(z85) != BUS_Z85_CHARS || !zmq_z85_decode(bytes, z85))
		error = -EINVAL;
	explicit_bzero(bytes, sizeof bytes);
	return error;
}

bool
bus_key_is_name(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"0123456789._-");

	return n > 0 && n <= BUS_KEY_NAME && name[n] == '\0' && name[0] != '.' &&
	       name[0] != '-';
}

/* Splits 'text' into keys; returns their number, or -EINVAL. */
static int
split_keys(char *text, int max, char ret_z85[BUS_KEYS_EACH][BUS_Z85_CHARS + 1])
{
	int n = 0;

	for (char *line = text; *line; n++) {
		size_t length = strcspn(line, "\r\n");
		char *next = line + length + strspn(line + length, "\r\n");

		line[length] = '\0';
		if (n == max || bus_key_check(line) < 0)
			return -EINVAL;
		memcpy(ret_z85[n], line, BUS_Z85_CHARS + 1);
		line = next;
	}
	return n ? n : -EINVAL;
}

int
bus_keys_read(const char *path, bool is_secret,
	      char ret_z85[BUS_KEYS_EACH][BUS_Z85_CHARS + 1], struct err *err)
{
	/* O_NONBLOCK: the name may be that of a pipe without a writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char text[BUS_KEYS_EACH * (BUS_Z85_CHARS + 2) + 2];
	struct stat status;
	ssize_t n;
	int r;

	if (fd < 0) {
		r = err_set_errno(err, path, errno, "cannot open");
		if (r == -EACCES)
			err_append(err,
				   "; keys must belong to the user that uses them: "
				   "'chown' the directory and what is in it");
		return r;
	}
	if (is_secret && (fstat(fd, &status) < 0 || (status.st_mode & 077))) {
		close(fd);
		err_set(err, path, 0, 0,
			"is a secret that others can read; 'chmod 600' it, or make a new "
			"pair if they may have");
		return -EACCES;
	}
	n = read(fd, text, sizeof text - 1);
	r = errno;
	close(fd);
	if (n < 0)
		return err_set_errno(err, path, r, "cannot read");
	text[n] = '\0';
	r = split_keys(text, is_secret ? 1 : BUS_KEYS_EACH, ret_z85);
	if (r < 0)
		err_set(err, path, 0, 0,
			"holds no key: expected a line of %d characters%s",
			BUS_Z85_CHARS, is_secret ? "" : ", or two");
	explicit_bzero(text, sizeof text);
	return r;
}

/* ---- Lists ----------------------------------------------------------------------- */

static void
free_list(bus_known_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->items[i].hosts);
	vec_free(list);
}

static bus_known_list
copy_list(const bus_known_list *list)
{
	bus_known_list copy = VEC_EMPTY;

	for (size_t i = 0; i < list->n; i++) {
		struct bus_known known = list->items[i];

		if (known.hosts)
			known.hosts = xstrdup(known.hosts);
		vec_push(&copy, known);
	}
	return copy;
}

static int
by_name(const void *a, const void *b)
{
	const struct bus_known *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->number - y->number;
}

static int
by_key(const void *a, const void *b)
{
	const struct bus_known *const *x = a, *const *y = b;
	int order = strcmp((*x)->z85, (*y)->z85);

	return order ? order : strcmp((*x)->name, (*y)->name);
}

/* The patterns of a list of hosts, divided by single blanks: words of lines without '#'. */
static int
read_hosts(const char *path, char **ret_hosts, struct err *err)
{
	struct strbuf hosts = STRBUF_EMPTY;
	char *text, *at;
	size_t length;
	int error = file_read(path, MAX_HOSTS_BYTES, &text, &length, err);

	if (error < 0) {
		*ret_hosts = NULL;
		return error == -ENOENT ? 0 : error;
	}
	for (at = text; *(at += strspn(at, ", \t\r\n"));) {
		size_t n = strcspn(at, *at == '#' ? "\n" : ", \t\r\n");

		if (*at != '#' && hosts.length)
			strbuf_add(&hosts, " ", 1);
		if (*at != '#')
			strbuf_add(&hosts, at, n);
		at += n;
	}
	free(text);
	*ret_hosts = xstrdup(hosts.text);
	strbuf_free(&hosts);
	return 0;
}

/* Adds the keys of FOLDER/FILE.pub under a name. */
static int
add_keys(bus_known_list *list, const char *folder, const char *file, const char *name,
	 struct err *err)
{
	char *path = xasprintf("%s/%s.pub", folder, file), *hosts = NULL;
	char *hosts_path = xasprintf("%s/%s.hosts", folder, file);
	char z85[BUS_KEYS_EACH][BUS_Z85_CHARS + 1];
	int n = bus_keys_read(path, false, z85, err), error = n < 0 ? n : 0;

	if (!error)
		error = read_hosts(hosts_path, &hosts, err);
	for (int i = 0; i < n && !error; i++) {
		struct bus_known known = { .number = i,
					   .hosts = hosts ? xstrdup(hosts) : NULL };

		strcpy(known.name, name);
		strcpy(known.z85, z85[i]);
		vec_push(list, known);
	}
	free(hosts);
	free(path);
	free(hosts_path);
	return error;
}

/*
 * Adds the keys of a folder.  A file without a key is named in the log and passed over:
 * one bad file must not lock out all others.
 */
static int
add_folder(struct bus_keys *keys, bus_known_list *list, const char *folder,
	   struct err *err)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	if (!dir)
		return errno == ENOENT ? 0
				       : err_set_errno(err, folder, errno,
						       "cannot read the directory");
	while ((entry = readdir(dir)) && list->n < MAX_KEYS) {
		size_t length = strlen(entry->d_name);
		char name[BUS_KEY_NAME + 1] = "";
		struct err why;

		if (length < 5 || length - 4 > BUS_KEY_NAME ||
		    strcmp(entry->d_name + length - 4, ".pub") != 0)
			continue;
		memcpy(name, entry->d_name, length - 4);
		if (bus_key_is_name(name) &&
		    add_keys(list, folder, name, name, &why) < 0)
			log_limited(&keys->said, clk_monotonic_ns(), LOG_LEVEL_WARN,
				    "bus", "%s/%s: %s", folder, entry->d_name,
				    why.text);
	}
	closedir(dir);
	sort_items(list->items, list->n, by_name);
	return 0;
}

static bus_known_order
sorted_by_key(const bus_known_list *list)
{
	bus_known_order order = VEC_EMPTY;

	for (size_t i = 0; i < list->n; i++)
		vec_push(&order, &list->items[i]);
	sort_items(order.items, order.n, by_key);
	return order;
}

/* A key that two names have would make one of them speak for the other. */
static int
check_names(const bus_known_list *list, const char *folder, struct err *err)
{
	bus_known_order order = sorted_by_key(list);
	int error = 0;

	for (size_t i = 1; i < order.n && !error; i++) {
		const struct bus_known *a = order.items[i - 1], *b = order.items[i];

		if (strcmp(a->z85, b->z85) != 0 || strcmp(a->name, b->name) == 0)
			continue;
		error = err_set(err, folder, 0, 0,
				"%s.pub and %s.pub hold the same key: make a pair for "
				"each, or remove one and list its hosts in %s.hosts",
				a->name, b->name, a->name);
	}
	vec_free(&order);
	return error;
}

static bool
is_same(const bus_known_list *a, const bus_known_list *b)
{
	for (size_t i = 0; i < a->n && a->n == b->n; i++) {
		const struct bus_known *x = &a->items[i], *y = &b->items[i];

		if (strcmp(x->name, y->name) != 0 || strcmp(x->z85, y->z85) != 0 ||
		    !x->hosts != !y->hosts ||
		    (x->hosts && strcmp(x->hosts, y->hosts) != 0))
			return false;
	}
	return a->n == b->n;
}

/* The times of last change of the folders; zero without one. */
static void
stamps(const struct bus_keys *keys, struct timespec ret_changed[2])
{
	static const char *const folders[] = { "allow", "servers" };

	for (int i = 0; i < 2; i++) {
		char *path = xasprintf("%s/%s", keys->directory, folders[i]);
		struct stat status;

		ret_changed[i] = stat(path, &status) == 0 ? status.st_mtim
							  : (struct timespec){ 0 };
		free(path);
	}
}

static int
read_lists(struct bus_keys *keys, bus_known_list *allowed, bus_known_list *servers,
	   struct err *err)
{
	char *allow = xasprintf("%s/allow", keys->directory);
	char *known = xasprintf("%s/servers", keys->directory);
	char *server = xasprintf("%s/server.pub", keys->directory);
	int error = add_folder(keys, allowed, allow, err);

	if (!error)
		error = check_names(allowed, allow, err);
	if (!error)
		error = add_folder(keys, servers, known, err);
	if (!error)
		error = check_names(servers, known, err);
	if (!error && access(server, F_OK) == 0)
		error = add_keys(servers, keys->directory, "server", "", err);
	sort_items(servers->items, servers->n, by_name);
	free(allow);
	free(known);
	free(server);
	return error;
}

int
bus_keys_reload(struct bus_keys *keys, struct err *err)
{
	bus_known_list allowed = VEC_EMPTY, servers = VEC_EMPTY;
	int error;

	stamps(keys, keys->changed);
	error = read_lists(keys, &allowed, &servers, err);
	if (error < 0) {
		free_list(&allowed);
		free_list(&servers);
		return error;
	}
	keys->generation += !is_same(&keys->allowed, &allowed) ||
			    !is_same(&keys->servers, &servers);
	free_list(&keys->allowed);
	free_list(&keys->servers);
	vec_free(&keys->by_key);
	keys->allowed = allowed;
	keys->servers = servers;
	keys->by_key = sorted_by_key(&keys->allowed);
	return 0;
}

static bool
is_recent(const struct timespec *stamp)
{
	int64_t us = (int64_t)stamp->tv_sec * 1000000 + stamp->tv_nsec / 1000;
	int64_t age_us = clk_wall_us() - us;

	return us && age_us < STAMP_US && age_us > -STAMP_US;
}

void
bus_keys_refresh(struct bus_keys *keys)
{
	struct timespec changed[2];
	struct err err;

	stamps(keys, changed);
	if (memcmp(changed, keys->changed, sizeof changed) == 0)
		return;
	if (bus_keys_reload(keys, &err) < 0)
		log_limited(&keys->said, clk_monotonic_ns(), LOG_LEVEL_ERR, "bus",
			    "%s: %s; keys stay as they were", err.file, err.text);
	/* It may change once more without a later stamp. */
	for (int i = 0; i < 2; i++)
		if (is_recent(&keys->changed[i]))
			keys->changed[i] = (struct timespec){ 0 };
}

/* ---- Questions ------------------------------------------------------------------- */

const struct bus_known *
bus_keys_client(const struct bus_keys *keys, const char *z85)
{
	size_t low = 0, high = keys->by_key.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(keys->by_key.items[middle]->z85, z85);

		if (order == 0)
			return keys->by_key.items[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

const struct bus_known *
bus_keys_server_key(const struct bus_keys *keys, const char *name, unsigned number)
{
	const struct bus_known *first = NULL;
	unsigned n = 0;

	for (size_t i = 0; i < keys->servers.n; i++) {
		const struct bus_known *known = &keys->servers.items[i];

		if (strcmp(known->name, name) != 0)
			continue;
		if (!first)
			first = known;
		n++;
	}
	return first ? first + number % n : NULL;
}

void
bus_keys_server_name(const struct bus_keys *keys, const char *endpoint,
		     char ret_name[BUS_KEY_NAME + 1])
{
	const char *host = strncmp(endpoint, "tcp://", 6) == 0 ? endpoint + 6 : "";
	const char *colon = strrchr(host, ':');
	size_t n = colon ? (size_t)(colon - host) : 0;

	if (n > BUS_KEY_NAME)
		n = 0;
	memcpy(ret_name, host, n);
	ret_name[n] = '\0';
	if (!bus_keys_server_key(keys, ret_name, 0))
		ret_name[0] = '\0';
}

bool
bus_known_speaks_for(const struct bus_known *known, const char *host)
{
	const char *at = known->hosts;

	if (!at)
		return host && strcmp(known->name, host) == 0;
	while (*(at += strspn(at, " "))) {
		char pattern[BUS_KEY_NAME + 1];
		size_t n = strcspn(at, " ");

		if (n < sizeof pattern) {
			memcpy(pattern, at, n);
			pattern[n] = '\0';
			if (strcmp(pattern, "*") == 0 ||
			    (host && fnmatch(pattern, host, 0) == 0))
				return true;
		}
		at += n;
	}
	return false;
}

/* ---- All keys -------------------------------------------------------------------- */

int
bus_keys_load(const char *directory, struct bus_keys **ret_keys, struct err *err)
{
	struct bus_keys *keys = xcalloc(1, sizeof *keys);
	char *secret_path = xasprintf("%s/self.key", directory);
	char z85[BUS_KEYS_EACH][BUS_Z85_CHARS + 1];
	int error;

	keys->directory = xstrdup(directory);
	error = bus_keys_read(secret_path, true, z85, err);
	if (error == -ENOENT)
		err_append(err, "; 'antiphase keys new' makes a pair of keys");
	if (error < 0)
		goto out;
	memcpy(keys->secret, z85[0], sizeof keys->secret);
	explicit_bzero(z85, sizeof z85);
	if (zmq_curve_public(keys->public, keys->secret) < 0) {
		error = err_set(err, secret_path, 0, 0, "holds no secret key");
		goto out;
	}
	error = bus_keys_reload(keys, err);
out:
	free(secret_path);
	if (error < 0)
		bus_keys_free(keys);
	else
		*ret_keys = keys;
	return error;
}

struct bus_keys *
bus_keys_copy(const struct bus_keys *keys)
{
	struct bus_keys *copy = xmemdup(keys, 1, sizeof *keys);

	copy->directory = xstrdup(keys->directory);
	copy->allowed = copy_list(&keys->allowed);
	copy->servers = copy_list(&keys->servers);
	copy->by_key = sorted_by_key(&copy->allowed);
	return copy;
}

void
bus_keys_free(struct bus_keys *keys)
{
	if (!keys)
		return;
	free_list(&keys->allowed);
	free_list(&keys->servers);
	vec_free(&keys->by_key);
	free(keys->directory);
	explicit_bzero(keys, sizeof *keys);
	free(keys);
}
