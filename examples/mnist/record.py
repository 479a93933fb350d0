"""Records ONNX Runtime's answers for the sample digits into io.npz, which `cargo onnx-embed verify` compares with.

Requires: numpy, pillow, onnxruntime.
"""

from pathlib import Path

import numpy as np
import onnxruntime
from PIL import Image

here = Path(__file__).parent
pictures = [Image.open(here / "digits" / f"{digit}.png").convert("L") for digit in range(10)]
images = np.stack([np.asarray(picture, np.float32)[None] / 255 for picture in pictures])
session = onnxruntime.InferenceSession(str(here / "mnist.onnx"))
(probabilities,) = session.run(None, {"image": images})
np.savez_compressed(here / "io.npz", **{"in/image": images, "out/probabilities": probabilities})
