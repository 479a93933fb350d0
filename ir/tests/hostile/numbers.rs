//! Numbers that are too large, negative or not finite.

use super::limits::{check, each};

#[test]
fn a_range_of_a_million_million_is_not_written_out() {
    check(
        "g () => (int64[n] y) <int64 a = {0}, int64 b = {1000000000000}, int64 c = {1}> { y = Range (a, b, c) }",
    );
    check(
        "g () => (int64[n] y) <int64 a = {-9223372036854775808}, int64 b = {9223372036854775807}, int64 c = {1}> { y = Range (a, b, c) }",
    );
    check(
        "g () => (float[n] y) <float a = {0}, float b = {1e30}, float c = {1e-30}> { y = Range (a, b, c) }",
    );
    check("g () => (int64[n] y) <int64 a = {0}, int64 b = {10}, int64 c = {0}> { y = Range (a, b, c) }");
}

#[test]
fn sizes_of_a_million_million_are_not_written_out() {
    for size in
        ["1000000000000", "4611686018427387904", "9223372036854775807", "-9223372036854775808", "-1", "0"]
    {
        each(
            "float[3] f, float[3, n] g",
            &format!(
                "int64 k = {{{size}}}, int64[1] s = {{{size}}}, int64[2] t = {{{size}, {size}}}, \
                 int64[1] x = {{3}}, int64[2] v = {{0, 1}}, int64[1] a = {{0}}, int64[1] b = {{1}}"
            ),
            "ConstantOfShape (s)
             ConstantOfShape (t)
             Expand (x, s)
             Expand (f, s)
             Tile (x, s)
             Tile (f, s)
             Reshape (x, s)
             Reshape (f, t)
             Pad (x, t)
             Pad (f, t)
             CenterCropPad (f, s)
             OneHot (x, k, v)
             OneHot <axis = 0> (f, k, v)
             Range (k, x, b)
             Range (a, k, b)
             Range (a, x, k)
             TopK (f, s)
             Split (f, t)
             Slice (x, s, b, a, s)
             Slice (f, s, b, a, s)
             Slice (f, a, s, a, b)
             Slice (x, a, s, a, b)
             Slice (f, a, b, s)
             Slice (g, s, s, b, s)
             Unsqueeze (f, s)
             Squeeze (f, s)
             ReduceSum (f, s)
             ReduceSum (x, s)
             Gather (f, s)
             Gather (x, s)
             GatherElements (x, s)
             GatherND (x, s)
             ScatterElements (x, s, b)
             ScatterND (x, t, b)
             Resize (f, , , s)
             Upsample (f, s)
             Concat <axis = 0> (x, s)
             Where (s, s, s)
             EyeLike (g)
             Trilu (g, k)
             CumSum (f, k)
             BlackmanWindow (k)
             DFT (g, k, k)
             MelWeightMatrix (k, k, k, k, k)
             MaxUnpool <kernel_shape = [1]> (g, g, s)
             NonMaxSuppression (g, g, s)
             SequenceAt (f, k)
             ReverseSequence (g, s)
             Compress (f, s)",
        );
    }
}

