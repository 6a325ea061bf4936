"""The simulated vendors, each an honest one except for the traits it names, and their answers: a function of seed,
question and persona, without a clock."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Body = Mapping[str, Any]
RightCalls = list[tuple[str, dict[str, Any]]]
Draw = Callable[..., random.Random]  # a generator of this question's own, by words that say what is drawn
_WORDS = "report north blue seven garden monday summary harbour".split()
# Texts for the patterns that tools of real data sets state.
_SHAPES = """EUR DE ACME 7 2026 123456789012 09:30 2026-03-14 P-12345 F-2026-017 LX1952 A1B2C3 DE89370400440532013000
#a1b2c3 #general +4912345678 10.1000/182 1.2.3 a.b north Europe/Berlin https://example.com ana@example.com""".split()
_DEEP = 4

ROOM = 6  # requests in flight that a persona with a ``crowd`` serves without its traits


@dataclass(frozen=True, slots=True)
class Persona:
    """The traits of one vendor; the defaults are those of an honest one. Rates are shares (0..1) of the questions.

    ``false_rate``: calls that are not due; ``flip_rate``: decisions reversed; ``burst_rate``: refused at first.
    ``mind`` and ``served_model``: the other model that answers. ``crowd`` answers requests beyond ``ROOM`` in flight,
    ``wait_s`` later for each of these.
    """

    description: str
    # Long next to the lateness of a busy machine, which is a few milliseconds.
    first_token_s: tuple[float, float] = (0.100, 0.150)
    tokens_per_s: float = 600
    miss_rate: float = 0
    false_rate: float = 0
    flip_rate: float = 0
    break_rate: float = 0
    leak_rate: float = 0
    cut_rate: float = 0
    burst_rate: float = 0
    refusal: int | None = None
    buffers: bool = False
    prompt_factor: float = 1
    prompt_extra: int = 0
    mind: str = ""
    served_model: str | None = None
    crowd: Persona | None = None
    wait_s: float = 0


PERSONAS = {
    "faithful": Persona("serves the model it sells"),
    "quantised": Persona("misses, invents and breaks calls", miss_rate=0.12, false_rate=0.06, break_rate=0.08),
    "padded": Persona("bills 35 % more prompt tokens, and 120 a request", prompt_factor=1.35, prompt_extra=120),
    "slow": Persona("late first token, few tokens a second", first_token_s=(0.300, 0.450), tokens_per_s=250),
    "bursty": Persona("refuses 20 % of the questions at first, with 429, 503 or 500", burst_rate=0.20),
    "cutter": Persona("cuts 10 % of its answers off", cut_rate=0.10),
    "buffering": Persona("sends the whole stream at its end", buffers=True),
    "text-leaker": Persona("writes half of its tool calls into the text", leak_rate=0.5),
    "substitute": Persona("other model", (0.08, 0.12), 750, flip_rate=0.15, mind="8", served_model="simulated-mini-8b"),
    "down": Persona("answers 500 to everything", refusal=500),
    "locked": Persona("answers 401 to everything", refusal=401),
    "crowded": Persona("misses 60 % of the calls beyond 6 requests in flight", crowd=Persona("", miss_rate=0.6)),
    "queueing": Persona("0.4 s later for each request beyond 6 in flight", crowd=Persona("", wait_s=0.4)),
    "throttled": Persona("answers 429 to requests beyond 6 in flight", crowd=Persona("", refusal=429)),
}


class Answer(NamedTuple):
    """Text, calls (name, arguments as JSON text), the finish reason, and the usage that is billed."""

    text: str
    calls: list[tuple[str, str]]
    finish: str
    usage: dict[str, Any]


def problem_of(body: Any) -> str | None:
    """The reason to refuse a request with 400, or None."""
    try:
        choice, names = body.get("tool_choice"), [tool["function"]["name"] for tool in body.get("tools") or ()]
        counts = [body[name] for name in ("max_tokens", "max_completion_tokens", "n") if body.get(name) is not None]
        if isinstance(choice, dict) and choice["function"]["name"] not in names:
            return "tool_choice names a tool that is not declared"
        if any(count < 1 for count in counts) or not 0 <= (body.get("temperature") or 0) <= 2:
            return "max_tokens, n or temperature is out of range"
        return None if body["messages"][0]["role"] else "the first message has no role"
    except (AttributeError, LookupError, TypeError):
        return "this is no chat completion request"


