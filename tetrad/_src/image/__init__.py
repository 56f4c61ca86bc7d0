"""Images: resampling, in the public language of the library itself."""
