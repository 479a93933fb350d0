//! Models of one operator whose sizes the run determines.

#![allow(non_snake_case)]

include!(concat!(env!("OUT_DIR"), "/models.rs"));
