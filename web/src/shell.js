// SPDX-License-Identifier: Apache-2.0
// shell.js - a word of a command line: names from outside are quoted.
export const quote = (word) => (/^[A-Za-z0-9_./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);
