"""Time and memory of ``nmtalign links-from --encoder`` beside simalign, on the same text and weights.

    python scripts/benchmark_encoder.py SOURCE TARGET --peer-python PYTHON [--pairs 1000] [--repeats 3]

SOURCE and TARGET are line-aligned, words between spaces, perhaps .gz. PYTHON is the Python of an environment
with simalign (``pip install torch==2.13.0``, then ``pip install simalign``). The encoder is made here: the
shape of MiniLM-L12-H384 with random weights, and a WordPiece tokenizer learned from the text. Its links mean
nothing, but both programs should find the same. Layer 8, vectors of words, one thread. Each run is a whole
process, from the imports to the links; both take turns, and the best run counts.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
from dataclasses import astuple
from pathlib import Path

from benchmark_aligners import Cost, measure

from nmtalign.files import read_lines

METHODS = {"argmax": "inter", "itermax": "itermax", "match": "mwmf"}  # as simalign calls them
VOCABULARY = 8_000
SHAPE = {
    "hidden_size": 384,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 1_536,
}
PEER = """
import sys
from simalign import SentenceAligner
folder, name, letter = sys.argv[1:]
aligner = SentenceAligner(model=folder, token_type="word", matching_methods=letter, layer=8)
with open(f"{folder}/simalign", "w") as out:
    for pair in zip(open(f"{folder}/source"), open(f"{folder}/target")):
        links = aligner.get_word_aligns(*(line.split() for line in pair))[name]
        print(*(f"{s}-{t}" for s, t in links), file=out)
"""


def make_encoder(folder: Path) -> None:
    """Write an encoder of random weights and its tokenizer beside the text."""
    import torch
    from tokenizers import BertWordPieceTokenizer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    pieces = BertWordPieceTokenizer(lowercase=False)
    pieces.train([str(folder / "source"), str(folder / "target")], vocab_size=VOCABULARY, show_progress=False)
    pieces.save_model(str(folder))
    tokenizer = BertTokenizerFast(str(folder / "vocab.txt"), do_lower_case=False, model_max_length=512)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(1)
    BertModel(BertConfig(vocab_size=VOCABULARY, **SHAPE)).save_pretrained(folder)


def compare(folder: Path, peer: str, repeats: int) -> None:
    """Print a table of both programs for each method of simalign."""
    print("| method | program | seconds | CPU seconds | pairs a second | peak memory in MB | equal lines |")
    print("|---|---|---|---|---|---|---|")
    text = [str(folder / side) for side in ("source", "target")]
    ours = [sys.executable, "-m", "nmtalign", "links-from", *text]
    ours += ["--encoder", str(folder), "--layer", "8", "-o", str(folder / "nmtalign")]
    for method, name in METHODS.items():
        commands = {
            "nmtalign": [*ours, "--method", f"simalign-{method}"],
            "simalign": [peer, "-c", PEER, str(folder), name, method[0]],
        }
        used: dict[str, list[Cost]] = {program: [] for program in commands}
        for program, command in list(commands.items()) * repeats:
            used[program].append(measure(command, folder / "log"))
        lines = [list(read_lines(folder / program)) for program in commands]
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
    arguments = parser.parse_args()
    os.environ.update({"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = zip(read_lines(arguments.source), read_lines(arguments.target), strict=True)
        kept = itertools.islice((pair for pair in pairs if all(map(str.split, pair))), arguments.pairs)
        for side, lines in zip(("source", "target"), zip(*kept, strict=True), strict=True):
            (folder / side).write_text("".join(f"{line}\n" for line in lines), "utf-8")
        make_encoder(folder)
        compare(folder, arguments.peer_python, arguments.repeats)


if __name__ == "__main__":
    main()
