"""scikit-learn and SciPy on arrays of a library they do not know, by the array API.

`ARRAYS` in the environment names the module whose arrays they get; it is `jax.numpy`
unless set. In 64 bits, as these libraries compute. Where a library writes into an array
that it made, JAX and tetrad refuse alike, with a TypeError; cases give that as a result.
"""

import importlib
import os

os.environ["SCIPY_ARRAY_API"] = "1"  # read when SciPy is imported

import array_api_compat
import numpy as np
import sklearn
from scipy import differentiate, fft, integrate, optimize, signal, special, stats
from scipy.cluster import vq
from scipy.optimize import elementwise
from scipy.spatial.transform import Rotation
from sklearn import decomposition, linear_model, metrics, model_selection, preprocessing
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import pairwise
from sklearn.naive_bayes import GaussianNB

xp = importlib.import_module(os.environ.get("ARRAYS", "jax.numpy"))
top = importlib.import_module(xp.__name__.partition(".")[0])
top.config.update("jax_enable_x64", True)

RNG = np.random.default_rng(0)
X = xp.asarray(RNG.normal(size=(40, 5)))
POSITIVE = xp.exp(X)
LABELS = xp.asarray(RNG.integers(0, 3, size=40))
OTHER = xp.asarray(RNG.integers(0, 3, size=40))
TARGET = X @ xp.asarray([1.0, -2.0, 0.0, 3.0, 0.5]) + 0.1 * xp.sin(X[:, 0])


def ours(x):
    """`x`, which must be an array of the module, or a number."""
    if isinstance(x, (tuple, list)):
        return [ours(v) for v in x]
    if isinstance(x, (bool, int, float, np.generic)):
        return x
    assert isinstance(x, type(X)), f"a {type(x)} came out"
    return x


def attempt(fun):
    """What `fun` gives, or the name of the error if it writes into an array."""
    try:
        return ours(fun())
    except TypeError as error:
        words = str(error)
        assert "never change" in words or "immutable" in words, words
        return "TypeError"


def each(**functions):
    return lambda: {name: attempt(fun) for name, fun in functions.items()}


def sk(**functions):
    """A case of scikit-learn."""

    def case():
        with sklearn.config_context(array_api_dispatch=True):
            return each(**functions)()

    return case


def compat():
    space = array_api_compat.array_namespace(X, LABELS)
    return [
        space is xp,
        array_api_compat.is_array_api_obj(X),
        array_api_compat.is_array_api_strict_namespace(space),
        array_api_compat.is_numpy_array(X),
        array_api_compat.size(X),
        array_api_compat.to_device(X, array_api_compat.device(X)),
        xp.__array_api_version__,
    ]


def transformer(make, x=X):
    def run():
        found = make()
        return [found.fit(x).transform(x), found.fit_transform(x)]

    return run


def pca(solver):
    def run():
        found = decomposition.PCA(3, svd_solver=solver, random_state=0).fit(X)
        back = found.inverse_transform(found.transform(X))
        return [found.explained_variance_, xp.abs(found.components_), back]

    return run


def ridge():
    found = linear_model.Ridge(alpha=0.5, solver="svd").fit(X, TARGET)
    return [found.coef_, found.intercept_, found.predict(X), found.score(X, TARGET)]


def classifier(make):
    def run():
        found = make().fit(X, LABELS)
        return [found.predict(X), found.predict_proba(X)]

    return run


def metric(name, *args, **options):
    return lambda: getattr(metrics, name)(*args, **options)


def pairs(name):
    return lambda: getattr(pairwise, name)(X, X[:7])


A, B = X[:, 0], X[:, 1]
P, Q = POSITIVE[:, 0], POSITIVE[:, 1]
UNIT = P / (1 + P)
T = xp.linspace(0.0, 3.0, 41)
PROBABILITIES = special.softmax(xp.asarray(X[:, :3]), axis=1)


def of_one(name, x):
    return lambda: getattr(special, name)(x)


def of_two(name):
    return lambda: getattr(special, name)(P, Q)


DOMAIN = {"logit": UNIT, "ndtri": UNIT, "gammaln": P, "psi": P, "entr": UNIT}
ONE = "erf erfc expit logit ndtr ndtri log_ndtr gammaln i0 i0e i1 i1e entr psi"
TWO = "xlogy rel_entr xlog1py gammainc gammaincc chdtrc betaln binom"


def kmeans():
    white = vq.whiten(X)
    centres, spread = vq.kmeans(white, white[:3])
    return [white, centres, float(spread), *vq.vq(white, centres)]


def rotation():
    r = Rotation.from_rotvec(X[:, :3])
    return [r.as_matrix(), r.apply(X[:, 1:4]), (r * r).as_quat()]


def root():
    bracket = xp.asarray([0.0, 0.0]), xp.asarray([3.0, 4.0])
    cubes = (xp.asarray([2.0, 5.0]),)
    return elementwise.find_root(lambda x, c: x**3 - c, bracket, args=cubes).x


def area():
    return integrate.tanhsinh(xp.exp, xp.asarray(0.0), xp.asarray([1.0, 2.0])).integral


