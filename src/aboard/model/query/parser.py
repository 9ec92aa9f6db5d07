# SPDX-License-Identifier: Apache-2.0
"""The parser of filters: `or` binds weakest, then `and`, then `not`, then comparisons.

or         = and {"or" and}
and        = not {"and" not}
not        = "not" not | "(" or ")" | comparison
comparison = field (ORDER value | ["not"] "in" list | ["not"] PATTERN text | "is" ["not"] ("none" | "nan"))
| value ORDER field [ORDER value]          0.001 < hparams.lr <= 0.1
| text ["not"] "in" ("tags" | field)
| hparams.NAME | tags.NAME                 is true; is there
| WORD {WORD}                              all are part of the run's name: cifar adamw

Each condition is checked when it is parsed: its field and its value must go together.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, timedelta, tzinfo
from typing import NoReturn

from aboard.errors import InvalidValue, QueryError
from aboard.foundation.text import closest_names
from aboard.model.query.fields import field_of, is_field, names_tags
from aboard.model.query.lexer import Literal, LiteralReader, QueryToken, TokenKind, tokenize
from aboard.model.query.tree import (
    Among,
    And,
    ColumnField,
    ColumnKind,
    Field,
    FieldComparison,
    HparamField,
    IsNan,
    IsNone,
    LikePattern,
    MetricField,
    Not,
    Operator,
    Or,
    Pattern,
    Query,
    TagField,
    TextMatch,
    TextSpan,
    TimeValue,
    Value,
)
from aboard.model.states import RunState
from aboard.model.times import parse_time

_MOST_VALUES = 1000
_DAY = len("2026-11-01")
_NUMBERED = {"experiment": "experiment_number", "name": "number"}  # experiment == 7, run == 343
_UNITS = {"s": "duration", "B": "bytes"}


class ConditionMaker:
    """Makes the conditions of one text."""

    def __init__(self, text: str, zone: tzinfo) -> None:
        self._text = text
        self._zone = zone

    def comparison(self, field: Field, order: Operator, literal: Literal) -> Query:
        field = _numbered(field, [literal])
        value = self._value(field, literal)
        if isinstance(value, bool) and order is not Operator.EQUAL:
            self._refuse(literal, "true and false are neither smaller nor larger than anything", "use == or !=")
        if order is Operator.EQUAL and isinstance(value, TimeValue) and _is_day(literal):
            return self._on_day(field, value, literal)
        return FieldComparison(field, order, value)

    def among(self, field: Field, literals: Sequence[Literal]) -> Query:
        if len(literals) > _MOST_VALUES:
            self._refuse(literals[-1], f"a list has at most {_MOST_VALUES} values", "")
        field = _numbered(field, literals)
        for literal in literals:
            if literal.is_none or literal.is_nan:
                self._refuse(literal, "none and nan cannot stand in a list", "add `or … is none`")
        return Among(field, tuple(self._value(field, literal) for literal in literals))

    def text_match(self, field: Field, pattern: Pattern, literal: Literal) -> Query:
        if isinstance(field, MetricField) or (isinstance(field, ColumnField) and field.kind not in _TEXTS):
            start, end = field.place.start, field.place.end
            raise QueryError(f"{field} is not a text", self._text, start, end, hint="use ==, <, >, in …")
        if not isinstance(literal.value, str):
            self._refuse(literal, f"{pattern} needs a text", 'as in name like "base%"')
        if pattern in (Pattern.LIKE, Pattern.ILIKE):
            try:
                LikePattern(literal.value)
            except InvalidValue as error:
                self._refuse(literal, error.message, error.hint)
        return TextMatch(field, pattern, literal.value)

    def name_contains(self, text: str, place: TextSpan) -> Query:
        """A plain word is part of a run's name, in capitals or not."""
        pattern = "".join(f"\\{character}" if character in "%_\\" else character for character in text)
        return self.text_match(
            ColumnField("name", ColumnKind.TEXT, place), Pattern.ILIKE, Literal(f"%{pattern}%", place)
        )

    def is_nan(self, field: Field) -> Query:
        if isinstance(field, (ColumnField, TagField)):
            start, end = field.place.start, field.place.end
            hint = "write `is none` for what is not there"
            raise QueryError(f"{field} is never nan", self._text, start, end, hint=hint)
        return IsNan(field)

    def _value(self, field: Field, literal: Literal) -> Value:
        """The value as this field takes it."""
        value = literal.value
        if value is None or literal.is_nan:
            self._refuse(literal, "nothing can be compared with this", "write `is none` or `is nan`")
        if literal.unit and not (isinstance(field, ColumnField) and field.name == _UNITS[literal.unit]):
            self._refuse(literal, f"{field} has no such unit", f"units go with {_UNITS[literal.unit]} and with now")
        match field:
            case ColumnField(kind=ColumnKind.TIME):
                return self._moment(field, literal)
            case ColumnField(kind=ColumnKind.STATUS):
                return self._status(literal)
            case ColumnField(kind=ColumnKind.TEXT) | TagField():
                if not isinstance(value, str):
                    self._refuse(literal, f"{field} is compared with texts", "texts stand in quotes")
            case ColumnField() | MetricField():
                if isinstance(value, bool) or not isinstance(value, (int, float)):
                    self._refuse(literal, f"{field} is compared with numbers", "numbers stand without quotes")
            case _:
                if isinstance(value, TimeValue):
                    self._refuse(literal, f"{field} is no time", "hyperparameters are numbers, texts, true or false")
        return value

    def _moment(self, field: Field, literal: Literal) -> TimeValue:
        if isinstance(literal.value, TimeValue):
            return literal.value
        try:
            return TimeValue(parse_time(literal.value, zone=self._zone))
        except InvalidValue as error:
            self._refuse(literal, f"{field} is compared with times", f"{error.hint}, or now - 7d")

    def _on_day(self, field: Field, start: TimeValue, literal: Literal) -> Query:
        """A day is equal to each of its moments; which it has, depends on the zone."""
        try:
            next_day = date.fromisoformat(str(literal.value).strip()) + timedelta(days=1)
        except OverflowError:
            self._refuse(literal, "this day has no next one", "")
        end = TimeValue(parse_time(next_day.isoformat(), zone=self._zone))
        return And(
            (FieldComparison(field, Operator.GREATER_OR_EQUAL, start), FieldComparison(field, Operator.LESS, end))
        )

    def _status(self, literal: Literal) -> str:
        name = literal.value.lower() if isinstance(literal.value, str) else ""
        if name not in set(RunState):
            near = closest_names(name, RunState)
            guess = f'did you mean "{near[0]}"? ' if near else ""
            self._refuse(literal, "no run has this status", f"{guess}it is one of: {', '.join(RunState)}")
        return name

    def _refuse(self, literal: Literal, problem: str, hint: str) -> NoReturn:
        raise QueryError(problem, self._text, literal.place.start, literal.place.end, hint=hint)


