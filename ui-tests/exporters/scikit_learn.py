"""Every estimator of scikit-learn that skl2onnx converts, text pipelines and column transformers.

    python scikit_learn.py FOLDER [--only estimators|text|columns]

Requires scikit-learn, skl2onnx, pandas and onnxruntime, whose StringNormalizer needs the locale en_US.UTF-8.
"""

import argparse

import numpy as np
import pandas
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils import all_estimators
from sweep import Sweep

OPSET = {"": 18, "ai.onnx.ml": 3}
# What an estimator is made with, where it asks for something.
CLASSIFIERS = [("linear", LogisticRegression()), ("forest", RandomForestClassifier(5))]
REGRESSORS = [("linear", LinearRegression()), ("forest", RandomForestRegressor(5))]
MADE_WITH = {
    **dict.fromkeys(
        ("ClassifierChain", "MultiOutputClassifier", "OneVsRestClassifier", "OneVsOneClassifier",
         "OutputCodeClassifier", "CalibratedClassifierCV", "SelfTrainingClassifier", "SelectFromModel", "RFE", "RFECV"),
        LogisticRegression(),
    ),
    **dict.fromkeys(("MultiOutputRegressor", "RegressorChain"), LinearRegression()),
    **dict.fromkeys(("StackingClassifier", "VotingClassifier"), CLASSIFIERS),
    **dict.fromkeys(("StackingRegressor", "VotingRegressor"), REGRESSORS),
}
NONNEGATIVE = {
    "MultinomialNB", "ComplementNB", "BernoulliNB", "CategoricalNB", "NMF", "LatentDirichletAllocation",
    "MiniBatchNMF", "AdditiveChi2Sampler", "SelectFdr", "SelectFpr", "SelectFwe",
}
TEXTS = np.array(
    ["This is the first document.", "And this one is the second, isn't it?", "Is it the third one? yes it is",
     "A b cc ddd eeee", "numbers 12 and 345 x9", "Ünïcode straße naïve café", "", "  spaces   here ",
     "UPPER lower MiXed", "end."] * 3,
    object,
)


def converted(model, **options):
    """The bytes of a model, with probabilities as an array where the exporter can."""
    error = None
    for choice in ({id(model): {"zipmap": False}}, None):
        try:
            return to_onnx(model, options=choice, target_opset=OPSET, **options).SerializeToString()
        except Exception as found:
            error = error or found
    raise error


def estimators(sweep):
    classes, labels = make_classification(300, 10, n_informative=6, n_classes=3, random_state=0)
    numbers, targets = make_regression(300, 10, noise=5, random_state=0)
    classes, numbers = classes.astype(np.float32), numbers.astype(np.float32)
    for name, kind in all_estimators():
        try:
            model = kind(MADE_WITH[name]) if name in MADE_WITH else kind()
        except Exception as error:
            sweep.failed(name, "construction", error)
            continue
        given = model.get_params()
        smaller = {"n_estimators": 10, "max_iter": 100}
        model.set_params(**{key: value for key, value in smaller.items() if key in given})
        x, y = classes, labels
        if name.endswith("Regressor") or getattr(model, "_estimator_type", None) == "regressor":
            x, y = numbers, targets / 50
        elif name in NONNEGATIVE:
            x = np.abs(classes)
        try:
            model.fit(x, y)
        except Exception as error:
            sweep.failed(name, "fit", error)
            continue
        sweep.case(name, lambda path: (converted(model, X=x[:1]), [x[:7]]))