CASES = {
    "compat": compat,
    "preprocessing": sk(
        standard=transformer(preprocessing.StandardScaler),
        min_max=transformer(preprocessing.MinMaxScaler),
        max_abs=transformer(preprocessing.MaxAbsScaler),
        normal=transformer(preprocessing.Normalizer),
        binary=transformer(preprocessing.Binarizer),
        labels=transformer(preprocessing.LabelEncoder, LABELS),
        split=lambda: model_selection.train_test_split(X, LABELS, random_state=0),
    ),
    "models": sk(
        pca_full=pca("full"),
        pca_eigh=pca("covariance_eigh"),
        pca_randomized=pca("randomized"),
        ridge=ridge,
        discriminant=classifier(LinearDiscriminantAnalysis),
        bayes=classifier(GaussianNB),
    ),
    "metrics": sk(
        accuracy=metric("accuracy_score", LABELS, OTHER),
        zero_one=metric("zero_one_loss", LABELS, OTHER),
        f1=metric("f1_score", LABELS, OTHER, average="macro"),
        hamming=metric("hamming_loss", LABELS, OTHER),
        squared=metric("mean_squared_error", TARGET, A),
        root_squared=metric("root_mean_squared_error", TARGET, A),
        absolute=metric("mean_absolute_error", TARGET, A),
        percentage=metric("mean_absolute_percentage_error", TARGET, A),
        log_squared=metric("mean_squared_log_error", P, Q),
        pinball=metric("mean_pinball_loss", TARGET, A),
        poisson=metric("mean_poisson_deviance", P, Q),
        gamma=metric("mean_gamma_deviance", P, Q),
        largest=metric("max_error", TARGET, A),
        d2=metric("d2_tweedie_score", P, Q),
        r2=metric("r2_score", TARGET, A),
        explained=metric("explained_variance_score", TARGET, A),
        log_loss=metric("log_loss", LABELS, PROBABILITIES),
        brier=metric("brier_score_loss", LABELS > 1, UNIT),
    ),
    "pairs": sk(
        cosine=pairs("cosine_similarity"),
        euclidean=pairs("euclidean_distances"),
        linear=pairs("linear_kernel"),
        polynomial=pairs("polynomial_kernel"),
        rbf=pairs("rbf_kernel"),
        sigmoid=pairs("sigmoid_kernel"),
        laplacian=pairs("laplacian_kernel"),
        chi2=lambda: pairwise.additive_chi2_kernel(POSITIVE, POSITIVE[:7]),
    ),
    "special": each(
        **{name: of_one(name, DOMAIN.get(name, A)) for name in ONE.split()},
        **{name: of_two(name) for name in TWO.split()},
        logsumexp=lambda: special.logsumexp(X, axis=1),
        softmax=lambda: special.softmax(X, axis=1),
        log_softmax=lambda: special.log_softmax(X, axis=1),
        betainc=lambda: special.betainc(P, Q, UNIT),
    ),
    "stats": each(
        zscore=lambda: stats.zscore(X),
        skew=lambda: stats.skew(X),
        kurtosis=lambda: stats.kurtosis(X, axis=1, bias=False),
        moment=lambda: stats.moment(X, order=3),
        gmean=lambda: stats.gmean(POSITIVE),
        hmean=lambda: stats.hmean(POSITIVE),
        pmean=lambda: stats.pmean(POSITIVE, 3),
        variation=lambda: stats.variation(POSITIVE),
        entropy=lambda: stats.entropy(POSITIVE, axis=1),
        sem=lambda: stats.sem(X),
        circmean=lambda: stats.circmean(X),
        circstd=lambda: stats.circstd(X),
        pearson=lambda: tuple(stats.pearsonr(A, B)),
        ttest_1=lambda: tuple(stats.ttest_1samp(X, 0.1)),
        ttest=lambda: tuple(stats.ttest_ind(A, B)),
        ttest_rel=lambda: tuple(stats.ttest_rel(A, B)),
        bartlett=lambda: tuple(stats.bartlett(A, 2 * B)),
        chisquare=lambda: tuple(stats.chisquare(POSITIVE / xp.mean(POSITIVE, axis=0))),
        jarque_bera=lambda: tuple(stats.jarque_bera(A)),
        skewtest=lambda: tuple(stats.skewtest(X)),
        normaltest=lambda: tuple(stats.normaltest(X)),
        combined=lambda: tuple(stats.combine_pvalues(UNIT)),
        rankdata=lambda: stats.rankdata(X, axis=0),
        differential_entropy=lambda: stats.differential_entropy(A),
    ),
    "fft": each(
        fft=lambda: fft.ifft(fft.fft(A) * 2),
        rfft2=lambda: fft.rfft2(X),
        irfft=lambda: fft.irfft(fft.rfft(A)),
        hfft=lambda: fft.hfft(fft.fft(A)),
        dct=lambda: fft.dct(X),
        frequencies=lambda: fft.fftshift(fft.fftfreq(8, xp=xp)),
    ),
    "calculus": each(
        trapezoid=lambda: integrate.trapezoid(xp.sin(T), T),
        simpson=lambda: integrate.simpson(xp.sin(T), x=T),
        cumulative=lambda: integrate.cumulative_trapezoid(xp.sin(T), T),
        tanhsinh=area,
        find_root=root,
        rosen=lambda: optimize.rosen(X),
        slope=lambda: differentiate.derivative(xp.sin, xp.asarray([0.5, 1.0])).df,
    ),
    "signal": each(
        convolve=lambda: signal.convolve(A, X[:5, 1]),
        correlate=lambda: signal.correlate(A, B),
        fftconvolve=lambda: signal.fftconvolve(X, X[:3, :2]),
        detrend=lambda: signal.detrend(X, axis=0),
        hilbert=lambda: signal.hilbert(A),
        hann=lambda: signal.windows.hann(9, xp=xp),
        chebwin=lambda: signal.windows.kaiser(9, 3.0, xp=xp),
        resample=lambda: signal.resample(A, 20),
    ),
    "others": each(kmeans=kmeans, rotation=rotation),
}
