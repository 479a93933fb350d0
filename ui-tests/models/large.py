"""Exports large networks from PyTorch and records the outputs of ONNX Runtime.

    pip install torch torchvision transformers diffusers onnxscript onnx onnxruntime
    python ui-tests/models/large.py FOLDER [NAMES..]
    cargo run --release -p cargo-onnx-embed -- verify FOLDER --release

Each model gets a folder with `NAME.onnx` and a recording for each of its sizes. The weights are random, so that nothing
but packages is downloaded. Works with torch 2.15.0, torchvision 0.29.2, transformers 5.24.0, diffusers 0.42.1 and
onnxscript 0.7.2. All models together have 1.3 GB.
"""

import argparse
import sys
from pathlib import Path

import numpy
import onnx
import torch
from torch.export import Dim

import record

# Version of the operators that the exporter of TorchScript writes.
OPSET = 17

# Open sizes of decoders, and the calls that are recorded.
BATCH, WORDS, PAST = Dim("batch"), Dim("words"), Dim("past")
CALLS = [
    {"batch": batch, "words": words, "past": past, "seen": past + words}
    for batch, words, past in ((1, 1, 16), (2, 5, 3), (1, 1, 100), (1, 24, 0))
]


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("names", nargs="*", help=f"only these models: {', '.join(MODELS)}")
    chosen = arguments.parse_args()
    if unknown := set(chosen.names) - set(MODELS):
        sys.exit(f"there is no model {', '.join(sorted(unknown))}; the models are {', '.join(MODELS)}")
    floors = {}
    for name in chosen.names or MODELS:
        floors[name] = write(name, chosen.folder / name)
    record.manifest(chosen.folder, floors)


def write(name, folder):
    """Exports a model and records its outputs. Returns how far ONNX Runtime is from itself without optimizations."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("io*.npz"):
        old.unlink()
    path = folder / f"{name}.onnx"
    torch.manual_seed(0)
    with torch.no_grad():
        calls, inputs = MODELS[name](path)
    floors = []
    for at, sizes in enumerate(calls, 1):
        arrays, floor = record.record(path, sizes, inputs)
        numpy.savez(folder / f"io{at if at > 1 else ''}.npz", **arrays)
        floors.append(floor)
    size = sum(file.stat().st_size for file in folder.iterdir() if file.suffix != ".npz")
    nodes = len(onnx.load(path, load_external_data=False).graph.node)
    print(f"{name}: {nodes} nodes, {size / 1e6:.0f} MB, floor {max(floors):.1e}", flush=True)
    return max(floors)


def trained(model):
    """The model, with parameters and statistics that are neither 0 nor 1 nor equal, as in trained ones."""
    for name, values in [*model.named_parameters(), *model.named_buffers()]:
        if values.is_floating_point() and (values == values.flatten()[0]).all():
            noise = torch.randn_like(values) * 0.05
            values.data = values + (noise.abs() if "running_var" in name else noise)
    return model.eval()


def normalize(model, batch):
    """Makes the statistics of BatchNorms those of a batch, so that values depend on the input in each layer."""
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.momentum = 1.0
    model.train()(batch)
    model.eval()


def by_script(path, model, arguments, inputs, outputs, sizes=None):
    """Exports through TorchScript. `sizes` names the open axes of each input."""
    torch.onnx.export(
        model, arguments, path, dynamo=False, opset_version=OPSET,
        input_names=inputs, output_names=outputs, dynamic_axes=sizes,
    )


def by_dynamo(path, model, arguments, inputs, outputs, sizes=None):
    """Exports through `torch.export`. `sizes` has the open axes of each argument."""
    torch.onnx.export(
        model, arguments, path, dynamo=True, external_data=True,
        input_names=inputs, output_names=outputs, dynamic_shapes=sizes,
    )


def swin_t(path):
    from torchvision.models import swin_t

    image = torch.randn(1, 3, 224, 224)
    by_script(path, trained(swin_t(weights=None)), (image,), ["image"], ["logits"])
    return [{}], {}


def faster_rcnn(path):
    from torchvision.models.detection import fasterrcnn_mobilenet_v3_large_320_fpn

    empty = {"weights": None, "weights_backbone": None}
    model = trained(fasterrcnn_mobilenet_v3_large_320_fpn(**empty, box_detections_per_img=20))
    image = record.picture(numpy.random.default_rng(0), (3, 320, 320), record.patches)
    image = torch.from_numpy(image.astype(numpy.float32))
    normalize(model.backbone, model.transform([image])[0].tensors)
    # Scores determine which boxes remain. By these factors they differ by more than rounding errors, as in a trained model.
    model.rpn.head.cls_logits.weight *= 10
    model.roi_heads.box_predictor.cls_score.weight *= 30
    by_script(path, model, ([image],), ["pixels"], ["boxes", "labels", "scores"])
    return [{}], {"pixels": "image"}


class Denoiser(torch.nn.Module):
    """A UNet as Stable Diffusion has, of half its width."""

    def __init__(self):
        from diffusers import UNet2DConditionModel

        super().__init__()
        self.unet = UNet2DConditionModel(
            sample_size=32, block_out_channels=(128, 256, 512), cross_attention_dim=512, attention_head_dim=8,
            down_block_types=("CrossAttnDownBlock2D", "CrossAttnDownBlock2D", "DownBlock2D"),
            up_block_types=("UpBlock2D", "CrossAttnUpBlock2D", "CrossAttnUpBlock2D"),
        )

    def forward(self, sample, timestep, text):
        return self.unet(sample, timestep, text, return_dict=False)[0]


def sd_unet(path):
    arguments = torch.randn(2, 4, 16, 24), torch.tensor(7), torch.randn(2, 77, 512)
    # Each of two levels halves the height and the width.
    sample = {0: BATCH, 2: 4 * Dim("rows", min=2), 3: 4 * Dim("columns", min=2)}
    sizes = sample, None, {0: BATCH}
    by_dynamo(path, trained(Denoiser()), arguments, ["sample", "timestep", "text"], ["noise"], sizes)
    calls = [{"batch": 1, "4*rows": 16, "4*columns": 16}, {"batch": 2, "4*rows": 8, "4*columns": 20}]
    return calls, {"timestep": "0..1000"}


class Encoder(torch.nn.Module):
    """The encoder of a model of transformers."""

    def __init__(self, model):
        super().__init__()
        self.encoder = model.get_encoder()

    def forward(self, *inputs):
        return self.encoder(*inputs, return_dict=False)[0]


class CachedDecoder(torch.nn.Module):
    """A decoder that takes and returns keys and values: those of its words, then those of the encoder's results."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, past):
        from transformers.cache_utils import DynamicCache, EncoderDecoderCache

        own, of_encoder = past
        cache = EncoderDecoderCache(DynamicCache(own), DynamicCache(of_encoder))
        # As the keys of the encoder's results are cached, only the shape of the results is read.
        encoded = of_encoder[0][0].transpose(1, 2).flatten(2)
        result = self.model(decoder_input_ids=ids, encoder_outputs=(encoded,), past_key_values=cache)
        return result.logits, [(layer.keys, layer.values) for layer in cache.self_attention_cache.layers]


