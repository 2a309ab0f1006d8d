#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# live_demo.sh - a short 'make demo-live' as a test: all measurements exist, and jobs
# are steered.  The gain in so short a time is not checked.
export DEMO_CHECK=1 DEMO_CASES=equal DEMO_PAIRS=1 DEMO_SECONDS=30 DEMO_ALONE_SECONDS=4
exec bash "$(dirname "$0")/demo_live.sh"