def texts(sweep):
    y = np.arange(len(TEXTS)) % 3
    pipelines = {
        "text_count": CountVectorizer(),
        "text_count_ngrams": CountVectorizer(ngram_range=(1, 2)),
        "text_count_binary": CountVectorizer(binary=True),
        "text_count_case": CountVectorizer(lowercase=False),
        "text_count_stop_words": CountVectorizer(stop_words=["is", "the"]),
        "text_count_pattern": CountVectorizer(token_pattern="[a-zA-Z0-9]+"),
        "text_count_two_letters": CountVectorizer(token_pattern="[a-z]{2,}"),
        "text_count_features": CountVectorizer(max_features=8),
        "text_characters": CountVectorizer(analyzer="char", ngram_range=(1, 3)),
        "text_tfidf": TfidfVectorizer(),
        "text_tfidf_characters": TfidfVectorizer(analyzer="char"),
        "text_tfidf_sublinear": TfidfVectorizer(sublinear_tf=True, norm="l1"),
        "text_tfidf_plain": TfidfVectorizer(use_idf=False, norm=None),
        "text_union": FeatureUnion([("words", TfidfVectorizer()), ("letters", CountVectorizer(analyzer="char"))]),
        "text_logistic": make_pipeline(TfidfVectorizer(), LogisticRegression()),
        "text_forest": make_pipeline(CountVectorizer(), RandomForestClassifier(10, random_state=0)),
    }
    for name, model in pipelines.items():
        model.fit(TEXTS, y)
        types = [("text", StringTensorType([None]))]
        sweep.case(name, lambda path: (converted(model, initial_types=types), [TEXTS[:10]]))
    for signed in (False, True):
        model = FeatureHasher(8, input_type="string", alternate_sign=signed)
        words = np.array([text.split()[:2] for text in TEXTS if len(text.split()) > 1], object)
        types = [("words", StringTensorType([None, 2]))]
        name = "text_hasher" + "_signed" * signed
        sweep.case(name, lambda path: (converted(model.fit(words), initial_types=types), [words]))


def columns(sweep):
    draw = np.random.default_rng(0)
    frame = pandas.DataFrame({
        "city": draw.choice(["a", "b", "c", "d"], 60),
        "kind": draw.choice(["x", "y"], 60),
        "age": draw.normal(40, 10, 60).astype(np.float32),
        "pay": draw.normal(5, 1, 60).astype(np.float32),
        "text": list(TEXTS) * 2,
    })
    y = np.arange(60) % 2
    is_text = {"city", "kind", "text"}
    one_hot = OneHotEncoder(handle_unknown="ignore")
    pipelines = {
        "columns_one_hot": (
            [("labels", one_hot, ["city", "kind"]), ("numbers", StandardScaler(), ["age", "pay"])], "drop"),
        "columns_ordinal": ([("labels", OrdinalEncoder(), ["city", "kind"])], "passthrough"),
        "columns_text": ([("text", TfidfVectorizer(), "text"), ("labels", one_hot, ["city"])], "drop"),
        "columns_mixed": (
            [("text", CountVectorizer(), "text"), ("numbers", StandardScaler(), ["age"])], "drop"),
    }
    uses = {
        "columns_one_hot": ["city", "kind", "age", "pay"], "columns_ordinal": ["city", "kind", "age", "pay"],
        "columns_text": ["city", "text"], "columns_mixed": ["age", "text"],
    }
    for name, (steps, rest) in pipelines.items():
        use = uses[name]
        model = make_pipeline(ColumnTransformer(steps, remainder=rest), LogisticRegression())
        model.fit(frame[use], y)
        kinds = {column: StringTensorType if column in is_text else FloatTensorType for column in use}
        types = [(column, kind([None, 1])) for column, kind in kinds.items()]
        values = {column: frame[column].to_numpy(object if column in is_text else np.float32)[:12, None]
                  for column in use}
        sweep.case(name, lambda path: (converted(model, initial_types=types), values))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder")
    arguments.add_argument("--only", choices=["estimators", "text", "columns"])
    arguments = arguments.parse_args()
    sweep = Sweep(arguments.folder, ["scikit-learn", "skl2onnx"])
    for part, run in {"estimators": estimators, "text": texts, "columns": columns}.items():
        if arguments.only in (None, part):
            run(sweep)
    sweep.end()


if __name__ == "__main__":
    main()