_TEXTS = (ColumnKind.TEXT, ColumnKind.STATUS)


def _numbered(field: Field, literals: Sequence[Literal]) -> Field:
    """Experiments and runs may be meant by their numbers too."""
    if isinstance(field, ColumnField) and field.name in _NUMBERED and all(_is_integer(literal) for literal in literals):
        return ColumnField(_NUMBERED[field.name], ColumnKind.NUMBER, field.place)
    return field


def _is_integer(literal: Literal) -> bool:
    return isinstance(literal.value, int) and not isinstance(literal.value, bool)


def _is_day(literal: Literal) -> bool:
    return isinstance(literal.value, str) and len(literal.value.strip()) == _DAY


LONGEST_QUERY = 4000
_DEEPEST = 40
_MOST_CONDITIONS = 100
_ORDERS = {"=": Operator.EQUAL, **{str(order): order for order in Operator}}
_KEYWORDS = frozenset({"and", "or", "not", "in", "is", *Pattern})
_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
_WANTED = 'as in status == "running", hparams.lr < 0.01, name like "base%", user in ["ann", "bob"], ended is none'


def parse_query(text: str, *, zone: tzinfo = UTC, words: bool = True) -> Query:
    """The tree of a filter. Times without an offset are in `zone`. Errors point at the place.

    Without `words` a plain word is an error, not a search in names: for filters that delete without a question.
    """
    if len(text) > LONGEST_QUERY:
        problem = f"the filter has {len(text)} characters; at most {LONGEST_QUERY} are read"
        raise QueryError(problem, text, LONGEST_QUERY, len(text))
    if not text.strip():
        raise QueryError("the filter is empty", text, 0, 0, hint=_WANTED)
    return _Parser(text, zone, words).whole()


