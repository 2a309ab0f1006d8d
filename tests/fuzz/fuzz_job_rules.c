/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_job_rules.c - texts as job rules: accepted, or refused with a reason */
#include <stdlib.h>

#include "collector/sources/packets/job_rules.h"
#include "collector/sources/packets/packet.h"
#include "lib/base/err.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	const char *rule = text;
	struct packet packet = { .is_ip = true, .has_ports = true };
	struct err err = { 0 };
	struct job_rules *rules;

	if (job_rules_new(&rule, 1, &rules, &err) < 0) {
		BUG_ON(!err.text[0]);
	} else {
		job_rules_match(rules, &packet);
		job_rules_free(rules);
	}
	free(text);
	return 0;
}
