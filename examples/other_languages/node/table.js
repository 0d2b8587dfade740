// SPDX-License-Identifier: MIT
'use strict';
const addon = require(require('path').resolve('build/rope_node.node'));

/** A table of a model with the schedule of Llama 3. Refusals are TypeError, and RangeError for positions. */
class Table {
    #rows;
    #headDim;

    constructor(headDim, base, factor, positions) {
        this.#rows = addon.create(headDim, positions, base, factor);
        this.#headDim = headDim;
    }

    /**
     * Rotates q and k in place: Float32Array [tokens, heads, headDim], each with heads of its own.
     * positions: the first, a number, or a BigInt64Array with one for each token.
     */
    apply(q, k, tokens, positions) {
        const ids = positions instanceof BigInt64Array ? positions : undefined;
        if (!(ids ? ids.length > 0 : Number.isSafeInteger(positions))) {
            throw new TypeError('positions must be an integer or a BigInt64Array.');
        }
        const [qHeads, kHeads] = [this.#heads(q, tokens), this.#heads(k, tokens)];
        addon.apply(this.#rows, q, k, ids, qHeads, kHeads, tokens, this.#headDim, ids ? 0 : positions);
    }

    // The addon trusts this: as many numbers as the array has.
    #heads(x, tokens) {
        const heads = x instanceof Float32Array ? x.length / tokens / this.#headDim : 0;
        if (!(Number.isInteger(tokens) && Number.isInteger(heads) && heads > 0)) {
            throw new TypeError(`q and k must be a Float32Array of whole heads for each of ${tokens} tokens.`);
        }
        return heads;
    }
}

module.exports = { Table };
