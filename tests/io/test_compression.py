from __future__ import annotations

import gc
import gzip
import hashlib

import pytest
import zstandard

from rankscope.errors import FormatError
from rankscope.io.compression import LimitedStream, ZstdStream, compression_of
from rankscope.io.detection import detect
from rankscope.io.read import read_qrels, read_run
from rankscope.io.source import source_of

RUN = b"".join(b"q%d Q0 doc%d %d %d.25 sys\n" % (i // 100, i * 7919 % 10007, i, 1000 - i) for i in range(1000))


def test_a_compressed_file_is_read_whatever_its_name(write_file, compressor):
    name, compress = compressor
    path = write_file(compress(RUN), "run.txt")
    read = read_run(path)
    assert (read.format, read.compression) == ("trec", name)
    assert len(read.rows) == 1000
    assert (read.rows.doc[1], read.rows.score[999]) == ("doc7919", 1.25)
    assert read.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_joined_files_are_read_to_the_end(write_file, compressor):
    _, compress = compressor
    rows = read_run(write_file(compress(RUN) + compress(b"q Q0 last 1 0.5 t\n"))).rows
    assert (len(rows), rows.doc[-1], rows.tag) == (1001, "last", "t")


@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_a_file_that_is_cut_off(write_file, compressor, share):
    name, compress = compressor
    content = compress(RUN)
    with pytest.raises(FormatError, match="cannot be decompressed") as raised:
        read_run(write_file(content[: int(len(content) * share)]))
    assert raised.value.hint == f"its first bytes say {name}, but it is cut off or damaged; copy or download it again"


def test_a_file_with_damaged_bytes(write_file, compressor):
    _, compress = compressor
    content = bytearray(compress(RUN))
    middle = len(content) // 2
    content[middle : middle + 64] = bytes(64)
    with pytest.raises(FormatError, match="cannot be decompressed"):
        read_run(write_file(bytes(content)))


@pytest.mark.parametrize("is_compressed", [False, True])
def test_an_error_of_the_system_is_not_taken_for_damage(write_file, compressor, is_compressed):
    def progress(done, total):
        raise BrokenPipeError(32, "Broken pipe")

    _, compress = compressor
    with pytest.raises(BrokenPipeError):
        read_run(write_file(compress(RUN) if is_compressed else RUN), progress=progress)


def test_an_empty_file_that_is_compressed(write_file, compressor):
    _, compress = compressor
    with pytest.raises(FormatError, match="is empty"):
        read_run(write_file(compress(b"")))


def test_zstd_frames_without_size_and_skippable_frames(write_file):
    streaming = zstandard.ZstdCompressor(write_content_size=False).compressobj()
    skippable = b"\x50\x2a\x4d\x18\x04\x00\x00\x00junk"
    content = skippable + streaming.compress(RUN) + streaming.flush()
    read = read_run(write_file(content))
    assert (read.compression, len(read.rows)) == ("zst", 1000)


def test_the_name_does_not_decide(write_file):
    read = read_run(write_file(RUN, "run.gz"))
    assert (read.format, read.compression) == ("trec", None)


@pytest.mark.parametrize("query", ["BZh9", "PAR1", "ARROW1", "PK"])
def test_ids_that_begin_like_a_binary_file_are_text(write_file, query):
    path = write_file(f"{query} Q0 d 1 0.5 t\n")
    assert detect(path).format == "trec"
    assert read_run(path).rows.query == [query]


@pytest.mark.parametrize("head", [b"", b"q", b"q1 Q0", b"BZh", b"\x1f\x8b", b"P\x2a\x4d"])
def test_short_beginnings_are_not_compressed(head):
    assert compression_of(head) is None


@pytest.mark.parametrize("flag", [8, 16, 24])
@pytest.mark.parametrize("is_second", [False, True])
@pytest.mark.parametrize("n_bytes", [1000, 30_000, 300_000, 3_000_000])
def test_a_header_of_gzip_without_end(tmp_path, flag, is_second, n_bytes):
    plain = gzip.compress(b"q1 0 d1 1\n")
    texts = (b"x" * n_bytes + b"\0") * flag.bit_count()
    content = plain[:3] + bytes([flag]) + plain[4:10] + texts + plain[10:]
    path = tmp_path / "a.qrels.gz"
    path.write_bytes(gzip.compress(b"q0 0 d1 1\n") + content if is_second else content)
    if n_bytes < 1 << 15:
        assert len(read_qrels(path).rows) == 1 + is_second
        return
    with pytest.raises(FormatError, match="the name or comment in a header of it is longer than 64 kB"):
        read_qrels(path)


def test_what_unpacks_a_file_goes_with_the_last_that_needs_it(write_file, compressor):
    """A run of many files is looked at file by file: buffers that stayed would be megabytes for each."""
    _, compress = compressor
    source = source_of(write_file(compress(RUN * 100)))

    def n_alive():  # by type, as isinstance would ask what weak references of others stand for
        return sum(type(each) in (LimitedStream, ZstdStream) for each in gc.get_objects())

    gc.collect()
    before = n_alive()
    gc.disable()
    try:
        for _ in range(3):
            assert source.head(100) == RUN[:100]
        assert n_alive() == before
    finally:
        gc.enable()
