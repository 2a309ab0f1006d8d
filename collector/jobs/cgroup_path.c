/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/jobs/cgroup_path.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

/* A component of a path: not terminated. */
struct part {
	const char *text;
	size_t length;
};

/* Reads the component at '*at' and moves '*at' past it.  False at the end. */
static bool
next_part(const char **at, struct part *ret_part)
{
	const char *p = *at;

	while (*p == '/')
		p++;
	if (!*p)
		return false;
	ret_part->text = p;
	ret_part->length = strcspn(p, "/");
	*at = p + ret_part->length;
	return true;
}

static bool
begins_with(struct part part, const char *word)
{
	return part.length >= strlen(word) && !memcmp(part.text, word, strlen(word));
}

static bool
ends_with(struct part part, const char *word)
{
	size_t n = strlen(word);

	return part.length >= n && !memcmp(part.text + part.length - n, word, n);
}

static bool
is(struct part part, const char *word)
{
	return part.length == strlen(word) && begins_with(part, word);
}

/* ---- Slurm ----------------------------------------------------------------------- */

/*
 * Whether slurmd puts jobs below this component: with cgroup v2 the scope of
 * slurmstepd, after the node's name if several slurmd run on one host; with v1's layout
 * "slurm" or "slurm_NODE".
 */
static bool
is_slurm(struct part part)
{
	return is(part, "slurm") || begins_with(part, "slurm_") ||
	       is(part, "slurmstepd.scope") || ends_with(part, "_slurmstepd.scope");
}

static bool
slurm_name(struct part part, char name[TELE_MAX_NAME + 1])
{
	const char *id = part.text + strlen("job_");
	size_t n;

	if (!begins_with(part, "job_"))
		return false;
	n = part.length - strlen("job_");
	if (n == 0 || n > 20)
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)id[i]))
			return false;
	memcpy(name, id, n);
	name[n] = '\0';
	return true;
}

/* ---- Kubernetes ------------------------------------------------------------------ */

static bool
is_kubernetes(struct part part)
{
	return is(part, "kubepods") || is(part, "kubepods.slice") ||
	       ends_with(part, "-kubepods.slice");
}

/* A pod's uid: a UUID, or 32 digits of a hash for static pods. */
static bool
pod_uid(const char *text, size_t n, char name[TELE_MAX_NAME + 1])
{
	static const char prefix[] = "pod-";
	size_t at = sizeof prefix - 1;

	if (n < 8 || n > 36)
		return false;
	memcpy(name, prefix, at);
	for (size_t i = 0; i < n; i++) {
		/* systemd's slices have '_' where others have '-'. */
		char c = text[i] == '_' ? '-' : text[i];

		if (!isxdigit((unsigned char)c) && c != '-')
			return false;
		name[at++] = c;
	}
	name[at] = '\0';
	return true;
}

/* "podUID", or "kubepods-burstable-podUID.slice" with systemd's driver. */
static bool
kubernetes_name(struct part part, char name[TELE_MAX_NAME + 1])
{
	static const char slice[] = ".slice", pod[] = "-pod";
	size_t end = part.length;

	if (begins_with(part, "pod"))
		return pod_uid(part.text + 3, end - 3, name);
	if (!ends_with(part, slice))
		return false;
	end -= sizeof slice - 1;
	for (size_t i = 0; i + sizeof pod - 1 < end; i++)
		if (!memcmp(part.text + i, pod, sizeof pod - 1))
			return pod_uid(part.text + i + sizeof pod - 1,
				       end - i - (sizeof pod - 1), name);
	return false;
}

/* ---- systemd --------------------------------------------------------------------- */

static bool
matches_one(const char *name, const char *patterns)
{
	char pattern[TELE_MAX_NAME + 1];

	while (*patterns) {
		size_t n = strcspn(patterns, ",");

		if (n > 0 && n < sizeof pattern) {
			memcpy(pattern, patterns, n);
			pattern[n] = '\0';
			if (!fnmatch(pattern, name, 0))
				return true;
		}
		patterns += n + (patterns[n] == ',');
	}
	return false;
}

