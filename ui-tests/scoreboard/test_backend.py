"""The test cases of ONNX, as the scoreboard runs them: `python -m pytest test_backend.py -k 'not _cuda'`."""

import onnx.backend.test

import onnx_embed_backend

globals().update(onnx.backend.test.BackendTest(onnx_embed_backend, __name__).test_cases)
