"""For docs/explanation/figures.md: time and links of ``links-from --encoder`` and of simalign.

    python scripts/benchmark_encoder.py SOURCE TARGET --peer-python PYTHON [--pairs 1000] [--repeats 3]
        [--units words]

SOURCE and TARGET are line-aligned, words between spaces, perhaps .gz. PYTHON is the Python of an environment
with simalign (``pip install torch==2.13.0``, then ``pip install simalign awesome-align boto3``). The encoder
is made here: the shape of MiniLM-L12-H384 with random weights, and a WordPiece tokenizer learned from the
text. Its links mean nothing, but both programs should find the same. Layer 8, one thread. With ``--units
words`` both link means of sub-words; awesome-align cannot. Each run is a whole process, from the imports to
the links; both take turns, and the best run counts.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
from dataclasses import astuple
from pathlib import Path

from _corpora import Cost, measure

from nmtalign.files.text_files import read_lines
from nmtalign.links.formats import read_links

SIMALIGN = {  # of our method: its name for the links, and the letter that asks for them
    "simalign-argmax": ("inter", "a"),
    "simalign-itermax": ("itermax", "i"),
    "simalign-match": ("mwmf", "m"),
}
AWESOME = {"awesome-align": "softmax", "awesome-align-entmax": "entmax15"}
TOKEN_TYPE = {"subwords": "bpe", "words": "word"}
VOCABULARY = 8_000
RESERVED = ["[PAD]", *(f"[unused{n}]" for n in range(1, 100)), "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SHAPE = {
    "hidden_size": 384,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 1_536,
}
PEER = """
import sys
from simalign import SentenceAligner
folder, name, letter, kind = sys.argv[1:]
aligner = SentenceAligner(model=folder, token_type=kind, matching_methods=letter, layer=8)
with open(f"{folder}/peer", "w") as out:
    for pair in zip(open(f"{folder}/source"), open(f"{folder}/target")):
        links = aligner.get_word_aligns(*(line.split() for line in pair))[name]
        print(*(f"{s}-{t}" for s, t in links), file=out)
"""


def make_encoder(folder: Path) -> None:
    """Write an encoder of random weights and its tokenizer beside the text, as both programs read it.

    awesome-align knows three sub-words by the numbers that they have in multilingual BERT.
    """
    import torch
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertForMaskedLM, BertTokenizerFast

    pieces = BertWordPieceTokenizer(lowercase=False, strip_accents=False)
    pieces.train([str(folder / "source"), str(folder / "target")], vocab_size=VOCABULARY, show_progress=False)
    found = pieces.get_vocab()
    words = [*RESERVED, *(word for word in sorted(found, key=found.__getitem__) if word not in RESERVED)]
    (folder / "vocab.txt").write_text("".join(f"{word}\n" for word in words), "utf-8")
    numbers = {word: n for n, word in enumerate(words)}
    tokenizer = BertTokenizerFast(numbers, do_lower_case=False, strip_accents=False, model_max_length=512)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1)
    model = BertForMaskedLM(BertConfig(vocab_size=len(words), initializer_range=0.05, **SHAPE))
    model.save_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")


def peer_command(python: str, folder: Path, method: str, units: str) -> list[str]:
    """Return the command of the program that a method is named after."""
    if method in SIMALIGN:
        return [python, "-c", PEER, str(folder), *SIMALIGN[method], TOKEN_TYPE[units]]
    given = ["--data_file", str(folder / "both"), "--output_file", str(folder / "peer")]
    given += ["--model_name_or_path", str(folder), "--extraction", AWESOME[method]]
    return [python, "-m", "awesome_align.run_align", *given]


def compare(folder: Path, peer: str, repeats: int, units: str) -> None:
    """Print a table of both programs for each method."""
    print("| method | program | seconds | CPU seconds | pairs per second | peak memory in MB | equal lines |")
    print("|---|---|---|---|---|---|---|")
    text = [str(folder / side) for side in ("source", "target")]
    ours = [sys.executable, "-m", "nmtalign", "links-from", *text, "--units", units]
    ours += ["--encoder", str(folder), "--layer", "8", "-o", str(folder / "nmtalign")]
    for method in (*SIMALIGN, *AWESOME) if units == "subwords" else SIMALIGN:
        commands = {
            "nmtalign": [*ours, "--method", method],
            "peer": peer_command(peer, folder, method, units),
        }
        used: dict[str, list[Cost]] = {program: [] for program in commands}
        for program, command in list(commands.items()) * repeats:
            used[program].append(measure(command, folder / "log"))
        lines = [list(map(set, read_links(folder / program))) for program in commands]
        same = sum(a == b for a, b in zip(*lines, strict=True))
        for program, found in used.items():
            best = Cost(*map(min, zip(*map(astuple, found), strict=True)))
            speed = len(lines[0]) / best.seconds
            row = f"{best.seconds:.1f} | {best.cpu_seconds:.1f} | {speed:.0f} | {best.peak_mb:.0f}"
            print(f"| {method} | {program} | {row} | {same:,} of {len(lines[0]):,} |", flush=True)


def main() -> None:
    style = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=style)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--peer-python", required=True)
    parser.add_argument("--pairs", type=int, default=1_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--units", choices=TOKEN_TYPE, default="subwords")
    arguments = parser.parse_args()
    os.environ.update({"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = zip(read_lines(arguments.source), read_lines(arguments.target), strict=True)
        kept = itertools.islice((pair for pair in pairs if all(map(str.split, pair))), arguments.pairs)
        text = list(kept)
        (folder / "both").write_text("".join(f"{a} ||| {b}\n" for a, b in text), "utf-8")
        for side, lines in zip(("source", "target"), zip(*text, strict=True), strict=True):
            (folder / side).write_text("".join(f"{line}\n" for line in lines), "utf-8")
        make_encoder(folder)
        compare(folder, arguments.peer_python, arguments.repeats, arguments.units)


if __name__ == "__main__":
    main()
