"""Exponential integrals and their kin, hypergeometric functions, against mpmath."""

import mpmath
import numpy as np
import pytest
import scipy.special as scipy_special
from plugin import needs_plugin, on_plugin

import tetrad as jax
import tetrad.numpy as jnp
from tetrad.scipy import special

MP = mpmath


def dawson(x):
    return MP.sqrt(MP.pi) / 2 * MP.exp(-x * x) * MP.erfi(x)


def owen(h, a):
    inner = MP.quad(lambda t: MP.exp(-h * h * (1 + t * t) / 2) / (1 + t * t), [0, a])
    return inner / (2 * MP.pi)


REAL = np.array([-20.0, -6.2, -2.6, -1.4, -0.5, -1e-3, 1e-6, 0.3, 0.9, 1.1, 1.6, 2.1,
                 2.51, 3.7, 6.13, 6.14, 9.0, 24.0])  # fmt: skip
POSITIVE = np.array([1e-6, 0.01, 0.2, 0.37250741078136663, 0.49, 0.51, 0.99, 1.01, 1.99,
                     2.01, 5.0, 17.0, 39.0, 41.0, 300.0])  # fmt: skip

# Function, reference, arguments, error in units in the last place.
CASES = {
    "erfcx": (special.erfcx, lambda x: MP.exp(x * x) * MP.erfc(x), REAL, 4),
    "dawsn": (special.dawsn, dawson, REAL, 6),
    "exp1": (special.exp1, MP.e1, POSITIVE, 8),
    "expi": (special.expi, MP.ei, np.concatenate([POSITIVE, -POSITIVE]), 10),
    "expn": (lambda x: special.expn(4, x), lambda x: MP.expint(4, x), POSITIVE, 8),
    "si": (lambda x: special.sici(x)[0], MP.si, REAL, 4),
    "ci": (lambda x: special.sici(x)[1], MP.ci, POSITIVE[:-3], 40),
    "fresnel_s": (lambda x: special.fresnel(x)[0], MP.fresnels, REAL, 6),
    "fresnel_c": (lambda x: special.fresnel(x)[1], MP.fresnelc, REAL, 6),
    "spence": (special.spence, lambda x: MP.polylog(2, 1 - x), POSITIVE, 6),
    "owens_t": (lambda h: special.owens_t(h, 0.7), lambda h: owen(h, 0.7), POSITIVE[:11],
                20),
    "owens_t steep": (lambda h: special.owens_t(h, 3.0), lambda h: owen(h, 3), REAL[6:15],
                      20),
    "hyp1f1": (lambda x: special.hyp1f1(0.5, 1.75, x), lambda x: MP.hyp1f1(0.5, 1.75, x),
               REAL, 200),
    "hyp2f1": (lambda x: special.hyp2f1(0.5, 1.5, 2.25, x),
               lambda x: MP.hyp2f1(0.5, 1.5, 2.25, x),
               np.array([-30.0, -2.0, -0.6, -0.4, 0.2, 0.89, 0.91, 0.999]), 1000),
    "bessel_jn": (lambda x: special.bessel_jn(x, v=3)[3], lambda x: MP.besselj(3, x),
                  REAL[REAL < 20], 60),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    function, reference, xs, ulp = CASES[name]
    with mpmath.workdps(40):
        want = [reference(mpmath.mpf(float(x))) for x in xs]
        want = [w.real if isinstance(w, mpmath.mpc) else w for w in want]
        with jax.enable_x64():
            got = jax.jit(function)(xs)
            again = jnp.stack([function(x) for x in xs[:3]])
        assert got.dtype == np.float64 and (again == got[:3]).all()
        errors = [abs((float(g) - w) / w) for g, w in zip(got, want) if abs(w) > 1e-300]
        assert max(errors) < ulp * 2.0**-53
        low = function(jnp.asarray(xs, "float32"))
        assert low.dtype == np.float32
        for x, g in zip(np.asarray(xs, np.float32), low):
            w = reference(mpmath.mpf(float(x)))
            w = w.real if isinstance(w, mpmath.mpc) else w
            if 1e-37 < abs(w) < 1e38:
                assert abs(float(g) - w) <= 2.0**-23 * abs(w)


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name):
    function, reference, xs, _ = CASES[name]
    xs = [x for x in xs if 0.05 < abs(x) < 9 and abs(x) not in (0.9,)][:5]
    with jax.enable_x64():
        first = [float(jax.grad(function)(x)) for x in xs]
        second = float(jax.grad(jax.grad(function))(xs[0]))
    with mpmath.workdps(30):
        for x, got in zip(xs, first):
            want = mpmath.diff(reference, mpmath.mpf(float(x)))
            assert abs(got - want.real) < 1e-9 * max(1, abs(want))
        want = mpmath.diff(reference, mpmath.mpf(float(xs[0])), 2)
        assert abs(second - want.real) < 1e-8 * max(1, abs(want))


