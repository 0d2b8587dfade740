// SPDX-License-Identifier: MIT

// A table that Close frees, and refusals as errors.
package main

// #include <rope/rope.h>
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

type Table struct {
	rows    *C.rope_rows
	headDim int
}

func NewLlama3Table(headDim int, base, factor float64, positions int) (*Table, error) {
	config := C.rope_config{size: C.sizeof_rope_config, layout: C.ROPE_HALF_SPLIT, head_dim: C.int64_t(headDim)}
	config.base, config.schedule, config.factor = C.double(base), C.ROPE_LLAMA3, C.double(factor)
	options := C.rope_table_options{size: C.sizeof_rope_table_options, max_positions: C.int64_t(positions)}
	t, text := &Table{headDim: headDim}, [C.ROPE_MESSAGE_ROOM]C.char{}
	if C.rope_table_new(&config, &options, &t.rows, &text[0], C.ROPE_MESSAGE_ROOM) != C.ROPE_OK {
		return nil, errors.New(C.GoString(&text[0]))
	}
	return t, nil
}

// Close frees the table, which no goroutine may be using. Apply then returns an error.
func (t *Table) Close() {
	C.rope_rows_free(t.rows)
	t.rows = nil
}

// Apply rotates q and k in place, [tokens, heads, headDim], each with heads of its own: at ids, one for each token, or
// from start on if there are none.
func (t *Table) Apply(q, k []float32, tokens int, start int64, ids []int64) error {
	shapes, text, first := [2]C.rope_tensor{}, [C.ROPE_MESSAGE_ROOM]C.char{}, unsafe.Pointer(nil)
	for i, x := range [][]float32{q, k} {
		if tokens < 1 || len(x) == 0 || len(x)%tokens != 0 || len(x)/tokens%t.headDim != 0 {
			return fmt.Errorf("%d numbers are not %d tokens of whole heads", len(x), tokens)
		}
		shapes[i] = C.rope_tensor{size: C.sizeof_rope_tensor, batch: 1, seq: C.int64_t(tokens),
			heads: C.int64_t(len(x) / tokens / t.headDim), head_dim: C.int64_t(t.headDim)}
	}
	// cgo passes a pointer to Go's memory only if that has no pointers to Go's memory in it. In rope.h tensors and ids are
	// arguments of their own, so the structs have none.
	call := C.rope_call{size: C.sizeof_rope_call, start: C.int64_t(start)}
	if len(ids) > 0 {
		call.positions, call.ids_type, call.ids_count = C.ROPE_IDS, C.ROPE_INT64, C.int64_t(len(ids))
		first = unsafe.Pointer(&ids[0])
	}
	if C.rope_apply_qk(t.rows, nil, &call, first, unsafe.Pointer(&q[0]), &shapes[0], unsafe.Pointer(&k[0]), &shapes[1],
		&text[0], C.ROPE_MESSAGE_ROOM) != C.ROPE_OK {
		return errors.New(C.GoString(&text[0]))
	}
	return nil
}
