"""A photograph is measured, equalised, compressed, blurred and restored.

The picture is china.jpg, which scikit-learn carries (by danielbuechele, CC BY 2.0), or
any other whose path is given; a second path is where a picture of all stages is written:

    python -m tetrad examples/photograph.py [picture [result.png]]

Restoring is the heart: the blur is a product of Fourier transforms, and the sharp picture
is the one that explains the blurred one while it varies little (total variation: Rudin,
Osher & Fatemi, 1992). `jax.grad` differentiates that wish through the transforms, and
Nesterov's accelerated steps (1983) follow it in one compiled loop.
"""

import functools
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from PIL import Image
from sklearn.datasets import load_sample_image

HEIGHT, WIDTH = 384, 512
SIGMA = 1.3  # of the blur, in pixels
NOISE = 0.004
ITERATIONS = 60
BLOCK = 8  # of the compression
KEPT = 0.08  # the share of coefficients that the compression keeps


def read(path=None):
    """The middle of a picture as numbers from 0 to 1: [HEIGHT, WIDTH, 3]."""
    if path is None:
        pixels = load_sample_image("china.jpg")
    else:
        pixels = np.asarray(Image.open(path).convert("RGB"))
    if pixels.shape[0] < HEIGHT or pixels.shape[1] < WIDTH:
        sys.exit(f"the picture must be {HEIGHT}×{WIDTH} or larger, got {pixels.shape}")
    top, left = (pixels.shape[0] - HEIGHT) // 2, (pixels.shape[1] - WIDTH) // 2
    middle = pixels[top : top + HEIGHT, left : left + WIDTH]
    return jnp.asarray(middle, jnp.float32) / 255


def luminance(image):
    """Brightness as the eye weighs colours, of linear light (IEC 61966-2-1)."""
    linear = jnp.where(
        image <= 0.04045, image / 12.92, ((image + 0.055) / 1.055) ** 2.4
    )
    return linear @ jnp.array([0.2126, 0.7152, 0.0722])


def decibels(image, reference):
    """The ratio of the largest signal to the error, PSNR; 40 is hard to see."""
    return -10 * jnp.log10(jnp.mean((jnp.clip(image, 0, 1) - reference) ** 2))


def entropy(values):
    """Bits in the brightness of a pixel, at 256 levels."""
    counts = jnp.bincount(jnp.int32(values * 255.999).ravel(), length=256)
    shares = counts / values.size
    return -jnp.sum(jnp.where(shares > 0, shares * jnp.log2(shares), 0.0))


@jax.jit
def equalised(image):
    """Each level of brightness gets as many pixels as any other; colours stay."""
    grey = image.mean(axis=-1)
    counts = jnp.bincount(jnp.int32(grey * 255.999).ravel(), length=256)
    ranks = (jnp.cumsum(counts) - counts / 2) / grey.size
    new = jnp.interp(grey, (jnp.arange(256) + 0.5) / 256, ranks)
    return jnp.clip(image * (new / jnp.maximum(grey, 1e-3))[..., None], 0, 1)


@jax.jit
def edges(grey):
    """How fast brightness changes across and down, by Sobel's kernels of 3×3."""
    across = jnp.outer(jnp.array([1.0, 2, 1]), jnp.array([-1.0, 0, 1])) / 8
    kernels = jnp.stack([across, across.T])[:, None]
    padded = jnp.pad(grey, 1, mode="edge")[None, None]
    return lax.conv_general_dilated(padded, kernels, (1, 1), "VALID")[0]


def cosines():
    """The matrix of the orthonormal discrete cosine transform of BLOCK numbers."""
    k, n = jnp.meshgrid(jnp.arange(BLOCK), jnp.arange(BLOCK), indexing="ij")
    rows = jnp.cos(jnp.pi * k * (2 * n + 1) / (2 * BLOCK)) * (2 / BLOCK) ** 0.5
    return rows.at[0].multiply(0.5**0.5)


