// SPDX-License-Identifier: MIT
//! q and k rotated at two kinds of positions, and a refusal. cpp/demo.cpp is the same in C++.
#[rustfmt::skip]
mod ffi;
mod table;

use table::{Positions, Table};

const TOKENS: usize = 2;
const HEAD_DIM: usize = 64;

fn show(what: &str, x: &[f32]) {
    let sum = x.iter().fold(2166136261u32, |sum, x| (sum ^ x.to_bits()).wrapping_mul(16777619));
    let shown = &x[x.len() - HEAD_DIM..][..8];
    let words: String = shown.iter().map(|x| format!(" {:08x}", x.to_bits())).collect();
    println!("{what:<14}{words} sum {sum:08x}");
}

fn main() -> Result<(), String> {
    let table = Table::llama3(HEAD_DIM, 500000.0, 32.0, 131072)?; // Llama 3.2 1B
    let mut q: Vec<f32> = (0..TOKENS * 2 * HEAD_DIM).map(|i| (i as f32 - 100.0) / 8.0).collect();
    let mut k: Vec<f32> = (0..TOKENS * HEAD_DIM).map(|i| (50.0 - i as f32) / 8.0).collect();

    table.apply(&mut q, &mut k, TOKENS, Positions::From(100000))?; // positions 100000 and 100001
    show("q from 100000:", &q);
    show("k from 100000:", &k);
    table.apply(&mut q, &mut k, TOKENS, Positions::Ids(&[7, 131071]))?;
    show("q by ids:", &q);
    show("k by ids:", &k);
    if let Err(sentence) = table.apply(&mut q, &mut k, TOKENS, Positions::From(131071)) {
        println!("refused: {sentence}");
    }
    show("q as it was:", &q);
    Ok(())
}
