/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/daemon/caps.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/base/err.h"

/* Indexed by the numbers of linux/capability.h. */
static const char *const names[] = {
	"CHOWN",
	"DAC_OVERRIDE",
	"DAC_READ_SEARCH",
	"FOWNER",
	"FSETID",
	"KILL",
	"SETGID",
	"SETUID",
	"SETPCAP",
	"LINUX_IMMUTABLE",
	"NET_BIND_SERVICE",
	"NET_BROADCAST",
	"NET_ADMIN",
	"NET_RAW",
	"IPC_LOCK",
	"IPC_OWNER",
	"SYS_MODULE",
	"SYS_RAWIO",
	"SYS_CHROOT",
	"SYS_PTRACE",
	"SYS_PACCT",
	"SYS_ADMIN",
	"SYS_BOOT",
	"SYS_NICE",
	"SYS_RESOURCE",
	"SYS_TIME",
	"SYS_TTY_CONFIG",
	"MKNOD",
	"LEASE",
	"AUDIT_WRITE",
	"AUDIT_CONTROL",
	"SETFCAP",
	"MAC_OVERRIDE",
	"MAC_ADMIN",
	"SYSLOG",
	"WAKE_ALARM",
	"BLOCK_SUSPEND",
	"AUDIT_READ",
	"PERFMON",
	"BPF",
	"CHECKPOINT_RESTORE",
};

#define N_NAMES (sizeof names / sizeof names[0])

struct sets {
	uint64_t effective, permitted, inheritable;
};

static int
get_sets(struct sets *sets)
{
	struct __user_cap_header_struct head = { .version =
							 _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &head, data) < 0)
		return -errno;
	sets->effective = data[0].effective | (uint64_t)data[1].effective << 32;
	sets->permitted = data[0].permitted | (uint64_t)data[1].permitted << 32;
	sets->inheritable = data[0].inheritable | (uint64_t)data[1].inheritable << 32;
	return 0;
}