def test_derivatives_by_parameters():
    with jax.enable_x64(), mpmath.workdps(30):
        by_a, by_b = jax.grad(special.hyp1f1, (0, 1))(-2.0, 1.5, 0.7)
        assert (
            abs(float(by_a) - mpmath.diff(lambda a: mpmath.hyp1f1(a, 1.5, 0.7), -2))
            < 1e-12
        )
        assert (
            abs(float(by_b) - mpmath.diff(lambda b: mpmath.hyp1f1(-2, b, 0.7), 1.5))
            < 1e-12
        )
        by_c = jax.grad(special.hyp2f1, 2)(1.0, 2.0, 2.5, 0.4)
        want = mpmath.diff(lambda c: mpmath.hyp2f1(1, 2, c, 0.4), 2.5)
        assert abs(float(by_c) - want) < 1e-12
        by_a = jax.grad(special.owens_t, 1)(0.4, 1.7)
        assert (
            abs(float(by_a) - mpmath.diff(lambda a: owen(mpmath.mpf(0.4), a), 1.7))
            < 1e-12
        )


COMPLEX = np.array([0.3 + 0.2j, -2 + 1e-6j, 5.1 + 0.01j, -0.1 + 7j, 3 - 1j, -4.2 - 0.3j,
                    30 + 40j, 0.5 - 2j])  # fmt: skip


def test_complex_functions():
    def w(z):
        return mpmath.exp(-z * z) * mpmath.erfc(-1j * z)

    with jax.enable_x64(), mpmath.workdps(60):
        for z, got in zip(COMPLEX, special.wofz(COMPLEX)):
            want = w(mpmath.mpc(complex(z)))
            assert abs(complex(got) - want) < 1e-14 * abs(want)
        for z, got in zip(COMPLEX, special.loggamma(COMPLEX)):
            want = mpmath.loggamma(complex(z))
            assert abs(complex(got) - want) < 2e-14 * max(1, abs(want))
        slope = jax.grad(special.loggamma, holomorphic=True)(-4.2 - 0.3j)
        assert abs(complex(slope) - mpmath.digamma(-4.2 - 0.3j)) < 1e-13
        slope = jax.grad(special.wofz, holomorphic=True)(0.3 + 0.2j)
        assert abs(complex(slope) - mpmath.diff(w, 0.3 + 0.2j)) < 1e-13
        z = 0.4 + 0.3j
        want = mpmath.exp(mpmath.mpc(z) ** 2) * mpmath.erfc(z)
        assert abs(complex(special.erfcx(z)) - want) < 1e-14
    assert special.wofz(1.0).dtype == np.complex64


ENDS = np.array([-np.inf, -1.0, 0.0, 1.0, np.inf, np.nan])


@pytest.mark.parametrize("name", ["erfcx", "dawsn", "exp1", "expi", "sici", "fresnel",
                                  "spence", "loggamma"])  # fmt: skip
