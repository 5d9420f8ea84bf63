"""Finding how the columns of a table are to be read. Imported on use: pyarrow need not be there."""

import dataclasses
from collections.abc import Container, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from stakes.tables._columns import (
    as_mask,
    first_of,
    known_words,
    plain_column,
    plain_numbers,
    types,
    without,
)
from stakes.tables._forms import ALIKE, FORMS, PAIRS, NumberForm, date_order, parse_date
from stakes.tables._readings import MANY_VALUES, ColumnReading, Hints
from stakes.utils._arrays import counted
from stakes.utils._csv import CsvError as TableError

ORDERS = {"day-first": "dates day/month/year", "month-first": "dates month/day/year"}
# Digits with characters between them that may be points, commas or marks between thousands.
MAYBE_NUMBER = r"^[+-]?[\d., ']*\d[\d., ']*([eE][+-]?\d+)?$"
# What a machine may take for numbers and people write as codes: 1E5 is not 1E05, and 0x10 not 16.
CODES = r"^(\d+[eE]\d+|0[xX][0-9a-fA-F]+)$"
GROUPED = r"^[+-]?(\d+|[1-9]\d{0,2}(\.\d{3})+)$"


@dataclass
class _Guess:
    """What a column alone says of how it is written."""

    reading: ColumnReading
    note: str = ""
    # Of numbers that are not plain: the characters between digits, and the forms that fit.
    used: frozenset[str] = frozenset()
    forms: list[NumberForm] = field(default_factory=list)


def find_readings(
    columns: Mapping[str, pa.ChunkedArray],
    hints: Hints,
    name: str = "",
    spare: Container[str] = (),
    *,
    ask: bool = True,
    semicolons: bool = False,
) -> tuple[dict[str, ColumnReading], list[str]]:
    """Return how to read each column of a table, and what to say about it.

    Parameters
    ----------
    columns : dict of str to ChunkedArray
        The columns, text as it is written.
    hints : Hints
        What the user says.
    name : str
        What to call the table.
    spare : container of str
        Columns that will not be used: what could be read in two ways is text there, and nothing
        is said of them.
    ask : bool
        Whether what could be read in two ways is refused; otherwise it is text.
    semicolons : bool
        Whether cells are separated by semicolons, as where commas are for decimals: 1.234 can be
        read in two ways there.
    """
    guesses = {column: _guess(column, values, hints) for column, values in columns.items()}
    proofs = _settle_grouped(columns, guesses, semicolons)
    notes = []
    for column, guess in guesses.items():
        question = ""
        if guess.forms:
            question = _choose_form(guess, hints, proofs)
        elif guess.reading.dates == "ambiguous":
            question = "can be day/month or month/day: say --dates day-first, month-first or text"
        if question:
            guess.reading = text_reading(column, columns[column], hints)
            if column not in spare:
                mark = "," if "," in guess.used else "."
                example = _example(columns[column], mark if guess.forms else "", hints)
                what = "numbers" if guess.forms else "dates"
                question = f"The {what} of {column!r} in {name}, such as {example!r}, {question}."
                if ask:
                    raise TableError(question)
                guess.note = question
        said = guess.note or guess.reading.in_words
        if said and column not in spare:
            notes.append(said)
    return {column: guess.reading for column, guess in guesses.items()}, notes


def text_reading(name: str, text: pa.ChunkedArray, hints: Hints) -> ColumnReading:
    """Return the reading of text: a category if it has few different values."""
    many = pc.count_distinct(text, mode="only_valid").as_py() >= MANY_VALUES
    return ColumnReading(name, "text" if many else "category", missing=hints.na_values)


