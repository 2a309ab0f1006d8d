# SPDX-License-Identifier: Apache-2.0
cli_SRCS := $(wildcard cli/*.c cli/setup/*.c)
# What unit tests and fuzz targets link, too: no verbs.
cli_TESTABLE := cli/advice_prose.c cli/advice_paths.c cli/advice_svg.c cli/changes.c cli/circle_svg.c cli/link_history.c \
	cli/redact.c cli/report_page.c cli/scheduler_advice.c cli/scheduler_api.c cli/time_text.c \
	$(wildcard cli/setup/*.c)
