#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fidelity_tcp.sh - what 'make bench-fidelity' runs with TCP of this kernel: two jobs, in a
# network that the run makes and removes (bench_tcp.sh)
exec python3 "$(dirname "$0")/../fidelity.py" --tcp
