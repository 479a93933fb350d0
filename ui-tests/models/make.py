"""Writes the models of the user-interface tests beside this file.

Requires the `onnx` and `numpy` packages: `python ui-tests/models/make.py`.
"""

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

HERE = Path(__file__).parent
HEADER = '<ir_version: 10, opset_import: [{}], producer_name: "make.py">\n'


def write(name, data):
    path = HERE / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


def save(name, model, change=None, opset=21):
    if isinstance(model, str):
        domains = [domain for domain in ("com.acme", "com.microsoft") if domain in model]
        imports = ", ".join([f'"": {opset}', *(f'"{domain}": 1' for domain in domains)])
        model = parser.parse_model(HEADER.format(imports) + model)
    if change:
        change(model)
    write(f"{name}.onnx", model.SerializeToString())
    return model


def raw(name, values, dtype=np.float32):
    return numpy_helper.from_array(np.array(values, dtype), name)


def perceptron(bias):
    """Its weights stand in `raw_data`, as exporters write them."""
    nodes = [
        helper.make_node("Gemm", ["x", "hidden.weight", "hidden.bias"], ["h"], "hidden"),
        helper.make_node("Relu", ["h"], ["r"], "activation"),
        helper.make_node("Gemm", ["r", "head.weight", "head.bias"], ["y"], "head"),
    ]
    weights = [
        raw("hidden.weight", [[1, -1, 0, 2], [0, 1, 1, 0], [2, 0, -1, 1]]),
        raw("hidden.bias", bias),
        raw("head.weight", [[1, 0], [0, 1], [1, 1], [-1, 2]]),
        raw("head.bias", [0.5, -0.5]),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 2])
    graph = helper.make_graph(nodes, "perceptron", [x], [y], weights)
    imports = [helper.make_opsetid("", 21)]
    return helper.make_model(
        graph, ir_version=10, opset_imports=imports, producer_name="make.py"
    )


# A decoder as exporters merge it from that of the first step and that of later ones.
MERGED = """
    merged (float[batch, n, 2] features, float[batch, t, 2] x, float[batch, n, 2] past_encoder, float[batch, p, 2] past_decoder, bool[1] later)
        => (float[batch, s, 2] y, float[a, b, 2] present_encoder, float[batch, s, 2] present_decoder)
    {
        three = Constant <value_float = 3.0> ()
        none = Constant <value_ints = [0, 1, 2]> ()
        axis = Constant <value_ints = [1]> ()
        used, present_encoder = If (later) <
            then_branch = next () => (float[batch, n, 2] a1, float[c, d, 2] b1) { a1 = Identity (past_encoder) b1 = ConstantOfShape (none) },
            else_branch = first () => (float[batch, n, 2] a2, float[batch, n, 2] b2) { a2 = Mul (features, three) b2 = Identity (a2) }
        >
        sum = ReduceSum <keepdims = 1> (used, axis)
        present_decoder = Concat <axis = 1> (past_decoder, x)
        y = Add (present_decoder, sum)
    }
"""


PERCEPTRON_ELSEWHERE = """
    main (float[N, 3] input) => (float[N, 2] output)
    <float[2] c2 = {0.5, -0.5}, float[4, 2] m2 = {1, 0, 0, 1, 1, 1, -1, 2},
     float[4] c1 = {5, 5, 5, 5}, float[4, 3] m1 = {1, 0, 2, -1, 1, 0, 0, 1, -1, 2, 0, 1}> {
        [node_1] v1 = Gemm <transB = 1> (input, m1, c1)
        [node_2] v2 = Relu (v1)
        [node_3] v3 = MatMul (v2, m2)
        [node_4] output = Add (c2, v3)
    }
"""


