"""Trains a scikit-learn pipeline on customers made up here and writes `churn.onnx` and `customers.csv`.

    pip install -r ../training/requirements.txt
    python train.py
"""

from pathlib import Path

import numpy as np
import pandas
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

HERE = Path(__file__).parent
CONTRACTS, PAYMENTS = ["monthly", "yearly", "two years"], ["card", "transfer", "cheque"]
TEXTS, NUMBERS = ["contract", "payment"], ["months", "price", "calls"]


def main():
    random = np.random.default_rng(1)
    customers, answers = make(random, 4_000)
    pipeline = make_pipeline(
        ColumnTransformer(
            [("texts", OneHotEncoder(handle_unknown="ignore"), TEXTS), ("numbers", StandardScaler(), NUMBERS)]
        ),
        GradientBoostingClassifier(n_estimators=60, max_depth=3, random_state=0),
    )
    pipeline.fit(customers, answers)

    # One input for each column, so that Rust sees their names and types.
    columns = [(name, StringTensorType([None, 1])) for name in TEXTS]
    columns += [(name, FloatTensorType([None, 1])) for name in NUMBERS]
    model = convert_sklearn(pipeline, "churn", columns, options={"zipmap": False}, target_opset=18)
    path = HERE / "churn.onnx"
    path.write_bytes(model.SerializeToString())

    customers, answers = make(np.random.default_rng(2), 200)
    leaving = pipeline.predict_proba(customers)[:, list(pipeline.classes_).index("leaves")]
    lines = [",".join([*TEXTS, *NUMBERS, "answer", "scikit_learn"])]
    for row, answer, probability in zip(customers.values, answers, leaving):
        lines.append(",".join([*map(str, row), answer, f"{probability:.6f}"]))
    (HERE / "customers.csv").write_text("\n".join(lines) + "\n")
    accuracy = np.mean(pipeline.predict(customers) == answers)
    print(f"{path.stat().st_size} bytes, accuracy on 200 unseen customers {accuracy:.1%}")


def make(random, count):
    """Customers leave who pay much by the month, call the support often and have not been here for long."""
    contract = random.choice(CONTRACTS, count, p=[0.5, 0.3, 0.2])
    payment = random.choice(PAYMENTS, count, p=[0.5, 0.3, 0.2])
    months = random.integers(1, 72, count)
    price = random.uniform(10, 90, count).round(2)
    calls = random.poisson(1.5, count)
    drive = 2.2 * (contract == "monthly") - 2.5 * (contract == "two years") + 0.8 * (payment == "cheque")
    drive = drive + 0.05 * (price - 50) - 0.06 * (months - 24) + 1.2 * (calls - 2)
    leaves = random.random(count) < 1 / (1 + np.exp(-3 * drive))
    columns = [contract, payment, months, price, calls]
    return pandas.DataFrame(dict(zip(TEXTS + NUMBERS, columns))), np.where(leaves, "leaves", "stays")


if __name__ == "__main__":
    main()
