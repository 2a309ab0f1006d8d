// SPDX-License-Identifier: Apache-2.0
// ask.js - documents of the server that serves the page.

let isOneByOne = false;
let last = Promise.resolve();

// From now on, a request waits until the one before it is answered.
export function askOneByOne() {
	isOneByOne = true;
}

async function get(path, asked = fetch(path, { cache: "no-cache" })) {
	const reply = await asked;
	const body = await reply.json();
	if (!reply.ok) throw new Error(body.error?.message ?? `${path}: status ${reply.status}`);
	return body;
}

// The document at 'path'; fails with the server's message.  'asked': a request that has
// begun.
export function ask(path, asked) {
	if (!isOneByOne) return get(path, asked);
	const answer = last.then(() => get(path));
	last = answer.catch(() => {});
	return answer;
}