def other_weights():
    """Constants that may have other values in another file, and such that may not."""
    make = helper.make_node
    nodes = [
        make("Mul", ["x", "alpha"], ["product"]),
        make("Relu", ["product"], ["scaled"]),
        make("LayerNormalization", ["x", "gamma", "beta"], ["normal"]),
        make("Clip", ["x", "low"], ["clipped"]),
        make("Reshape", ["x", "target"], ["reshaped"]),
        make("QuantizeLinear", ["x", "scale", "zero"], ["integers"]),
        make("DequantizeLinear", ["integers", "scale", "zero"], ["rounded"]),
    ]
    weights = [
        raw("alpha", [1, 1, 1, 1]),
        raw("gamma", [1, 1, 1, 1]),
        raw("beta", [0, 0, 0, 0]),
        raw("low", -1),
        raw("target", [4, 2], np.int64),
        raw("scale", 0.5),
        raw("zero", 3, np.uint8),
    ]
    float_value = lambda name, shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    outputs = ["scaled", "normal", "clipped", "rounded"]
    outputs = [float_value(name, [2, 4]) for name in outputs] + [float_value("reshaped", [4, 2])]
    graph = helper.make_graph(nodes, "g", [float_value("x", [2, 4])], outputs, weights)
    imports = [helper.make_opsetid("", 21)]
    return helper.make_model(
        graph, ir_version=10, opset_imports=imports, producer_name="make.py"
    )


def external(model, location, at=0, **place):
    """Moves an initializer's values out of the file."""
    tensor = model.graph.initializer[at]
    values = numpy_helper.to_array(tensor).tobytes()
    for field in ["raw_data", "float_data"]:
        tensor.ClearField(field)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in dict(location=location, **place).items():
        tensor.external_data.add(key=key, value=str(value))
    return values


def classifier():
    """A classifier as scikit-learn's converter writes one, with what a file may say of itself."""
    names = ["setosa", "versicolor", "virginica"]
    nodes = [
        helper.make_node(
            "LinearClassifier",
            ["features"],
            ["label", "scores"],
            domain="ai.onnx.ml",
            coefficients=[0.5, 1.0, -2.0, -1.0, 0.25, -0.5, 0.25, -0.5, -1.0, -1.0, 1.5, 2.0],
            intercepts=[0.5, 0.25, -0.75],
            classlabels_strings=names,
            post_transform="SOFTMAX",
        ),
        helper.make_node("Identity", ["scores"], ["probabilities"]),
    ]
    features = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["batch", 4])
    label = helper.make_tensor_value_info("label", TensorProto.STRING, ["batch"])
    probabilities = helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["batch", 3])
    graph = helper.make_graph(nodes, "iris", [features], [label, probabilities])
    imports = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(
        graph,
        ir_version=10,
        opset_imports=imports,
        producer_name="make.py",
        producer_version="1.2",
        domain="org.example",
        model_version=7,
        # An example that would fail, if it were run.
        doc_string="Flowers by their leaves, in cm.\n```\nassert!(false);\n```\n",
    )
    helper.set_model_props(model, {"author": "R. A. Fisher", "license": "CC0"})
    return model


