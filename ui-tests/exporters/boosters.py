"""Boosted trees of LightGBM, XGBoost and CatBoost: every objective that their exporters convert.

    python boosters.py FOLDER

Requires lightgbm, xgboost, catboost, scikit-learn, onnxmltools, skl2onnx and onnxruntime.
"""

import argparse

import catboost
import lightgbm
import numpy as np
import xgboost
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from sweep import Sweep

ROWS, FEATURES = 400, 8
TYPES = [("x", FloatTensorType([None, FEATURES]))]
OPSET = 15


def data():
    draw = np.random.default_rng(0)
    x = draw.normal(size=(ROWS, FEATURES)).astype(np.float32)
    score = x[:, 0] + x[:, 1] * x[:, 2]
    targets = {
        "number": score, "positive": np.exp(score / 4), "count": draw.poisson(np.exp(score / 4)),
        "two": (score > 0).astype(int), "four": np.digitize(score, [-1, 0, 1]),
        "share": 1 / (1 + np.exp(-score)),
    }
    gaps = x.copy()
    gaps[draw.random(x.shape) < 0.2] = np.nan
    return x, gaps, targets


def lightgbm_models(sweep, x, gaps, targets):
    def case(name, model, target, rows=x, **fit):
        def export(path):
            model.fit(rows, targets[target], **fit)
            options = {} if isinstance(model, lightgbm.LGBMRegressor) else {"zipmap": False}
            found = convert_lightgbm(model, initial_types=TYPES, target_opset=OPSET, **options)
            return found.SerializeToString(), [rows[:20]]

        sweep.case(f"lightgbm_{name}", export)

    small = {"n_estimators": 20, "num_leaves": 15, "verbose": -1}
    for objective, target in {
        "regression": "number", "regression_l1": "number", "huber": "number", "fair": "number", "quantile": "number",
        "mape": "positive", "poisson": "count", "gamma": "positive", "tweedie": "positive", "cross_entropy": "share",
    }.items():
        case(objective, lightgbm.LGBMRegressor(objective=objective, **small), target)
    case("binary", lightgbm.LGBMClassifier(**small), "two")
    case("multiclass", lightgbm.LGBMClassifier(**small), "four")
    case("multiclassova", lightgbm.LGBMClassifier(objective="multiclassova", **small), "four")
    case("gaps", lightgbm.LGBMClassifier(**small), "two", gaps)
    case("dart", lightgbm.LGBMRegressor(boosting_type="dart", **small), "number")
    bagging = {"subsample": 0.7, "subsample_freq": 1}
    case("forest", lightgbm.LGBMRegressor(boosting_type="rf", **bagging, **small), "number")
    labels = x.copy()
    labels[:, 0] = np.digitize(x[:, 0], [-1, 0, 1])
    case("categories", lightgbm.LGBMClassifier(**small), "two", labels, categorical_feature=[0])


def xgboost_models(sweep, x, gaps, targets):
    def case(name, model, target, rows=x, **fit):
        def export(path):
            model.fit(rows, targets[target], **fit)
            found = convert_xgboost(model, initial_types=TYPES, target_opset=OPSET)
            return found.SerializeToString(), [rows[:20]]

        sweep.case(f"xgboost_{name}", export)

    small = {"n_estimators": 20, "max_depth": 4}
    for objective, target in {
        "reg:squarederror": "number", "reg:absoluteerror": "number", "reg:pseudohubererror": "number",
        "reg:squaredlogerror": "positive", "reg:logistic": "share", "reg:gamma": "positive", "reg:tweedie": "positive",
        "count:poisson": "count",
    }.items():
        name = objective.replace(":", "_")
        case(name, xgboost.XGBRegressor(objective=objective, **small), target)
    case("binary", xgboost.XGBClassifier(**small), "two")
    case("multiclass", xgboost.XGBClassifier(**small), "four")
    case("gaps", xgboost.XGBClassifier(**small), "two", gaps)
    case("dart", xgboost.XGBRegressor(booster="dart", **small), "number")
    case("forest", xgboost.XGBRFRegressor(**small), "number")
    case("ranker", xgboost.XGBRanker(**small), "two", group=[20] * (ROWS // 20))


def catboost_models(sweep, x, gaps, targets):
    def case(name, model, target, rows=x):
        def export(path):
            model.fit(rows, targets[target])
            model.save_model(str(path), format="onnx")
            return None, [rows[:20]]

        sweep.case(f"catboost_{name}", export)

    small = {"iterations": 20, "depth": 4, "verbose": False, "allow_writing_files": False}
    for loss, target in {
        "RMSE": "number", "MAE": "number", "Quantile": "number", "Poisson": "count",
        "Tweedie:variance_power=1.5": "positive",
    }.items():
        name = loss.split(":")[0].lower()
        case(name, catboost.CatBoostRegressor(loss_function=loss, **small), target)
    case("binary", catboost.CatBoostClassifier(**small), "two")
    case("multiclass", catboost.CatBoostClassifier(loss_function="MultiClass", **small), "four")
    case("gaps", catboost.CatBoostClassifier(**small), "two", gaps)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder")
    sweep = Sweep(arguments.parse_args().folder, ["lightgbm", "xgboost", "catboost", "onnxmltools", "skl2onnx"])
    for models in (lightgbm_models, xgboost_models, catboost_models):
        models(sweep, *data())
    sweep.end()


if __name__ == "__main__":
    main()
