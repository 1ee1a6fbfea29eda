"""For docs/explanation/figures.md: measure `nmtalign.check` on honest and on spoiled text.

Each kind of dirt is put into some pairs of a bitext at known lines. The script prints, for each kind, how
often a finding of a right kind is in the line (recall), and in how many lines with an error or a hint there
is dirt (precision); for honest text, the number of findings of each kind in 1,000 pairs.

    python scripts/measure_checks.py NAME=SOURCE,TARGET[,OTHER_LANGUAGE] ... [--honest] [--show]

With --swapped it exchanges the sides of short parts of the bitexts, whose files have names such as text.en,
and prints in how many of them this is found without a model, and how often it is found in honest parts.

    python scripts/measure_checks.py NAME=SOURCE,TARGET ... --swapped

With --places it puts slips of one line into short parts of the bitexts, and prints how often the place that
a finding names is right.

    python scripts/measure_checks.py NAME=SOURCE,TARGET ... --places

With gold links it also measures what the escapes of Moses cost: the alignment error rate of the text, of the
text with escapes, and of the text with escapes that `--unescape` decodes.

    python scripts/measure_checks.py --escapes DATA/gold/alibi_enfr_522 [--model en_fr_model]
"""

from __future__ import annotations

import argparse
import html
import itertools
import random
import tempfile
import time
import warnings
from collections import Counter
from html.entities import codepoint2name
from pathlib import Path

from _corpora import languages_of, read_pairs, write_text

import nmtalign as na
from nmtalign.checks.line_languages import find_swapped_files
from nmtalign.cli.texts import languages_of_files
from nmtalign.text.slips import find_line_gaps, find_line_runs

Pair = tuple[str, str]
LINES_OF_A_KIND = 40
LINES_OF_A_BLOCK = 150
ESCAPES = str.maketrans(
    {
        "&": "&amp;",
        "|": "&#124;",
        "<": "&lt;",
        ">": "&gt;",
        "'": "&apos;",
        '"': "&quot;",
        "[": "&#91;",
        "]": "&#93;",
    }
)
LENGTH_OR_SCORE = {"length-ratio", "maybe-length-ratio", "missing-text", "not-translation", "low-score"}
EXPECTED = {
    "copy": {"copy"},
    "swap": {"swapped"},
    "language": {"language", "maybe-language", "not-translation"},
    "one-sided": {"one-sided"},
    "duplicate": {"duplicate"},
    "cut to an eighth": LENGTH_OR_SCORE,
    "cut in half": LENGTH_OR_SCORE,
    "lengthened": LENGTH_OR_SCORE,
    "tab": {"tab"},
    "bars": {"bars"},
    "carriage return": {"carriage-return"},
    "control": {"control-character"},
    "entities": {"html-entity", "moses-escape"},
    "moses": {"moses-escape", "html-entity"},
    "mojibake": {"mojibake"},
    "address": {"only-addresses"},
    "number": {"only-numbers"},
    "stranger": {"not-translation", "low-score"},
    "one word": {"one-word"},
}


