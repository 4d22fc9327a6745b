"""Token ids in sixteen bits against the vocabulary: told by program and size, or by ids before and after."""

import pytest
from making import fill

from triage.tools.config.combine import read_settings
from triage.tools.data.between.widths import check_widths
from triage.tools.discover import discover

NANO = "import numpy as np\nenc = tokenizer\narr = np.memmap('a.bin', dtype=np.uint16, mode='w+', shape=(n,))\n"
NAMED = "from sentencepiece import SentencePieceProcessor as S\nKIND = 'uint16'\nnp.array(ids).astype(KIND).tofile(p)\n"
BIG, SMALL = '{"model_type": "llama", "vocab_size": 128256}', '{"model_type": "llama", "vocab_size": 32000}'


def told(tmp_path, **files):
    run = discover(fill(tmp_path, {name.replace("__", "."): text for name, text in files.items()}))
    return [f.code for f in check_widths(run, read_settings(run)[0]).findings]


def shards(before, after):
    return "".join(f"shard {i:03} max_token_id={before - i} docs=91 max_id_on_disk={after - i}\n" for i in range(9))


@pytest.mark.parametrize(
    "files",
    [
        {"prepare__py": NANO, "config__json": BIG},
        {"make__py": NAMED, "log__txt": "tokenizer loaded, vocab size: 100277\n" + shards(9000, 8000)},
        {"prep__log": shards(128_000, 65_530)},
        {"prep__log": "".join(f"分片 {i} 最大token={90000 + i} 读回最大token={65535 - i}\n" for i in range(6))},
    ],
)
def test_ids_that_do_not_fit_are_told(tmp_path, files):
    assert told(tmp_path, **files) == ["ids-wider-than-type"]


@pytest.mark.parametrize(
    "files",
    [
        {"prepare__py": NANO, "config__json": SMALL},
        {"prepare__py": NANO},
        {"prepare__py": NANO + "assert vocab < 2**16\n", "config__json": BIG},
        {"prepare__py": NANO.replace("uint16", "uint32"), "config__json": BIG},
        {"view__py": "tokenizer\nx = t.view(np.uint16)  # bits of bfloat16\n", "config__json": BIG},
        {"depth__py": "import numpy as np\ndepth = np.zeros(9, np.uint16)\n", "config__json": BIG},
        {"prep__log": shards(128_000, 128_000)},
        {"prep__log": shards(60_000, 60_000)},
    ],
)
def test_ids_that_fit_and_other_sixteen_bits_are_not(tmp_path, files):
    assert told(tmp_path, **files) == []
