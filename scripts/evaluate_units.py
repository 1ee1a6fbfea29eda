"""For docs/explanation/figures.md: do links of pieces and lossless tokens hold what the page says?

    python scripts/evaluate_units.py SOURCE TARGET WORK [--lines 20000] [--languages en,fr]
        [--other-programs .venv/others]

SOURCE and TARGET are raw texts. A model is learned from the first lines, with the tokenizer of ICU, and a
sentencepiece model of each side. Links of words, links of pieces (``--spm``) and links of lossless tokens
(``--spaces``) are written into the folder WORK. The script then counts:

* links outside of their line;
* links of pieces that are not pieces of two linked words, and links of words without all their pieces;
* lines that are restored from their lossless tokens;
* rows that OpusTrainer restores from these tokens, by themselves and when it remaps them to pieces;
* links of OpusTrainer's remapping that are not pieces of two linked tokens.

OpusTrainer runs in the Python of the other programs (see ``tests/other_programs.txt``).
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from benchmark_aligners import nmtalign_program

from nmtalign.links.alignments import Link
from nmtalign.links.formats import parse_pharaoh
from nmtalign.text.subwords import PieceLine, load_segmenter, segment_line
from nmtalign.text.tokenization import Span, load_tokenizer

MARK = "▁"
VOCABULARY_SIZE = 8_000  # of each sentencepiece model

RESTORED = """
import json, sys
from opustrainer.modifiers.placeholders import PlaceholderTagModifier
languages, models, rows_file, lines_files, output = json.loads(sys.argv[1])
detokenizers = dict(custom_detok_src="icu:" + languages[0], custom_detok_trg="icu:" + languages[1])
vocabularies = dict(spm_vocab_src=models[0], spm_vocab_trg=models[1])
lines = [open(file, encoding="utf-8", newline="\\n").read().split("\\n")[:-1] for file in lines_files]
rows = open(rows_file, encoding="utf-8", newline="\\n").read().split("\\n")[:-1]

def restored(rows, **settings):
    modifier = PlaceholderTagModifier(0.0, augment=1, tag=0, **detokenizers, **settings)
    count, links = 0, []
    for row, pair in zip(rows, zip(*lines)):
        try:
            fields = modifier.apply(row).split("\\t")
        except Exception:
            fields = ["", "", ""]
        count += fields[:2] == list(pair)
        links.append(fields[2] if len(fields) > 2 else "")
    return count, links

answer = {"the tokens": restored(rows)[0]}
answer["the tokens, remapped to pieces"], links = restored(rows, **vocabularies)
with open(output, "w", encoding="utf-8") as file:
    file.writelines(line + "\\n" for line in links)
print(json.dumps(answer))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--languages", default="en,fr")
    parser.add_argument("--other-programs", type=Path, default=Path(".venv/others"))
    options = parser.parse_args()
    work = options.work
    work.mkdir(parents=True, exist_ok=True)
    text = [work / "text.source", work / "text.target"]
    for path, copy in zip((options.source, options.target), text, strict=True):
        copy.write_text("".join(head(path, options.lines)), encoding="utf-8", newline="\n")
    models = [train_pieces(path) for path in text]
    align(text, models, work, options.languages)
    check_pieces(text, models, work)
    check_tokens(text, work)
    check_opustrainer(text, models, work, options.languages, options.other_programs)


def head(path: Path, count: int) -> Iterator[str]:
    """Yield the first lines of a text, which may be compressed, without the spaces around them."""
    open_text = gzip.open if path.suffix == ".gz" else open
    with open_text(path, "rt", encoding="utf-8", newline="\n") as file:
        for line in islice(file, count):
            yield line.strip() + "\n"


def lines_of(path: Path) -> list[str]:
    with open(path, encoding="utf-8", newline="\n") as file:
        return file.read().split("\n")[:-1]


def train_pieces(text: Path) -> Path:
    """Train a sentencepiece model on a text; return its path."""
    from sentencepiece import SentencePieceTrainer

    options = {"vocab_size": VOCABULARY_SIZE, "hard_vocab_limit": False, "minloglevel": 2}
    SentencePieceTrainer.train(input=str(text), model_prefix=str(text), **options)
    return Path(f"{text}.model")


def align(text: list[Path], models: list[Path], work: Path, languages: str) -> None:
    """Write the model, and links of words, pieces and lossless tokens."""
    model = work / "model"
    if not model.exists():
        run("train", *text, "-o", model, "--tokenizer", "icu", "--langs", languages)
    run("align", *text, "--model", model, "-o", work / "words.links")
    spm = ",".join(map(str, models))
    run(
        "align",
        *text,
        "--model",
        model,
        "--spm",
        spm,
        "--tokens",
        work / "pieces",
        "-o",
        work / "pieces.links",
    )
    tokens = "--tokens", work / "tokens", "--spaces", MARK, "--guided", work / "tokens.tsv"
    run("align", *text, "--model", model, *tokens, "-o", work / "tokens.links")


def run(*arguments: object) -> None:
    subprocess.run([str(nmtalign_program()), *map(str, arguments), "--quiet"], check=True)


