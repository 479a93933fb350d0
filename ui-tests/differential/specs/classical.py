"""Classical models."""

import numpy as np

from specs import of

ML = "ai.onnx.ml:"


def texts(d, count):
    return [f"t{at}" for at in d.g.permutation(count)]


def numbers(d, count, low=-2, high=2):
    return [round(float(number), 3) for number in d.g.uniform(low, high, count)]


@of(ML + "ArrayFeatureExtractor")
def extract(d):
    shape = d.shape(1, 3, 1)
    dtype = d.type()
    columns = [1, d.int(1, 4)] if d.chance(0.5) else [d.int(1, 4)]
    return [d.values(dtype, shape), d.plain(np.dtype(np.int64), columns, 0, shape[-1] - 1)], {}


@of(ML + "Binarizer")
def binarizer(d):
    return [d.values(d.type(), d.shape(1, 3))], d.some(threshold=[0.0, 0.5, -1.0])


@of(ML + "Normalizer")
def normalizer(d):
    return [d.plain(d.type(), d.shape(2, 2, 1))], {"norm": d.pick(["MAX", "L1", "L2"])}


@of(ML + "Scaler")
def scaler(d):
    shape = d.shape(2, 2, 1)
    count = d.pick([1, shape[-1]])
    return [d.values(d.type(), shape)], {"offset": numbers(d, count), "scale": numbers(d, count)}


@of(ML + "Imputer")
def imputer(d):
    shape = d.shape(2, 2, 1)
    count = d.pick([1, shape[-1]])
    dtype = d.type()
    x = d.plain(dtype, shape)
    if dtype.kind == "f":
        replaced = d.pick([float("nan"), 0.0])
        x = np.where(d.g.random(shape) < 0.3, replaced, x).astype(dtype)
        return [x], {"imputed_value_floats": numbers(d, count), "replaced_value_float": replaced}
    return [x], {"imputed_value_int64s": [d.int(-5, 5) for _ in range(count)], "replaced_value_int64": d.int(-2, 2)}


@of(ML + "LabelEncoder")
def label_encoder(d):
    count = d.int(1, 5)
    if d.version == 1:
        names = texts(d, count)
        if d.chance(0.5):
            x = np.array([d.pick([*names, "?"]) for _ in range(4)], object)
            return [x], {"classes_strings": names, "default_int64": d.int(-3, 3)}
        return [d.plain(np.dtype(np.int64), [4], -1, count)], {"classes_strings": names, "default_string": "none"}
    columns = {"strings": texts(d, count), "int64s": [int(key) for key in d.g.permutation(9)[:count]],
               "floats": [*numbers(d, count - 1), d.pick([float("nan"), 0.5])]}
    source, target = d.pick([("strings", "int64s"), ("int64s", "strings"), ("int64s", "floats"), ("floats", "int64s"),
                             ("floats", "floats"), ("strings", "strings"), ("strings", "floats"), ("int64s", "int64s"),
                             ("floats", "strings")])
    kind = {"strings": object, "int64s": np.int64, "floats": np.float32}[source]
    x = np.array([d.pick(columns[source]) for _ in range(d.int(1, 6))], kind)
    default = d.some(default_string=["none"], default_int64=[7], default_float=[0.25])
    wanted = {"strings": "default_string", "int64s": "default_int64", "floats": "default_float"}[target]
    default = {name: value for name, value in default.items() if name == wanted}
    return [x], {f"keys_{source}": columns[source], f"values_{target}": columns[target], **default}


@of(ML + "CategoryMapper")
def category(d):
    count = d.int(1, 4)
    names, keys = texts(d, count), [int(key) for key in d.g.permutation(9)[:count]]
    x = np.array([d.pick([*names, "?"]) for _ in range(4)], object) if d.chance(0.5) else d.plain(np.dtype(np.int64), [4], 0, 9)
    return [x], {"cats_strings": names, "cats_int64s": keys, **d.some(default_string=["none"], default_int64=[-7])}


@of(ML + "OneHotEncoder")
def one_hot_encoder(d):
    count = d.int(1, 4)
    if d.chance(0.4):
        names = texts(d, count)
        return [np.array([d.pick(names) for _ in range(4)], object).reshape([2, 2])], {"cats_strings": names}
    keys = [int(key) for key in d.g.permutation(5)[:count]]
    x = d.plain(d.type(only=lambda dtype: dtype != np.dtype(object)), d.shape(1, 2, 1), 0, 5).round()
    return [x], {"cats_int64s": keys, "zeros": 1}


