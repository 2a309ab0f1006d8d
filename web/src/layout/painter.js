// SPDX-License-Identifier: Apache-2.0
// painter.js - a scene on a canvas that is larger than the box that it is seen through.
// Drawing tens of thousands of lines takes longer than a frame, so while the view moves,
// the canvas is moved and scaled as it is; it is drawn anew when the view rests, or shows
// a part of the scene that the canvas does not have.

const MARGIN = 0.5;  // Of the canvas on each side, as a share of the box.
const REST_MS = 150; // After the last move.
const BUSY = 4;      // Between two drawings pass this many times their own time.
const LEAST_ZOOM = 0.02, MOST_ZOOM = 8;
const MAX_UNKNOWN = 600; // Links without figures are drawn from close by only, if they are more: they would hide the others.

export class Painter {
	constructor(box, canvas) {
		Object.assign(this, { box, canvas, context: canvas.getContext("2d") });
		this.view = null;  // {x, y, zoom}: the scene's point at the left top of the box.
		this.drawn = null; // The same of the canvas; null: it has another scene.
		this.size = { width: 0, height: 0 }; // Of the box.
		this.cost_ms = 0;
		this.done_ms = 0;
		this.frame = 0;
		this.rest = 0;
	}

	// Shows a scene: 'looks' are groups of edges, 'ink' the colors of nodes, 'lines' are
	// those of flows, with a color.
	show(scene, looks, ink, lines) {
		const isOther = this.scene !== scene, width = this.box.clientWidth, height = this.box.clientHeight;
		const isResized = width !== this.size.width || height !== this.size.height;
		Object.assign(this, { scene, looks, ink, lines, size: { width, height } });
		const zoom = Math.min(width / scene.width, 1);
		this.view ??= { x: 0, y: scene.height / 2 - height / zoom / 2, zoom };
		if (isOther || isResized) this.drawn = null;
		// New figures can wait until the view rests.
		if (!this.rest || !this.drawn) this.redraw();
	}

	close() {
		cancelAnimationFrame(this.frame);
		clearTimeout(this.rest);
	}

	// By pixels of the screen.
	pan(dx, dy) {
		const v = this.view;
		this.view = { ...v, x: v.x - dx / v.zoom, y: v.y - dy / v.zoom };
		this.moved();
	}

	zoomAt(x, y, factor) {
		const v = this.view, zoom = Math.max(LEAST_ZOOM, Math.min(MOST_ZOOM, v.zoom * factor));
		this.view = { zoom, x: x - ((x - v.x) * v.zoom) / zoom, y: y - ((y - v.y) * v.zoom) / zoom };
		this.moved();
	}

	// The scene's point under a point of the screen.
	at(event) {
		const r = this.box.getBoundingClientRect(), v = this.view;
		return [v.x + (event.clientX - r.left) / v.zoom, v.y + (event.clientY - r.top) / v.zoom];
	}

	moved() {
		clearTimeout(this.rest);
		this.rest = setTimeout(() => {
			this.rest = 0;
			this.redraw();
		}, REST_MS);
		this.later();
	}

	redraw() {
		this.isStale = true;
		this.later();
	}

	later() {
		this.frame ||= requestAnimationFrame(() => {
			this.frame = 0;
			this.step();
		});
	}

	// Whether the canvas has all of the scene that the view shows.
	covers() {
		const { drawn, view, size, canvas, scene } = this;
		const has = (from, length, drawnFrom, drawnLength, most) => Math.max(0, from) >= drawnFrom && Math.min(most, from + length) <= drawnFrom + drawnLength;
		return has(view.x, size.width / view.zoom, drawn.x, canvas.width / drawn.zoom, scene.width) &&
			has(view.y, size.height / view.zoom, drawn.y, canvas.height / drawn.zoom, scene.height);
	}

	step() {
		if (!this.size.width || !this.size.height) return;
		if (!this.drawn || this.isStale || (!this.covers() && performance.now() - this.done_ms > BUSY * this.cost_ms)) this.draw();
		const { drawn, view } = this, x = (drawn.x - view.x) * view.zoom, y = (drawn.y - view.y) * view.zoom;
		this.canvas.style.transform = `translate(${x}px, ${y}px) scale(${view.zoom / drawn.zoom})`;
	}

	draw() {
		const begin_ms = performance.now(), { canvas, view, size } = this;
		const margin = this.done_ms ? MARGIN : 0; // The first drawing is to be there soon.
		const width = Math.ceil(size.width * (1 + 2 * margin)), height = Math.ceil(size.height * (1 + 2 * margin));
		if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
		this.drawn = { zoom: view.zoom, x: view.x - (size.width * margin) / view.zoom, y: view.y - (size.height * margin) / view.zoom };
		paint(this.context, this, canvas, this.drawn);
		this.isStale = false;
		this.done_ms = performance.now();
		this.cost_ms = this.done_ms - begin_ms;
	}
}

function paint(context, { scene, looks, ink, lines }, size, view) {
	context.setTransform(1, 0, 0, 1, 0, 0);
	context.clearRect(0, 0, size.width, size.height);
	context.setTransform(view.zoom, 0, 0, view.zoom, -view.x * view.zoom, -view.y * view.zoom);
	const right = view.x + size.width / view.zoom, bottom = view.y + size.height / view.zoom;
	for (const look of looks) {
		if (look.isUnknown && look.edges.length > MAX_UNKNOWN && view.zoom < 1) continue;
		context.globalAlpha = look.alpha;
		context.strokeStyle = look.color;
		context.lineWidth = look.width / Math.min(1, view.zoom);
		context.setLineDash(look.dash);
		context.beginPath();
		for (const edge of look.edges) {
			if (Math.max(edge.x1, edge.x2) < view.x || Math.min(edge.x1, edge.x2) > right || Math.max(edge.y1, edge.y2) < view.y || Math.min(edge.y1, edge.y2) > bottom) continue;
			context.moveTo(edge.x1, edge.y1);
			context.lineTo(edge.x2, edge.y2);
		}
		context.stroke();
	}
	paintLines(context, lines, view);
	paintNodes(context, scene.nodes.filter((n) => n.x + n.w >= view.x && n.x - n.w <= right && n.y + n.h >= view.y && n.y - n.h <= bottom), view, ink);
}

function paintLines(context, lines, view) {
	context.globalAlpha = 1;
	context.lineWidth = 2.5 / Math.min(1, view.zoom);
	for (const { points, color, isRoom } of lines) {
		context.strokeStyle = color;
		context.setLineDash(isRoom ? [8, 6] : []);
		context.beginPath();
		points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
		context.stroke();
	}
}

// Folded nodes have a thick frame.  All of one kind are one path.
function paintNodes(context, nodes, view, ink) {
	const isFolded = (node) => node.kind === "rack" || node.kind === "pod";
	context.globalAlpha = 1;
	context.setLineDash([]);
	for (const folded of [false, true]) {
		context.beginPath();
		for (const node of nodes) if (isFolded(node) === folded) context.rect(node.x - node.w / 2, node.y - node.h / 2, node.w, node.h);
		context.fillStyle = ink.fill;
		context.strokeStyle = ink.frame;
		context.lineWidth = folded ? 2.5 : 1;
		context.fill();
		context.stroke();
	}
	context.font = "11px system-ui, sans-serif";
	context.textAlign = "center";
	context.fillStyle = ink.text;
	for (const node of nodes)
		if (node.w * view.zoom >= 24) context.fillText(node.id.slice(0, Math.max(3, Math.floor(node.w / 6.4))), node.x, node.y + 4);
}