def _guess(name: str, column: pa.ChunkedArray, hints: Hints) -> _Guess:
    raw, column = column.type, plain_column(column)

    def reading(kind: str, how: str = "", **more: str) -> ColumnReading:
        return ColumnReading(name, kind, how, missing=hints.na_values, **more)

    if types.is_boolean(column.type):
        return _Guess(reading("boolean"))
    if types.is_timestamp(column.type):
        return _Guess(reading("date", dates="iso"))
    if not types.is_large_string(column.type):
        clock = types.is_time(raw) or types.is_duration(raw)
        return _Guess(reading("number", "time in seconds" if clock else ""))
    text = without(column, ("", *hints.na_values))
    plain = hints.decimal in (None, ".") and hints.thousands != "."
    code = _code(text)
    if code:
        guess = text_reading(name, text, hints)
        return _codes(guess, "codes with leading zeros", code)
    if plain and plain_numbers(text) is not None:
        code = _written_code(text)
        if code:
            guess = text_reading(name, text, hints)
            return _codes(guess, "codes with letters", code)
        empty = text.null_count == len(text)
        return _Guess(reading("number", "empty" if empty else ""))
    known = known_words(text)
    words = pc.unique(known.drop_null())
    if len(words) == 0:
        return _Guess(reading("number", "empty"))
    if plain and plain_numbers(known) is not None:
        return _Guess(reading("number"))
    pair = _truth_pair(words)
    if pair:
        return _Guess(reading("boolean", "" if pair.lower() == "true/false" else pair))
    used, forms = _forms_of(words)
    if forms:
        return _Guess(reading("number"), used=used, forms=forms)
    order = None if hints.dates == "text" else date_order(words.to_pylist())
    if order == "ambiguous":
        order = hints.dates or order
    if order == "ambiguous":
        return _Guess(reading("date", dates="ambiguous"))
    if order in ("iso", *ORDERS) and all(parse_date(w, order) for w in words.to_pylist()):
        return _Guess(reading("date", ORDERS.get(order, ""), dates=order))
    return _Guess(text_reading(name, text, hints), _nearly(name, known, words, order))


def _code(text: pa.ChunkedArray) -> str:
    """Return the first cell with a leading zero where all cells are digits alone; or ""."""
    if not pc.all(pc.utf8_is_digit(text.slice(0, 1000))).as_py():  # most columns, quickly
        return ""
    zeros = pc.and_(pc.starts_with(text, "0"), pc.greater(pc.binary_length(text), 1))
    if not pc.any(zeros).as_py() or not pc.all(pc.utf8_is_digit(text)).as_py():
        return ""
    return text.filter(pc.fill_null(zeros, False))[0].as_py()


def _codes(reading: ColumnReading, how: str, example: str) -> _Guess:
    """Return how codes are read; the example is said and not kept, as readings are in models."""
    said = dataclasses.replace(reading, how=f"{how}, such as {example!r}")
    return _Guess(dataclasses.replace(reading, how=how), note=said.in_words)


def _written_code(text: pa.ChunkedArray) -> str:
    """Return the first cell that only a machine takes for a number, where no cell has a point; or ""."""
    codes = as_mask(pc.match_substring_regex(text, CODES))
    if not codes.any() or pc.any(pc.match_substring_regex(text, r"[.+-]")).as_py():
        return ""
    return first_of(text, codes)[0]


def _truth_pair(words: pa.Array) -> str:
    """Return the two words of truth values as they stand, such as "Yes/No", or nothing."""
    if len(words) > 6:
        return ""
    written = {word.lower(): word for word in words.to_pylist()}
    for pair in PAIRS:
        # A single letter is too little to tell the pair from one value.
        if set(written) == set(pair) or (set(written) < set(pair) and len(pair[0]) > 1):
            return "/".join(written.get(word, word) for word in pair)
    return ""


def _forms_of(words: pa.Array) -> tuple[frozenset[str], list[NumberForm]]:
    """Return the characters between digits, and the forms in which every word is a number."""
    for mark, alike in ALIKE.items():
        words = pc.replace_substring_regex(words, alike, mark)
    if not pc.all(pc.match_substring_regex(words, MAYBE_NUMBER)).as_py():
        return frozenset(), []
    used = frozenset(m for m in "., '" if pc.any(pc.match_substring(words, m)).as_py())
    forms: dict[tuple[bool, str], NumberForm] = {}
    for form in FORMS:
        marks = {form.decimal, form.thousands} - {""}
        if not used <= marks or (form.thousands and form.thousands not in used):
            continue
        if pc.all(pc.match_substring_regex(words, form.pattern)).as_py():
            forms.setdefault((form.decimal in used, form.thousands), form)
    return used, list(forms.values())


