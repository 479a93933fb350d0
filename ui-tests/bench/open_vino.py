"""OpenVINO in single precision and with fixed sizes, for `bench.py`."""

import openvino

import served


def load(model, feed, threads):
    core = openvino.Core()
    network = core.read_model(str(model))
    network.reshape({port: list(feed[port.get_any_name()].shape) for port in network.inputs})
    settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads}
    request = core.compile_model(network, "CPU", settings).create_infer_request()
    names = [port.get_any_name() for port in network.outputs]
    # It refuses arrays of bytes that cannot be written.
    feed = {name: array.copy() for name, array in feed.items()}

    def call():
        # The arrays are those of the request, without a copy.
        results = request.infer(feed, share_inputs=True, share_outputs=True)
        return {name: results[at] for at, name in enumerate(names)}

    return call


served.serve(load)