def check_pieces(text: list[Path], models: list[Path], work: Path) -> None:
    """Count links of pieces that are outside, or not of two linked words."""
    words, pieces = (links_of(work / f"{name}.links") for name in ("words", "pieces"))
    cut = [lines_of(work / f"pieces.{side}") for side in ("source", "target")]
    count = outside = foreign = missing = 0
    for n, pair in enumerate(zip(*map(lines_of, text), strict=True)):
        sides = [segment_line(line, load_segmenter(str(m))) for line, m in zip(pair, models, strict=True)]
        assert [" ".join(side.pieces) for side in sides] == [side[n] for side in cut]
        expected = expanded(words[n], *sides)
        lengths = [len(side[n].split(" ")) for side in cut]
        count += len(pieces[n])
        outside += sum(s >= lengths[0] or t >= lengths[1] for s, t in pieces[n])
        foreign += len(pieces[n] - expected)
        missing += len(expected - pieces[n])
    print(f"pieces: {len(words):,} lines, {sum(map(len, words)):,} links of words, {count:,} of pieces,")
    print(f"  {outside} outside, {foreign} not of linked words, {missing} missing")


def expanded(links: frozenset[Link], source: PieceLine, target: PieceLine) -> set[Link]:
    """Return the links of all pieces of linked words."""
    found = set()
    for link in links:
        for s in range(source.first[link.source], source.stop[link.source]):
            for t in range(target.first[link.target], target.stop[link.target]):
                found.add(Link(s, t))
    return found


def links_of(path: Path) -> list[frozenset[Link]]:
    return [parse_pharaoh(line) for line in lines_of(path)]


def check_tokens(text: list[Path], work: Path) -> None:
    """Count the lines that are restored from their tokens, and the links outside."""
    sides = [lines_of(work / f"tokens.{side}") for side in ("source", "target")]
    links = links_of(work / "tokens.links")
    restored = 0
    for path, side in zip(text, sides, strict=True):
        both = zip(lines_of(path), side, strict=True)
        restored += sum(tokens.replace(" ", "").replace(MARK, " ") == line for line, tokens in both)
    outside = 0
    for source, target, links_of_pair in zip(*sides, links, strict=True):
        lengths = len(source.split(" ")), len(target.split(" "))
        outside += sum(s >= lengths[0] or t >= lengths[1] for s, t in links_of_pair)
    total = len(sides[0]) + len(sides[1])
    print(f"lossless tokens: {restored:,} of {total:,} lines restored,")
    print(f"  {sum(map(len, links)):,} links, {outside} outside")


def check_opustrainer(
    text: list[Path], models: list[Path], work: Path, languages: str, other_programs: Path
) -> None:
    """Count the rows that OpusTrainer restores, and its links that are not of two linked tokens."""
    remapped_file = work / "remapped.links"
    values = [
        languages.split(","),
        [str(model.resolve()) for model in models],
        str(work / "tokens.tsv"),
        [str(path) for path in text],
        str(remapped_file),
    ]
    python = str(other_programs / "bin" / "python")
    command = [python, "-c", RESTORED, json.dumps(values)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    counts = json.loads(done.stdout.splitlines()[-1])
    pairs = list(zip(*map(lines_of, text), strict=True))
    linked = sum(map(bool, links_of(work / "tokens.links")))
    print(f"OpusTrainer restores, of {linked:,} pairs with links (it leaves out the others):")
    for name, count in counts.items():
        print(f"  {count:,} from {name}")
    sides = [lines_of(work / f"tokens.{side}") for side in ("source", "target")]
    count = outside = foreign = 0
    rows = zip(pairs, *sides, links_of(work / "tokens.links"), links_of(remapped_file), strict=True)
    for pair, source_tokens, target_tokens, links, remapped in rows:
        spans = [piece_spans(line, model) for line, model in zip(pair, models, strict=True)]
        tokens = [token_spans(side) for side in (source_tokens, target_tokens)]
        inside = [link for link in remapped if link[0] < len(spans[0]) and link[1] < len(spans[1])]
        expected = {
            Link(s, t)
            for link in links
            for s in overlapping(tokens[0][link.source], spans[0])
            for t in overlapping(tokens[1][link.target], spans[1])
        }
        count += len(remapped)
        outside += len(remapped) - len(inside)
        foreign += len(set(inside) - expected)
    print(f"  its {count:,} links of pieces: {outside} outside, {foreign} not of linked tokens")


def piece_spans(line: str, model: Path) -> list[Span]:
    return load_segmenter(str(model)).encode(line)[1]


def token_spans(tokens: str) -> list[Span]:
    """Return where the lossless tokens of a line are in it."""
    spans, start = [], 0
    for token in load_tokenizer("space").split(tokens):
        spans.append((start, start + len(token)))
        start += len(token)
    return spans


def overlapping(span: Span, pieces: list[Span]) -> list[int]:
    """Return the pieces that overlap a span."""
    return [n for n, (start, stop) in enumerate(pieces) if start < span[1] and span[0] < stop]


if __name__ == "__main__":
    main()
