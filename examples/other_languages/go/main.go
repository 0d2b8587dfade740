// SPDX-License-Identifier: MIT

// q and k rotated at two kinds of positions, and a refusal. cpp/demo.cpp is the same in C++.
package main

import (
	"fmt"
	"log"
	"math"
)

const tokens, headDim = 2, 64

func show(what string, x []float32) {
	sum, words := uint32(2166136261), ""
	for i, number := range x {
		word := math.Float32bits(number)
		sum = (sum ^ word) * 16777619
		if begin := len(x) - headDim; i >= begin && i < begin+8 {
			words += fmt.Sprintf(" %08x", word)
		}
	}
	fmt.Printf("%-14s%s sum %08x\n", what, words, sum)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	table, err := NewLlama3Table(headDim, 500000, 32, 131072) // Llama 3.2 1B
	must(err)
	defer table.Close()
	q, k := make([]float32, tokens*2*headDim), make([]float32, tokens*headDim)
	for i := range q {
		q[i] = (float32(i) - 100) / 8
	}
	for i := range k {
		k[i] = (50 - float32(i)) / 8
	}

	must(table.Apply(q, k, tokens, 100000, nil)) // positions 100000 and 100001
	show("q from 100000:", q)
	show("k from 100000:", k)
	must(table.Apply(q, k, tokens, 0, []int64{7, 131071}))
	show("q by ids:", q)
	show("k by ids:", k)
	if err := table.Apply(q, k, tokens, 131071, nil); err != nil {
		fmt.Println("refused:", err)
	}
	show("q as it was:", q)
}
