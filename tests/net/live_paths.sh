#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# live_paths.sh - a short case 'paths' of 'make demo-live' as a test: flows of real MPI
# jobs that collide are moved while they run, without a new connection, also when
# antiphase is killed afterwards.  The gain is not checked.
export DEMO_CHECK=1 DEMO_CASES=paths DEMO_PAIRS=1 DEMO_SECONDS=22 DEMO_ALONE_SECONDS=4
exec bash "$(dirname "$0")/demo_live.sh"
