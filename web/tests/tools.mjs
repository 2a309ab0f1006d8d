// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";

export const fixture = (name) => JSON.parse(readFileSync(new URL(`../fixtures/${name}`, import.meta.url), "utf8"));

// Whole numbers below n, the same in each run.
export function random(seed) {
	let state = seed;
	return (n) => {
		state = (Math.imul(state, 1103515245) + 12345) >>> 0;
		return (state >>> 8) % n;
	};
}
