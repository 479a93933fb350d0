"""Writes `structure/`: three networks, each as several exporters write it.

A file of one exporter must load its weights into the struct compiled from a file of another (`ir/tests/structure.rs`,
`ui-tests/tests/exports.rs`). Requires `torch`, `onnx`, `onnxscript`, `onnxruntime` and `numpy`:
`python ui-tests/models/structure.py`. The files were written with torch 2.15.0, onnxscript 0.7.2 and onnx 1.23.2.

`NAME_script14.onnx` and `NAME_script17.onnx` come from the TorchScript exporter, which folds constants and normalizations;
`NAME_unfolded.onnx` from the same exporter without folding; `NAME_dynamo18.onnx` and `NAME_dynamo20.onnx` from the exporter based
on `torch.export`, with its optimizer and without it. Each file has other random weights. `NAME.in` contains the bytes of the
inputs, and `NAME_FORM.f32` those of the outputs that ONNX Runtime computes with the file. `almost/` contains networks with one
difference each.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from torch import nn
from torch.nn import functional as F

HERE = Path(__file__).parent / "structure"


class Attention(nn.Module):
    def __init__(self, width, heads, epsilon, bias):
        super().__init__()
        self.heads = heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value = nn.Linear(width, width, bias)
        self.dense = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, epsilon)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, mask):
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
        joined = (scores + mask).softmax(-1) @ value
        joined = joined.transpose(1, 2).reshape(x.shape)
        return self.norm(self.dense(joined) + x)


class FusedAttention(Attention):
    """The same by the function of PyTorch that exporters write in ways of their own."""

    def forward(self, x, mask):
        query, key, value = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        joined = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        return self.norm(self.dense(joined.transpose(1, 2).reshape(x.shape)) + x)


class Layer(nn.Module):
    def __init__(self, width, attention, epsilon, activation):
        super().__init__()
        self.attention, self.activation = attention, activation
        self.intermediate, self.output = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm = nn.LayerNorm(width, epsilon)

    def forward(self, x, mask):
        x = self.attention(x, mask)
        return self.norm(self.output(self.activation(self.intermediate(x))) + x)


class Bert(nn.Module):
    """BERT: token, position and type embeddings, two layers, a pooler."""

    def __init__(self, attention=Attention, heads=4, layers=2, epsilon=1e-12, activation=F.gelu, bias=True):
        super().__init__()
        width = 32
        self.words, self.positions = nn.Embedding(60, width), nn.Embedding(24, width)
        self.types = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, epsilon)
        parts = (attention(width, heads, epsilon, bias) for _ in range(layers))
        self.layers = nn.ModuleList(Layer(width, part, epsilon, activation) for part in parts)
        self.pooler = nn.Linear(width, width)

    def forward(self, input_ids, attention_mask):
        positions = torch.arange(input_ids.shape[1], device=input_ids.device).unsqueeze(0)
        x = self.words(input_ids) + self.types(torch.zeros_like(input_ids)) + self.positions(positions)
        x = self.norm(x)
        mask = (1.0 - attention_mask[:, None, None, :].float()) * -10000.0
        for layer in self.layers:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


class Inverted(nn.Module):
    """An inverted residual block of MobileNetV3, with squeeze and excitation."""

    def __init__(self, channels, inner, out, stride, activation):
        super().__init__()
        self.expand = nn.Sequential(nn.Conv2d(channels, inner, 1, bias=False), nn.BatchNorm2d(inner), activation())
        self.depth = nn.Sequential(
            nn.Conv2d(inner, inner, 3, stride, 1, groups=inner, bias=False), nn.BatchNorm2d(inner), activation()
        )
        self.reduce, self.excite = nn.Conv2d(inner, 4, 1), nn.Conv2d(4, inner, 1)
        self.project = nn.Sequential(nn.Conv2d(inner, out, 1, bias=False), nn.BatchNorm2d(out))
        self.adds = stride == 1 and channels == out

    def forward(self, x):
        y = self.depth(self.expand(x))
        scale = F.hardsigmoid(self.excite(F.relu(self.reduce(F.adaptive_avg_pool2d(y, 1)))))
        y = self.project(y * scale)
        return x + y if self.adds else y


class MobileNet(nn.Module):
    def __init__(self, stride=2):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish())
        self.blocks = nn.Sequential(
            Inverted(8, 16, 8, 1, nn.ReLU), Inverted(8, 24, 12, 2, nn.ReLU6), Inverted(12, 24, 12, 1, nn.Hardswish)
        )
        self.head = nn.Sequential(nn.Linear(12, 20), nn.Hardswish(), nn.Dropout(0.2), nn.Linear(20, 10))

    def forward(self, image):
        x = self.blocks(self.stem(image))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1)).softmax(-1)


class VoiceDetector(nn.Module):
    """As the Silero VAD: spectrum by a convolution with fixed filters, convolutions, an LSTM whose state is an input."""

    def __init__(self, size=32):
        super().__init__()
        self.bins = size // 2 + 1
        at = torch.arange(size) * torch.arange(self.bins)[:, None] * (2 * torch.pi / size)
        filters = torch.cat([at.cos(), -at.sin()]) * torch.hann_window(size)
        self.register_buffer("filters", filters[:, None])
        self.encoder = nn.Sequential(
            nn.Conv1d(self.bins, 16, 3, padding=1), nn.ReLU(), nn.Conv1d(16, 16, 3, 2, 1), nn.ReLU()
        )
        self.rnn = nn.LSTM(16, 16, batch_first=True)
        self.decoder = nn.Conv1d(16, 1, 1)

    def forward(self, audio, state):
        padded = F.pad(audio[:, None], (16, 16), mode="reflect")
        spectrum = F.conv1d(padded, self.filters, stride=16)
        x = (spectrum[:, : self.bins].square() + spectrum[:, self.bins :].square()).sqrt()
        x = self.encoder(x).transpose(1, 2)
        x, (hidden, cell) = self.rnn(x, (state[0], state[1]))
        speech = torch.sigmoid(self.decoder(F.relu(x).transpose(1, 2))).squeeze(1).mean(1, keepdim=True)
        return speech, torch.stack([hidden, cell])


def randomize(network, seed):
    """Sets all weights and statistics, as a training would."""
    random = torch.Generator().manual_seed(seed)
    for name, value in list(network.named_parameters()) + list(network.named_buffers()):
        if not value.is_floating_point() or name == "filters":
            continue
        drawn = torch.randn(value.shape, generator=random)
        if name.endswith("running_var"):
            drawn = drawn.abs() * 0.5 + 0.5
        elif value.dim() > 1:
            drawn *= 1.5 / max(1, value[0].numel()) ** 0.5
        else:
            drawn = drawn * 0.3 + (1.0 if ("norm" in name or ".1." in name) and name.endswith("weight") else 0.0)
        value.data.copy_(drawn)
    return network.eval()


NETWORKS = {
    "bert": (Bert, ("input_ids", "attention_mask"), ("hidden", "pooled"), {0: "batch", 1: "sequence"}),
    "mobilenet": (MobileNet, ("image",), ("scores",), {0: "batch"}),
    "vad": (VoiceDetector, ("audio", "state"), ("speech", "state_out"), {}),
}


# Networks that are almost the same, each with all weights 0.
ALMOST = {
    "bert_activation": {"activation": F.relu},
    "bert_heads": {"heads": 2},
    "bert_epsilon": {"epsilon": 1e-5},
    "bert_bias": {"bias": False},
    "bert_layers": {"layers": 1},
    "mobilenet_stride": {"stride": 1},
    "vad_type": {},
}


def inputs(name, random):
    if name == "bert":
        mask = np.ones((2, 7), np.int64)
        mask[1, 5:] = 0
        return random.integers(0, 60, (2, 7)), mask
    if name == "mobilenet":
        return (random.standard_normal((2, 3, 32, 32)).astype(np.float32),)
    audio, state = random.standard_normal((1, 256)), random.standard_normal((2, 1, 1, 16))
    return audio.astype(np.float32), state.astype(np.float32)


def export(name, form, network, values, path):
    _, input_names, output_names, axes = NETWORKS[name]
    arguments = tuple(torch.from_numpy(value) for value in values)
    common = {"input_names": list(input_names), "output_names": list(output_names)}
    opset = int(form[-2:]) if form[-2:].isdigit() else 17
    if form.startswith("dynamo"):
        shapes = tuple({axis: torch.export.Dim(axes[axis], min=1, max=24) for axis in axes} or None for _ in arguments)
        torch.onnx.export(
            network, arguments, path, dynamo=True, opset_version=opset, external_data=False,
            dynamic_shapes=shapes if axes else None, optimize=form != "dynamo20", verbose=False, **common,
        )
        return
    kept = {}
    if form == "unfolded":
        kept = {"do_constant_folding": False, "training": torch.onnx.TrainingMode.PRESERVE}
    torch.onnx.export(
        network, arguments, path, dynamo=False, opset_version=opset,
        dynamic_axes={input: axes for input in input_names} if axes else None, **kept, **common,
    )


def clean(path):
    """Removes stack traces of the exporter, which contain paths of the computer."""
    model = onnx.load(path)
    for node in model.graph.node:
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
    for value in model.graph.value_info:
        value.ClearField("metadata_props")
    onnx.save(model, path)


def almost(folder):
    for file, options in ALMOST.items():
        name, what = file.split("_")
        network, values = NETWORKS[name][0](**options).eval(), inputs(name, np.random.default_rng(7))
        for value in network.parameters():
            value.data.zero_()
        if what == "type":
            network, values = network.double(), tuple(value.astype(np.float64) for value in values)
        path = folder / f"{file}.onnx"
        export(name, "dynamo20", network, values, str(path))
        clean(path)


def write(folder, forms=("script14", "script17", "unfolded", "dynamo18", "dynamo20")):
    for name, (network, input_names, *_) in NETWORKS.items():
        values = inputs(name, np.random.default_rng(7))
        (folder / f"{name}.in").write_bytes(b"".join(value.tobytes() for value in values))
        for seed, form in enumerate(forms):
            path = folder / f"{name}_{form}.onnx"
            fused = {"attention": FusedAttention} if name == "bert" and form in ("script17", "dynamo18") else {}
            export(name, form, randomize(network(**fused), seed + 1), values, str(path))
            clean(path)
            session = onnxruntime.InferenceSession(path)
            outputs = session.run(None, dict(zip(input_names, values)))
            path.with_suffix(".f32").write_bytes(b"".join(output.tobytes() for output in outputs))
            print(path.name, path.stat().st_size)


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    folder.mkdir(exist_ok=True)
    write(folder)
    (folder / "almost").mkdir(exist_ok=True)
    almost(folder / "almost")