static bool
service_name(struct part part, const char *services, char name[TELE_MAX_NAME + 1])
{
	char unit[TELE_MAX_NAME + 1];

	if (!ends_with(part, ".service") && !ends_with(part, ".scope"))
		return false;
	/* Names are cut here as everywhere; those of units can have 255 letters. */
	snprintf(unit, sizeof unit, "%.*s", (int)part.length, part.text);
	if (!matches_one(unit, services))
		return false;
	memcpy(name, unit, sizeof unit);
	return true;
}

/* ---------------------------------------------------------------------------------- */

/* Names are shown to people and go into metrics. */
static bool
is_printable(const char *text)
{
	for (; *text; text++)
		if (!isprint((unsigned char)*text))
			return false;
	return true;
}

bool
cgroup_job_name(const char *path, const char *services, char name[TELE_MAX_NAME + 1])
{
	bool in_slurm = false, in_kubernetes = false, is_found = false;
	char found[TELE_MAX_NAME + 1];
	struct part part;

	while (next_part(&path, &part)) {
		if (in_slurm && slurm_name(part, name))
			return true;
		if (in_kubernetes && kubernetes_name(part, name))
			return true;
		in_slurm |= is_slurm(part);
		in_kubernetes |= is_kubernetes(part);
		if (services && service_name(part, services, found))
			is_found = true;
	}
	if (!is_found || !is_printable(found))
		return false;
	memcpy(name, found, sizeof found);
	return true;
}

bool
cgroup_is_below(const char *path, const char *prefix)
{
	size_t n = strlen(prefix);

	return !strncmp(path, prefix, n) && (!path[n] || path[n] == '/');
}

/* ---- /proc/self/mountinfo -------------------------------------------------------- */

/* "36 35 98:0 /root /mount/point rw,noatime master:1 - cgroup2 source options" */
struct mount {
	struct part root, point, type;
};

static struct part
next_field(const char **at, const char *end)
{
	struct part field;

	while (*at < end && **at == ' ')
		(*at)++;
	field.text = *at;
	while (*at < end && **at != ' ')
		(*at)++;
	field.length = (size_t)(*at - field.text);
	return field;
}

static bool
parse_mount(const char *at, const char *end, struct mount *ret_mount)
{
	struct part field;

	for (int i = 0; i < 3; i++)
		next_field(&at, end);
	ret_mount->root = next_field(&at, end);
	ret_mount->point = next_field(&at, end);
	do {
		field = next_field(&at, end);
		if (!field.length)
			return false;
	} while (!is(field, "-"));
	ret_mount->type = next_field(&at, end);
	return ret_mount->type.length > 0;
}

static bool
is_octal(const char *text)
{
	return text[0] >= '0' && text[0] <= '3' && text[1] >= '0' && text[1] <= '7' &&
	       text[2] >= '0' && text[2] <= '7';
}

/* The kernel writes blanks, tabs, newlines and '\' as "\040". */
static bool
unescape(struct part from, char *to, size_t size)
{
	size_t n = 0;

	for (size_t i = 0; i < from.length; i++) {
		char c = from.text[i];

		if (c == '\\' && i + 3 < from.length && is_octal(from.text + i + 1)) {
			c = (char)((from.text[i + 1] - '0') << 6 |
				   (from.text[i + 2] - '0') << 3 |
				   (from.text[i + 3] - '0'));
			i += 3;
		}
		if (n + 1 >= size || !c)
			return false;
		to[n++] = c;
	}
	to[n] = '\0';
	return n > 0;
}

bool
cgroup_find_mount(const char *mountinfo, size_t length, char *path, size_t size)
{
	const char *end = mountinfo + length;
	bool is_found = false;

	while (mountinfo < end) {
		const char *newline =
			memchr(mountinfo, '\n', (size_t)(end - mountinfo));
		const char *stop = newline ? newline : end;
		struct mount mount;

		if (parse_mount(mountinfo, stop, &mount) && is(mount.type, "cgroup2") &&
		    (!is_found || is(mount.root, "/")) &&
		    unescape(mount.point, path, size)) {
			is_found = true;
			if (is(mount.root, "/"))
				return true;
		}
		mountinfo = stop + 1;
	}
	return is_found;
}
