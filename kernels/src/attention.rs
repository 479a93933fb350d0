//! Attention and rotary position embeddings.

mod dot_product;
pub mod group_query;
pub mod linear;
pub mod multi_head;
pub mod rotary;

pub use dot_product::{
    AttentionMask, AttentionOptions, AttentionScores, JoinedAttention, ScoreMask, Scores, Undefined,
    attention, attention_products, attention_values, attention_with_scores, joined_attention, matching_heads,
    merge_heads, of_heads, split_heads, whole_mask,
};
