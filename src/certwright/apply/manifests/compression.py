"""Brotli, which Secrets are compressed with, unpacked within bounds."""

from typing import Final

from certwright.apply.manifests.limits import LimitExceeded, ReadLimits

_INPUT_STEP: Final = 64 * 1024
_OUTPUT_STEP: Final = 256 * 1024
_FREE_OUTPUT: Final = 1024 * 1024
"""Up to this size the ratio does not count."""
_QUALITY: Final = 6
"""The best one saves a tenth of the size and takes fifty times as long."""


class CompressionError(ValueError):
    """Data is not Brotli, is cut short, or cannot be unpacked here."""


def unpack_brotli(data: bytes, limits: ReadLimits) -> bytes:
    """Decompress *data*, holding no more than the limits allow at any time.

    Raises:
        CompressionError: the data is not Brotli, or not all of it, or there is more after it.
        LimitExceeded: it would become too large, or is too small for what it becomes.
    """
    try:
        import brotli  # noqa: PLC0415 - optional: only Secrets with .br keys need it
    except ImportError as error:
        raise CompressionError("reading Brotli needs certwright[resources]") from error
    most = min(limits.size, max(_FREE_OUTPUT, len(data) * limits.ratio))
    decompressor = brotli.Decompressor()
    unpacked = bytearray()
    rest = memoryview(data)
    try:
        while not decompressor.is_finished():
            if decompressor.can_accept_more_data():
                step, rest = rest[:_INPUT_STEP], rest[_INPUT_STEP:]
            else:
                step = rest[:0]
            output = decompressor.process(bytes(step), output_buffer_limit=_OUTPUT_STEP)
            unpacked += output
            if len(unpacked) > most:
                raise LimitExceeded(f"{len(data)} bytes of Brotli become more than {most}")
            if not rest and not output and not decompressor.is_finished():
                raise CompressionError("Brotli data ends too early")
    except brotli.error as error:
        raise CompressionError("not Brotli, or corrupt") from error
    if rest:
        raise CompressionError("data follows the end of the Brotli stream")
    return bytes(unpacked)


def pack_brotli(data: bytes) -> bytes:
    """Compress *data*, some 30 ms per megabyte; `CompressionError` if Brotli is not installed."""
    try:
        import brotli  # noqa: PLC0415 - optional: only Secrets with .br keys need it
    except ImportError as error:
        raise CompressionError("writing Brotli needs certwright[resources]") from error
    packed: bytes = brotli.compress(data, quality=_QUALITY)
    return packed
