"""Modules and functions of PyTorch through both of its exporters.

    python torch_modules.py FOLDER [--exporter dynamo|script]

Requires torch, onnxscript and onnxruntime. `script` is the older exporter, by TorchScript, to opset 17.
"""

import argparse

import torch
import torch_registry
from sweep import Sweep
from torch import nn
from torch.nn import functional as F
from torch_functions import FUNCTIONS, OPEN

draw = torch.randn
IMAGES, ROWS, VECTORS = (2, 6, 9, 8), (2, 5, 12), (2, 6)
ACTIVATIONS = (
    "ReLU ReLU6 ELU SELU CELU GELU SiLU Mish Hardswish Hardsigmoid Hardtanh Softplus Softsign Tanh Tanhshrink "
    "Softshrink Hardshrink LogSigmoid Sigmoid PReLU RReLU LeakyReLU"
)


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *tensors):
        return self.function(*tensors)


def on_rows():
    """Modules of `[2, 5, 12]`, and the axes that are open."""
    yield from ((f"act_{name.lower()}", getattr(nn, name)(), (0,)) for name in ACTIVATIONS.split())
    yield "glu", nn.GLU(), ()
    yield "softmax", nn.Softmax(1), (0, 2)
    yield "log_softmax", nn.LogSoftmax(-1), ()
    yield "softmin", nn.Softmin(1), ()
    yield "threshold", nn.Threshold(0.1, -1), ()
    yield "linear", nn.Linear(12, 4), (0, 1)
    yield "conv1d", nn.Conv1d(5, 4, 3, padding="same"), (0, 2)
    yield "conv_transpose1d", nn.ConvTranspose1d(5, 4, 3, 2, 1, 1), ()
    yield "max_pool1d", nn.MaxPool1d(2), ()
    yield "avg_pool1d", nn.AvgPool1d(3, 2, 1), ()
    yield "layer_norm", nn.LayerNorm([12]), (0, 1)
    yield "rms_norm", nn.RMSNorm(12), ()
    for name in ("RNN", "LSTM", "GRU"):
        kind = getattr(nn, name)
        yield name.lower(), kind(12, 7, batch_first=True), ()
        yield f"{name.lower()}_both_ways", kind(12, 7, 2, bidirectional=True, batch_first=True), (0,)
        yield f"{name.lower()}_no_bias", kind(12, 7, bias=False), ()
    yield "lstm_projected", nn.LSTM(12, 7, proj_size=3, batch_first=True), ()
    yield "rnn_relu", nn.RNN(12, 7, nonlinearity="relu"), ()
    yield "encoder_layer", nn.TransformerEncoderLayer(12, 3, 24, batch_first=True), (0,)
    layer = nn.TransformerEncoderLayer(12, 3, 24, batch_first=True, norm_first=True, activation="gelu")
    yield "encoder", nn.TransformerEncoder(layer, 2), ()


def on_images():
    """Modules of `[2, 6, 9, 8]`, and the axes that are open."""
    yield "conv2d", nn.Conv2d(6, 4, 3, 2, 1), (0, 2, 3)
    yield "conv2d_depthwise", nn.Conv2d(6, 6, 3, groups=6), ()
    yield "conv2d_reflect", nn.Conv2d(6, 4, 3, dilation=2, padding=2, padding_mode="reflect"), ()
    yield "conv2d_circular", nn.Conv2d(6, 4, 3, padding=1, padding_mode="circular"), ()
    yield "conv2d_replicate", nn.Conv2d(6, 4, 3, padding=1, padding_mode="replicate"), ()
    yield "conv_transpose2d", nn.ConvTranspose2d(6, 4, 3, 2, 1, 1), (0,)
    for name, module in {
        "max_pool2d": nn.MaxPool2d(3, 2, 1, ceil_mode=True), "max_pool2d_places": nn.MaxPool2d(2, return_indices=True),
        "avg_pool2d": nn.AvgPool2d(3, 2, 1, count_include_pad=False),
        "avg_pool2d_ceil": nn.AvgPool2d(3, 2, 1, ceil_mode=True), "lp_pool2d": nn.LPPool2d(2, 2),
        "adaptive_avg_pool2d": nn.AdaptiveAvgPool2d(3), "adaptive_avg_pool2d_one": nn.AdaptiveAvgPool2d(1),
        "adaptive_max_pool2d": nn.AdaptiveMaxPool2d((3, 4)), "batch_norm": nn.BatchNorm2d(6),
        "instance_norm": nn.InstanceNorm2d(6, affine=True), "group_norm": nn.GroupNorm(3, 6),
        "local_response_norm": nn.LocalResponseNorm(3), "pixel_shuffle": nn.PixelShuffle(1),
        "pixel_unshuffle": nn.PixelUnshuffle(1), "channel_shuffle": nn.ChannelShuffle(2),
        "zero_pad": nn.ZeroPad2d((1, 2, 0, 1)), "reflection_pad": nn.ReflectionPad2d(1),
        "constant_pad": nn.ConstantPad2d(1, 0.5), "upsample_nearest": nn.Upsample(scale_factor=2),
        "upsample_linear": nn.Upsample(scale_factor=1.5, mode="bilinear"),
        "upsample_corners": nn.Upsample(size=(5, 13), mode="bilinear", align_corners=True),
        "upsample_cubic": nn.Upsample(scale_factor=2, mode="bicubic"), "unfold": nn.Unfold(3, padding=1),
        "flatten": nn.Flatten(), "unflatten": nn.Unflatten(1, (2, 3)), "dropout2d": nn.Dropout2d(),
    }.items():
        yield name, module, ()


