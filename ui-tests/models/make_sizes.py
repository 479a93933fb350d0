"""Writes the models of the user-interface tests whose sizes data gives.

Requires the `onnx` and `numpy` packages: `python ui-tests/models/make_sizes.py`.
"""

from make import save
from make_faults import named


def models():
    save(
        "counted",
        """
        counted (float[n, m] x, float[1, 4] row, int64[2] shape) => (float[n, m] y, float[k, l] rows) {
            [relu] y = Relu (x)
            [rows] rows = Expand (row, shape)
        }
        """,
        named,
    )
    save(
        "asked",
        """
        asked (
            float[4] v, float[1, 1, 4] x, float[1, 1, 2, 2] image, float[1, 8, 1] signal, float[1, 2, 3] theta,
            float[1, 1, 2] pooled, int64[1, 1, 2] places, float[1, 4, 1] columns, string[1] text, float[2, 2] square,
            float[p, 1] column, float[1, q] row, int64[t] picks, int64[1] class,
            int64[3] expanded, int64[2] reshaped, int64[2] filled, int64[3] repeats, int64[2] pads, int64[2] reflected,
            int64[4] size, float[4] scale, int64 depth, float limit, float step, int64 stop, int64[2] drawn,
            int64[2] eyes, int64 hann, int64 blackman, int64 length, int64 bands, int64 transform, int64[4] grid,
            int64[3] unpooled, int64 apart, int64 frame, int64[2] cropped, int64 count, int64[1] texts, int64[2] pixels
        ) => (
            float[a1, a2, a3] y_expand, float[b1, b2] y_reshape, float[c1, c2] y_fill, float[d1, d2, d3] y_tile,
            float[e1] y_pad, float[f1] y_reflect, float[g1, g2, g3, g4] y_size, float[h1, h2, h3, h4] y_scale,
            float[i1, 1] y_hot, float[j1] y_range, int64[k1] y_count, float[l1, l2] y_random, float[m1, m2] y_eye,
            float[n1] y_hann, float[o1] y_blackman, float[1, p1, 2] y_dft, float[q1, q2] y_mel, float[1, r1, r2, 2] y_grid,
            float[s1, s2, s3] y_unpool, float[1, t1, t2, 2] y_stft, float[u1, u2] y_crop, float[w1, 4] y_loop,
            string[z1] y_text, float[1, 1, aa1, aa2] y_image, float[p, q] y_sum, float[t, q] y_pick
        )
            <float[2] two = {0, 1}, float zero = {0}, int64 none = {0}, bool yes = {1}, int64 one = {1}, int64 rate = {8000},
             float high = {4000}, int64[2] block = {2, 2}>
        {
            [expand] y_expand = Expand (x, expanded)
            [reshape] y_reshape = Reshape (v, reshaped)
            [fill] y_fill = ConstantOfShape (filled)
            [tile] y_tile = Tile (x, repeats)
            [pad] y_pad = Pad (v, pads)
            [reflect] y_reflect = Pad <mode = "reflect"> (v, reflected)
            [size] y_size = Resize (image, , , size)
            [scale] y_scale = Resize <mode = "linear"> (image, , scale)
            [hot] y_hot = OneHot <axis = 0> (class, depth, two)
            [range] y_range = Range (zero, limit, step)
            [count] y_count = Range (none, stop, one)
            [drawn] drawn_like = ConstantOfShape (drawn)
            [random] y_random = RandomUniformLike <seed = 3.0> (drawn_like)
            [eyes] eyes_like = ConstantOfShape (eyes)
            [eye] y_eye = EyeLike (eyes_like)
            [hann] y_hann = HannWindow (hann)
            [blackman] y_blackman = BlackmanWindow (blackman)
            [dft] y_dft = DFT (signal, length)
            [mel] y_mel = MelWeightMatrix (bands, transform, rate, zero, high)
            [grid] y_grid = AffineGrid (theta, grid)
            [unpool] y_unpool = MaxUnpool <kernel_shape = [2], strides = [2]> (pooled, places, unpooled)
            [stft] y_stft = STFT (signal, apart, , frame)
            [crop] y_crop = CenterCropPad (square, cropped)
            [loop] y_loop = Loop (count, yes) <body = step (int64 i, bool go) => (bool on, float[4] item) {
                on = Identity (go)
                item = Identity (v)
            }>
            [text] y_text = Expand (text, texts)
            [image] y_image = Col2Im (columns, pixels, block)
            [sum] y_sum = Add (column, row)
            [pick] y_pick = Gather (row, picks)
        }
        """,
        named,
    )
    save(
        "held",
        """
        held (
            float[1, 1, 8, 8] picture, float[r, 4] regions, int64[r] of, float[1, n, 4] boxes, float[1, 1, n] scores, float share,
            float[1, c, h, w] x, float[1, c, 3, 3] weight, float[1, 18, p, q] offset, float[1, s, t, 2] grid,
            float[1, 1, l, 4] query, float[1, 1, m, 4] key, string[k] texts,
            float[z, 4] samples, float[aa, 4] points
        ) => (
            float[r, 1, 2, 2] y_mean, float[r, 1, 2, 2] y_most, int64[o, 3] y_kept, float[1, 1, p, q] y_moved,
            float[1, c, s, t] y_read, float[1, 1, l, 4] y_causal, float[1, 1, l, 4] y_scored, float[1, 1, l, m] scored,
            string[k, u] y_tokens, string[k, v] y_parts, int64[k] counts, float[z, 3] y_near, int64[z, 3] neighbours
        )
            <int64 all = {9223372036854775807}, int64[1] three = {3}, int64[1] last = {1}>
        {
            [mean] y_mean = RoiAlign <output_height = 2, output_width = 2> (picture, regions, of)
            [most] y_most = RoiAlign <output_height = 2, output_width = 2, mode = "max", sampling_ratio = 32767> (picture, regions, of)
            [kept] y_kept = NonMaxSuppression (boxes, scores, all, share)
            [moved] y_moved = DeformConv <kernel_shape = [3, 3]> (x, weight, offset)
            [read] y_read = GridSample (x, grid)
            [causal] y_causal = Attention <is_causal = 1> (query, key, key)
            [scored] y_scored, , , scored = Attention (query, key, key)
            [tokens] y_tokens = com.microsoft.Tokenizer <mark = 0, mincharnum = 1, pad_value = "#", separators = [""]> (texts)
            [parts] y_parts, counts = StringSplit <delimiter = ","> (texts)
            [near] same, distances = Scan <num_scan_inputs = 1, body = step (float[z, 4] a, float[4] b) => (float[z, 4] c, float[z] e) {
                c = Identity (a)
                d = Sub (a, b)
                e = ReduceSumSquare <keepdims = 0> (d, last)
            }> (samples, points)
            [by_sample] by_sample = Transpose <perm = [1, 0]> (distances)
            [neighbours] y_near, neighbours = TopK <largest = 0> (by_sample, three)
        }
        """,
        named,
        opset=23,
    )


if __name__ == "__main__":
    models()
