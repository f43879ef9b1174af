"""Deterministic stories, quizzes and lists about the small world.

    document(seed, lang) -> Document(text, probes)

A document keeps its facts, so every answer in it is true. A probe marks text
that can only be right by looking back: the answer to a question, or a list or
name said again. It is (start, end, end of the fact, kind), in characters. The
kind "again" marks who and what a scene has named already.
"""
import random
import string
import sys
from dataclasses import dataclass, field

import world_en
import world_zh

WORLDS = {"en": world_en, "zh": world_zh}
TOKENS_PER_CHAR = {"en": 0.245, "zh": 0.93}          # rough; only to aim at a length
PEOPLE_FACTS = ("home", "food", "pet", "job")


@dataclass
class Document:
    text: str = ""
    probes: list = field(default_factory=list)


class Teller:
    """Writes one document sentence by sentence."""

    def __init__(self, seed, lang):
        self.r = random.Random(f"{lang}-{seed}")
        self.lang, self.w = lang, WORLDS[lang]
        self.parts, self.length = [], 0
        self.probes, self.facts, self.asked, self.open_lists = [], {}, {}, []
        self.decks, self.used = {}, set()
        w, r = self.w, self.r
        self.cast = r.sample(w.NAMES, r.choice([2, 2, 3, 3, 4]))
        self.pair = self.cast[:2]                        # who acts; the others of the cast only have facts
        pairs = [w.COLOURED.format(c, k) for c in w.COLOURS for k in w.CONTAINERS]
        r.shuffle(pairs)
        each = {}
        for pair, colour in [(x, c) for x in pairs for c in w.COLOURS if x.startswith(c)]:
            each.setdefault(colour, []).append(pair)
        # Every colour once before one comes back: the colour tells the box.
        self.boxes = iter([each[c][turn] for turn in range(3) for c in r.sample(w.COLOURS, len(w.COLOURS))])
        self.treasures = iter(r.sample(w.OBJECTS, 10))

    # ---- text ------------------------------------------------------------------
    @property
    def size(self):
        """About how many tokens there are so far."""
        return self.length * TOKENS_PER_CHAR[self.lang]

    def raw(self, text):
        if text:
            self.parts.append(text)
            self.length += len(text)

    def say(self, text):
        """Appends one sentence."""
        if self.parts and self.parts[-1][-1] not in "\n ":
            self.raw(self.w.SPACE)
        self.raw(text[0].upper() + text[1:])

    def tell(self, text, slots, named=()):
        """Appends one sentence with its slots filled; marks what is `named` already. Returns all slots named now."""
        named, filled, spans = set(named), "", []
        for before, slot, _, _ in string.Formatter().parse(text):
            filled += before
            if slot is not None:
                end = len(filled) + len(slots[slot])
                if slot in named:
                    spans.append((len(filled), end))
                filled += slots[slot]
                named |= {"p", "q"} if slot in "pq" else {slot}       # once one of the two is named, the other is known
        self.say(filled)
        start = self.length - len(filled)
        self.probes += [(start + a, start + b, start + a, "again") for a, b in spans]
        return named

    def newline(self):
        if self.parts and self.parts[-1][-1] != "\n":
            self.raw("\n")

    def draw(self, name, items):
        """From a shuffled deck, so that nothing comes back before all was used."""
        deck = self.decks.get(name)
        if not deck:
            deck = self.decks[name] = self.r.sample(items, len(items))
        return deck.pop()

    def slots(self):
        """Values for the slots of one scene."""
        w, r = self.w, self.r
        p, q = r.sample(self.pair, 2)
        taken = {k[1] for k in self.facts if k[0] == "in"}
        o = self.draw("object", w.OBJECTS)
        while o in taken:
            o = self.draw("object", w.OBJECTS)
        a = self.draw("place", w.PLACES)
        return {"p": p, "q": q, "a": a, "b": r.choice([x for x in w.PLACES if x != a]), "o": o,
                "u": w.MEASURES[w.OBJECTS.index(o)], "f": self.draw("food", w.FOODS),
                "n": self.draw("animal", w.ANIMALS), "c": self.draw("colour", w.COLOURS),
                "m": r.choice(w.MOODS), "k": r.choice(w.NUMBERS)}

    # ---- facts -----------------------------------------------------------------
    def new_fact(self, kind=None):
        """States a fact that is not known yet; False if there is none left of this kind."""
        w, r = self.w, self.r
        kind = kind or r.choice(["in", "in", "in", *PEOPLE_FACTS])
        if kind == "in":
            subject, value = next(self.treasures, None), next(self.boxes, None)
            if subject is None:
                return False
        elif kind == "name":
            subject, value = "", self.strange_name()
            if ("name", "") in self.facts:
                return False
            self.say(r.choice(w.STRANGER).format(a=r.choice(w.PLACES)))
        else:
            free = [p for p in self.cast if (kind, p) not in self.facts]
            if not free:
                return False
            subject = r.choice(free)
            pool = {"home": w.PLACES, "food": w.FOODS, "pet": w.ANIMALS, "job": w.JOBS}[kind]
            used = {self.facts[k][0] for k in self.facts if k[0] == kind}
            value = r.choice([v for v in pool if v not in used])
        self.say(r.choice(w.FACTS[kind][0]).format(subject, s=r.choice(self.pair), v=value))
        self.facts[kind, subject] = (value, self.length)
        return True

    def strange_name(self, syllables=None):
        """An invented name; no syllable comes twice, so that what follows one is never in doubt."""
        r, w = self.r, self.w
        syllables = syllables or r.sample(w.SYLLABLES, len(w.SYLLABLES))
        if self.lang == "zh":
            return "".join(syllables.pop() for _ in range(min(len(syllables), r.choice([2, 3, 3, 4]))))
        words = [[syllables.pop() for _ in range(r.choice([2, 2, 3]))] for _ in range(r.choice([1, 2, 2])) if len(syllables) > 2]
        return " ".join("".join(x).capitalize() for x in words)

    def pick_fact(self, limit):
        known = [k for k in self.facts if self.asked.get(k, 0) < limit]
        return self.r.choice(known) if known else None

    def answer(self, before, value, after, fact_end, kind):
        """`before` is written already; the value becomes a probe."""
        self.raw(self.w.SPACE)
        start = self.length
        self.raw(value)
        self.probes.append((start, self.length, fact_end, kind))
        self.raw(after)
        return before

    def ask(self, key):
        """A question about a fact and its answer."""
        w, r = self.w, self.r
        _, question, before, after = w.FACTS[key[0]]
        value, end = self.facts[key]
        others = [p for p in self.cast if p != key[1]]
        forms = w.ASKING if len(others) > 1 else [f for f in w.ASKING if "{p}" not in f[0] + f[1]]
        p, q = r.sample(others if len(others) > 1 else self.cast, 2)
        lead, middle, close = (s.format(p=p, q=q) for s in r.choice(forms))
        # The opening quotation mark comes first, so the question keeps its capital.
        self.say(f"{lead}{question.format(key[1])}{middle}{before.format(key[1])}")
        self.answer(before, value, after + close, end, key[0])
        self.asked[key] = self.asked.get(key, 0) + 1

    def use(self, key):
        """A sentence that needs a fact without asking for it."""
        if key[0] not in self.w.USES or key in self.used:
            return
        self.used.add(key)
        value, end = self.facts[key]
        p = self.r.choice([x for x in self.pair if x != key[1]])
        q = self.pair[1 - self.pair.index(p)]
        before, after = self.r.choice(self.w.USES[key[0]])
        before = before.format(key[1], p=p)
        self.say(before)
        self.answer(before, value, after.format(q=q), end, "use")

    # ---- lists -----------------------------------------------------------------
    def items(self, longest):
        """Items of a list; no Chinese character and no invented syllable comes twice in it."""
        w, r = self.w, self.r
        n = r.randint(3, longest)
        if r.random() < 0.2:
            syllables = r.sample(w.SYLLABLES, len(w.SYLLABLES))
            out = []
            while len(out) < n and len(syllables) > 4:
                out.append(self.strange_name(syllables))
            return out
        pool = w.OBJECTS + w.FOODS + w.ANIMALS + w.NAMES if r.random() < 0.3 else r.choice(
            [w.OBJECTS, w.FOODS, w.ANIMALS, w.NAMES, w.PLACES, w.OBJECTS])
        out, used = [], set()
        for x in r.sample(pool, len(pool)):
            if len(out) < n and not (self.lang == "zh" and used & set(x)):
                out.append(x)
                used |= set(x)
        return out

    def open_list(self, longest=7):
        """A list said for the first time."""
        p = self.r.choice(self.cast)
        first, again = self.draw("list", self.w.LISTS)
        if any(x[0] == again.format(p=p) for x in self.open_lists):
            return
        text = self.w.JOIN.join(self.items(longest))
        self.say(first.format(p=p) + self.w.SPACE + text + self.w.STOP)
        self.open_lists.append((again.format(p=p), text, self.length))

    def close_list(self):
        """The same list again, once."""
        if not self.open_lists:
            return
        again, text, end = self.open_lists.pop(self.r.randrange(len(self.open_lists)))
        self.say(again)
        self.answer(again, text, self.w.STOP, end, "list")

    # ---- scenes ----------------------------------------------------------------
    def scene(self, time=""):
        s = self.slots()
        lines = [self.r.choice(group) for group in self.draw("scene", self.w.SCENES)]
        lead = lines[0] + self.w.STOP
        if time:
            lead = time + (" " if self.lang == "en" else "") + lead
        named = self.tell(lead, s)
        for line in lines[1:]:
            if line:
                named = self.tell(line, s, named)

    def day(self, number, asks):
        """One paragraph: morning, the custom of the weekday, a few scenes, night."""
        w, r = self.w, self.r
        name = w.DAYS[number % 7]
        self.newline()
        self.say(self.draw("morning", w.MORNING).format(day=name, **self.slots()))
        s = self.slots()
        named = set()
        for group in w.WEEKDAY[number % 7]:
            named = self.tell(r.choice(group), s, named)
        for time in sorted(r.sample(range(1, len(w.TIMES)), r.choice([1, 2, 2, 3]))):
            self.scene(w.TIMES[time] if r.random() < 0.7 else "")
            x = r.random()
            if x < 0.35:
                self.new_fact()
            elif x < 0.35 + asks:
                key = self.pick_fact(2)
                if key:
                    self.ask(key)
            elif x < 0.55 + asks:
                key = self.pick_fact(3)
                if key:
                    self.use(key)
            elif x < 0.6 + asks:
                self.close_list() if self.open_lists else self.open_list(5)
        if r.random() < 0.6:
            self.say(self.draw("night", w.NIGHT).format(**self.slots()))

    # ---- whole documents ---------------------------------------------------------
    def title(self, style):
        self.raw(self.r.choice(self.w.TITLES[style]).format(**self.slots()) + "\n")

    def intro(self):
        s = self.slots()
        self.say(self.r.choice(self.w.INTRO))
        self.tell(self.r.choice(self.w.FRIENDS), s)

    def story(self, size):
        self.cast = self.pair
        self.title("story")
        self.intro()
        for _ in range(self.r.randint(1, 3)):
            self.new_fact()
        day = self.r.choice([0, 0, 0, self.r.randrange(7)])
        while self.size < size:
            self.day(day, 0.25)
            day += 1
        self.newline()
        while self.open_lists:
            self.close_list()
        self.say(self.r.choice(self.w.CLOSING))

    def quiz(self, size):
        """Facts, some scenes in between, and questions at the end."""
        r = self.r
        self.title("quiz")
        share = r.choice([0.0, 0.2, 0.4, 0.7])           # of the facts that come later, between the scenes
        facts = r.randint(2, 6)
        for _ in range(1 + int(facts * (1 - share))):
            self.new_fact(r.choice([None, None, None, None, "name"]))
        self.newline()
        while self.size < size * 0.8:
            self.scene(r.choice(self.w.TIMES))
            if r.random() < share:
                self.new_fact()
            elif r.random() < 0.15 and self.facts:
                self.ask(r.choice(list(self.facts)))
            if r.random() < 0.2:
                self.newline()
                self.say(self.draw("morning", self.w.MORNING).format(day=r.choice(self.w.DAYS), **self.slots()))
        self.newline()
        for key in r.sample(list(self.facts), min(len(self.facts), r.randint(2, 4))):
            self.ask(key)

    def facts_only(self, size):
        """Many facts of one or two kinds side by side, and all are asked for: only the name tells which."""
        r = self.r
        self.title("quiz")
        people = r.sample(self.w.NAMES, 18)
        while self.size < size and people:
            self.facts, self.asked = {}, {}
            self.cast = [people.pop() for _ in range(min(len(people), r.choice([3, 4, 5, 6, 6])))]
            if len(self.cast) < 3:
                break
            self.pair = self.cast[:2]
            kinds = r.sample(["in", "in", *PEOPLE_FACTS], r.choice([1, 1, 2]))
            for _ in range(r.randint(3, 7)):
                self.new_fact(r.choice(kinds))
            self.newline()
            for _ in range(r.choice([0, 0, 1, 2])):
                self.scene(r.choice(self.w.TIMES))
            for key in r.sample(list(self.facts), len(self.facts)):
                self.ask(key)
            if next(self.treasures, None) is None or r.random() < 0.3:
                break
            self.newline()
            self.say(self.draw("morning", self.w.MORNING).format(day=r.choice(self.w.DAYS), **self.slots()))

    def copy(self, size):
        """Lists and names said again after a while."""
        r = self.r
        self.title("copy")
        while self.size < size:
            for _ in range(r.choice([1, 1, 2])):
                self.open_list()
            if r.random() < 0.4:
                self.new_fact("name")
            gap = self.size + r.choice([0, 0, 20, 60, 100, 150, 250]) * min(1, size / 250)
            while self.size < gap:
                self.scene(r.choice(self.w.TIMES))
            while self.open_lists:
                self.close_list()
                if r.random() < 0.3:
                    break
            if ("name", "") in self.facts and r.random() < 0.7:
                self.ask(("name", ""))
            self.newline()
            self.say(self.draw("morning", self.w.MORNING).format(day=r.choice(self.w.DAYS), **self.slots()))
        while self.open_lists:
            self.close_list()


def document(seed, lang, size=None, style=None):
    """The document of a seed. size: about how many tokens; style: story, quiz, facts_only or copy."""
    t = Teller(seed, lang)
    style = style or t.r.choices(["story", "quiz", "copy"], [5, 3, 2])[0]
    size = size or t.r.choice([150, 300, 500, 900])
    getattr(t, style)(size)
    t.newline()
    return Document("".join(t.parts), t.probes)


if __name__ == "__main__":
    first = sys.argv[1] if len(sys.argv) > 1 else "0"
    for language in WORLDS:
        for kind in ("story", "quiz", "copy"):
            d = document(first, language, 260, kind)
            print(d.text)
            print(len(d.text), [(d.text[a:b], k) for a, b, _, k in d.probes], "\n")
