"""The small world in English: who and what there is, and the sentences about it.

Slots of a sentence: {p} and {q} two people, {a} and {b} two places, {o} an object,
{f} a food, {n} an animal, {c} a colour, {x} a coloured container, {m} a mood,
{k} a small number. A paragraph never starts with a name, so that a name
always follows a space and is always the same token.
"""
NAMES = ("Mira Ben Clara David Emma Felix Greta Hugo Iris Jonas Kate Leo "
         "Nora Oscar Paula Rosa Sam Tina Viktor Wanda Yara Zoe Tolan Anna").split()
PLACES = ("kitchen garden attic cellar library market station school "
          "harbour forest bakery tower barn mill museum park").split()
OBJECTS = ("key coin letter map ring spoon candle rope book cup hat bell "
           "drum scarf lamp knife shell stone feather button mirror brush kite whistle").split()
MEASURES = [""] * len(OBJECTS)
CONTAINERS = "box bag drawer basket jar chest bucket pot".split()
COLOURS = "blue red green yellow white black brown grey".split()
FOODS = "bread soup rice honey cheese apples pears cake beans nuts fish plums".split()
ANIMALS = "cat dog goat crow duck horse rabbit turtle swallow fox".split()
JOBS = "baker sailor teacher doctor painter farmer singer tailor".split()
MOODS = "happy tired hungry curious calm proud".split()
NUMBERS = "two three four five six seven".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
SYLLABLES = "bo ka zi mu re to pa ne lu si ga fo vi da ho".split()
COLOURED = "{0} {1}"
JOIN, SPACE, STOP = ", ", " ", "."

TITLES = {
    "story": ["The week of {p} and {q}", "The story of the {o}", "A story about {p} and {q}", "What happened in the {a}"],
    "quiz": ["Questions about {p} and {q}", "Who knows the answer?", "Questions and answers"],
    "copy": ["Say it again", "Lists and names", "The echo in the {a}"],
}
INTRO = ["There was once a small village between the hills.", "Long ago there was a village by the sea.",
         "This is a story from a quiet village.", "Everybody in the village knew everybody.",
         "In a small village there lived good friends."]
FRIENDS = ["{p} and {q} were friends.", "{p} and {q} had been friends for {k} years.", "{p} was a good friend of {q}."]
CLOSING = ["And so the week came to its end.", "That is the end of the story.", "And they were all happy in the village.",
           "Then everybody went home, and the story ends here."]

# kind: sentences that state the fact; question; answer up to the value; rest of the answer.
# What stands right before the value is the same when a fact is stated, asked for and used: then
# finding it again needs the few tokens before it and no grammar, which is what so small a model can learn.
FACTS = {
    "in": (["The {0} is in the {v}.", "{s} hid the {0}. The {0} is in the {v}.", "Everybody knows that the {0} is in the {v}.",
            "{s} said: \"The {0} is in the {v}.\""],
           "Where is the {0}?", "The {0} is in the", "."),
    "home": (["{0} lives in the {v}.", "Everybody knows that {0} lives in the {v}."],
             "Where does {0} live?", "{0} lives in the", "."),
    "food": (["{0} likes {v}.", "Most of all {0} likes {v}."], "What does {0} like?", "{0} likes", "."),
    "pet": (["{0} has a {v}.", "At home {0} has a {v}."], "Which animal does {0} have?", "{0} has a", "."),
    "job": (["{0} is a {v}.", "Everybody knows that {0} is a {v}."], "What is the work of {0}?", "{0} is a", "."),
    "name": (["The name of the stranger is {v}.", "The stranger said that the name of the stranger is {v}."],
             "What is the name of the stranger?", "The name of the stranger is", "."),
}
# Later sentences that use a fact without a question: before and after the value.
USES = {
    "in": [("{p} looked for the {0}. \"The {0} is in the", ",\" said {q}."), ("{p} said: \"The {0} is in the", ".\"")],
    "home": [("{p} said: \"{0} lives in the", ".\""), ("{p} knows that {0} lives in the", ".")],
    "food": [("{p} said: \"{0} likes", ".\""), ("{p} knows that {0} likes", ".")],
    "pet": [("{p} said: \"{0} has a", ".\""), ("{p} knows that {0} has a", ".")],
    "job": [("{p} said: \"{0} is a", ".\""), ("{p} knows that {0} is a", ".")],
}
ASKING = [("{p} asked: \"", "\" {q} answered: \"", "\""), ("\"", "\" asked {p}. {q} said: \"", "\""), ("", " ", ""), ("", " ", "")]

