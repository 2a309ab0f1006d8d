// SPDX-License-Identifier: Apache-2.0
// shares.jsx - a link's share of its capacity over a recording, with the player's time.
import * as f from "../format.js";
import { at_us, seek, span } from "../player.js";
import { docs } from "../state.js";
import { Panel } from "./parts.jsx";

const WIDTH = 720, HEIGHT = 90, LEFT = 46;

// A line where the player is; alone, so that only it is drawn anew.
export function Marker({ from_us, to_us, left, width, height }) {
	if (!span.value || !(to_us > from_us)) return null;
	const x = left + width * Math.max(0, Math.min(1, (at_us.value - from_us) / (to_us - from_us)));
	return (
		<g pointer-events="none" data-at={at_us.value}>
			<path d={`M${x} 0V${height}`} stroke="currentColor" stroke-width="1.5" />
			<path d={`M${x - 4} 0H${x + 4}L${x} 6Z`} fill="currentColor" />
		</g>
	);
}

export function Shares({ link }) {
	const { history } = docs.value;
	const row = history?.links.find((l) => l.link === link);
	if (!row || !row.permille.length) return null;
	const { from_us, step_us } = history, n = row.permille.length, to_us = from_us + n * step_us;
	const top = Math.max(1000, ...row.permille);
	const y = (v) => Math.round(10 * HEIGHT * (1 - v / top)) / 10, x = (k) => Math.round((10 * WIDTH * k) / n) / 10 + LEFT;
	const bars = row.permille.map((v, k) => (v === null ? "" : `M${x(k)} ${HEIGHT}V${y(v)}H${x(k + 1)}V${HEIGHT}Z`)).join("");
	const go = (event) => {
		const r = event.currentTarget.getBoundingClientRect();
		if (span.value) seek(from_us + (to_us - from_us) * Math.max(0, Math.min(1, ((event.clientX - r.left) / r.width * (WIDTH + LEFT) - LEFT) / WIDTH)));
	};
	return (
		<Panel title="Share of the capacity over the recording" name={`share-${link}`} json={row}
			rows={row.permille.map((v, k) => ({ key: k, at_us: from_us + k * step_us, share: v === null ? null : v / 1000 }))}
			columns={[{ key: "at_us", name: "TIME", show: (r) => f.time(r.at_us) }, { key: "share", name: "USE", isNumber: true, show: (r) => f.percent(r.share) }]}>
			<div class="map">
				<svg class="chart" viewBox={`0 0 ${WIDTH + LEFT} ${HEIGHT + 18}`} width={WIDTH + LEFT} height={HEIGHT + 18} role="img" onClick={go}
					aria-label={`Share of the capacity of ${link} over the recording; 'as table' shows the figures`}>
					<path d={bars} fill="currentColor" opacity="0.45" />
					<path d={`M${LEFT} ${y(1000)}H${LEFT + WIDTH}`} stroke="currentColor" stroke-dasharray="6 4" />
					<path d={`M${LEFT} ${HEIGHT}H${LEFT + WIDTH}`} stroke="currentColor" stroke-width="0.5" />
					<text x={LEFT - 6} y={y(1000) + 10} text-anchor="end" font-size="11" fill="currentColor">100 %</text>
					<text x={LEFT} y={HEIGHT + 14} font-size="11" fill="currentColor">{f.time(from_us)}</text>
					<text x={LEFT + WIDTH} y={HEIGHT + 14} text-anchor="end" font-size="11" fill="currentColor">{f.time(to_us)}</text>
					<Marker from_us={from_us} to_us={to_us} left={LEFT} width={WIDTH} height={HEIGHT} />
				</svg>
			</div>
			<p class="note">Each bar is the mean of {f.seconds(step_us)}. A click goes to its time.</p>
		</Panel>
	);
}
