// SPDX-License-Identifier: MIT
//! rope.h, as far as table.rs calls it. Structs have all members of those in rope.h, in their order, because the
//! library refuses another size. Members that are arrays here are several there.
use std::ffi::CStr;
use std::os::raw::{c_char, c_void};

pub const ROPE_HALF_SPLIT: i32 = 2;
pub const ROPE_LLAMA3: i32 = 4;
pub const ROPE_IDS: i32 = 2;
pub const ROPE_INT64: i32 = 7;

#[repr(C)]
pub struct Rows([u8; 0]);
#[repr(C)]
pub struct Config {
    pub size: u32, pub layout: i32,
    pub head_dim: i64, pub rotary_dim: i64, pub rotary_offset: i64,
    pub base: f64, pub interpolation_factor: f64, pub attention_factor: f64,
    pub schedule: i32, pub is_reversed: i32,
    pub factor: f64, pub parameters_of_schedules: [f64; 13],
    pub original_max_position_embeddings: i64, pub max_position_embeddings: i64, pub axes: i64,
    pub keeps_fractions: i32, pub magnitude: i32,
    pub numbers: *const f64, pub numbers_count: i64,
}
#[repr(C)]
pub struct TableOptions {
    pub size: u32, pub element_type: i32,
    pub max_positions: i64, pub first_position: i64, pub seq_len: i64,
    pub is_compact: i32, pub is_float32_chain: i32,
}
#[repr(C)]
pub struct Tensor { pub size: u32, pub element_type: i32, pub sizes: [i64; 4], pub strides: [i64; 4] }
#[repr(C)]
pub struct Call {
    pub size: u32, pub layout: i32, pub direction: i32,
    pub positions: i32, pub ids_type: i32, pub only_checks: i32, pub start: i64, pub ids_count: i64,
    pub axes: i64, pub axis_stride: i64, pub part: i64, pub parts: i64,
    pub executor: Option<extern "C" fn()>, pub executor_context: *mut c_void,
    pub at_every_size: i64,
}

extern "C" {
    pub fn rope_table_new(config: *const Config, options: *const TableOptions, result: *mut *mut Rows,
                          message: *mut c_char, room: usize) -> i32;
    pub fn rope_apply_qk(rows: *const Rows, k_rows: *const Rows, call: *const Call, ids: *const c_void,
                         q: *mut c_void, of_q: *const Tensor, k: *mut c_void, of_k: *const Tensor,
                         message: *mut c_char, room: usize) -> i32;
    pub fn rope_rows_free(rows: *mut Rows);
}

/// The Result of a function of rope.h, which gets the room for its sentence.
pub fn check(function: impl FnOnce(*mut c_char, usize) -> i32) -> Result<(), String> {
    let mut message = [0; 320]; // ROPE_MESSAGE_ROOM
    match function(message.as_mut_ptr(), message.len()) {
        0 => Ok(()),
        _ => Err(unsafe { CStr::from_ptr(message.as_ptr()) }.to_string_lossy().into_owned()),
    }
}