LISTS = [("{p} read the list:", "{p} read the list again:"), ("{p} sang the song:", "{p} sang the song again:"),
         ("{p} called into the well:", "And the echo of {p} answered:"), ("{p} wrote on the wall:", "On the wall of {p} it still said:")]
STRANGER = ["A stranger came to the village.", "One day a stranger stood in the {a}."]

MORNING = ["On {day} morning the sky was clear.", "On {day} morning there was fog over the {a}.", "On {day} morning it rained a little.",
           "On {day} morning the sun came up behind the {a}.", "On {day} morning a cold wind blew from the {a}."]
WEEKDAY = [
    [["Monday was washing day.", "It was washing day."], ["The shirts hung in the wind.", "White sheets hung over the grass."],
     ["{p} helped {q} with the wet towels.", "{p} carried the water, and {q} washed."]],
    [["Tuesday was market day.", "It was market day."], ["The farmers brought {f} and eggs.", "There were carts full of {f}."],
     ["{p} bought some {f} for {q}.", "{p} sold {k} baskets of {f}."]],
    [["Wednesday was baking day.", "It was baking day."], ["The ovens were hot, and the air was sweet.", "There was flour on every table."],
     ["{p} baked a big loaf for {q}.", "{p} and {q} made {k} small cakes."]],
    [["Thursday was music day.", "It was music day."], ["People played the fiddle in the street.", "There was music in every house."],
     ["{p} played, and {q} sang.", "{q} taught {p} a new song."]],
    [["Friday was fishing day.", "It was fishing day."], ["The boats left before dawn.", "The nets were full."],
     ["{p} caught {k} fish, and {q} caught none.", "{p} and {q} sat by the river for hours."]],
    [["Saturday was dancing day.", "It was dancing day."], ["Lanterns hung in all the trees.", "The old people clapped their hands."],
     ["{p} danced with {q} until midnight.", "{p} wore a {c} coat, and {q} wore a {c} hat."]],
    [["Sunday was a day of rest.", "It was a day of rest."], ["Nobody worked.", "The streets were quiet."],
     ["{p} and {q} slept until noon.", "{p} sat in the sun and thought of {q}."]],
]
TIMES = ["", "At noon", "After lunch", "In the afternoon", "Later", "Before sunset"]
# A scene: the sentences of one meeting, in order; one is taken from each group, a group may start with "".
SCENES = [
    [["{p} walked to the {a}", "{p} went to the {a}"], ["There {p} met {q}.", "{q} was already there."], ["A {n} sat on a stone.", "They saw a {n}."],
     ["The {n} looked at them and ran away.", "The {n} was not afraid of them."]],
    [["{p} was very hungry", "{p} had eaten nothing all day", "{p} was hungry in the {a}"], ["{q} had some {f}.", "{q} cooked a pot of {f}.", "{q} brought {p} some {f}."], ["They sat down in the {a} and ate.", "They shared the {f}."],
     ["", "It tasted very good.", "Nothing was left."]],
    [["{p} found an old {o} in the {a}", "{p} picked up a {o} near the {a}"], ["It was small and {c}.", "It was {c} and a little dirty."], ["{p} showed it to {q}.", "{q} wanted to see it."],
     ["{q} had never seen such a {o}.", "\"What a fine {o},\" said {q}."]],
    [["{q} broke a {o}", "{q} dropped a {o} in the {a}", "the {o} of {q} broke in the {a}"], ["{p} was not angry.", "{p} only smiled.", "{p} laughed."], ["They mended it with some glue.", "{p} mended it the same day."], ["", "Soon it was as good as new."]],
    [["it began to rain", "a storm came over the hills"], ["{p} and {q} ran to the {a}.", "{p} and {q} stood under the roof of the {a}."], ["They waited a long time.", "They told each other stories."],
     ["Then the rain stopped.", "At last the sun came back."]],
    [["{p} wrote a letter to {q}", "{p} sent a note to {q}", "{q} found a letter of {p} in the {a}"], ["It said: \"Come to the {a}.\"", "It said: \"I miss you.\"", "It said: \"Do you like {f}?\""], ["{q} read it twice.", "{q} smiled and read it again."], ["", "The next answer came quickly."]],
    [["{p} and {q} played a game", "{p} and {q} ran a race to the {a}", "{p} and {q} played {k} games in the {a}"], ["{p} won.", "{q} won.", "{p} won {k} coins."], ["They laughed about it.", "Both were out of breath."], ["", "Then they drank cold water."]],
    [["{p} could not find the way to the {a}", "{p} was lost near the {a}"], ["A {n} showed the way.", "{q} came with a lantern."], ["They walked through the {b}.", "It was not far."], ["", "{p} was glad to be back."]],
    [["a {n} stood at the door of the {a}", "a lost {n} came to the {a}"], ["It was wet and cold.", "It was thin and tired."], ["{p} gave it some {f}.", "{q} brought it some milk."], ["The {n} slept by the fire.", "The next day it was strong again."]],
    [["{p} told {q} about a dream", "{p} had a strange dream", "{p} dreamed of the {a}"], ["In the dream a {n} could speak.", "In the dream the {a} was made of {f}.", "In the dream the {n} was {c}."], ["{q} laughed for a long time.", "{q} did not know what it meant."], ["", "Dreams are strange things."]],
    [["{p} painted a picture of the {a}", "{p} drew a picture of a {n}"], ["There was a lot of {c} in it.", "The sky in it was {c}."], ["{q} liked the picture.", "{q} hung it on the wall."], ["", "{p} was proud."]],
    [["{p} planted {k} trees behind the {a}", "{p} dug a deep hole near the {a}"], ["{q} brought water.", "{q} helped with the stones."], ["It was hard work.", "They worked until dark."], ["", "In spring there would be flowers."]],
    [["{p} and {q} cleaned the {a}", "{p} and {q} swept the floor of the {a}", "{p} helped {q} in the {a}"], ["There was dust everywhere.", "They found {k} old coins.", "They found an old {o}."], ["After that it looked like new.", "They opened all the windows."], ["", "Then they drank tea."]],
    [["{p} felt ill", "{p} had a bad cold", "{p} felt ill in the {a}"], ["{q} made hot tea.", "{q} brought a warm blanket.", "{q} brought some {f}."], ["{p} slept for {k} hours.", "{p} drank it slowly."], ["After that {p} felt much better.", "In the evening {p} could laugh again."]],
    [["{p} taught {q} how to swim", "{p} taught {q} how to whistle", "{p} taught {q} a song in the {a}"], ["It was not easy.", "At first it did not work.", "{q} laughed for a long time."], ["{q} tried {k} times.", "{q} did not give up."], ["Then it worked.", "At last {q} could do it."]],
    [["{p} and {q} talked for a long time", "{p} and {q} sat on a bench near the {a}"], ["\"Do you like {f}?\" asked {p}.", "\"Have you seen my {n}?\" asked {q}."], ["\"Yes, of course,\" was the answer.", "\"No, not today,\" was the answer."], ["", "Then they went on."]],
    [["there was a strange noise in the {a}", "a bell rang in the {a}"], ["{p} was not afraid.", "{p} took a lamp and went to look."], ["It was only a {n}.", "It was only the wind."], ["{q} laughed.", "", "Everybody was glad."]],
    [["{p} bought a {c} {o} at the {a}", "{p} made a {c} {o} out of wood"], ["It was a present for {q}.", "It cost {k} coins."], ["{q} was very {m}.", "{q} thanked {p}."], ["", "It was the best present of all."]],
    [["the children came to the {a}", "{k} children played in the {a}"], ["{p} showed them the {n}.", "{p} told them a story about a {n}."], ["They wanted to hear more.", "They asked a hundred questions."], ["", "{q} brought them {f}."]],
    [["{p} climbed the hill behind the {a}", "{p} looked down from the roof of the {a}"], ["From there the houses looked small.", "Far away there was a ship."], ["{q} waved from below.", "{q} came up later."], ["", "They stayed until the stars came out."]],
]
NIGHT = ["At night the moon stood over the {a}.", "Then the lamps went out one by one.", "{p} was {m} and fell asleep.",
         "{p} said good night to {q}.", "At night only the {n} was awake.", "It was late, and {p} closed the door.", "That night {p} dreamed of {f}."]