def with_inputs():
    """Modules and functions with inputs of their own."""
    rows, vectors = draw(ROWS), draw(VECTORS)
    ids = torch.randint(0, 10, (2, 7))
    queries = draw(2, 3, 5, 4)
    attention = F.scaled_dot_product_attention
    yield "bilinear", nn.Bilinear(6, 6, 3), vectors, draw(VECTORS)
    yield "embedding", nn.Embedding(10, 4, padding_idx=0), ids
    yield "embedding_bag", nn.EmbeddingBag(10, 4, mode="mean"), ids
    yield "conv3d", nn.Conv3d(2, 3, 2), draw(1, 2, 5, 6, 7)
    yield "conv_transpose3d", nn.ConvTranspose3d(2, 3, 2), draw(1, 2, 4, 4, 4)
    yield "fold", nn.Fold((5, 6), 2), draw(1, 12, 20)
    yield "max_unpool", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), draw(1, 2, 4, 6)
    yield "cosine_similarity", nn.CosineSimilarity(), vectors, draw(VECTORS)
    yield "pairwise_distance", nn.PairwiseDistance(), vectors, draw(VECTORS)
    yield "cdist", torch.cdist, draw(2, 5, 3), draw(2, 4, 3)
    yield "mse_loss", nn.MSELoss(), vectors, draw(VECTORS)
    yield "cross_entropy", nn.CrossEntropyLoss(), vectors, torch.tensor([1, 3])
    yield "bce_loss", nn.BCEWithLogitsLoss(), vectors, torch.rand(VECTORS)
    yield "huber_loss", nn.HuberLoss(), vectors, draw(VECTORS)
    yield "kl_div", nn.KLDivLoss(), vectors, torch.rand(VECTORS)
    for name in ("RNN", "LSTM", "GRU"):
        yield f"{name.lower()}_cell", getattr(nn, f"{name}Cell")(6, 4), vectors
    yield "multihead_attention", nn.MultiheadAttention(12, 3, batch_first=True), rows, rows, rows
    yield "decoder_layer", nn.TransformerDecoderLayer(12, 3, 24, batch_first=True), rows, draw(2, 7, 12)
    yield "transformer", nn.Transformer(12, 3, 1, 1, 24, batch_first=True), rows, draw(2, 4, 12)
    yield "attention", lambda x: attention(x, x, x), queries
    yield "attention_causal", lambda x: attention(x, x, x, is_causal=True), queries
    yield "attention_mask", lambda x, mask: attention(x, x, x, mask), queries, draw(5, 5)
    yield "attention_groups", lambda x, y: attention(x, y, y, enable_gqa=True), draw(2, 4, 5, 8), draw(2, 2, 5, 8)


def cases():
    """Name, module, inputs, and the open axes of the first of them."""
    rows, images = draw(ROWS), draw(IMAGES)
    yield from ((name, module, [rows], axes) for name, module, axes in on_rows())
    yield from ((name, module, [images], axes) for name, module, axes in on_images())
    yield from ((name, module, tensors, ()) for name, module, *tensors in with_inputs())
    yield from ((f"f_{name}", function, [rows], ()) for name, function in FUNCTIONS.items())
    yield from ((f"open_{name}", FUNCTIONS[name], [rows], axes) for name, axes in OPEN.items())
    yield "open_embedding", nn.Embedding(10, 4, padding_idx=0), [torch.randint(0, 10, (2, 7))], (0, 1)


def export(exporter, module, tensors, axes):
    def dynamo(path):
        sizes = ({axis: torch.export.Dim.DYNAMIC for axis in axes},) + (None,) * (len(tensors) - 1) if axes else None
        if axes and isinstance(module, Function):
            sizes = (sizes,)
        torch.onnx.export(module, tuple(tensors), path, dynamo=True, dynamic_shapes=sizes, external_data=False)

    def script(path):
        names = [f"x{at}" for at in range(len(tensors))]
        sizes = {"x0": {axis: f"n{axis}" for axis in axes}} if axes else None
        torch.onnx.export(module, tuple(tensors), path, dynamo=False, opset_version=17, input_names=names,
                          dynamic_axes=sizes)

    def write(path):
        with torch.no_grad():
            {"dynamo": dynamo, "script": script}[exporter](path)
        return None, [tensor.numpy() for tensor in tensors]

    return write


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder")
    arguments.add_argument("--exporter", choices=["dynamo", "script"], default="dynamo")
    arguments = arguments.parse_args()
    torch.manual_seed(0)
    torch_registry.keep()
    sweep = Sweep(arguments.folder, ["torch", "onnxscript"])
    for name, module, tensors, axes in cases():
        module = (module if isinstance(module, nn.Module) else Function(module)).eval()
        sweep.case(name, export(arguments.exporter, module, tensors, axes))
    sweep.end()


if __name__ == "__main__":
    main()
