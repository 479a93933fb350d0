"""Trains the classical models of the benchmark, on data of fixed seeds, and exports them for `bench.py`.

    python ui-tests/bench/classical.py [FOLDER]

Needs scikit-learn, skl2onnx, lightgbm, xgboost and onnxmltools. FOLDER is `target/models` unless it is named. Each model has
a folder there with the ONNX file, rows of features for its input (`rows.npz`) and, for boosted trees, the model as its own
library stores it.
"""

import sys
import warnings
from pathlib import Path

import lightgbm
import numpy
import xgboost
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from skl2onnx import to_onnx
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

TARGET = Path(__file__).resolve().parents[2] / "target/models"
FEATURES = 40
ROWS = 10_000


class Folder:
    def __init__(self, folder):
        self.folder = folder

    def save(self, name, model, rows):
        home = self.folder / name
        home.mkdir(parents=True, exist_ok=True)
        encoded = model.SerializeToString()
        (home / f"{name}.onnx").write_bytes(encoded)
        numpy.savez(home / "rows.npz", **{model.graph.input[0].name: rows[:ROWS]})
        print(f"{name}: {len(encoded)} bytes", flush=True)
        return home


def main():
    warnings.filterwarnings("ignore")
    folder = Folder(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET)
    shape = {"n_samples": 20_000, "n_features": FEATURES, "n_informative": 20, "random_state": 0}
    two = floats(make_classification(n_classes=2, **shape))
    five = floats(make_classification(n_classes=5, **shape))
    rows, numbers = floats(make_regression(noise=10, **shape))
    numbers = rows, numbers / 100
    boosted(folder, two, five, numbers)
    others(folder, two, five, numbers)


def floats(data):
    rows, targets = data
    return rows.astype(numpy.float32), targets


def boosted(folder, two, five, numbers):
    types = [("rows", FloatTensorType([None, FEATURES]))]
    model = lightgbm.LGBMClassifier(n_estimators=500, num_leaves=31, verbose=-1).fit(*two)
    onnx = convert_lightgbm(model, initial_types=types, zipmap=False, target_opset=15)
    model.booster_.save_model(folder.save("lightgbm_500x31", onnx, two[0]) / "model.txt")
    model = lightgbm.LGBMRegressor(n_estimators=100, num_leaves=255, verbose=-1).fit(*numbers)
    onnx = convert_lightgbm(model, initial_types=types, target_opset=15)
    model.booster_.save_model(folder.save("lightgbm_100x255", onnx, numbers[0]) / "model.txt")
    model = xgboost.XGBClassifier(n_estimators=200, max_depth=6).fit(*five)
    onnx = convert_xgboost(model, initial_types=types, target_opset=15)
    model.save_model(folder.save("xgboost_200x5", onnx, five[0]) / "model.json")


def others(folder, two, five, numbers):
    def first(data, count):
        return tuple(part[:count] for part in data)

    def save(name, model, data, rows, **options):
        model.fit(*data)
        options = {id(model): options} if options else None
        onnx = to_onnx(model, data[0][:1], options=options, target_opset={"": 18, "ai.onnx.ml": 3})
        folder.save(name, onnx, rows)

    save("forest_classifier", RandomForestClassifier(100, max_depth=12, random_state=0), two, two[0], zipmap=False)
    save("forest_regressor", RandomForestRegressor(100, max_depth=12, random_state=0), numbers, numbers[0])
    save("svc", SVC(probability=True, random_state=0), first(two, 3000), two[0], zipmap=False)
    save("svr", SVR(), first(numbers, 3000), numbers[0])
    save("neighbors", KNeighborsClassifier(5), first(two, 5000), two[0], zipmap=False)
    save("naive_bayes", GaussianNB(), five, five[0], zipmap=False)
    save("perceptron", MLPClassifier((128, 64), max_iter=10, random_state=0), two, two[0], zipmap=False)
    save("gaussian_process", GaussianProcessRegressor(), first(numbers, 1000), numbers[0])
    save("logistic_regression", make_pipeline(StandardScaler(), LogisticRegression()), two, two[0], zipmap=False)


main()