def _settle_grouped(
    columns: Mapping[str, pa.ChunkedArray], guesses: dict[str, _Guess], semicolons: bool
) -> dict[str, str]:
    """Return the decimal marks that columns prove, each with such a column.

    Where a decimal comma alone is proved, plain numbers such as 1.234 have their point between
    thousands.
    """
    proofs: dict[str, str] = {}
    if not semicolons and not any(guess.forms for guess in guesses.values()):
        return proofs
    grouped = []
    for column, guess in guesses.items():
        if guess.forms:
            (mark, *others) = {form.decimal for form in guess.forms}
            if not others and mark in guess.used:
                proofs.setdefault(mark, column)
        elif guess.reading.kind == "number" and types.is_large_string(columns[column].type):
            known = known_words(columns[column])
            if pc.any(pc.match_substring(known, ".")).as_py():
                if pc.all(pc.match_substring_regex(known, GROUPED)).as_py():
                    grouped.append(column)
                else:
                    proofs.setdefault(".", column)
    if set(proofs) == {","} or (semicolons and not proofs):
        for column in grouped:
            guesses[column].used = frozenset(".")
            guesses[column].forms = [NumberForm(), NumberForm(",", ".")]
    return proofs


def _choose_form(guess: _Guess, hints: Hints, proofs: dict[str, str]) -> str:
    """Choose between the forms of numbers that fit; return the question where two do."""
    forms, because = _as_said(guess.forms, hints), ""
    if len(forms) > 1 and len(proofs) == 1:
        (mark, proof) = next(iter(proofs.items()))
        forms = [form for form in forms if form.decimal == mark]
        because = f", as {proof!r} shows"
    if len(forms) != 1:
        mark, what = (",", "comma") if "," in guess.used else (".", "point")
        how = f"say --decimal {mark} or --thousands {mark}"
        return f"can have a decimal {what} or a {what} between thousands: {how}"
    form = forms[0]
    guess.reading = dataclasses.replace(
        guess.reading,
        decimal=form.decimal,
        thousands=form.thousands,
        how=form.words(guess.used) + because,
    )
    return ""


def _as_said(forms: list[NumberForm], hints: Hints) -> list[NumberForm]:
    """Return the forms that agree with what the user says, or all if none does."""
    decimal, thousands = hints.decimal, hints.thousands
    if decimal is None and thousands in (",", "."):
        decimal = "." if thousands == "," else ","
    agree = [
        form
        for form in forms
        if decimal in (None, form.decimal) and (not thousands or form.thousands in ("", thousands))
    ]
    return agree or forms


def _example(column: pa.ChunkedArray, mark: str, hints: Hints) -> str:
    known = known_words(without(column, hints.na_values))
    return first_of(known, as_mask(pc.match_substring(known, mark)))[0]


def _nearly(name: str, known: pa.ChunkedArray, words: pa.Array, order: str | None) -> str:
    """Return a note where a few cells alone keep a column from being numbers or dates."""
    if order == "mixed":
        return f"{name!r} is read as text: its dates are written day/month and month/day in turn."
    there = as_mask(pc.is_valid(known))
    dates = pa.array([w for w in words.to_pylist() if date_order([w])], words.type)
    masks = {
        "number": as_mask(pc.match_substring_regex(known, NumberForm().pattern)),
        "date": there & as_mask(pc.is_in(known, value_set=dates)),
    }
    n = int(there.sum())
    for what, mask in masks.items():
        count = n - int(mask.sum())
        if 0 < count < n / 2:
            example, row = first_of(known, there & ~mask)
            verb = "is" if count == 1 else "are"
            return (
                f"{name!r} is read as text: {counted(count, 'cell')} of {n:,} {verb} no {what} "
                f"({example!r} in row {row:,}; --na-values calls it missing)."
            )
    return ""
