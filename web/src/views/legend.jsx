// SPDX-License-Identifier: Apache-2.0
// legend.jsx - what the colors of a map mean; 'strokes' says what its strokes do.
import { THRESHOLDS, useColor } from "../color.js";
import { dark } from "../state.js";

export function Legend({ strokes }) {
	return (
		<p class="legend">
			Share of the capacity:{" "}
			{THRESHOLDS.map((from, i) => (
				<span class="step">
					<svg width="22" height="10" aria-hidden="true"><rect width="22" height="10" fill={useColor(from, dark.value)} /></svg>
					{i + 1 < THRESHOLDS.length ? `${100 * from}-${100 * THRESHOLDS[i + 1]} %` : `${100 * from} % and more`}
				</span>
			))}
			<span class="step">
				<svg width="22" height="10" aria-hidden="true"><rect width="22" height="10" fill={useColor(null, dark.value)} /></svg>unknown
			</span>
			<span>{strokes}; width: capacity; each half of a cable is the direction that leaves its node.</span>
		</p>
	);
}