def models_that_compile():
    save("iris", classifier())
    model = save("perceptron", perceptron([0, 1, 0, -1]))
    save("../fail/cases/near/digits", model)
    save("perceptron_other_weights", perceptron([5, 5, 5, 5]))
    # The same weights from another exporter: `cargo onnx-embed adapt` makes the file above from this one.
    save("perceptron_elsewhere", PERCEPTRON_ELSEWHERE, opset=17)
    save("merged", MERGED)
    write("perceptron_cut.onnx", model.SerializeToString()[:-9])
    model.graph.node[1].op_type = "Tanh"
    save("perceptron_other_graph", model)
    save("other_weights", other_weights())
    save(
        "written_cache",
        """written_cache (float[1, 2, 1, 8] new, int64[1] seen, float[1, 2, 256, 8] past)
            => (float[1, 2, 8] largest, float[1, 2, 256, 8] present) {
            present = TensorScatter (past, new, seen)
            axis = Constant <value_ints = [2]> ()
            largest = ReduceMax <keepdims = 0> (present, axis)
        }""",
        opset=24,
    )
    save(
        "pair",
        """
        pair (float[batch, 3] a, float[batch, 3] b) => (float[batch, 3] total, float[batch, 3] difference) {
            total = Add (a, b)
            difference = Sub (a, b)
        }
        """,
    )
    save(
        "names",
        """
        names (float[2] "type", float[2] "input.1", float[2] "1", float[2] "Input_1")
            => (float[2] "self", float[2] "/out/Add", float[2] "résultat")
            <float[2] "fn" = {10, 20}>
        {
            "a b" = Add ("type", "fn")
            "self" = Add ("a b", "input.1")
            "/out/Add" = Add ("1", "Input_1")
            "résultat" = Mul ("self", "/out/Add")
        }
        """,
    )
    save(
        "listed_initializer",
        """
        listed (float[2] x, float[2] bias) => (float[2] y) <float[2] bias = {1, 2}> { y = Add (x, bias) }
        """,
    )
    save("one_name", "one (float[N] a, float[N] b) => (float[M] y) { y = Add (a, b) }")
    save(
        "passed_on",
        """
        passed (float[n] x, int64[2] k) => (float[n] x, int64[2] same, float[2] constant, float[n] y)
            <float[2] constant = {1, 2}>
        {
            y = Relu (x)
            same = Identity (k)
        }
        """,
    )
    save(
        "no_inputs",
        """
        alone () => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 4}> { y = Mul (a, b) }
        """,
    )
    save(
        "half",
        """
        half (float16[3] x, float[3] z) => (
            float16[3] y, float16[3] square, float[3] single, float[3] cast, bool[3] infinite, seq(float16[3]) items
        ) {
            square = Mul (x, x)
            y = Sqrt (square)
            single = Cast <to = 1> (square)
            half = Cast <to = 10> (z)
            cast = Cast <to = 1> (half)
            infinite = IsInf (square)
            items = SequenceConstruct (square, y)
        }
        """,
    )
    save(
        "scalars",
        """
        scalars (float x, int64 k) => (float y, int64 j) { y = Add (x, x) j = Mul (k, k) }
        """,
    )
    save(
        "functions",
        """
        main (float[batch, 2] x) => (float[batch, 2] y, float[batch, 2] z)
            <float[2, 2] w = {1, 2, 3, 4}, float[2] bias = {10, 20}>
        {
            y = com.acme.Dense <scale = 3.0> (x, w, bias)
            z = com.acme.Dense (x, w)
        }
        <domain: "com.acme", opset_import: ["": 21]>
        Dense <scale: float = 2.0> (v, matrix, offset) => (out) {
            out = Gemm <alpha: float = @scale> (v, matrix, offset)
        }
        """,
    )
    save("between_scales", BETWEEN_SCALES)
    save("encodings", encodings())
    save("sparse", sparse())
    save(
        "open_rank",
        """
        open (float[] x) => (float[] y) { y = Relu (x) }
        """,
    )
    save("rebuild_before", "rebuild (float[n] x) => (float[n] y) { y = Relu (x) }")
    save("rebuild_after", "rebuild (float[n] x) => (float[n] z) { z = Neg (x) }")
    model = perceptron([0, 1, 0, -1])
    values = external(model, "weights/perceptron.bin", offset=4, length=48)
    write("weights/perceptron.bin", b"\0\0\0\0" + values)
    save("external", model)
    model, values = other_weights(), b""
    for at in range(len(model.graph.initializer)):
        length = len(model.graph.initializer[at].raw_data)
        place = dict(offset=len(values), length=length)
        values += external(model, "weights/other_weights.bin", at, **place)
    write("weights/other_weights.bin", values)
    save("other_weights_external", model)


