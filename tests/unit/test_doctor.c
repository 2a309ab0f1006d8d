/* SPDX-License-Identifier: Apache-2.0 */
/* test_doctor.c - the doctor's findings for hosts whose files are below a test root */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/config.h"
#include "collector/doctor/doctor.h"
#include "lib/base/alloc.h"
#include "lib/base/err.h"
#include "lib/base/json.h"
#include "tests/unit/test.h"

static char root[] = "/tmp/ap-doctor-XXXXXX";

static void
put(const char *path, const char *text)
{
	char command[512];
	FILE *out;

	snprintf(command, sizeof command, "mkdir -p \"$(dirname '%s%s')\"", root, path);
	assert_int_equal(system(command), 0);
	snprintf(command, sizeof command, "%s%s", root, path);
	out = fopen(command, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void
make_dir(const char *path)
{
	char command[256];

	snprintf(command, sizeof command, "mkdir -p '%s%s'", root, path);
	assert_int_equal(system(command), 0);
}

static void
link_to(const char *path, const char *target)
{
	char full[256];

	snprintf(full, sizeof full, "%s%s", root, path);
	assert_int_equal(symlink(target, full), 0);
}

/* The state of the first finding that contains these words, or -1. */
static int
state_of(const struct doctor *doctor, const char *topic, const char *words)
{
	for (size_t i = 0; i < doctor->findings.n; i++) {
		const struct finding *f = &doctor->findings.items[i];

		if (strcmp(f->topic, topic) == 0 && strstr(f->text, words)) {
			/* Each problem has a remedy. */
			assert_true(f->state == FINDING_OK || f->remedy);
			return (int)f->state;
		}
	}
	return -1;
}

static void
lockdown_of_confidentiality_keeps_ebpf_from_working(void **state)
{
	struct config config;
	struct doctor doctor;

	(void)state;
	config_init(&config);
	for (int i = 0; i < 2; i++) {
		struct err err;

		config_set(&config, "source", "source", i ? "bpf" : "auto", NULL, 0,
			   &err);
		doctor_init(&doctor, &config);
		doctor.sysroot = root;
		doctor_check_lockdown(&doctor);
		put("/sys/kernel/security/lockdown",
		    "none [integrity] confidentiality\n");
		doctor_check_lockdown(&doctor);
		put("/sys/kernel/security/lockdown",
		    "none integrity [confidentiality]\n");
		doctor_check_lockdown(&doctor);
		assert_int_equal(doctor.findings.n, 3);
		assert_int_equal(doctor.findings.items[1].state, FINDING_OK);
		/* A check asked for by name is not downgraded. */
		assert_int_equal(doctor.findings.items[2].state,
				 i ? FINDING_FAIL : FINDING_WARN);
		assert_int_equal(findings_worst(&doctor.findings),
				 i ? FINDING_FAIL : FINDING_WARN);
		doctor_fini(&doctor);
	}
	config_fini(&config);
}

static void
cgroups_are_found_wherever_they_are_mounted(void **state)
{
	struct config config;
	struct doctor doctor;

	(void)state;
	config_init(&config);
	doctor_init(&doctor, &config);
	doctor.sysroot = root;
	doctor_check_cgroups(&doctor);
	put("/proc/self/mountinfo",
	    "36 35 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n");
	doctor_check_cgroups(&doctor);
	put("/proc/self/mountinfo",
	    "36 35 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
	doctor_check_cgroups(&doctor);
	assert_int_equal(state_of(&doctor, "cgroups", "mounts not checked"),
			 FINDING_WARN);
	assert_int_equal(state_of(&doctor, "cgroups", "is not mounted"), FINDING_WARN);
	assert_int_equal(state_of(&doctor, "cgroups", "at /sys/fs/cgroup/unified"),
			 FINDING_OK);
	doctor_fini(&doctor);
	config_fini(&config);
}

static void
an_interface_that_carries_rdma_is_told_from_one_that_does_not(void **state)
{
	struct config config;
	struct doctor doctor;
	struct err err;

	(void)state;
	put("/sys/class/net/eth0/speed", "25000\n");
	put("/sys/class/net/eth0/operstate", "up\n");
	make_dir("/sys/class/net/eth0/device");
	link_to("/sys/class/net/eth0/device/driver", "../../../bus/drivers/ixgbe");
	put("/sys/class/net/ib0/speed", "-1\n");
	make_dir("/sys/class/net/ib0/device/infiniband");
	make_dir("/sys/class/net/lo");
	make_dir("/sys/class/infiniband/mlx5_0");
	config_init(&config);
	doctor_init(&doctor, &config);
	doctor.sysroot = root;
	doctor_check_interfaces(&doctor);
	assert_int_equal(state_of(&doctor, "interface", "eth0: ixgbe, up, 25 Gb/s"),
			 FINDING_OK);
	assert_int_equal(
		state_of(&doctor, "interface",
			 "ib0: no driver, state unknown, speed unknown; carries "
			 "RDMA, which eBPF does not see"),
		FINDING_WARN);
	assert_int_equal(state_of(&doctor, "interface", "lo:"), -1);
	assert_int_equal(state_of(&doctor, "rdma", "mlx5_0"), FINDING_OK);
	doctor_fini(&doctor);

	config_set(&config, "source", "interface", "lo, eth7,sw*", NULL, 0, &err);
	doctor_init(&doctor, &config);
	doctor.sysroot = root;
	doctor_check_interfaces(&doctor);
	assert_int_equal(state_of(&doctor, "interface", "lo: no hardware"), FINDING_OK);
	assert_int_equal(state_of(&doctor, "interface", "eth7: does not exist"),
			 FINDING_WARN);
	assert_int_equal(state_of(&doctor, "interface", "sw*: a pattern"), FINDING_OK);
	assert_int_equal(state_of(&doctor, "interface", "eth0"), -1);
	doctor_fini(&doctor);
	config_fini(&config);
}

static void
without_interfaces_it_says_so(void **state)
{
	struct config config;
	struct doctor doctor;

	(void)state;
	config_init(&config);
	doctor_init(&doctor, &config);
	doctor.sysroot = "/no/such/root";
	doctor_check_interfaces(&doctor);
	assert_int_equal(state_of(&doctor, "interface", "no physical interface"),
			 FINDING_WARN);
	doctor_fini(&doctor);
	config_fini(&config);
}

static void
moving_flows_needs_reserved_ports_and_a_place(void **state)
{
	struct config config;
	struct doctor doctor;
	struct err err;

	(void)state;
	config_init(&config);
	doctor_init(&doctor, &config);
	doctor.sysroot = root;
	doctor_check_paths(&doctor);
	assert_int_equal(doctor.findings.n, 0);
	config_set(&config, "paths", "wire_ports", "61000-61999", NULL, 0, &err);
	config_set(&config, "paths", "bpf_dir", "/tmp", NULL, 0, &err);
	doctor_check_paths(&doctor);
	assert_int_equal(state_of(&doctor, "paths", "port 61000 is not in"),
			 FINDING_FAIL);
	assert_int_equal(state_of(&doctor, "paths", "not in a BPF file system"),
			 FINDING_FAIL);
	assert_int_equal(state_of(&doctor, "paths", "orders"), FINDING_FAIL);
	put("/proc/sys/net/ipv4/ip_local_reserved_ports", "60000-62000\n");
	config_set(&config, "pacer", "orders", "tcp://127.0.0.1:7464", NULL, 0, &err);
	doctor_fini(&doctor);
	doctor_init(&doctor, &config);
	doctor.sysroot = root;
	doctor_check_paths(&doctor);
	assert_int_equal(state_of(&doctor, "paths", "are reserved"), FINDING_OK);
	assert_int_equal(doctor.findings.n, 2);
	doctor_fini(&doctor);
	config_fini(&config);
}

static void
text_and_json_have_the_same_findings(void **state)
{
	struct config config;
	struct doctor doctor;
	struct json_doc *doc;
	const struct json *findings;
	struct err err;
	char *text, *json;
	size_t length, n;
	FILE *out;

	(void)state;
	config_init(&config);
	doctor_init(&doctor, &config);
	doctor_add(&doctor, FINDING_OK, "one", NULL, "all %s", "well");
	doctor_add(&doctor, FINDING_FAIL, "two", "mend it", "a \"quoted\" fault");
	out = open_memstream(&text, &length);
	doctor_print(&doctor, out);
	fclose(out);
	assert_string_equal(text, "OK    one          all well\n"
				  "FAIL  two          a \"quoted\" fault\n"
				  "                   -> mend it\n"
				  "1 OK, 0 WARN, 1 FAIL\n");
	out = open_memstream(&json, &length);
	doctor_print_json(&doctor, out);
	fclose(out);
	assert_int_equal(json_parse("-", json, length, &doc, &err), 0);
	assert_int_equal(
		json_get_array(doc, json_root(doc), "findings", &findings, &n, &err),
		0);
	assert_int_equal(n, 2);
	json_doc_free(doc);
	free(text);
	free(json);
	doctor_fini(&doctor);
	config_fini(&config);
}

static void
what_belongs_to_a_scheduler_is_told_and_missed_only_in_part(void **state)
{
	char *path = xstrdup(getenv("PATH")), command[256];
	struct config config;
	struct doctor doctor;

	(void)state;
	/* No service uses port 1 of loopback. */
	put("/beside.conf", "[scheduler]\nhttp = 127.0.0.1:1\n");
	put("/half/squeue", "#!/bin/sh\n");
	snprintf(command, sizeof command, "chmod +x '%s/half/squeue'", root);
	assert_int_equal(system(command), 0);
	config_init(&config);
	for (int i = 0; i < 2; i++) {
		char *dir = xasprintf("%s/%s", root, i ? "half" : "none");
		char *file = xasprintf("%s/beside.conf", root);

		doctor_init(&doctor, &config);
		doctor.config_file = file;
		setenv("PATH", dir, 1);
		doctor_check_scheduler(&doctor);
		setenv("PATH", path, 1);
		if (i)
			assert_int_equal(
				state_of(&doctor, "slurm", "not sinfo, scontrol"),
				FINDING_WARN);
		else
			assert_int_equal(
				state_of(&doctor, "slurm", "no Slurm commands"),
				FINDING_OK);
		assert_int_equal(state_of(&doctor, "scheduler", "127.0.0.1:1"),
				 FINDING_OK);
		assert_true(state_of(&doctor, "pacer", "libantiphase-pacer.so") >= 0);
		doctor_fini(&doctor);
		free(dir);
		free(file);
	}
	config_fini(&config);
	free(path);
}

static void
make_script(const char *path, const char *text)
{
	char command[256];

	put(path, text);
	snprintf(command, sizeof command, "chmod +x '%s%s'", root, path);
	assert_int_equal(system(command), 0);
}

static void
lldpd_and_the_topology_service_are_told(void **state)
{
	static const struct {
		const char *script, *words;
		int state;
	} cases[] = {
		{ "#!/bin/sh\necho '{\"lldp\":[{\"interface\":[{\"name\":\"eth0\","
		  "\"chassis\":[{\"name\":[{\"value\":\"leaf1\"}]}],\"port\":[{\"id\":"
		  "[{\"type\":\"ifname\",\"value\":\"p1\"}]}]}]}]}'\n",
		  "1 neighbor", FINDING_OK },
		{ "#!/bin/sh\necho '{\"lldp\":[{}]}'\n", "no neighbor", FINDING_WARN },
		{ "#!/bin/sh\necho '['\n", "cannot be read", FINDING_WARN },
		{ "#!/bin/sh\nexit 1\n", "is lldpd running", FINDING_WARN },
		{ NULL, "not installed", FINDING_OK },
	};

	char *file = xasprintf("%s/fabric.conf", root), text[512];
	struct config config;
	struct doctor doctor;

	(void)state;
	config_init(&config);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		snprintf(text, sizeof text,
			 "[topology]\nlisten = 127.0.0.1:1\nlldpcli = %s/lldp/%zu\n",
			 root, i);
		put("/fabric.conf", text);
		snprintf(text, sizeof text, "/lldp/%zu", i);
		if (cases[i].script)
			make_script(text, cases[i].script);
		doctor_init(&doctor, &config);
		doctor.config_file = file;
		doctor.sysroot = root;
		doctor_check_fabric(&doctor);
		assert_int_equal(state_of(&doctor, "lldpd", cases[i].words),
				 cases[i].state);
		assert_int_equal(state_of(&doctor, "topology", "no antiphase-topology"),
				 FINDING_OK);
		doctor_fini(&doctor);
	}
	put("/etc/antiphase/topology.json", "{}");
	put("/fabric.conf", "[topology]\nlisten = 127.0.0.1:1\nlldp = no\n");
	doctor_init(&doctor, &config);
	doctor.config_file = file;
	doctor.sysroot = root;
	doctor_check_fabric(&doctor);
	assert_int_equal(state_of(&doctor, "topology", "does not answer"),
			 FINDING_WARN);
	assert_int_equal(doctor.findings.n, 1);
	doctor_fini(&doctor);
	config_fini(&config);
	free(file);
}

/* A script stands for 'antiphase', which is not beside this test. */
static void
what_other_verbs_find_is_taken_over(void **state)
{
	static const char script[] =
		"#!/bin/sh\n"
		"case $1 in\n"
		"slurm) echo '{\"schema\":\"antiphase.slurm_status/2\",\"findings\":["
		"{\"state\":\"FAIL\",\"topic\":\"slurmctld\",\"text\":\"DOWN\","
		"\"remedy\":\"r\"},"
		"{\"state\":\"WARN\",\"topic\":\"spank\",\"text\":\"not built\","
		"\"remedy\":\"r\"},"
		"{\"state\":\"OK\",\"topic\":\"setup\",\"text\":\"a\",\"remedy\":null},"
		"{\"state\":\"FAIL\",\"topic\":\"daemon\",\"text\":\"b\","
		"\"remedy\":\"r\"},7]}'; exit 1 ;;\n"
		"*) echo '{\"schema\":\"antiphase.store_check/1\",\"size_bytes\":2000000,"
		"\"faults\":['$(cat \"$4\")']}' ;;\n"
		"esac\n";
	char *path = xstrdup(getenv("PATH")), *with = NULL, text[512];
	char *file = xasprintf("%s/store.conf", root);
	struct config config;
	struct doctor doctor;

	(void)state;
	make_script("/verbs/antiphase", script);
	with = xasprintf("%s/verbs:%s", root, path);
	setenv("PATH", with, 1);
	snprintf(text, sizeof text, "[scheduler]\nstore = %s/store.db\n", root);
	put("/store.conf", text);
	config_init(&config);
	doctor_init(&doctor, &config);
	doctor.config_file = file;
	doctor_check_store(&doctor);
	assert_int_equal(doctor.findings.n, 0);
	put("/store.db", "");
	doctor_check_store(&doctor);
	assert_int_equal(state_of(&doctor, "store", "is whole, 2.0 MB"), FINDING_OK);
	put("/store.db", "\"row 7 is missing\"");
	doctor_check_store(&doctor);
	assert_int_equal(state_of(&doctor, "store", "1 fault: row 7 is missing"),
			 FINDING_FAIL);
	put("/store.db", "}");
	doctor_check_store(&doctor);
	assert_int_equal(state_of(&doctor, "store", "not checked"), FINDING_WARN);
	doctor_check_slurm(&doctor);
	assert_int_equal(doctor.findings.n, 5);
	assert_int_equal(state_of(&doctor, "slurm", "DOWN"), FINDING_WARN);
	assert_int_equal(state_of(&doctor, "spank", "not built"), FINDING_WARN);
	setenv("PATH", path, 1);
	doctor_fini(&doctor);
	config_fini(&config);
	free(path);
	free(with);
	free(file);
}

static void
a_bus_beyond_the_host_needs_keys(void **state)
{
	struct config config;
	struct doctor doctor;
	struct err err;

	(void)state;
	config_init(&config);
	config_set(&config, "bus", "endpoint", "tcp://*:1", NULL, 0, &err);
	config_set(&config, "collector", "runtime_dir", root, NULL, 0, &err);
	doctor_init(&doctor, &config);
	doctor.config_file = "/dev/null";
	doctor_check_bus(&doctor);
	assert_int_equal(state_of(&doctor, "keys", "tcp://*:1 is beyond this host"),
			 FINDING_FAIL);
	doctor_fini(&doctor);
	config_set(&config, "bus", "keys", "/no/such/keys", NULL, 0, &err);
	doctor_init(&doctor, &config);
	doctor.config_file = "/dev/null";
	doctor_check_bus(&doctor);
	assert_int_equal(state_of(&doctor, "keys", "/no/such/keys"), FINDING_FAIL);
	doctor_fini(&doctor);
	config_fini(&config);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lockdown_of_confidentiality_keeps_ebpf_from_working),
		cmocka_unit_test(cgroups_are_found_wherever_they_are_mounted),
		cmocka_unit_test(
			an_interface_that_carries_rdma_is_told_from_one_that_does_not),
		cmocka_unit_test(without_interfaces_it_says_so),
		cmocka_unit_test(
			what_belongs_to_a_scheduler_is_told_and_missed_only_in_part),
		cmocka_unit_test(lldpd_and_the_topology_service_are_told),
		cmocka_unit_test(what_other_verbs_find_is_taken_over),
		cmocka_unit_test(a_bus_beyond_the_host_needs_keys),
		cmocka_unit_test(moving_flows_needs_reserved_ports_and_a_place),
		cmocka_unit_test(text_and_json_have_the_same_findings),
	};
	char command[64];
	int rc;

	if (!mkdtemp(root))
		return 1;
	rc = cmocka_run_group_tests_name("doctor", tests, NULL, NULL);
	snprintf(command, sizeof command, "rm -rf '%s'", root);
	return system(command) || rc;
}
