// SPDX-License-Identifier: MIT
// q and k rotated at two kinds of positions, and a refusal. cpp/demo.cpp is the same in C++.
'use strict';
const { Table } = require('./table.js');

const TOKENS = 2;
const HEAD_DIM = 64;

function show(what, x) {
    const words = new Uint32Array(x.buffer, x.byteOffset, x.length);
    const hex = (word) => word.toString(16).padStart(8, '0');
    const sum = words.reduce((sum, word) => Math.imul(sum ^ word, 16777619), 2166136261) >>> 0;
    const begin = x.length - HEAD_DIM;
    console.log(what.padEnd(14), ...Array.from(words.subarray(begin, begin + 8), hex), 'sum', hex(sum));
}

const table = new Table(HEAD_DIM, 500000, 32, 131072); // Llama 3.2 1B
const q = Float32Array.from({ length: TOKENS * 2 * HEAD_DIM }, (_, i) => (i - 100) / 8);
const k = Float32Array.from({ length: TOKENS * HEAD_DIM }, (_, i) => (50 - i) / 8);

table.apply(q, k, TOKENS, 100000); // positions 100000 and 100001
show('q from 100000:', q);
show('k from 100000:', k);
table.apply(q, k, TOKENS, BigInt64Array.of(7n, 131071n));
show('q by ids:', q);
show('k by ids:', k);
try {
    table.apply(q, k, TOKENS, 131071);
} catch (error) {
    if (!(error instanceof RangeError)) throw error;
    console.log('refused:', error.message);
}
show('q as it was:', q);