# Scales that stand in simple ratios put many sums halfway between two integers. Sums of products are
# rounded by the order of their terms where scales are no powers of two.
BETWEEN_SCALES = """
    between (uint8[256, 1] a, uint8[1, 256] b, int8[256, 1] c, int8[1, 256] d, bool[256, 1] e, uint8[65536, 1, 2] pairs)
        => (uint8[256, 256] sum, int8[256, 256] bounded, uint8[256, 256] product, uint8[256, 1] sigmoid, int8[256, 1] leaky,
            uint8[512, 1] joined, uint8[256, 1] chosen, uint8[65536, 1, 1] mean, uint8[65536, 3] matrix, int8[65536, 3] gemm,
            uint8[65536, 3, 1] convolved)
        <float s = {0.1}, float t = {0.05}, float u = {0.025}, float v = {0.00390625}, float eighth = {0.125},
         float half = {0.5}, uint8 z = {3}, uint8 k = {128}, int8 lowest = {-128}, int8 n = {5},
         int8[2, 3] w = {1, -2, 3, 4, 5, -6}, int8[3, 1, 2] filter = {1, -2, 3, 4, 5, -6}, int32[3] bias = {-7, 8, 100},
         float sixteenth = {0.0625}, int64[2] flat = {65536, 2}>
    {
        fa = DequantizeLinear (a, s, z)
        fb = DequantizeLinear (b, t, k)
        fc = DequantizeLinear (c, s, n)
        fd = DequantizeLinear (d, t, lowest)
        other = DequantizeLinear (a, u, k)
        added = Add (fa, fb)
        sum = QuantizeLinear (added, u, z)
        total = Add (fc, fd)
        positive = Relu (total)
        bounded = QuantizeLinear (positive, s, lowest)
        multiplied = Mul (fa, fb)
        product = QuantizeLinear (multiplied, u, k)
        likely = Sigmoid (fa)
        sigmoid = QuantizeLinear (likely, v, z)
        leaking = LeakyRelu (fc)
        leaky = QuantizeLinear (leaking, u, n)
        both = Concat <axis = 0> (fa, other)
        joined = QuantizeLinear (both, t, k)
        either = Where (e, fa, other)
        chosen = QuantizeLinear (either, t, z)
        fs = DequantizeLinear (pairs, s, z)
        pooled = GlobalAveragePool (fs)
        mean = QuantizeLinear (pooled, t, k)
        fp = DequantizeLinear (pairs, eighth, k)
        fw = DequantizeLinear (w, half)
        ff = DequantizeLinear (filter, half)
        fbias = DequantizeLinear (bias, sixteenth)
        matrix_of = Reshape (pairs, flat)
        fm = DequantizeLinear (matrix_of, eighth, k)
        fn = DequantizeLinear (matrix_of, eighth, z)
        mm = MatMul (fm, fw)
        matrix = QuantizeLinear (mm, half, z)
        gg = Gemm (fn, fw, fbias)
        gemm = QuantizeLinear (gg, half, n)
        cc = Conv (fp, ff, fbias)
        convolved = QuantizeLinear (cc, half, k)
    }
    """


def encodings():
    """One constant in each field that can hold numbers."""
    def held(name, kind, values):
        return helper.make_tensor(name, kind, [len(values)], values)

    weights = [
        held("float_data", TensorProto.FLOAT, [1.5, -2.0]),
        held("double_data", TensorProto.DOUBLE, [1.5, -2.0]),
        held("int64_data", TensorProto.INT64, [-3, 1 << 40]),
        held("uint64_data", TensorProto.UINT64, [3, 1 << 40]),
        held("int32", TensorProto.INT32, [-3, 4]),
        held("int8", TensorProto.INT8, [-3, 4]),
        held("uint8", TensorProto.UINT8, [200, 4]),
        held("bool", TensorProto.BOOL, [True, False]),
        held("float16", TensorProto.FLOAT16, [1.5, -2.0]),
        held("bfloat16", TensorProto.BFLOAT16, [1.5, -2.0]),
    ]
    assert all(not held.raw_data for held in weights)
    outputs = [helper.make_tensor_value_info(f"{held.name}_out", held.data_type, [2]) for held in weights]
    nodes = [helper.make_node("Identity", [held.name], [f"{held.name}_out"]) for held in weights]
    graph = helper.make_graph(nodes, "encodings", [], outputs, weights)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def sparse():
    values = raw("flat", [5, 7])
    flat = helper.make_sparse_tensor(values, raw("", [1, 4], np.int64), [2, 3])
    rows = helper.make_sparse_tensor(raw("rows", [9]), raw("", [[1, 2]], np.int64), [2, 3])
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])
    nodes = [helper.make_node("Sum", ["x", "flat", "rows"], ["y"])]
    graph = helper.make_graph(nodes, "sparse", [x], [y], sparse_initializer=[flat, rows])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def files_that_are_no_models():
    write("empty.onnx", b"")
    write("page.onnx", b"<!DOCTYPE html><html><body>404: not found</body></html>\n")
    write("notes.onnx", b"The model is on the other machine.\n")
    write("checkpoint.onnx", b"PK\x03\x04\x00\x00\x08\x08\x00\x00archive/data.pkl")
    write(
        "pointer.onnx",
        b"version https://git-lfs.github.com/spec/v1\n"
        b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
        b"size 97446034\n",
    )


