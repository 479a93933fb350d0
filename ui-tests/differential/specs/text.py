"""Strings."""

import numpy as np

from specs import of


def words(d, shape, pool):
    return np.array([d.pick(pool) for _ in range(int(np.prod(shape, dtype=int)))], object).reshape(shape)


@of("StringConcat")
def concat(d):
    left, right = d.both(3)
    return [d.plain(np.dtype(object), left), d.plain(np.dtype(object), right)], {}


@of("StringNormalizer")
def normalizer(d):
    shape = d.pick([[d.int(1, 5)], [1, d.int(1, 5)]])
    attributes = d.some(case_change_action=["LOWER", "UPPER", "NONE"], is_case_sensitive=[0, 1], stopwords=[["a", "b"], ["AB"]])
    return [words(d, shape, ["a", "A", "b", "ab", "Ab", "xyz", "Hello World"])], attributes


@of("StringSplit")
def split(d):
    return [words(d, d.shape(0, 2), ["a b", "a  b ", "", " ", "a,b,,c", ",", "a-b", "abc"])], d.some(
        delimiter=[",", " ", "-", "b", ""], maxsplit=[1, 2, 5]), 2


@of("RegexFullMatch")
def regex(d):
    pool = ["a", "ab", "aab", "", "12", "a1", "foo@bar.com", "A B"]
    patterns = ["a*b", "[a-z]+", "\\d+", "(a|b)*", ".*", "\\w+@\\w+\\.com", "a?"]
    return [words(d, d.shape(0, 2), pool)], {"pattern": d.pick(patterns)}


@of("TfIdfVectorizer")
def tf_idf(d):
    is_text = d.chance(0.4)
    pool = ["a", "b", "c", "d"] if is_text else [1, 2, 3, 4]
    unigrams = [pool[at] for at in d.g.permutation(4)[:d.int(1, 3)]]
    bigrams = sorted({(d.pick(pool), d.pick(pool)) for _ in range(d.int(1, 3))})
    count = len(unigrams) + len(bigrams)
    attributes = {"pool_strings" if is_text else "pool_int64s": unigrams + [item for pair in bigrams for item in pair],
                  "ngram_counts": [0, len(unigrams)], "ngram_indexes": [int(at) for at in d.g.permutation(count)],
                  "mode": d.pick(["TF", "IDF", "TFIDF"]), "min_gram_length": d.int(1, 2), "max_gram_length": 2,
                  "max_skip_count": d.int(0, 2),
                  **d.some(weights=lambda: [round(float(x), 2) for x in d.g.uniform(0.1, 2, count)])}
    shape = d.pick([[d.int(1, 8)], [d.int(1, 3), d.int(1, 8)]])
    x = words(d, shape, pool) if is_text else words(d, shape, pool).astype(d.pick([np.int64, np.int32]))
    return [x], attributes


@of("com.microsoft:MurmurHash3")
def murmur(d):
    dtype = d.type()
    return [d.plain(dtype, d.shape(1, 3, 1))], d.some(positive=[0, 1], seed=[0, 42])
