//! Products of matrices, and what is computed from matrices.

super::families![
    determinant,
    einsum,
    matmul,
    matmul_nbits,
];
