//! The table of operations: operands, options, result, and kernels.
//!
//! From it, [`declare`](super::declare) generates a trait for each operation, with Burn's primitives as the default, and the
//! dispatch of calls; `flex.rs` and `cube.rs` generate the implementations. Each line has the form
//! ```text
//! name(operand: Kind, ..; option: Type, ..) -> Kind, flex[kernel], cube[kernel => type of the result];
//! ```
//!
//! where the kernel is a function of the operands and options in that order, by its path in the device's folder. The type of the
//! result is for fusion, which needs it before the operation runs. It is computed from the types of the operands
//! ([`metadata`](super::metadata)).
//!
//! Kinds of operands are `Float`, `Int` and `Bool`, `MaybeFloat` and so on for optional ones, `Any` for tensors of any kind, and
//! `[Name]` for a struct of tensors. Results of kind `Float` and `Int` have primitives, see [`primitives`](super::primitives); a
//! kernel with a result of kind `MaybeFloat` and so on may decline, and the operator's function then computes it otherwise.
//!
//! `wgpu` instead of `cube` leaves an operation to Burn on CUDA and ROCm, where Burn's products use tensor cores and are fused
//! with the following operations.

/// Calls a macro with the lines of the table.
macro_rules! operations {
    ($then:ident) => { $then! {
        // Elements.
        exp(x: Float) -> Float, flex[elementary::exp];
        erf(x: Float) -> Float, flex[elementary::erf];
        function(x: Float; function: Function) -> Float, flex[in_software::function];
        /// Powers of tensors of one dtype that broadcast.
        power(base: Float, exponent: Float) -> Float, flex[in_software::power];
        /// Powers with an exponent for all elements.
        power_by(x: Float; exponent: f64) -> Float, flex[in_software::power_by];
        /// The sum along an axis, or the mean.
        sum(x: Float; axis: usize, mean: bool) -> Float, flex[sum::sum];
        /// The greater or the lesser elements of tensors of one shape, NaN where either is.
        extreme(a: Float, b: Float; greatest: bool) -> Float, flex[extreme::extreme];
        /// Results of integers of one shape, which wrap. No operand is empty.
        wrapping(a: Int, b: Int; arithmetic: Arithmetic) -> Int, flex[wrapping::pairs];
        /// Results of integers and a number, which wrap. The tensor is not empty.
        wrapping_number(x: Int; number: i64, arithmetic: Arithmetic) -> Int, flex[wrapping::with_number];
        /// The sum or the product of integers along an axis, which wraps.
        wrapping_fold(x: Int; axis: usize, product: bool) -> Int, flex[wrapping::fold];
        /// Integers combined with updates at their indices along an axis, which wrap.
        wrapping_scatter(x: Int, indices: Int, updates: Int; axis: usize, product: bool) -> MaybeInt,
            flex[wrapping::scatter];
        /// Integers as f32.
        int_to_single(x: Int) -> Float, flex[cast::int_to_single];
        /// `activation(x + sum)`, with a sum of the same shape.
        finish(x: Float, sum: MaybeFloat; activation: Activation) -> Float, flex[elementary::finish];
        /// `activation(x * factor + offset)`, with a factor and an offset for each channel of `[batch, channels, ..]`.
        scale_channels(x: Float, factor: Float, offset: Float; activation: Activation) -> Float, flex[channels::scale];

        /// Squared distances of each row of `a` from each row of `b`: sums of squared differences, each divided by its element of
        /// `divisors`, which have the shape of `b`. No operand is empty.
        squared_distances(a: Float, b: Float, divisors: MaybeFloat) -> MaybeFloat, flex[distances::squared_distances];

        // Normalization.
        softmax(x: Float; axis: usize) -> Float, flex[softmax::softmax], cube[normalize::softmax => x.clone()];
        log_softmax(x: Float; axis: usize) -> Float, flex[softmax::log_softmax];
        /// Normalizes rows to mean 0 and variance 1, then multiplies by `scale` and adds `bias`, which have
        /// one value per element of a row.
        layer_norm(rows: Float, scale: Float, bias: MaybeFloat; epsilon: f32) -> Float,
            flex[normalize::layer_norm], cube[normalize::layer_norm => rows.clone()];
        /// Normalizes groups of channels of `[batch, channels, elements]` to mean 0 and variance 1, then
        /// multiplies by `scale` and adds `bias`.
        group_norm(x: Float, scale: Float, bias: Float; groups: usize, epsilon: f32) -> Float,
            flex[normalize::group_norm], cube[normalize::group_norm => x.clone()];
        /// Rows divided by their root mean square, times `scale`, which has one value per element of a row.
        rms_norm(rows: Float, scale: Float; epsilon: f32) -> Float,
            flex[normalize::rms_norm], cube[normalize::rms_norm => rows.clone()];
        /// Elements divided by a power of the sum of squares of adjacent channels.
        lrn(x: Float; options: Lrn) -> MaybeFloat, flex[lrn::lrn];

        // Products and convolutions.
        /// Products of the matrices of the last two axes; the axes before broadcast. No operand is empty.
        matmul(a: Float, b: Float) -> Float,
            flex[matmul::matmul], wgpu[product::matmul => tensor(spec::product::result(&ty(a), &ty(b)))];
        /// `x * weight + bias` over the last of at least two axes, none empty, and the epilogue.
        linear(x: Float, weight: Float, bias: MaybeFloat, sum: MaybeFloat; epilogue: Epilogue) -> Float,
            flex[matmul::linear], wgpu[product::linear => tensor(spec::product::linear_result(&ty(x), &ty(weight)))];
        /// Weight of a convolution in the layout that the device reads. A device that packs weights stores the pack in the epilogue.
        filters(weight: Float; groups: usize, epilogue: Epilogue) -> Float,
            flex[conv::pack_filters], cube[convolution::pack_filters => weight.clone()];
        /// Weight of a product. A device that packs weights stores the pack in the epilogue.
        factor(weight: Float; epilogue: Epilogue) -> Float, flex[matmul::pack_matrix];
        /// Weight of an 8-bit matrix product. A device that packs weights stores the pack in `packed`.
        byte_factor(weight: Int; packed: Packed) -> Int, flex[integer::pack_matrix];
        /// Weight of an 8-bit convolution in the layout that the device reads.
        byte_filters(weight: Int) -> Int, cube[convolution::filters => weight.clone()];
        conv1d(x: Float, weight: Float, bias: MaybeFloat, sum: MaybeFloat; options: ConvOptions<1>, epilogue: Epilogue)
            -> Float, flex[conv::conv1d],
            wgpu[convolution::conv => tensor(spec::convolution::result(&ty(x), &ty(weight), options))];
        conv2d(x: Float, weight: Float, bias: MaybeFloat, sum: MaybeFloat; options: ConvOptions<2>, epilogue: Epilogue)
            -> Float, flex[conv::conv2d],
            wgpu[convolution::conv => tensor(spec::convolution::result(&ty(x), &ty(weight), options))];
        conv3d(x: Float, weight: Float, bias: MaybeFloat, sum: MaybeFloat; options: ConvOptions<3>, epilogue: Epilogue)
            -> Float, flex[conv::conv3d],
            wgpu[convolution::conv => tensor(spec::convolution::result(&ty(x), &ty(weight), options))];
        conv_transpose1d(x: Float, weight: Float, bias: MaybeFloat; options: ConvTransposeOptions<1>, packed: Option<Packed>)
            -> Float, flex[conv::conv_transpose1d];
        conv_transpose2d(x: Float, weight: Float, bias: MaybeFloat; options: ConvTransposeOptions<2>, packed: Option<Packed>)
            -> Float, flex[conv::conv_transpose2d];
        conv_transpose3d(x: Float, weight: Float, bias: MaybeFloat; options: ConvTransposeOptions<3>, packed: Option<Packed>)
            -> Float, flex[conv::conv_transpose3d];
        /// 8-bit convolution over the last axes.
        conv_bytes(operands: [ByteProduct]; options: ConvOptions<3>, integers: Integers) -> MaybeNumber,
            flex[integer::conv],
            cube[quantize::integer::conv => ended(byte_shapes(operands).convolution(options, integers.ending), integers.ending)];
        /// 8-bit matrix product, with a bias of accumulators or of floats.
        matmul_bytes(operands: [ByteProduct]; integers: Integers) -> MaybeNumber,
            flex[integer::matmul],
            cube[quantize::integer::product => ended(byte_shapes(operands).product(integers.ending), integers.ending)];
        /// `x * matrix + bias` for packed 2-, 4- or 8-bit weights.
        matmul_bits(x: Float, bias: MaybeFloat; matrix: BitMatrix) -> MaybeFloat, flex[bits::matmul];
        /// `rows * matrix + bias` for packed weights on the device. The rows are results of `round_blocks` if
        /// `in_bytes`.
        matmul_coded(operands: [CodedProduct]; blocks: Blocks, in_bytes: bool) -> MaybeFloat,
            cube[quantize::coded::matmul_coded => floats(blocks.product(&ty(&operands.rows)))];
        /// Rounds each block of `size` elements of a row to multiples of 1/127 of its largest magnitude, in f32.
        round_blocks(x: Float; size: usize) -> MaybeFloat,
            cube[quantize::blocks::round_blocks => floats(ty(x).with_dtype(DType::F32))];

        /// Attention of `[batch, heads, length, size]`. Each head of keys and values serves the same number of query heads. A
        /// mask, true for masked keys, and a bias broadcast to the scores. No operand is empty. Scores of half precision are
        /// computed in single precision, which is also the dtype of their bias.
        attention(query: Float, key: Float, value: Float, mask: MaybeBool, bias: MaybeFloat; scores: Scores) -> Float,
            flex[attention::attention],
            wgpu[attention::attention => tensor(spec::attention::result(&ty(query), &ty(value)))];

        /// Rotates pairs of features of `[batch, heads, length, size]` by angles of `[batch or 1, length, pairs]`, as cosines and
        /// sines. No operand is empty.
        rotate(x: Float, cosine: Float, sine: Float; interleaved: bool) -> MaybeFloat, flex[rotary::rotate];

        /// Largest element or mean of each window.
        slide(x: Float; slide: Slide) -> MaybeFloat, flex[pool::slide], cube[pool::slide => floats(slide.result(&ty(x)))];

        /// Fourier transforms of `[rows, size, parts]` in f32 or f64.
        dft(x: Float; options: Dft) -> MaybeFloat, flex[fft::dft];
        /// Spectra of the frames of `[batch, size, parts]`, as `dft` returns them. Frames start `step`
        /// elements apart and are multiplied by the window. At least one frame fits.
        stft(x: Float, window: MaybeFloat; step: usize, options: Dft) -> MaybeFloat, flex[fft::stft];

        /// Outputs of a recurrent operator at all times, `[times, directions, batch, hidden]`, the last ones,
        /// `[directions, batch, hidden]`, and the last cell states of an LSTM. Sizes of the operands agree, and none is empty.
        recurrence(operands: [Recurrence]; cell: Cell, sizes: Sizes, packed: Option<[Packed; 2]>) -> MaybeStates,
            flex[recurrent::recurrence],
            cube[recurrent::recurrence => outputs(element_types(operands).outputs(cell, sizes), cell)];

        // Copies.
        /// The elements in row-major order; declines if they are already contiguous.
        contiguous(x: Any) -> MaybeAny, flex[copy::contiguous];
        /// Elements of the planes of the last two axes at these rows and columns.
        nearest(x: Any; rows: Vec<usize>, columns: Vec<usize>) -> MaybeAny, flex[copy::nearest];
        /// Rows of a matrix whose memory is not aligned, or many rows; declines for others, which the device selects itself.
        stored_rows(x: Any, indices: Int) -> MaybeAny, flex[stored::rows];

        // Indices and order.
        /// Indices from `least` on along an axis, with the negative ones, which count from the end, replaced.
        ///
        /// On the CPU an out-of-bounds index is an error. Other devices clamp it, and also return the
        /// smallest and the largest index of each range, which are checked when results are read.
        within(indices: Int; least: i64, axis: Axis) -> IndicesAndRanges,
            flex[within::within], cube[index::indices::within => {
                let [inside, ranges] = spec::indices::within(&ty(indices), *axis);
                (tensor(inside), given_ints(ranges))
            }];
        /// Flat indices of index tuples, see `attempt::checks::flatten_indices`, and the least and the
        /// greatest index of each range along each axis. No axis is empty, and there is at least one tuple.
        flat_indices(tuples: Int; axes: Vec<Axis>) -> MaybeTwo,
            cube[index::indices::flat_indices => two_ints(Some(spec::indices::flat_indices(&ty(tuples), axes)))];
        /// Indices of the greatest or the least elements along an axis, in order.
        top_k(x: Any; top: Top) -> MaybeInt, flex[top_k], cube[index::top_k::top_k => ints(top.indices(&any(x)))];
        /// Cumulative sums or products.
        scan(x: Any; scan: Scan) -> MaybeAny, flex[wrapping::scan], cube[reduce::scan::scan_any => like(x)];
        /// Prefix counts of the elements of a condition that are true, in row-major order.
        counts(condition: Bool) -> MaybeInt, cube[index::compact::counts => ints(spec::indices::counts(&ty(condition)))];
        /// Indices of the `found` elements at which `counts` increases.
        compact(counts: Int; found: usize) -> MaybeInt, cube[index::compact::compact => ints(spec::indices::compact(*found))];
        /// Indices along each axis of `flat` indices into these sizes, `[count, axes]`. Those
        /// along the last axis are read from `values`, if given. At least one index.
        coordinates(flat: Int, values: MaybeInt; sizes: Shape) -> MaybeInt,
            cube[index::compact::coordinates => ints(spec::indices::coordinates(&ty(flat), sizes))];
        /// Permutation that sorts the rows of `[rows, length]`, none empty, and for each row in this order
        /// the number of groups of equal rows so far. NaN equals NaN and is the greatest.
        groups(rows: Any) -> MaybeTwo,
            cube[index::groups::groups => two_ints(spec::ranking::groups(&any(rows)).map(|order| [order.clone(), order]))];
        /// Writes each value at its index in `order`, which is a permutation.
        permuted(values: Int, order: Int) -> MaybeInt, cube[index::groups::permuted => ints(ty(values))];
        /// Concatenation along an axis. There is at least one tensor, none is empty, and their other sizes are equal.
        concat(parts: [Parts]; axis: usize) -> MaybeAny,
            cube[shape::concat::concat => joined(parts, |parts| spec::join::result(parts, *axis))];

        // Images.
        /// The selected boxes of each batch and class, `[batch, classes, most]`, followed by -1.
        suppress(boxes: Float, scores: Float; form: BoxForm, limits: Limits) -> MaybeInt,
            cube[image::non_max_suppression::suppress => ints(spec::boxes::kept(&ty(boxes), &ty(scores), limits))];
        /// Samples of regions of the images `batches`. No operand is empty.
        roi_align(x: Float, rois: Float, batches: Int; options: RoiAlign) -> MaybeFloat,
            cube[image::roi::roi_align => floats(spec::regions::result(&ty(x), &ty(rois), options.output))];
        /// The greatest elements of the cells of regions of the images `batches`.
        max_roi_pool(x: Float, rois: Float, batches: Int; output: [usize; 2], scale: f32) -> MaybeFloat,
            cube[image::roi::max_roi_pool => floats(spec::regions::result(&ty(x), &ty(rois), *output))];

        // Quantization.
        /// The nearest values of a small type, in f32. The input is not f64.
        to_small(x: Float; small: Small, saturate: bool) -> MaybeFloat,
            cube[quantize::small::to_small => floats(ty(x).with_dtype(DType::F32))];
        /// Integers of 8 or 16 bits for floats.
        quantize(x: Float; to: Affine) -> MaybeInt,
            flex[quantize::quantize], cube[quantize::quantize => ints(spec::quantize::integers(&ty(x), to.dtype()))];
        /// `quantize` by scales and zero points that broadcast.
        quantize_along(x: Float, scale: Float, zero: MaybeInt; dtype: DType, bits: u32) -> MaybeInt,
            flex[quantize::quantize_along],
            cube[quantize::quantize_along => ints(spec::quantize::integers(&ty(x), *dtype))];
        /// Values quantized to 8 bits over a range that includes 0, in the device's dtype for them, with
        /// their scale and zero point.
        quantize_dynamic(x: Float; dtype: DType) -> MaybeQuantized,
            flex[quantize::quantize_dynamic],
            cube[quantize::quantize_dynamic => quantized(spec::quantize::dynamic(&ty(x), *dtype))];
        /// The real values of integers.
        dequantize(x: Int; of: Affine) -> MaybeFloat,
            flex[quantize::dequantize], cube[quantize::dequantize => floats(ty(x).with_dtype(DType::F32))];
        /// `dequantize` by scales and zero points that broadcast.
        dequantize_along(x: Int, scale: Float, zero: MaybeInt) -> MaybeFloat,
            flex[quantize::dequantize_along], cube[quantize::dequantize_along => floats(ty(x).with_dtype(DType::F32))];
        /// Maximum of each window of integers, at this number of output pixels.
        max_pool_int(x: Int; window: Window<2>, positions: [usize; 2]) -> MaybeInt,
            flex[quantize::max_pool], cube[quantize::max_pool => ints(spec::pool::planes(&ty(x), *positions))];
        /// The sum or product of the real values of integers, broadcast.
        quantized_pair(a: Int, b: Int; pair: Pair) -> MaybeInt,
            flex[quantize::combine], cube[quantize::combine => ints(pair.result(&ty(a), &ty(b)))];
        /// A function of the real values of integers, with a bias along the last axis.
        quantized_unary(x: Int, bias: MaybeFloat; unary: Unary) -> MaybeInt,
            flex[quantize::compute], cube[quantize::compute => ints(ty(x).with_dtype(unary.y.dtype()))];
        /// The means over the last axes of the real values of integers.
        quantized_mean(x: Int; mean: Mean) -> MaybeInt,
            flex[quantize::mean], cube[quantize::mean => ints(mean.result(&ty(x)))];
    } };
}

pub(crate) use operations;