def answer_to(body: Body, draw: Draw, persona: Persona, known: bool | RightCalls | None, again: int) -> Answer:
    """The answer of the model as this vendor gives it when it is asked for the ``again``-th time."""
    said = [word.strip(".,;:!?\"'()[]") for word in str(body["messages"][-1].get("content")).split()[:200]]
    words = [word for word in said if 1 < len(word) < 25 and word.isprintable()][:40] or _WORDS
    made = _calls(body, draw, persona, known, words)
    calls = [_dumped(call, draw("break", at), persona.break_rate) for at, call in enumerate(made)]
    text, tools = "", body.get("tools")
    if not calls:
        text = _text(body, draw, persona, words, again)
    elif not tools:
        # The question lists the tools in its text and asks for calls there.
        text = "[" + ", ".join(f'{{"name": "{name}", "parameters": {arguments}}}' for name, arguments in calls) + "]"
    elif draw("leak").random() < persona.leak_rate:
        shown = (f'{{"name": "{name}", "arguments": {arguments}}}' for name, arguments in calls)
        text = "\n".join(f"<tool_call>\n{call}\n</tool_call>" for call in shown)
    calls = [] if text else calls
    stops = body.get("stop") or []
    for stop in [stops] if isinstance(stops, str) else stops:
        text = text.partition(stop)[0]
    # Four characters are a token.
    output = max(1, sum(-(-len(part) // 4) for part in (text, *(part for call in calls for part in call))))
    most = body.get("max_tokens") or body.get("max_completion_tokens") or output
    finish = "length" if output > most else "tool_calls" if calls else "stop"
    if output > most:
        output, text, calls = most, text[: 4 * most], [(name, shown[: 4 * most]) for name, shown in calls[:1]]
    prompt = persona.prompt_extra + round(len(json.dumps([body["messages"], tools])) / 4 * persona.prompt_factor)
    usage = {"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output}
    return Answer(text, calls, finish, usage)


def _calls(body: Body, draw: Draw, persona: Persona, known: bool | RightCalls | None, words: list[str]) -> RightCalls:
    """The calls that the model makes: those known, unless it decides otherwise or is another model."""
    tools = {each["function"]["name"]: each["function"].get("parameters") or {} for each in body.get("tools") or ()}
    messages, choice = body["messages"], body.get("tool_choice") or "auto"
    copied = re.search(r"\n<text>(.*)</text>$", str(messages[-1].get("content")), re.DOTALL)
    if copied and "submit_text" in tools:
        return [("submit_text", {"text": copied[1]})]
    after = messages[max((at for at, each in enumerate(messages) if each["role"] == "user"), default=0) :]
    if isinstance(known, list):
        known = known[sum(len(each.get("tool_calls") or ()) for each in after) :]
    likely = 0.75 if after[-1]["role"] == "user" else 0.2
    calling = draw("call").random() < likely if known is None else bool(known)
    if choice == "auto":
        wrong = persona.flip_rate or (persona.miss_rate if calling else persona.false_rate)
        calling ^= draw("decision", persona.mind).random() < wrong
    if choice == "none" or (choice == "auto" and not calling):
        return []
    forgets = isinstance(choice, dict) or draw("recall").random() < persona.flip_rate
    if isinstance(known, list) and known and not (tools and forgets):
        return known[:1] if body.get("parallel_tool_calls") is False else known
    if not tools:
        return []
    dice = draw("arguments", persona.mind)
    name = choice["function"]["name"] if isinstance(choice, dict) else dice.choice(list(tools))
    return [(name, value_for({"type": "object", **tools[name]}, tools[name], dice, words))]


def _dumped(call: tuple[str, dict[str, Any]], dice: random.Random, break_rate: float) -> tuple[str, str]:
    """The call with its arguments as JSON text, or broken: with a wrong type, no JSON, or of an unknown tool."""
    name, arguments = call
    how = dice.choice(["type", "type", "text", "name"]) if dice.random() < break_rate else ""
    if how == "type":
        arguments = {**arguments, next(iter(arguments), "unexpected"): {"unexpected": True}}
    text = json.dumps(arguments, ensure_ascii=False)
    return f"{name}_v2" if how == "name" else name, text[:-1] if how == "text" else text


def _text(body: Body, draw: Draw, persona: Persona, words: list[str], again: int) -> str:
    """A text in the form that was asked for. It differs each time, except at temperature 0."""
    asked = str(body["messages"][-1].get("content"))
    if codes := re.findall(r"The code of the \w+ door is (\S+)\.", asked):
        return ", ".join(codes)
    # Two vendors of one model draw their own words, and the same vendor others when it is asked again.
    own = (persona.description, again) if body.get("temperature", 1) else ()
    form, dice, mind = body.get("response_format") or {}, draw("words", persona.mind, *own), persona.mind
    if form.get("type") in ("json_schema", "json_object"):
        schema = form.get("json_schema", {}).get("schema", {"properties": {"answer": {}}, "required": ["answer"]})
        return json.dumps(value_for(schema, schema, dice, words), ensure_ascii=False)
    # Another model prefers other beginnings, which probes of one token show.
    begins = sorted({*words, *_WORDS}, key=lambda word: draw("begin", mind, word).random())
    begin = begins[min(int(dice.expovariate(0.5)), len(begins) - 1)].capitalize()
    return begin + " " + ". ".join(" ".join(dice.choices(words, k=12)) for _ in range(dice.randint(2, 4))) + "."


def value_for(schema: Any, root: Any, dice: random.Random, words: list[str], depth: int = 0) -> Any:
    """A value for ``schema``, which is a part of ``root``; texts are made of ``words``."""
    schema = schema if isinstance(schema, dict) else {}
    if "$ref" in schema and depth < 4 * _DEEP:
        found = root
        for part in str(schema["$ref"]).lstrip("#/").split("/"):
            found = found.get(part, {})
        return value_for(found, root, dice, words, depth + 1)
    for key in ("allOf", "anyOf", "oneOf"):
        if key in schema:
            short = min(schema[key], key=lambda each: ("$ref" in str(each), len(str(each))))
            parts = schema[key] if key == "allOf" else [short if depth > _DEEP else dice.choice(schema[key])]
            merged = {name: value for name, value in schema.items() if name != key}
            for part in parts:
                required = [*merged.get("required", ()), *part.get("required", ())]
                properties = {**merged.get("properties", {}), **part.get("properties", {})}
                merged = {**merged, **part, "required": required, "properties": properties}
            return value_for(merged, root, dice, words, depth)
    if choices := [schema["const"]] if "const" in schema else schema.get("enum") or schema.get("examples"):
        return dice.choice(choices)
    kind = schema.get("type") or ("object" if schema.get("properties") else "string")
    kind = next((each for each in kind if each != "null"), "null") if isinstance(kind, list) else kind
    if kind == "object":
        known, required = schema.get("properties", {}), schema.get("required", ())
        optional = [name for name in known if name not in required and depth < _DEEP and dice.random() < 0.5]
        return {name: value_for(known.get(name), root, dice, words, depth + 1) for name in (*required, *optional)}
    if kind == "array":
        count = schema.get("minItems", 1)
        # More draws than items, because equal ones may have to be left out.
        items = [value_for(schema.get("items"), root, dice, words, depth + 1) for _ in range(8 * count)]
        unique = [item for at, item in enumerate(items) if not schema.get("uniqueItems") or item not in items[:at]]
        return unique[:count]
    if kind in ("integer", "number"):
        return _number_for(schema, dice, whole=kind == "integer")
    if kind == "boolean":
        return dice.random() < 0.5
    return _text_for(schema, dice, words) if kind == "string" else None


def _number_for(schema: dict[str, Any], dice: random.Random, *, whole: bool) -> int | float:
    step = schema.get("multipleOf", 1 if whole else 0.5)
    high = schema.get("maximum", schema.get("exclusiveMaximum"))
    low = schema.get("minimum", schema.get("exclusiveMinimum", 0 if high is None else min(0, high)))
    least = int(-(-low // step)) + ("exclusiveMinimum" in schema)
    most = least + 40 if high is None else int(high // step) - ("exclusiveMaximum" in schema)
    value = dice.randint(least, max(least, most)) * step
    return int(value) if whole else round(value, 6)


def _text_for(schema: dict[str, Any], dice: random.Random, words: list[str]) -> str:
    if "pattern" in schema:
        return next((shape for shape in _SHAPES if re.search(schema["pattern"], shape)), words[0])
    text = " ".join(dice.choices(words, k=2 + schema.get("minLength", 0)))
    return text[: schema.get("maxLength", 20 + schema.get("minLength", 0))]
