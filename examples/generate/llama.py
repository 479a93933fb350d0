"""Writes models with the architecture of Llama as ONNX, with the operators and names of exporters of language models.

Inputs are the tokens and the keys and values of earlier tokens; outputs are the scores of the token that follows the
last one, and all keys and values.
"""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

import gguf

MICROSOFT = "com.microsoft"


class Llama:
    def __init__(self, metadata, tensors):
        def of(name, otherwise=None):
            value = metadata.get(f"llama.{name}", otherwise)
            if value is None:
                raise ValueError(f"the file has no `llama.{name}`")
            return value

        if metadata.get("general.architecture") != "llama":
            raise ValueError(f"the architecture is {metadata.get('general.architecture')}, expected llama")
        self.tensors, self.nodes, self.weights = tensors, [], {}
        self.layers, self.width, self.context = of("block_count"), of("embedding_length"), of("context_length")
        self.heads = of("attention.head_count")
        self.kv_heads = of("attention.head_count_kv", self.heads)
        self.head = self.width // self.heads
        if of("rope.dimension_count", self.head) != self.head or "rope_freqs.weight" in tensors:
            raise ValueError("a rotation of a part of a head, or by scaled angles, is not supported")
        self.base, self.epsilon = of("rope.freq_base", 10_000.0), of("attention.layer_norm_rms_epsilon")
        self.vocabulary = tensors["token_embd.weight"].shape[0]

    def model(self):
        cache = ["batch_size", self.kv_heads, "past_sequence_length", self.head]
        extended = [*cache[:2], "total_sequence_length", self.head]
        inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch_size", "sequence_length"])]
        outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch_size", self.vocabulary])]
        for layer in range(self.layers):
            for part in ("key", "value"):
                past, present = f"past_key_values.{layer}.{part}", f"present.{layer}.{part}"
                inputs.append(helper.make_tensor_value_info(past, TensorProto.FLOAT, cache))
                outputs.append(helper.make_tensor_value_info(present, TensorProto.FLOAT, extended))
        self.counts, self.turns = self.lengths(), self.angles()
        hidden = self.embedding()
        normed = self.norm("/model/layers.0/input_layernorm", hidden, "blk.0.attn_norm")
        for layer in range(self.layers):
            scope = f"/model/layers.{layer}"
            attended = self.attention(layer, normed)
            normed, hidden = self.skip(f"{scope}/post_attention_layernorm", hidden, attended, f"blk.{layer}.ffn_norm")
            made = self.mlp(layer, normed)
            if layer + 1 < self.layers:
                following = f"/model/layers.{layer + 1}/input_layernorm", f"blk.{layer + 1}.attn_norm"
            else:
                following = "/model/norm", "output_norm"
            normed, hidden = self.skip(following[0], hidden, made, following[1])
        # A text continues after its last token.
        last = self.node("Gather", "/model/last", [normed, self.weight("last", np.array(-1))], axis=1)
        self.scores(last)
        graph = helper.make_graph(self.nodes, "llama", inputs, outputs, list(self.weights.values()))
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def node(self, kind, name, inputs, outputs=None, domain="", **attributes):
        """Adds a node and returns its first output."""
        outputs = outputs or [f"{name}/output_0"]
        self.nodes.append(helper.make_node(kind, inputs, outputs, name, domain=domain, **attributes))
        return outputs[0]

    def weight(self, name, values):
        self.weights[name] = numpy_helper.from_array(np.asarray(values, order="C"), name)
        return name

    def tensor(self, name, kind):
        tensor = self.tensors[f"{name}.weight"]
        if tensor.kind != kind:
            raise ValueError(f"{name} is of type {tensor.kind} of GGUF, expected {kind}")
        return tensor

    def floats(self, name, to):
        return self.weight(to, self.tensor(name, gguf.F32).data)

    def lengths(self):
        """The number of tokens so far, as attention takes it: as a number, and for each text less one."""
        new = self.node("Shape", "/model/new", ["input_ids"], start=1, end=2)
        old = self.node("Shape", "/model/old", ["past_key_values.0.key"], start=2, end=3)
        total = self.node("Cast", "/model/total", [self.node("Add", "/model/sum", [old, new])], to=TensorProto.INT32)
        last = self.node("Sub", "/model/less", [total, self.weight("one", np.array([1], np.int32))])
        texts = self.node("Shape", "/model/texts", ["input_ids"], start=0, end=1)
        return self.node("Expand", "/model/lengths", [last, texts]), total

    def angles(self):
        """The cosines and sines of each position."""
        steps = self.base ** (-np.arange(0, self.head, 2, dtype=np.float64) / self.head)
        angles = np.outer(np.arange(self.context), steps)
        return [
            self.weight("cos_cache", np.cos(angles).astype(np.float32)),
            self.weight("sin_cache", np.sin(angles).astype(np.float32)),
        ]

    def embedding(self):
        """The vectors of the tokens, from 8-bit integers that are also the weight of `scores` if the file has no other."""
        blocks = self.tensor("token_embd", gguf.Q8_0).data
        name = "lm_head.MatMul" if "output.weight" not in self.tensors else "model.embed_tokens"
        codes, scales = self.bytes(name, blocks)
        flat = self.weight("embedding_shape", np.array([self.vocabulary, self.width]))
        codes = self.node("Reshape", "/model/embed_tokens/Reshape", [codes, flat])
        return self.node(
            "GatherBlockQuantized",
            "/model/embed_tokens/Gather",
            [codes, "input_ids", scales],
            domain=MICROSOFT,
            bits=8,
            block_size=gguf.BLOCK,
            gather_axis=0,
            quantize_axis=1,
        )

    def scores(self, hidden):
        if "output.weight" in self.tensors:
            self.bytes("lm_head.MatMul", self.tensor("output", gguf.Q8_0).data)
        inputs = [hidden, "lm_head.MatMul.weight_Q8", "lm_head.MatMul.weight_scales"]
        self.product("/lm_head/MatMul_Q8", inputs, 8, (self.vocabulary, self.width), ["logits"])

    def bytes(self, name, blocks):
        """Signed integers as unsigned ones with the zero point 128, which operators with packed weights assume."""
        codes = (blocks["codes"].view(np.uint8) ^ 0x80).reshape(*blocks.shape, gguf.BLOCK)
        scales = blocks["scale"].astype(np.float32)
        return self.weight(f"{name}.weight_Q8", codes), self.weight(f"{name}.weight_scales", scales)

    def attention(self, layer, x):
        scope = f"/model/layers.{layer}/attn"
        query = self.halves(self.tensor(f"blk.{layer}.attn_q", gguf.Q4_1).data, self.heads)
        key = self.halves(self.tensor(f"blk.{layer}.attn_k", gguf.Q4_1).data, self.kv_heads)
        value = self.tensor(f"blk.{layer}.attn_v", gguf.Q4_1).data
        blocks = np.concatenate([query, key, value])
        packed = self.linear(f"{scope}/qkv_proj/MatMul_Q4", f"model.layers.{layer}.attn.qkv_proj.MatMul", x, blocks)
        past, present = (
            [f"{word}.{layer}.{part}" for part in ("key", "value")] for word in ("past_key_values", "present")
        )
        attended = self.node(
            "GroupQueryAttention",
            f"{scope}/GroupQueryAttention",
            [packed, "", "", *past, *self.counts, *self.turns],
            [f"{scope}/GroupQueryAttention/output_0", *present],
            domain=MICROSOFT,
            num_heads=self.heads,
            kv_num_heads=self.kv_heads,
            do_rotary=1,
        )
        blocks = self.tensor(f"blk.{layer}.attn_output", gguf.Q4_1).data
        return self.linear(f"{scope}/o_proj/MatMul_Q4", f"model.layers.{layer}.attn.o_proj.MatMul", attended, blocks)

    def halves(self, rows, heads):
        """Rows of a projection in an order for which rotation pairs the halves of a head. GGUF pairs neighbors."""
        pairs = rows.reshape(heads, self.head // 2, 2, rows.shape[-1])
        return pairs.swapaxes(1, 2).reshape(rows.shape)

    def mlp(self, layer, x):
        scope, weights = f"/model/layers.{layer}/mlp", f"model.layers.{layer}.mlp"

        def linear(part, x):
            blocks = self.tensor(f"blk.{layer}.ffn_{part}", gguf.Q4_1).data
            return self.linear(f"{scope}/{part}_proj/MatMul_Q4", f"{weights}.{part}_proj.MatMul", x, blocks)

        gate, up = linear("gate", x), linear("up", x)
        gate = self.node("Mul", f"{scope}/act_fn/Mul", [gate, self.node("Sigmoid", f"{scope}/act_fn/Sigmoid", [gate])])
        return linear("down", self.node("Mul", f"{scope}/Mul", [gate, up]))

    def linear(self, node, name, x, blocks):
        """A product with codes of 4 bits. The minimum of a block is a zero point, a float, of the same matrix."""
        scale, minimum = (blocks[part].astype(np.float32) for part in ("scale", "minimum"))
        # The elements of a block without a scale are its minimum.
        flat = scale == 0
        codes = np.where(flat[..., None], 0, blocks["codes"])
        scale = np.where(flat, minimum, scale)
        zeros = np.where(flat, np.float32(-1), -minimum / np.where(flat, 1, scale))
        # Of a pair of codes in a byte, the file has elements at a distance of half a block, and ONNX has neighbors.
        codes = np.concatenate([codes & 15, codes >> 4], axis=-1)
        codes = codes[..., 0::2] | codes[..., 1::2] << 4
        parts = {"weight_Q4": codes.astype(np.uint8), "weight_scales": scale, "weight_zp": zeros}
        inputs = [x, *(self.weight(f"{name}.{part}", values) for part, values in parts.items())]
        return self.product(node, inputs, 4, (len(blocks), blocks.shape[1] * gguf.BLOCK))

    def product(self, name, inputs, bits, shape, outputs=None):
        return self.node(
            "MatMulNBits",
            name,
            inputs,
            outputs,
            domain=MICROSOFT,
            bits=bits,
            block_size=gguf.BLOCK,
            N=shape[0],
            K=shape[1],
        )

    def norm(self, name, x, weight):
        scale = self.floats(weight, f"{name[1:].replace('/', '.')}.weight")
        return self.node("SimplifiedLayerNormalization", name, [x, scale], axis=-1, epsilon=self.epsilon)

    def skip(self, name, x, added, weight):
        """Returns the norm of a sum, and the sum."""
        scale = self.floats(weight, f"{name[1:].replace('/', '.')}.weight")
        outputs = [f"{name}/output_0", "", "", f"{name}/output_3"]
        self.node(
            "SkipSimplifiedLayerNormalization",
            name,
            [x, added, scale],
            outputs,
            domain=MICROSOFT,
            epsilon=self.epsilon,
        )
        return outputs[0], outputs[3]
