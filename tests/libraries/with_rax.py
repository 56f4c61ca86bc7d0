"""rax: losses and metrics for ranking, their gradients and approximations."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import rax

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(3, 6)).astype(np.float32)
LABELS = RNG.integers(0, 3, size=(3, 6)).astype(np.float32)
WHERE = np.arange(6) < np.array([[6], [4], [5]])

LOSSES = [
    "listmle_loss",
    "pairwise_hinge_loss",
    "pairwise_logistic_loss",
    "pairwise_mse_loss",
    "pairwise_qr_loss",
    "pairwise_soft_zero_one_loss",
    "pointwise_mse_loss",
    "pointwise_sigmoid_loss",
    "poly1_softmax_loss",
    "softmax_loss",
    "unique_softmax_loss",
]

METRICS = [
    "ap_metric",
    "dcg_metric",
    "mrr_metric",
    "ndcg_metric",
    "opa_metric",
    "precision_metric",
    "recall_metric",
]


def loss(name):
    fun = getattr(rax, name)
    more = {"key": jax.random.key(0)} if name == "listmle_loss" else {}

    def whole(scores):
        return fun(scores, jnp.asarray(LABELS), where=jnp.asarray(WHERE), **more)

    value, grads = jax.jit(jax.value_and_grad(whole))(jnp.asarray(SCORES))
    return {"value": value, "grads": grads, "eager": whole(jnp.asarray(SCORES))}


def metric(name):
    fun = getattr(rax, name)
    binary = name[:2] in ("ap", "mr", "pr", "re")
    labels = jnp.asarray(np.float32(LABELS > 0) if binary else LABELS)
    return {
        "value": fun(jnp.asarray(SCORES), labels, where=jnp.asarray(WHERE)),
        "each": fun(jnp.asarray(SCORES), labels, reduce_fn=None),
        **(
            {"top": jax.jit(functools.partial(fun, topn=3))(SCORES, labels)}
            if name != "opa_metric"
            else {}
        ),
    }


def utilities():
    scores, labels = jnp.asarray(SCORES), jnp.asarray(LABELS)
    utils = rax.utils
    return {
        "ranks": utils.ranks(scores, where=jnp.asarray(WHERE)),
        "approximate": utils.approx_ranks(scores),
        "cutoff": utils.approx_cutoff(scores, n=3),
        "slopes": jax.grad(lambda s: utils.approx_ranks(s)[0, 0])(scores),
        "normal": utils.normalize_probabilities(labels, axis=-1),
    }


def lambdas():
    scores, labels = jnp.asarray(SCORES), jnp.asarray(LABELS)
    weigh = {
        "labeldiff": rax.labeldiff_lambdaweight,
        "dcg": rax.dcg_lambdaweight,
        "dcg2": rax.dcg2_lambdaweight,
    }
    return {
        name: rax.pairwise_logistic_loss(scores, labels, lambdaweight_fn=fun)
        for name, fun in weigh.items()
    }


def segments():
    groups = jnp.asarray([0, 0, 1, 1, 1, 2])
    scores, labels = jnp.asarray(SCORES[0]), jnp.asarray(LABELS[0])
    return {
        "softmax": rax.softmax_loss(scores, labels, segments=groups),
        "ndcg": rax.ndcg_metric(scores, labels, segments=groups),
        "ranks": rax.utils.ranks(scores, segments=groups),
    }


CASES = {
    **{name: functools.partial(loss, name) for name in LOSSES},
    **{name: functools.partial(metric, name) for name in METRICS},
    "utilities": utilities,
    "lambdas": lambdas,
    "segments": segments,
}