@jax.jit
def compressed(image):
    """Blocks of 8×8 keep their largest coefficients of a cosine transform, as in JPEG."""
    matrix = cosines()
    blocks = image.reshape(HEIGHT // BLOCK, BLOCK, WIDTH // BLOCK, BLOCK, 3)
    found = jnp.einsum("ka,iajbc,lb->ijklc", matrix, blocks, matrix)
    limit = jnp.quantile(jnp.abs(found), 1 - KEPT)
    found = jnp.where(jnp.abs(found) >= limit, found, 0)
    return jnp.einsum("ka,ijklc,lb->iajbc", matrix, found, matrix).reshape(image.shape)


def transfer():
    """What the blur multiplies each frequency of a real transform by: a Gaussian."""
    down = jnp.fft.fftfreq(HEIGHT)[:, None]
    across = jnp.fft.rfftfreq(WIDTH)
    return jnp.exp(-2 * (jnp.pi * SIGMA) ** 2 * (down**2 + across**2))


def blurred(image):
    """Each channel, blurred around the edges of a torus."""
    per_channel = jnp.moveaxis(image, -1, 0)
    spectrum = jnp.fft.rfft2(per_channel) * transfer()
    return jnp.moveaxis(jnp.fft.irfft2(spectrum, (HEIGHT, WIDTH)), 0, -1)


def wish(image, seen, weight):
    """What the restored picture makes small: misfit, and how much it varies."""
    down = jnp.roll(image, -1, 0) - image
    across = jnp.roll(image, -1, 1) - image
    variation = jnp.sum(jnp.sqrt(jnp.sum(down**2 + across**2, axis=-1) + 1e-4))
    return 0.5 * jnp.sum((blurred(image) - seen) ** 2) + weight * variation


@jax.jit
def restored(seen, weight):
    """Nesterov's steps from the blurred picture; the wish before and after."""
    slope = jax.grad(wish)
    # No step is longer than 1 over the largest curvature, of misfit and of variation.
    rate = 1 / (1 + 8 * weight / 1e-2)

    def turn(number, state):
        image, ahead = state
        new = jnp.clip(ahead - rate * slope(ahead, seen, weight), 0, 1)
        return new, new + number / (number + 3) * (new - image)

    image, _ = lax.fori_loop(0, ITERATIONS, turn, (seen, seen))
    return image, wish(seen, seen, weight), wish(image, seen, weight)


def wiener(seen):
    """The linear restoration of least error for noise of this size (Wiener, 1949)."""
    filter_ = transfer()
    spectrum = jnp.fft.rfft2(jnp.moveaxis(seen, -1, 0))
    gains = filter_ / (filter_**2 + 30 * NOISE**2)
    sharp = jnp.fft.irfft2(spectrum * gains, (HEIGHT, WIDTH))
    return jnp.moveaxis(sharp, 0, -1)


def save(path, stages):
    """All stages in one picture, three in a row."""
    rows = [jnp.concatenate(stages[i : i + 3], axis=1) for i in range(0, 6, 3)]
    pixels = jnp.round(255 * jnp.clip(jnp.concatenate(rows), 0, 1)).astype(jnp.uint8)
    Image.fromarray(np.asarray(pixels)).save(path)


def main(picture=None, result=None):
    started = time.perf_counter()
    image = read(picture)
    light = luminance(image)
    print(f"mean brightness {jnp.mean(light):.3f}, brightest {jnp.max(light):.3f}")

    even = equalised(image)
    grey = image.mean(axis=-1)
    bits = entropy(grey), entropy(even.mean(axis=-1))
    print(f"bits in a pixel's brightness: {bits[0]:.2f}, equalised {bits[1]:.2f}")

    slopes = edges(grey)
    strength = jnp.hypot(*slopes)
    strong = strength > jnp.quantile(strength, 0.95)
    upright = jnp.sum(strong & (jnp.abs(slopes[0]) > jnp.abs(slopes[1])))
    print(
        f"strength of edges {jnp.mean(strength):.4f}, of the strongest twentieth",
        end="",
    )
    print(
        f" {jnp.mean(strength, where=strong):.3f}; {upright / strong.sum():.2f} upright"
    )

    small = compressed(image)
    print(f"{KEPT:.0%} of the cosines: {decibels(small, image):.1f} dB")

    noise = NOISE * jax.random.normal(jax.random.key(0), image.shape)
    seen = jax.jit(blurred)(image) + noise
    print(f"blurred: {decibels(seen, image):.1f} dB")
    linear = jax.jit(wiener)(seen)
    print(f"restored by Wiener's filter: {decibels(linear, image):.1f} dB")
    restore = functools.partial(restored, seen)
    for weight in (3e-5, 1e-4, 1e-3):
        sharp, before, after = restore(weight)
        print(
            f"restored with variation weighted {weight:g}:"
            f" {decibels(sharp, image):.1f} dB, wish from {before:.1f} to {after:.1f}"
        )
    sharp, *_ = restore(1e-4)
    print(f"{time.perf_counter() - started:.1f} s", file=sys.stderr)
    if result is not None:
        save(result, [image, even, small, seen, linear, sharp])
    gain = decibels(sharp, image) - decibels(seen, image)
    if picture is None and gain < 2.5:
        sys.exit(f"the restored picture is only {gain:.1f} dB better")


if __name__ == "__main__":
    main(*sys.argv[1:])
