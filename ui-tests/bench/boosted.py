"""Other engines for the boosted trees of `classical.py`, for `bench.py`: `boosted.py library` is LightGBM or XGBoost itself,
`boosted.py lleaves` compiles trees of LightGBM with LLVM. Their outputs have other names and are not compared.
"""

import sys

import served


def library(model, feed, threads):
    (rows,) = feed.values()
    if (path := model.with_name("model.json")).is_file():
        import xgboost

        booster = xgboost.Booster(model_file=str(path))
        booster.set_param({"nthread": threads})
        return lambda: {"scores": booster.inplace_predict(rows)}
    import lightgbm

    booster = lightgbm.Booster(model_file=str(own(model)))
    return lambda: {"scores": booster.predict(rows, num_threads=threads)}


def lleaves(model, feed, threads):
    import lleaves

    (rows,) = feed.values()
    rows = rows.astype("float64")
    compiled = lleaves.Model(model_file=str(own(model)))
    compiled.compile(cache=str(model.with_name("model.o")))
    return lambda: {"scores": compiled.predict(rows, n_jobs=threads)}


def own(model):
    path = model.with_name("model.txt")
    if not path.is_file():
        served.answer(problem="not a model of LightGBM")
        sys.exit()
    return path


served.serve({"library": library, "lleaves": lleaves}[sys.argv[1]])