class CachedLlama(torch.nn.Module):
    """A language model that takes and returns keys and values."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, mask, past):
        from transformers.cache_utils import DynamicCache

        cache = DynamicCache(past)
        result = self.model(input_ids=ids, attention_mask=mask, past_key_values=cache)
        return result.logits, [(layer.keys, layer.values) for layer in cache.layers]


def cache(layers, heads, length, width):
    return [tuple(torch.randn(2, heads, length, width) for _ in "kv") for _ in range(layers)]


def cache_names(name, layers):
    return [f"{name}_{part}_{layer}" for layer in range(layers) for part in ("key", "value")]


def whisper():
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    # The defaults are those of Whisper tiny, except for the width.
    config = WhisperConfig(d_model=384, encoder_ffn_dim=1536, decoder_ffn_dim=1536)
    return trained(WhisperForConditionalGeneration(config))


def whisper_encoder(path):
    by_script(path, Encoder(whisper()), (torch.randn(1, 80, 3000),), ["features"], ["states"])
    return [{}], {}


def whisper_decoder(path):
    return decoder(path, whisper(), layers=4, heads=6, source=1500, words="0..51865")


def t5():
    from transformers import T5Config, T5ForConditionalGeneration

    # The defaults are those of T5 small.
    return trained(T5ForConditionalGeneration(T5Config()))


def t5_encoder(path):
    ids, mask = torch.randint(0, 32000, (2, 19)), torch.ones(2, 19, dtype=torch.int64)
    axes = {name: {0: "batch", 1: "words"} for name in ("ids", "mask")}
    by_script(path, Encoder(t5()), (ids, mask), ["ids", "mask"], ["states"], axes)
    calls = [{"batch": 1, "words": 128}, {"batch": 3, "words": 1}, {"batch": 2, "words": 33}]
    return calls, {"ids": "0..32000", "mask": "mask"}


def t5_decoder(path):
    return decoder(path, t5(), layers=6, heads=8, source=None, words="0..32000")


def decoder(path, model, layers, heads, source, words):
    """Exports a decoder with caches. `source` is the number of the encoder's results, if it is fixed."""
    arguments = torch.randint(0, 32000, (2, 3)), [cache(layers, heads, 7, 64), cache(layers, heads, source or 11, 64)]
    own = {0: BATCH, 2: PAST}
    of_encoder = {0: BATCH} if source else {0: BATCH, 2: Dim("source")}
    sizes = {0: BATCH, 1: WORDS}, [[(own, own)] * layers, [(of_encoder, of_encoder)] * layers]
    inputs = ["ids", *cache_names("past", layers), *cache_names("encoded", layers)]
    by_dynamo(path, CachedDecoder(model), arguments, inputs, ["logits", *cache_names("present", layers)], sizes)
    return [call | {"source": 20} for call in CALLS], {"ids": words}


def llama_110m(path):
    from transformers import LlamaConfig, LlamaForCausalLM

    layers, heads = 12, 12
    config = LlamaConfig(
        hidden_size=768, intermediate_size=2048, num_hidden_layers=layers, num_attention_heads=heads,
        vocab_size=32000, max_position_embeddings=2048, tie_word_embeddings=True,
    )
    model = CachedLlama(trained(LlamaForCausalLM(config)))
    arguments = torch.randint(0, 32000, (2, 3)), torch.ones(2, 10, dtype=torch.int64), cache(layers, heads, 7, 64)
    past = {0: BATCH, 2: PAST}
    sizes = {0: BATCH, 1: WORDS}, {0: BATCH, 1: Dim("seen")}, [(past, past)] * layers
    inputs = ["ids", "mask", *cache_names("past", layers)]
    by_dynamo(path, model, arguments, inputs, ["logits", *cache_names("present", layers)], sizes)
    return CALLS, {"ids": "0..32000", "mask": "mask"}


MODELS = {
    function.__name__: function
    for function in (
        swin_t, faster_rcnn, sd_unet, whisper_encoder, whisper_decoder, t5_encoder, t5_decoder, llama_110m,
    )
}

if __name__ == "__main__":
    main()