#[test]
fn attributes_need_not_be_finite() {
    for value in ["inf", "-inf", "nan", "3.4e38", "1e-45"] {
        each(
            "float[2, 2] x, double[2] z, float[2, 1, 2] v",
            &format!(
                "double d = {{{value}}}, float f = {{{value}}}, float one = {{1}}, \
                 float[2] s = {{{value}, {value}}}, float[1, 4, 2] w = {{1,1,1,1,1,1,1,1}}, \
                 float[1, 4, 1] r = {{1,1,1,1}}, float[2, 2] m = {{1,1,1,1}}, float[2] c = {{1,1}}"
            ),
            &format!(
                "Gemm <alpha: float = {value}, beta: float = {value}> (x, m, c)
                 Elu <alpha: float = {value}> (x)
                 Selu <alpha: float = {value}, gamma: float = {value}> (x)
                 LeakyRelu <alpha: float = {value}> (x)
                 HardSigmoid <alpha: float = {value}> (x)
                 ThresholdedRelu <alpha: float = {value}> (x)
                 Shrink <lambd: float = {value}, bias: float = {value}> (x)
                 Clip (x, f, f)
                 Add (x, f)
                 Add (x, s)
                 Mul (z, d)
                 Pow (x, f)
                 Div (f, f)
                 Mod <fmod = 1> (f, f)
                 Floor (f)
                 Sqrt (f)
                 Exp (f)
                 Cast <to = 11> (f)
                 Cast <to = 10> (d)
                 Cast <to = 16> (d)
                 Cast <to = 6> (f)
                 Cast <to = 3> (f)
                 Cast <to = 7> (d)
                 Cast <to = 9> (d)
                 Range (one, f, one)
                 Range (f, one, one)
                 Range (one, one, f)
                 Resize (x, , s)
                 Pad (x, , f)
                 Where (x, f, f)
                 LayerNormalization <epsilon: float = {value}> (x, c, c)
                 BatchNormalization <epsilon: float = {value}, momentum: float = {value}> (x, c, c, c, c)
                 InstanceNormalization <epsilon: float = {value}> (v, c, c)
                 LpNormalization (x)
                 LRN <size = 3, alpha: float = {value}, beta: float = {value}, bias: float = {value}> (v)
                 LSTM <hidden_size = 1, clip: float = {value}> (v, w, r)
                 LSTM <hidden_size = 1, activations = [\"Affine\", \"Elu\", \"Elu\"], activation_alpha = [{value}, {value}, {value}], activation_beta = [{value}]> (v, w, r)
                 Dropout (x, f)
                 Attention <scale: float = {value}, softcap: float = {value}> (x, x, x)
                 QuantizeLinear (x, f)
                 DequantizeLinear (x, f)
                 Constant <value_float: float = {value}> ()
                 Constant <value_floats: floats = [{value}]> ()
                 EyeLike (x)
                 OneHot (f, f, s)
                 Bernoulli (x)
                 RandomNormal <shape = [2], mean: float = {value}, scale: float = {value}> ()
                 RandomUniform <shape = [2], low: float = {value}, high: float = {value}> ()
                 Swish <alpha: float = {value}> (x)
                 Hardmax (x)"
            ),
        );
    }
}

#[test]
fn numbers_at_the_edge_are_no_harm() {
    for number in ["-9223372036854775808", "9223372036854775807", "4294967296", "0", "-1"] {
        each(
            "float[N, 3] x, float[1, 4, 2, 2] i, float[1, 1, 4] v",
            &format!(
                "int64[1] a = {{{number}}}, int64[1] b = {{-1}}, int32[1] c = {{-2147483648}}, \
                 float[4, 4, 1, 1] w = {{1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1}}, uint8[1] u = {{255}}, \
                 uint64[1] q = {{18446744073709551615}}"
            ),
            &format!(
                "Shape <start = {number}, end = {number}> (x)
                 Div (a, b)
                 Div (b, a)
                 Mod (a, b)
                 Mod (b, a)
                 Mod <fmod = 1> (a, b)
                 Mul (a, a)
                 Mul (c, c)
                 Mul (u, u)
                 Mul (q, q)
                 Add (q, q)
                 Add (a, a)
                 Sub (b, a)
                 Neg (a)
                 Neg (c)
                 Abs (a)
                 Abs (c)
                 Sign (a)
                 Pow (a, a)
                 Max (a, b)
                 Equal (a, b)
                 Cast <to = 2> (a)
                 Cast <to = 1> (a)
                 Cast <to = {number}> (x)
                 Gather (x, a)
                 Gather <axis = {number}> (x, b)
                 GatherElements <axis = {number}> (x, b)
                 GatherND <batch_dims = {number}> (x, b)
                 ReduceProd (a)
                 ReduceSum (a)
                 ReduceMax (x, a)
                 ReduceMean <keepdims = {number}> (x, a)
                 CumSum (a, a)
                 CumSum <exclusive = {number}, reverse = {number}> (x, b)
                 BitShift <direction = \"LEFT\"> (q, q)
                 BitwiseNot (a)
                 Trilu <upper = {number}> (x, a)
                 Flatten <axis = {number}> (x)
                 Softmax <axis = {number}> (x)
                 LogSoftmax <axis = {number}> (x)
                 Hardmax <axis = {number}> (x)
                 ArgMax <axis = {number}> (x)
                 Concat <axis = {number}> (x, x)
                 Split <axis = {number}, num_outputs = 2> (x)
                 Split <num_outputs = {number}> (x)
                 LayerNormalization <axis = {number}> (x, x)
                 LpNormalization <axis = {number}, p = {number}> (x)
                 EyeLike <k = {number}> (x)
                 OneHot <axis = {number}> (b, a, b)
                 TopK <axis = {number}> (x, b)
                 LRN <size = {number}> (i)
                 Transpose <perm = [{number}, {number}]> (x)
                 Conv <group = {number}> (i, w)
                 Conv <strides = [{number}, {number}], dilations = [{number}, {number}]> (i, w)
                 Conv <pads = [{number}, {number}, {number}, {number}]> (i, w)
                 Conv <auto_pad = \"SAME_UPPER\", strides = [{number}, {number}]> (i, w)
                 ConvTranspose <group = {number}, output_padding = [{number}, {number}]> (i, w)
                 ConvTranspose <dilations = [{number}, {number}], strides = [{number}, {number}]> (i, w)
                 ConvTranspose <output_shape = [{number}, {number}]> (i, w)
                 ConvTranspose <pads = [{number}, {number}, {number}, {number}]> (i, w)
                 MaxPool <kernel_shape = [{number}, {number}]> (i)
                 MaxPool <kernel_shape = [2, 2], dilations = [{number}, {number}], ceil_mode = 1> (i)
                 MaxPool <kernel_shape = [1, 1], storage_order = {number}, ceil_mode = {number}> (i)
                 AveragePool <kernel_shape = [1, 1], strides = [{number}, {number}]> (i)
                 LpPool <kernel_shape = [1, 1], p = {number}, pads = [{number}, {number}, {number}, {number}]> (i)
                 GroupNormalization <num_groups = {number}> (i, v, v)
                 DepthToSpace <blocksize = {number}> (i)
                 SpaceToDepth <blocksize = {number}> (i)
                 LSTM <hidden_size = {number}> (v, v, v)
                 GRU <hidden_size = {number}, layout = {number}> (v, v, v)
                 RNN <hidden_size = {number}> (v, v, v)
                 Col2Im <strides = [{number}, {number}], pads = [{number}, 0, 0, {number}]> (v, b, b)
                 CenterCropPad <axes = [{number}]> (i, b)
                 Attention <q_num_heads = {number}, kv_num_heads = {number}> (v, v, v)
                 RotaryEmbedding <num_heads = {number}, rotary_embedding_dim = {number}> (v, v, v)
                 Unique <axis = {number}> (x)
                 Squeeze (x, a)
                 Unsqueeze (x, a)
                 Constant <value_int = {number}> ()
                 QuantizeLinear <axis = {number}, block_size = {number}> (x, x)
                 DequantizeLinear <axis = {number}, block_size = {number}> (a, x)
                 ReverseSequence <batch_axis = {number}, time_axis = {number}> (x, a)
                 ScatterElements <axis = {number}> (x, a, x)
                 Compress <axis = {number}> (x, b)
                 GridSample <align_corners = {number}> (i, i)
                 Multinomial <sample_size = {number}> (x)"
            ),
        );
    }
}