static int
set_sets(const struct sets *sets)
{
	struct __user_cap_header_struct head = { .version =
							 _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	for (int i = 0; i < 2; i++) {
		data[i].effective = (uint32_t)(sets->effective >> 32 * i);
		data[i].permitted = (uint32_t)(sets->permitted >> 32 * i);
		data[i].inheritable = (uint32_t)(sets->inheritable >> 32 * i);
	}
	return syscall(SYS_capset, &head, data) < 0 ? -errno : 0;
}

uint64_t
caps_effective(void)
{
	struct sets sets;

	return get_sets(&sets) < 0 ? 0 : sets.effective;
}

const char *
caps_text(uint64_t set, char *text, size_t size)
{
	size_t n = 0;

	snprintf(text, size, "none");
	for (unsigned i = 0; i < 64 && n < size; i++) {
		if (!(set >> i & 1))
			continue;
		if (i < N_NAMES)
			n += (size_t)snprintf(text + n, size - n, "%sCAP_%s",
					      n ? ", " : "", names[i]);
		else
			n += (size_t)snprintf(text + n, size - n, "%s%u", n ? ", " : "",
					      i);
	}
	return text;
}

int
caps_find_user(const char *user, unsigned *ret_uid, unsigned *ret_gid, struct err *err)
{
	const struct passwd *found = getpwnam(user);
	char *end;
	unsigned long uid;

	if (!found && *user >= '0' && *user <= '9') {
		uid = strtoul(user, &end, 10);
		if (!*end && uid < UINT32_MAX) {
			found = getpwuid((uid_t)uid);
			*ret_uid = (unsigned)uid;
			/* A number without an entry is also used as the group. */
			*ret_gid = found ? found->pw_gid : (unsigned)uid;
			return 0;
		}
	}
	if (!found)
		return err_set(err, NULL, 0, 0, "there is no user '%s' on this host",
			       user);
	*ret_uid = found->pw_uid;
	*ret_gid = found->pw_gid;
	return 0;
}

/* Keeps the permitted set; the caller sets the effective one later. */
static int
become(unsigned uid, unsigned gid, const char *user, struct err *err)
{
	gid_t group = gid;
	const char *what = NULL;

	if (getuid() == uid && geteuid() == uid && getegid() == gid)
		return 0;
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		what = "cannot keep capabilities";
	else if (setgroups(1, &group) < 0 || setresgid(gid, gid, gid) < 0 ||
		 setresuid(uid, uid, uid) < 0)
		what = "cannot become this user; start as root, or let systemd do it";
	return what ? err_set_errno(err, user, errno, what) : 0;
}

/* Limits what executed programs can gain.  Has no effect without CAP_SETPCAP. */
static void
bound(uint64_t keep)
{
	for (unsigned i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++) {
		if (i >= 64 || !(keep >> i & 1))
			prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
	}
}

/* The permitted capabilities of a thread; 0 also if unknown. */
static uint64_t
permitted_of_thread(const char *thread)
{
	char path[64], line[256];
	unsigned long long set = 0;
	FILE *in;

	snprintf(path, sizeof path, "/proc/self/task/%.20s/status", thread);
	in = fopen(path, "re");
	if (!in)
		return 0;
	while (fgets(line, sizeof line, in) && sscanf(line, "CapPrm: %llx", &set) != 1)
		continue;
	fclose(in);
	return set;
}

/*
 * Capabilities belong to a thread, and only this thread dropped its own: no other
 * thread may have more.
 */
static int
verify_threads(uint64_t keep, struct err *err)
{
	DIR *directory = opendir("/proc/self/task");
	uint64_t more = 0;
	struct dirent *entry;

	if (!directory)
		return 0;
	while ((entry = readdir(directory)))
		if (*entry->d_name != '.')
			more |= permitted_of_thread(entry->d_name) & ~keep;
	closedir(directory);
	if (!more)
		return 0;
	err_set(err, NULL, 0, 0, "a thread was started before capabilities went");
	return -EPERM;
}

static int
verify(const char *user, unsigned uid, uint64_t keep, struct err *err)
{
	struct sets sets;
	uid_t real = 0, effective = 0, saved = 0;
	char text[512];
	int rc = get_sets(&sets);

	if (rc < 0)
		return err_set_errno(err, NULL, rc, "cannot read capabilities");
	getresuid(&real, &effective, &saved);
	if ((sets.effective | sets.permitted) & ~keep || sets.inheritable) {
		err_set(err, NULL, 0, 0, "these capabilities did not go: %s",
			caps_text((sets.effective | sets.permitted) & ~keep, text,
				  sizeof text));
		return -EPERM;
	}
	if (user && (real != uid || effective != uid || saved != uid ||
		     (uid && setuid(0) == 0))) {
		err_set(err, NULL, 0, 0, "the way back from user '%s' to root is open",
			user);
		return -EPERM;
	}
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) {
		err_set(err, NULL, 0, 0, "no-new-privileges did not hold");
		return -EPERM;
	}
	return verify_threads(keep, err);
}

int
caps_drop(const char *user, uint64_t keep, struct err *err)
{
	struct sets sets;
	unsigned uid = 0, gid = 0;
	int rc;

	if (user && (rc = caps_find_user(user, &uid, &gid, err)) < 0)
		return rc;
	bound(keep);
	if (user && (rc = become(uid, gid, user, err)) < 0)
		return rc;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	rc = get_sets(&sets);
	if (rc == 0) {
		sets.permitted &= keep;
		sets.effective = sets.permitted;
		sets.inheritable = 0;
		rc = set_sets(&sets);
	}
	if (rc < 0)
		return err_set_errno(err, NULL, rc, "cannot give up capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set_errno(err, NULL, errno, "cannot set no-new-privileges");
	return verify(user, uid, keep, err);
}