@of(ML + "LinearRegressor")
def linear_regressor(d):
    features, targets = d.int(1, 4), d.int(1, 3)
    attributes = {"coefficients": numbers(d, features * targets), "targets": targets}
    attributes |= d.some(intercepts=lambda: numbers(d, targets), post_transform=["NONE"])
    return [d.plain(d.type(), [d.int(1, 3), features])], attributes


@of(ML + "LinearClassifier")
def linear_classifier(d):
    features, classes = d.int(1, 4), d.int(2, 4)
    attributes = {"coefficients": numbers(d, features * classes), "intercepts": numbers(d, classes)}
    attributes |= {"classlabels_strings": texts(d, classes)} if d.chance(0.4) else {"classlabels_ints": list(range(classes))}
    attributes |= d.some(post_transform=["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"], multi_class=[0, 1])
    return [d.plain(d.type(), [d.int(1, 3), features])], attributes, 2


@of(ML + "FeatureVectorizer")
def feature_vectorizer(d):
    rows, count = d.int(1, 3), d.int(1, 3)
    widths = [d.int(1, 4) for _ in range(count)]
    dtype = d.type()
    return [d.plain(dtype, [rows, width]) for width in widths], {"inputdimensions": widths}


def tree(d, features, leaves):
    """Nodes of a random tree, a leaf for each of `leaves(leaf)`, in the attributes' columns."""
    columns = {name: [] for name in ("nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
                                     "missing_value_tracks_true")}
    modes = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
    mode = d.pick(modes)

    def add(depth):
        at = len(columns["nodeids"])
        for name, value in zip(columns, (at, d.int(0, features - 1), float(d.int(-2, 2)), "LEAF", 0, 0, d.int(0, 1))):
            columns[name].append(value)
        if depth and d.chance(0.8):
            columns["modes"][at] = d.pick(modes) if d.chance(0.2) else mode
            columns["truenodeids"][at] = add(depth - 1)
            columns["falsenodeids"][at] = add(depth - 1)
        else:
            leaves.append(at)
        return at

    add(d.int(0, 3))
    return columns


@of(ML + "TreeEnsembleRegressor", ML + "TreeEnsembleClassifier")
def trees(d):
    features, targets = d.int(1, 4), d.int(1, 3)
    is_classifier = d.schema.name == "TreeEnsembleClassifier"
    prefix = "class" if is_classifier else "target"
    targets = d.int(2, 3) if is_classifier else targets
    attributes, ids = {}, {"treeids": [], "nodeids": [], "ids": [], "weights": []}
    for number in range(d.int(1, 3)):
        leaves = []
        for name, column in tree(d, features, leaves).items():
            attributes.setdefault(f"nodes_{name}", []).extend(column)
        attributes.setdefault("nodes_treeids", []).extend([number] * (len(attributes["nodes_nodeids"])
                                                                     - len(attributes.get("nodes_treeids", []))))
        for leaf in leaves:
            for target in range(targets):
                for name, value in zip(ids, (number, leaf, target, numbers(d, 1)[0])):
                    ids[name].append(value)
    attributes |= {f"{prefix}_{name}": column for name, column in ids.items()}
    if is_classifier:
        labels = list(range(targets)) if d.chance(0.6) else texts(d, targets)
        attributes["classlabels_int64s" if isinstance(labels[0], int) else "classlabels_strings"] = labels
    else:
        attributes |= {"n_targets": targets} | d.some(aggregate_function=["SUM", "AVERAGE", "MIN", "MAX"])
    attributes |= d.some(post_transform=["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"],
                         base_values=lambda: numbers(d, targets))
    x = d.plain(d.type(), [d.int(1, 4), features], -3, 3).round(1)
    if x.dtype.kind == "f" and d.chance(0.3):
        x = np.where(d.g.random(x.shape) < 0.2, np.nan, x).astype(x.dtype)
    return [x], attributes, 2 if is_classifier else 1


@of(ML + "SVMRegressor")
def svm_regressor(d):
    features, vectors = d.int(1, 4), d.int(1, 4)
    kernel = d.pick(["LINEAR", "RBF", "POLY", "SIGMOID"])
    attributes = {"kernel_type": kernel, "kernel_params": [0.5, 0.1, 2.0], "n_supports": vectors, "rho": numbers(d, 1),
                  "coefficients": numbers(d, vectors), "support_vectors": numbers(d, vectors * features)}
    return [d.plain(d.type(), [d.int(1, 3), features])], attributes | d.some(one_class=[0, 1])
