#include "collector/libbpf_talk.h"

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
libbpf_talk_to_log(void)
{
	libbpf_set_print(put);
}
