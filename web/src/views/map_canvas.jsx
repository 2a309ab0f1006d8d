// SPDX-License-Identifier: Apache-2.0
// map_canvas.jsx - the map of a large fabric, on a canvas: pan and zoom.
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useColor } from "../color.js";
import { Painter } from "../layout/painter.js";
import { edgeAt, nodeAt } from "../layout/scene.js";
import { edgeState } from "../model/edges.js";
import { dark } from "../state.js";

const STEP = 60; // Pixels that an arrow moves.
const ARROWS = { ArrowLeft: [STEP, 0], ArrowRight: [-STEP, 0], ArrowUp: [0, STEP], ArrowDown: [0, -STEP] };
const ZOOMS = { "+": 1.25, "-": 0.8 };
const MOST_CLICK = 4; // Pixels that the pointer moves in a click.

// The half-links of one look are one path: there may be tens of thousands of them.
// Those that carry more come later, and so are drawn over those that carry less.
function groups(scene, shown, selected, isDark) {
	const found = new Map();
	for (const edge of scene.edges) {
		const s = edgeState(edge, shown);
		const isChosen = edge.links.includes(selected);
		const look = { order: isChosen ? 9 : s.use ?? -1, isUnknown: s.use === null && !isChosen && !s.isMine, alpha: s.isDim || (s.use === null && !s.isMine) ? 0.2 : 1,
			color: isChosen ? (isDark ? "#fff" : "#000") : useColor(s.use, isDark),
			width: s.use === null ? 1 : Math.round(edge.width) / 2, dash: s.contended ? [4, 3] : [] };
		const key = [look.alpha, look.color, look.width, look.dash].join();
		const group = found.get(key) ?? { ...look, edges: [] };
		group.order = Math.max(group.order, look.order);
		group.edges.push(edge);
		found.set(key, group);
	}
	return [...found.values()].sort((a, b) => a.order - b.order);
}

export function Canvas({ scene, shown, selected, lines, onToggle, onOpen }) {
	const box = useRef(null), canvas = useRef(null), painter = useRef(null), drag = useRef(null);
	const looks = useMemo(() => groups(scene, shown, selected, dark.value), [scene, shown, selected, dark.value]);
	useEffect(() => {
		const element = box.current;
		painter.current = new Painter(element, canvas.current);
		const wheel = (event) => {
			event.preventDefault();
			painter.current.zoomAt(...painter.current.at(event), event.deltaY < 0 ? 1.2 : 1 / 1.2);
		};
		element.addEventListener("wheel", wheel, { passive: false });
		return () => {
			element.removeEventListener("wheel", wheel);
			painter.current.close();
		};
	}, []);
	useEffect(() => {
		const show = () => painter.current.show(scene, looks, dark.value ? { fill: "#20262d", frame: "#8b949e", text: "#e6edf3" } : { fill: "#f3f4f6", frame: "#57606a", text: "#1f2328" }, lines);
		show();
		const observer = new ResizeObserver(show);
		observer.observe(box.current);
		return () => observer.disconnect();
	}, [scene, looks, lines, dark.value]);
	const move = (event) => {
		if (!drag.current) return;
		drag.current.far += Math.abs(event.movementX) + Math.abs(event.movementY);
		painter.current.pan(event.movementX, event.movementY);
	};
	const up = (event) => {
		const far = drag.current?.far ?? MOST_CLICK + 1;
		drag.current = null;
		if (far > MOST_CLICK) return;
		const [x, y] = painter.current.at(event), node = nodeAt(scene, x, y);
		if (node) return onToggle(node);
		const edge = edgeAt(scene, x, y, 8 / painter.current.view.zoom);
		if (edge) onOpen(edge);
	};
	const press = (event) => {
		const { view } = painter.current;
		if (ARROWS[event.key]) painter.current.pan(...ARROWS[event.key]);
		else if (ZOOMS[event.key]) painter.current.zoomAt(view.x, view.y, ZOOMS[event.key]);
		else return;
		event.preventDefault();
	};
	return (
		<div class="box" ref={box} tabindex="0" role="img" onKeyDown={press}
			aria-label="The fabric; arrows move, plus and minus zoom. The table below has the same links"
			onPointerDown={() => { drag.current = { far: 0 }; }} onPointerMove={move} onPointerUp={up}
			onPointerLeave={() => { drag.current = null; }}>
			<canvas class="fabric" ref={canvas} />
		</div>
	);
}