class Spoiler:
    """Puts dirt into pairs."""

    def __init__(self, pairs: list[Pair], others: list[str], seed: int) -> None:
        self.random = random.Random(seed)
        self.honest, self.others = pairs, others

    def spoil(self, kind: str, pair: Pair) -> Pair:
        """Return a pair with one kind of dirt; the same pair if it cannot have it."""
        source, target = pair
        change = getattr(self, "_" + kind.replace(" ", "_").replace("-", "_"))
        return change(source, target)

    def _copy(self, source: str, target: str) -> Pair:
        return (source, source) if len(source.split()) > 3 else (source, target)

    def _swap(self, source: str, target: str) -> Pair:
        return target, source

    def _language(self, source: str, target: str) -> Pair:
        return (source, self.random.choice(self.others)) if self.others else (source, target)

    def _one_sided(self, source: str, target: str) -> Pair:
        return (source, "") if self.random.random() < 0.5 else ("", target)

    def _duplicate(self, source: str, target: str) -> Pair:
        return self.random.choice(self.honest[: len(self.honest) // 50])

    def _cut_to_an_eighth(self, source: str, target: str) -> Pair:
        return source, target[: max(1, len(target) // 8)]

    def _cut_in_half(self, source: str, target: str) -> Pair:
        words = target.split(" ")
        return (source, " ".join(words[: len(words) // 2])) if len(words) >= 8 else (source, target)

    def _lengthened(self, source: str, target: str) -> Pair:
        return source, " ".join([target, *(self.random.choice(self.honest)[1] for _ in range(6))])

    def _inside(self, source: str, target: str, sign: str) -> Pair:
        words = source.split(" ")
        if len(words) < 2:
            return source, target
        place = self.random.randrange(1, len(words))
        return " ".join(words[:place]) + sign + " ".join(words[place:]), target

    def _tab(self, source: str, target: str) -> Pair:
        return self._inside(source, target, "\t")

    def _bars(self, source: str, target: str) -> Pair:
        return self._inside(source, target, " ||| ")

    def _carriage_return(self, source: str, target: str) -> Pair:
        return self._inside(source, target, "\r")

    def _control(self, source: str, target: str) -> Pair:
        return self._inside(source, target, self.random.choice(["\x00", "\x07", "\x1b", "\x0b", "\x9c"]))

    def _entities(self, source: str, target: str) -> Pair:
        named = "".join(f"&{codepoint2name[ord(c)]};" if ord(c) in codepoint2name else c for c in target)
        return html.escape(source), named

    def _moses(self, source: str, target: str) -> Pair:
        return source, target.translate(ESCAPES)

    def _mojibake(self, source: str, target: str) -> Pair:
        encoding = self.random.choice(["cp1252", "latin-1"])
        try:
            return source, target.encode().decode(encoding)
        except UnicodeDecodeError:
            return source, target.encode().decode("latin-1")

    def _address(self, source: str, target: str) -> Pair:
        address = f"https://example.org/{self.random.randrange(10**6)}"
        return address, address

    def _number(self, source: str, target: str) -> Pair:
        number = f"{self.random.randrange(10**4)} - {self.random.randrange(10**4)}"
        return number, number

    def _stranger(self, source: str, target: str) -> Pair:
        return source, self.random.choice(self.honest)[1]

    def _one_word(self, source: str, target: str) -> Pair:
        return (source, target.replace(" ", "")) if len(target) > 40 else (source, target)


def spoiled_text(pairs: list[Pair], others: list[str], seed: int) -> tuple[list[Pair], dict[int, str]]:
    """Return the pairs with dirt, and the kind of dirt of each spoiled pair."""
    spoiler = Spoiler(pairs, others, seed)
    pairs = list(pairs)
    count = min(LINES_OF_A_KIND, len(pairs) // 50)
    block = range(len(pairs) // 2, len(pairs) // 2 + min(LINES_OF_A_BLOCK, len(pairs) // 20))
    shifted = [pairs[n][1] for n in block]
    for n, target in zip(block, [*shifted[1:], shifted[0]], strict=True):
        pairs[n] = pairs[n][0], target
    dirt = dict.fromkeys(block, "block")
    free = [n for n in range(len(pairs)) if n not in dirt]
    spoiler.random.shuffle(free)
    for kind in EXPECTED:
        for n in [free.pop() for _ in range(count)]:
            changed = spoiler.spoil(kind, pairs[n])
            if changed != pairs[n]:
                pairs[n], dirt[n] = changed, kind
    return pairs, dirt


def report_honest(name: str, pairs: list[Pair]) -> None:
    findings = na.check(pairs)
    rates = Counter(zip(findings["severity"], findings["kind"], strict=True))
    errors = findings[findings["severity"] == "error"]
    shares = {kind: round(1000 * count / len(pairs), 1) for (_, kind), count in rates.most_common()}
    print(f"{name:14} honest: {len(errors)} errors of {len(pairs)} pairs; per 1,000 pairs: {shares}")
    for kind, group in errors.groupby("kind"):
        for row in group.head(3).itertuples():
            print(f"      {kind} {row.line} {row.value}: {[side[:70] for side in pairs[row.line - 1]]}")


def report_spoiled(name: str, pairs: list[Pair], others: list[str], seed: int, show: bool) -> None:
    spoiled, dirt = spoiled_text(pairs, others, seed)
    start = time.perf_counter()
    findings = na.check(spoiled)
    seconds = time.perf_counter() - start
    kinds_of_line: dict[int, set[str]] = {}
    right: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    for row in findings.itertuples():
        lines = range(row.line - 1, row.last)
        for line in lines:
            kinds_of_line.setdefault(line, set()).add(row.kind)
        total[row.severity, row.kind] += 1
        is_right = row.line - 1 in dirt
        if row.kind in ("slip", "no-partner"):  # right within two lines of a place
            last = row.last if row.kind == "no-partner" else row.line
            is_right = any(near in dirt for near in range(row.line - 3, last + 2))
        right[row.severity, row.kind] += is_right
        if show and not is_right and row.severity == "error":
            print("      wrong:", row.kind, row.line, row.value, [s[:60] for s in spoiled[row.line - 1]])
    recalls = {}
    for kind in ("block", *EXPECTED):
        lines = [line for line, of_line in dirt.items() if of_line == kind]
        expected = EXPECTED.get(kind, {"slip", "no-partner"})
        hits = sum(bool(kinds_of_line.get(line, set()) & expected) for line in lines)
        if lines:
            recalls[kind] = round(hits / len(lines), 2)
    errors = sum(count for (severity, _), count in total.items() if severity == "error")
    right_errors = sum(count for (severity, _), count in right.items() if severity == "error")
    print(
        f"{name:14} {len(pairs)} pairs, {seconds:.1f} s; precision of {errors} errors"
        f" {right_errors / max(errors, 1):.3f}; mean recall {sum(recalls.values()) / len(recalls):.2f}"
    )
    print("      recall:", recalls)
    precisions = {kind: f"{right[key]}/{count}" for key, count in sorted(total.items()) for kind in [key[1]]}
    print("      right findings:", precisions)


# --- the places of slips -------------------------------------------------------------------------

SIZES_OF_PARTS = (20, 50, 100, 200)
PARTS_OF_A_SIZE = 20  # of each bitext, for each kind of slip
NEAR = 2  # lines: a place that is no further off is right
SLIPS = ("no slip", "extra line", "missing line", "extra, last cut", "missing, one added")


def with_slip(
    part: list[Pair], slip: str, place: int, stranger: str
) -> tuple[list[str], list[str], set[int]]:
    """Return both sides of a text with a slip in the target, and the places where it begins or ends."""
    source = [pair[0] for pair in part]
    target = [pair[1] for pair in part]
    if slip == "no slip":
        return source, target, set()
    if slip.startswith("extra"):
        target.insert(place, stranger)
    else:
        del target[place]
    places = {place}
    if slip == "extra, last cut":
        target.pop()
        places.add(len(part) - 1)
    if slip == "missing, one added":
        target.append(stranger)
        places.add(len(part) - 1)
    return source, target, places


def claims_of(source: list[str], target: list[str]) -> list[tuple[range, bool]]:
    """Return the lines that the findings name, and whether they name them exactly."""
    runs = find_line_runs(source, target)
    claims = [(run.starts, len(run.starts) == 1) for run in runs if run.shift and run.source]
    for gap in find_line_gaps(runs, len(source), len(target)):
        for lines, among in ((gap.source, gap.source_among), (gap.target, gap.target_among)):
            if lines:
                claims.append((among, len(among) == len(lines)))
    return claims


def report_places(bitexts: dict[str, list[Pair]], seed: int) -> None:
    """Print how often the places of slips in short parts of bitexts are right."""
    counts: dict[tuple[int, str], Counter[str]] = {}
    of_bitext: dict[str, Counter[str]] = {}
    for name, pairs in bitexts.items():
        generator = random.Random(seed)
        for size, slip in itertools.product(SIZES_OF_PARTS, SLIPS):
            for _ in range(PARTS_OF_A_SIZE):
                first = generator.randrange(len(pairs) - size)
                stranger = generator.choice(pairs)[1]
                place = generator.randrange(size)
                source, target, places = with_slip(pairs[first : first + size], slip, place, stranger)
                found = count_claims(claims_of(source, target), places, place)
                counts.setdefault((size, slip), Counter()).update(found)
                of_bitext.setdefault(name, Counter()).update(found)
    print("lines  slip                texts  located  exact places         ranges of lines")
    for (size, slip), count in sorted(counts.items()):
        print(f"{size:5}  {slip:18}  {describe_claims(count)}")
    for name, count in of_bitext.items():
        print(f"{name:>25}  {describe_claims(count)}")


def count_claims(claims: list[tuple[range, bool]], places: set[int], place: int) -> Counter[str]:
    """Count the claims about a text, and those that are right."""
    count = Counter(["texts"])
    for lines, is_exact in claims:
        kind = "exact" if is_exact else "range"
        near = range(lines.start - NEAR, lines.stop + NEAR)
        count[kind] += 1
        count[f"right {kind}"] += not places.isdisjoint(near)
        count[f"lines of {kind}"] += len(lines)
    count["located"] += any(place in range(lines.start - NEAR, lines.stop + NEAR) for lines, _ in claims)
    return count


def describe_claims(count: Counter[str]) -> str:
    exact, ranges = count["exact"], count["range"]
    share = f"{count['right exact'] / exact:.2f}" if exact else "-"
    share_of_ranges = f"{count['right range'] / ranges:.2f}" if ranges else "-"
    width = count["lines of range"] / max(ranges, 1)
    return (
        f"{count['texts']:5}  {count['located'] / count['texts']:7.2f}  {exact:5}, right {share:>4}"
        f"    {ranges:5}, right {share_of_ranges:>4}, {width:.0f} lines"
    )


# --- swapped files -------------------------------------------------------------------------------

SIZES_OF_SWAPPED_PARTS = (10, 30, 100)
SWAPPED_PARTS_OF_A_SIZE = 100


def report_swapped(bitext: str, seed: int) -> None:
    """Print in how many parts of a bitext exchanged sides are found, and in how many honest parts."""
    name, pairs = read_part(bitext)
    source, target, *_ = bitext.partition("=")[2].split(",")
    languages = languages_of_files(source, target)
    generator = random.Random(seed)
    results = []
    for size in SIZES_OF_SWAPPED_PARTS:
        found: Counter[str] = Counter()
        for _ in range(SWAPPED_PARTS_OF_A_SIZE):
            first = generator.randrange(len(pairs) - size)
            sides = [[pair[k] for pair in pairs[first : first + size]] for k in (0, 1)]
            found["swapped"] += any(find_swapped_files(*reversed(sides), languages))
            found["honest"] += any(find_swapped_files(*sides, languages))
        results.append(f"{size} lines: {found['swapped']} swapped, {found['honest']} honest")
    print(f"{name:14} of {SWAPPED_PARTS_OF_A_SIZE} parts of " + "; ".join(results))


# --- escapes -------------------------------------------------------------------------------------


def report_escapes(gold: Path, model: str) -> None:
    """Print the alignment error rate of a text, and of the same text with escapes, read in two ways."""
    aligner = na.load(model)
    plain = read_pairs(gold, "text", languages_of(gold))
    escaped = [(source.translate(ESCAPES), target.translate(ESCAPES)) for source, target in plain]
    changed = sum(pair != with_escapes for pair, with_escapes in zip(plain, escaped, strict=True))
    print(f"{gold.name}: {len(plain)} pairs, {changed} of them with escapes, {model}")
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder) / "src", Path(folder) / "tgt"
        for name, pairs, unescape in (
            ("plain text", plain, False),
            ("escaped text", escaped, False),
            ("escaped text, --unescape", escaped, True),
        ):
            write_text(Path(folder), pairs)
            batch = aligner.align_batch(na.read_bitext(*files, unescape=unescape))
            evaluation = na.evaluate(batch, gold / "gold.pharaoh")
            low, high = evaluation.intervals["aer"]
            print(f"      AER {100 * evaluation.aer:5.2f} [{100 * low:.2f}, {100 * high:.2f}]  {name}")


def read_part(bitext: str) -> tuple[str, list[Pair]]:
    """Return the name and the pairs of a bitext NAME=SOURCE,TARGET."""
    name, _, files = bitext.partition("=")
    source, target, *_ = files.split(",")
    return name, [tuple(pair) for pair in na.read_bitext(source, target, unescape=True)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bitexts", nargs="*", metavar="NAME=SOURCE,TARGET[,OTHER]")
    parser.add_argument("--escapes", type=Path, metavar="GOLD", help="measure escapes on a gold text")
    parser.add_argument("--model", default="en_fr_model", help="the model that aligns the gold text")
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--honest", action="store_true", help="check the honest text, too")
    parser.add_argument("--swapped", action="store_true", help="measure only swapped files")
    parser.add_argument("--places", action="store_true", help="measure only the places of slips")
    parser.add_argument("--show", action="store_true", help="print wrong errors")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.escapes is not None:
        report_escapes(options.escapes, options.model)
    if options.swapped:
        for bitext in options.bitexts:
            report_swapped(bitext, options.seed)
        return
    if options.places:
        report_places(dict(map(read_part, options.bitexts)), options.seed)
        return
    for bitext in options.bitexts:
        name, _, files = bitext.partition("=")
        source, target, *other = files.split(",")
        pairs = [tuple(pair) for pair in na.read_bitext(source, target, unescape=True)][: options.pairs]
        others = [pair.source for pair in na.read_bitext(other[0], other[0])][:2000] if other else []
        if options.honest:
            report_honest(name, pairs)
        report_spoiled(name, pairs, others, options.seed, options.show)


if __name__ == "__main__":
    main()