def models_that_fail():
    nodes = "\n".join(f"[frob_{at}] x{at + 1} = Frobnicate (x{at})" for at in range(24))
    save(
        "unsupported",
        f"""
        unsupported (float[n] x0) => (float[n] y) {{
            {nodes}
            [first] a = Convv (x24)
            [second] b = com.acme.Blend (a, x0)
            [third] y = com.microsoft.Unheard (b)
        }}
        """,
    )
    save(
        "attribute_value",
        """
        value (float[1, 1, 8, 8] x) => (float[1, 1, 8, 8] y) <float[1, 1, 3, 3] w = {1,1,1,1,1,1,1,1,1}> {
            [conv] y = Conv <auto_pad = "SAME", kernel_shape = [3, 3]> (x, w)
        }
        """,
    )
    save("attribute_unknown", "unknown (float[n] x) => (float[n] y) { [act] y = Relu <alpha = 0.5> (x) }")
    save("cycle", "cycle (float[n] x) => (float[n] y) { y = Add (x, z) z = Relu (y) }")
    save("self_loop", "loop (float[n] x) => (float[n] y) { y = Add (x, y) }")
    save("two_makers", "two (float[n] x) => (float[n] y) { y = Relu (x) y = Neg (x) }")
    save(
        "function_attribute",
        """
        main (float[n] x) => (float[n] y) { [call] y = com.acme.Scale <factr = 3.0> (x) }
        <domain: "com.acme", opset_import: ["": 21]>
        Scale <factor: float = 2.0> (v) => (out) {
            k = Constant <value_float: float = @factor> ()
            out = Mul (v, k)
        }
        """,
    )
    save("no_output", "missing (float[n] x) => (float[n] y) { z = Relu (x) }")
    save("no_input", "missing (float[n] x) => (float[n] y) { [add] y = Add (x, bias) }")
    save("types", "types (float[n] x, int64[n] k) => (float[n] y) { [add] y = Add (x, k) }")
    save("shapes", "shapes (float[2] x, float[3] k) => (float[2] y) { [add] y = Add (x, k) }")
    save("operand_type", "operand (float[1, n] x, int32[2] s) => (float[a, n] y) { [grow] y = Expand (x, s) }")
    save("columns", "columns (float[batch, 8] x, float[7, 5] w) => (float[batch, 5] y) { [head] y = Gemm (x, w) }")
    save(
        "channels",
        "channels (float[1, 4, 9, 9] x, float[6, 3, 2, 2] w) => (float[1, 6, 8, 8] y) { [stem] y = Conv (x, w) }",
    )
    model = perceptron([0, 1, 0, -1])
    model.opset_import[0].version = 99
    save("opset_99", model)
    del model.opset_import[:]
    save("opset_absent", model)
    model = perceptron([0, 1, 0, -1])
    model.ir_version = 99
    save("ir_99", model)
    for name, location, place in [
        ("external_missing", "weights/absent.bin", {}),
        ("external_outside", "../Cargo.toml", {}),
        ("external_short", "weights/perceptron.bin", dict(offset=4, length=480)),
    ]:
        model = perceptron([0, 1, 0, -1])
        external(model, location, **place)
        save(name, model)
    model = perceptron([0, 1, 0, -1])
    model.graph.initializer[1].raw_data = b"\0" * 9
    save("weight_short", model)


if __name__ == "__main__":
    models_that_compile()
    files_that_are_no_models()
    models_that_fail()