def test_ends_are_those_of_scipy(name):
    got, want = getattr(special, name)(ENDS), getattr(scipy_special, name)(ENDS)
    if name == "sici":  # SciPy's Ci of negative numbers is that of |x|, NaN for −∞
        want[1][1] = scipy_special.sici(1.0)[1]
    np.testing.assert_allclose(got, want, rtol=1e-6)


def test_ends_with_parameters():
    n = np.arange(-1, 4)[:, None]
    got = special.expn(n, ENDS)
    np.testing.assert_allclose(got[1:], scipy_special.expn(n[1:], ENDS), rtol=1e-6)
    assert jnp.isnan(got[0]).all() and jnp.isnan(special.expn(1.5, 1.0))
    h, a = np.meshgrid(ENDS, ENDS)
    np.testing.assert_allclose(
        special.owens_t(h, a), scipy_special.owens_t(h, a), rtol=1e-6
    )
    assert special.hyp1f1(1.0, -1.0, 2.0) == np.inf
    assert special.hyp2f1(1.0, 1.0, -2.0, 0.5) == np.inf
    assert (
        abs(special.hyp2f1(0.5, 0.5, 2.0, 1.0) - scipy_special.hyp2f1(0.5, 0.5, 2, 1))
        < 1e-5
    )
    assert jnp.isnan(special.hyp2f1(0.5, 0.5, 2.0, 1.5))
    assert special.hyp2f1(-2.0, 1.0, 2.0, 3.0) == 1 - 3 + 3
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        special.bernoulli(-1)
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        special.bessel_jn(1.0, v=-1)
    with pytest.raises(TypeError, match="dawsn takes real numbers, got complex64"):
        special.dawsn(1j)


def test_harmonics():
    n = np.array([0, 1, 3, 5, 12])
    m = np.array([0, -1, 2, -4, 12])
    theta, phi = (
        np.array([0.0, 0.3, 1.2, 2.0, 3.0]),
        np.array([0.1, 2.0, 4.0, 5.0, 6.0]),
    )
    got = special.sph_harm_y(n, m, theta, phi)
    want = scipy_special.sph_harm_y(n, m, theta, phi)
    np.testing.assert_allclose(got, want, atol=1e-6)
    clipped = special.sph_harm_y(9, 1, 1.0, 1.0, n_max=4)
    assert clipped == special.sph_harm_y(4, 1, 1.0, 1.0)
    assert jnp.isnan(special.sph_harm_y(1, 2, 1.0, 1.0))

    def height(theta):
        return special.sph_harm_y(3, 1, theta, 0.5).real

    slope = (height(0.701) - height(0.699)) / 0.002
    assert abs(jax.grad(height)(0.7) - slope) < 1e-2
    with pytest.raises(NotImplementedError, match="jax.jvp"):
        special.sph_harm_y(1, 1, 0.0, 0.0, diff_n=1)


def test_small_orders():
    got = special.bessel_jn(np.array([[0.0, 1.0], [15.0, -40.0]]), v=2)
    assert got.shape == (3, 2, 2)
    want = [scipy_special.jv(k, [[0.0, 1.0], [15.0, -40.0]]) for k in range(3)]
    np.testing.assert_allclose(got, want, atol=3e-7)
    np.testing.assert_allclose(
        special.bernoulli(8), scipy_special.bernoulli(8), rtol=1e-6
    )
    assert special.bernoulli(0).tolist() == [1.0]


@needs_plugin
def test_on_the_plugin():
    def all_of_them(x):
        return [
            special.erfcx(x),
            special.expi(x),
            special.fresnel(x)[0],
            special.hyp2f1(0.5, 1.5, 2.25, -x),
            special.wofz(x * (1 + 1j)),
            special.loggamma(x * (1 + 1j)),
            special.bessel_jn(x, v=2)[2],
        ]

    x = np.array([0.3, 2.0, 7.0], np.float32)
    want = [np.asarray(v) for v in all_of_them(jnp.asarray(x))]
    with on_plugin():
        for got, one in zip(jax.jit(all_of_them)(jnp.asarray(x)), want):
            np.testing.assert_allclose(got, one, rtol=2e-6)
