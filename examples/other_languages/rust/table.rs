// SPDX-License-Identifier: MIT
//! A safe table: Drop frees it, and a refusal is an Err with its sentence.
use crate::ffi::{self, Call, Config, TableOptions, Tensor};
use std::{mem::size_of, mem::zeroed, ptr::null, ptr::null_mut};

pub struct Table {
    rows: *mut ffi::Rows,
    head_dim: usize,
}
unsafe impl Send for Table {} // any number of threads may rotate by one table
unsafe impl Sync for Table {}
impl Drop for Table {
    fn drop(&mut self) {
        unsafe { ffi::rope_rows_free(self.rows) }
    }
}

pub enum Positions<'a> {
    From(i64),
    Ids(&'a [i64]),
}

impl Table {
    pub fn llama3(head_dim: usize, base: f64, factor: f64, positions: i64) -> Result<Table, String> {
        let mut config = Config { size: size_of::<Config>() as u32, ..unsafe { zeroed() } }; // 0: left out
        (config.layout, config.schedule) = (ffi::ROPE_HALF_SPLIT, ffi::ROPE_LLAMA3);
        (config.head_dim, config.base, config.factor) = (head_dim as i64, base, factor);
        let options = TableOptions { size: size_of::<TableOptions>() as u32, max_positions: positions, ..unsafe { zeroed() } };
        let mut rows = null_mut();
        ffi::check(|text, room| unsafe { ffi::rope_table_new(&config, &options, &mut rows, text, room) })?;
        Ok(Table { rows, head_dim })
    }

    /// Rotates q and k in place, [tokens, heads, head_dim], each with heads of its own.
    pub fn apply(&self, q: &mut [f32], k: &mut [f32], tokens: usize, at: Positions) -> Result<(), String> {
        let (of_q, of_k) = (self.shape("q", q, tokens)?, self.shape("k", k, tokens)?);
        let (q, k) = (q.as_mut_ptr().cast(), k.as_mut_ptr().cast());
        let mut call = Call { size: size_of::<Call>() as u32, ..unsafe { zeroed() } };
        let mut ids = null();
        match at {
            Positions::From(start) => call.start = start,
            Positions::Ids(list) => {
                (call.positions, call.ids_type, call.ids_count) = (ffi::ROPE_IDS, ffi::ROPE_INT64, list.len() as i64);
                ids = list.as_ptr().cast();
            }
        }
        let rows = self.rows;
        ffi::check(|text, room| unsafe { ffi::rope_apply_qk(rows, null(), &call, ids, q, &of_q, k, &of_k, text, room) })
    }

    // A shape with exactly as many numbers as the slice, which makes the call safe.
    fn shape(&self, name: &str, x: &[f32], tokens: usize) -> Result<Tensor, String> {
        let heads = x.len() / self.head_dim / tokens.max(1);
        if heads == 0 || heads * tokens * self.head_dim != x.len() {
            return Err(format!("{name} has {} numbers, not {tokens} tokens of whole heads", x.len()));
        }
        let sizes = [1, tokens as i64, heads as i64, self.head_dim as i64];
        Ok(Tensor { size: size_of::<Tensor>() as u32, sizes, ..unsafe { zeroed() } })
    }
}
