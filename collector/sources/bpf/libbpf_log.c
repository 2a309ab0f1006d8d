/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/sources/bpf/libbpf_log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "lib/base/log.h"

static int
put(enum libbpf_print_level level, const char *fmt, va_list args)
{
	char line[1024];

	if (level > LIBBPF_WARN)
		return 0;
	vsnprintf(line, sizeof line, fmt, args);
	line[strcspn(line, "\n")] = '\0';
	log_dbg("bpf", "%s", line);
	return 0;
}

void
libbpf_log_init(void)
{
	libbpf_set_print(put);
}