class _Parser:
    """One reading of one text."""

    def __init__(self, text: str, zone: tzinfo, words: bool) -> None:
        self._text, self._has_words = text, words
        self._words = tokenize(text)
        self._at = 0
        self._depth = 0
        self._conditions = 0
        self._literals = LiteralReader(text)
        self._make = ConditionMaker(text, zone)

    def whole(self) -> Query:
        query = self._or()
        if self._word.kind is not TokenKind.END:
            raise self._expected("`and`, `or` or the end")
        return query

    @property
    def _word(self) -> QueryToken:
        return self._words[self._at]

    def _is(self, *texts: str) -> bool:
        word = self._word
        return word.kind in (TokenKind.NAME, TokenKind.SIGN) and word.text.lower() in texts

    def _take(self, *texts: str) -> QueryToken | None:
        if not self._is(*texts):
            return None
        self._at += 1
        return self._words[self._at - 1]

    def _or(self) -> Query:
        parts = [self._and()]
        while self._take("or"):
            parts.append(self._and())
        return Or(tuple(parts)) if len(parts) > 1 else parts[0]

    def _and(self) -> Query:
        parts = [self._not()]
        while self._take("and"):
            parts.append(self._not())
        return And(tuple(parts)) if len(parts) > 1 else parts[0]

    def _not(self) -> Query:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error(f"the filter is nested deeper than {_DEEPEST} levels", self._word)
        if self._take("not"):
            query: Query = Not(self._not())
        elif opening := self._take("("):
            query = self._or()
            if not self._take(")"):
                raise self._error("this bracket is never closed", opening, "add )")
        else:
            query = self._comparison()
        self._depth -= 1
        return query

    def _comparison(self) -> Query:
        self._count_condition()
        if count := self._plain_count():
            if not self._has_words:
                hint = f'write name ilike "%{self._word.text}%" to search names'
                raise self._error("A plain word is not allowed in this filter.", self._word, hint)
            return self._in_name(count)
        if self._literals.begins_at(self._words, self._at):
            return self._value_first(self._value())
        if self._word.kind not in (TokenKind.NAME, TokenKind.PLAIN) or self._is("and", "or", "in", "is", *Pattern):
            raise self._expected("a field, a value, `not` or (")
        word = self._word
        self._at += 1
        if names_tags(word):
            return self._tags(word)
        return self._after_field(field_of(word, self._text))

    def _count_condition(self) -> None:
        self._conditions += 1
        if self._conditions > _MOST_CONDITIONS:
            raise self._error(f"the filter has more than {_MOST_CONDITIONS} conditions", self._word)

    def _plain_count(self) -> int:
        """How many words from here on are searched for in names: none where they are part of a comparison."""
        end = self._at
        while _may_be_plain(self._words[end]):
            end += 1
        words, after = self._words[self._at : end], self._words[end]
        is_end = after.kind is TokenKind.END or (
            after.kind is not TokenKind.TEXT and after.text.lower() in ("and", "or", ")")
        )
        fields = [word for word in words if word.kind is TokenKind.NAME and is_field(word)]
        is_field_alone = len(words) == 1 and bool(fields)
        if not is_end or is_field_alone or any(len(word.parts) > 1 for word in fields):
            return 0
        return len(words)

    def _in_name(self, count: int) -> Query:
        parts: list[Query] = []
        for _ in range(count):
            word, self._at = self._word, self._at + 1
            text = word.text if word.kind is TokenKind.TEXT else self._text[word.place.start : word.place.end]
            parts.append(self._make.name_contains(text, word.place))
            if len(parts) < count:
                self._count_condition()
        return And(tuple(parts)) if len(parts) > 1 else parts[0]

    def _after_field(self, field: Field) -> Query:
        if order := self._take(*_ORDERS, "!=", "<>"):
            return self._ordered(field, order, self._value())
        if self._take("is"):
            return self._is_something(field)
        negated = self._take("not") is not None
        if self._take("in"):
            return _negated_if(negated, field, self._make.among(field, self._list()))
        if pattern := self._take(*Pattern):
            condition = self._make.text_match(field, Pattern(pattern.text.lower()), self._value())
            return _negated_if(negated, field, condition)
        if negated:
            raise self._expected("in, " + ", ".join(Pattern))
        return self._alone(field)

    def _ordered(self, field: Field, order: QueryToken, value: Literal) -> Query:
        if value.is_none or value.is_nan:
            condition = self._make.is_nan(field) if value.is_nan else IsNone(field)
            if order.text in ("==", "="):
                return condition
            if order.text in ("!=", "<>"):
                return _negated_if(True, field, condition) if value.is_nan else Not(condition)
            raise self._error(f"nothing is {order.text} {self._shown(value)}", order, "write `is none` or `is nan`")
        if order.text in ("!=", "<>"):
            return _negated_if(True, field, self._make.comparison(field, Operator.EQUAL, value))
        return self._make.comparison(field, _ORDERS[order.text], value)

    def _is_something(self, field: Field) -> Query:
        negated = self._take("not") is not None
        if self._take("none", "null"):
            return Not(IsNone(field)) if negated else IsNone(field)
        if self._take("nan"):
            return _negated_if(negated, field, self._make.is_nan(field))
        raise self._expected("none, not none, nan or not nan")

    def _value_first(self, value: Literal) -> Query:
        if order := self._take(*_ORDERS, "!=", "<>"):
            field = self._field()
            mirrored = QueryToken(order.kind, _MIRRORED.get(order.text, order.text), order.place)
            first = self._ordered(field, mirrored, value)
            if further := self._take(*_ORDERS, "!=", "<>"):
                return And((first, self._ordered(field, further, self._value())))
            return first
        negated = self._take("not") is not None
        if not self._take("in"):
            raise self._expected("a comparison or `in`")
        if names_tags(self._word):
            self._at += 1
            return self._has_tag(value, negated)
        field = self._field()
        return _negated_if(negated, field, self._make.text_match(field, Pattern.CONTAINS, value))

    def _tags(self, word: QueryToken) -> Query:
        negated = self._take("not") is not None
        if self._take("contains"):
            return self._has_tag(self._value(), negated)
        hint = 'write "x" in tags, or tags.x == "…"'
        raise self._error("all tags together cannot be compared", word, hint)

    def _has_tag(self, value: Literal, negated: bool) -> Query:
        if not isinstance(value.value, str):
            raise QueryError("a tag is named by a text", self._text, value.place.start, value.place.end)
        absent = IsNone(TagField(value.value, value.place))
        return absent if negated else Not(absent)

    def _alone(self, field: Field) -> Query:
        if isinstance(field, HparamField):
            return FieldComparison(field, Operator.EQUAL, True)
        if isinstance(field, TagField):
            return Not(IsNone(field))
        hint = f'{_WANTED}; to search names for the word, write it in quotes: "{field}"'
        raise self._expected(f"a comparison after {field}", hint)

    def _field(self) -> Field:
        word = self._word
        if word.kind not in (TokenKind.NAME, TokenKind.PLAIN) or self._literals.begins_at(self._words, self._at):
            raise self._expected("a field: one side of a comparison is a field, the other a value")
        self._at += 1
        return field_of(word, self._text)

    def _value(self) -> Literal:
        if not self._literals.begins_at(self._words, self._at):
            if self._word.kind in (TokenKind.NAME, TokenKind.PLAIN):
                is_dotted = self._word.kind is TokenKind.NAME and len(self._word.parts) > 1
                hint = "fields are compared with values" if is_dotted else f'texts stand in quotes: "{self._word.text}"'
                raise self._error(f"expected a value, not the name {self._word.text!r}", self._word, hint)
            raise self._expected("a value")
        value, self._at = self._literals.read(self._words, self._at)
        return value

    def _list(self) -> list[Literal]:
        opening = self._take("[", "(")
        if not opening:
            raise self._expected('a list, as in ["a", "b"]')
        closing, values = ("]" if opening.text == "[" else ")"), [self._value()]
        while not self._take(closing):
            if not self._take(","):
                raise self._expected(f", or {closing}")
            values.append(self._value())
        return values

    def _shown(self, value: Literal) -> str:
        return self._text[value.place.start : value.place.end]

    def _expected(self, what: str, hint: str = "") -> QueryError:
        word = self._word
        written = self._text[word.place.start : word.place.end]
        found = "here the filter ends" if word.kind is TokenKind.END else f"here stands {written}"
        return self._error(f"expected {what}; {found}", word, hint)

    def _error(self, problem: str, word: QueryToken, hint: str = "") -> QueryError:
        return QueryError(problem, self._text, word.place.start, word.place.end, hint=hint)


def _may_be_plain(word: QueryToken) -> bool:
    if word.kind is TokenKind.NAME:
        return word.text.lower() not in _KEYWORDS
    return word.kind in (TokenKind.PLAIN, TokenKind.NUMBER) or (word.kind is TokenKind.TEXT and bool(word.text.strip()))


def _negated_if(negated: bool, field: Field, condition: Query) -> Query:
    """`!=` and the like: there is a value, and it is another one."""
    return And((Not(IsNone(field)), Not(condition))) if negated else condition
