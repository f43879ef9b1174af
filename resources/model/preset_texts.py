"""The prompt presets in English and Chinese.

texts: wordings in order of preference; expect: how the greedy continuation must
begin ({p}, {q}, {a} as in the text); count: tokens it must go on without a loop,
without the end token and without one name twice in a sentence.
"""
from itertools import product

PAIRS = {"en": [("Mira", "Ben"), ("Nora", "Hugo"), ("Clara", "Leo"), ("Emma", "Oscar"), ("Anna", "David"), ("Yara", "Felix"), ("Rosa", "Sam")],
         "zh": [("李青", "王宏"), ("苏敏", "江帆"), ("孙宁", "秦川"), ("余欣", "方圆"), ("夏荷", "何洁"), ("陈霞", "许诺"), ("唐薇", "罗兰")]}
PLACES = {"en": ["harbour", "mill", "garden", "forest"], "zh": ["港口", "磨坊", "花园", "森林"]}


def wordings(lang, text):
    """The text with every pair of names and every place."""
    return [text.format(p=p, q=q, a=a) for a, (p, q) in product(PLACES[lang], PAIRS[lang])]


KEY_EN = ["The week of {p} and {q}\nIn a small village there lived good friends. {p} was a good friend of {q}. {p} hid the key. The key is in the blue box.\n"
          "On Monday morning the sun came up behind the {a}. It was washing day. The shirts hung in the wind. {p} carried the water, and {q} washed. "
          "In the afternoon {q} found an old lamp in the {a}. It was small and white. {q} showed it to {p}. \"What a fine lamp,\" said {p}. "
          "Where is the key? The key is in the",
          "The week of {p} and {q}\nThis is a story from a quiet village. {p} and {q} were friends. {p} hid the key. The key is in the blue box.\n"
          "On Monday morning there was fog over the {a}. Monday was washing day. White sheets hung over the grass. {q} helped {p} with the wet towels. "
          "At noon it began to rain. {p} and {q} ran to the {a}. They told each other stories. Then the rain stopped. "
          "Where is the key? The key is in the"]
KEY_ZH = ["{p}和{q}的一周\n小村子里住着几个好朋友。{p}是{q}的好朋友。{p}把钥匙藏好了。钥匙在蓝色的盒子里。\n星期一早上，太阳从{a}后面升起来。今天是洗衣日。"
          "衬衫在风里飘。{p}打水，{q}洗衣服。下午，{q}在{a}里发现了一盏旧油灯。它小小的，是白色的。{q}把它给{p}看。“多好的油灯啊。”{p}说。钥匙在哪里？钥匙在",
          "{p}和{q}的一周\n这个故事发生在一个安静的村子里。{p}和{q}是朋友。{p}把钥匙藏好了。钥匙在蓝色的盒子里。\n星期一早上，{a}上空有雾。星期一是洗衣日。"
          "草地上晾着白床单。{q}帮{p}拧干毛巾。中午，下起了雨。{p}和{q}跑到了{a}。他们互相讲故事。后来雨停了。钥匙在哪里？钥匙在"]
STORY_EN = ["The story of the kite\nLong ago there was a village by the sea. {p} and {q} were friends. {p} likes honey.\nOn Monday morning there was fog over the {a}.",
            "A story about {p} and {q}\nIn a small village there lived good friends. {p} and {q} were friends. {q} has a goat.\nOn Monday morning the sky was clear."]
STORY_ZH = ["{p}和{q}的一周\n从前，山间有一个小村子。{p}和{q}做了三年的朋友。{p}把钥匙藏好了。钥匙在红色的箱子里。\n星期二早上，",
            "风筝的故事\n很久以前，海边有一个村子。{p}和{q}是朋友。{p}爱吃蜂蜜。\n星期一早上，{a}上空有雾。",
            "{p}和{q}的故事\n小村子里住着几个好朋友。{p}和{q}是朋友。{q}养着山羊。\n星期一早上，天空很晴朗。"]
LIST_EN = ("Lists and names\n{p} read the list: lamp, fox, bread, Clara, bell. At noon it began to rain. {p} and {q} ran to the {a}. "
           "They told each other stories. Then the rain stopped. {p} read the list again:")
LIST_ZH = "清单和名字\n{p}念清单：油灯、狐狸、面包、夏荷、铃铛。中午，下起了雨。{p}和{q}跑到了{a}。他们互相讲故事。后来雨停了。{p}又念了一遍清单："
STRANGER_EN = ("Questions about {p} and {q}\nOne day a stranger stood in the {a}. The name of the stranger is Zimu Kafore. "
               "Later {p} and {q} played a game. {p} won. They laughed about it. Then they drank cold water. "
               "What is the name of the stranger? The name of the stranger is")
STRANGER_ZH = ("关于{p}和{q}的问题\n村子里来了一个陌生人。陌生人的名字是卡雷维。后来，{p}和{q}玩了一个游戏。{p}赢了。他们都笑了。"
               "然后他们喝了凉水。陌生人的名字是什么？陌生人的名字是")
FACTS_EN = ("Questions about {p} and {q}\nZoe has a duck. {p} has a fox. {q} has a turtle.\nAt noon a lost goat came to the {a}. It was thin and tired. "
            "{p} gave it some apples. The next day it was strong again. Which animal does {p} have? {p} has a")
FACTS_ZH = ("关于{p}和{q}的问题\n沈露住在书店。{p}住在高塔。{q}住在谷仓。\n中午，一只迷路的山羊来到{a}。它又瘦又累。{p}喂它吃苹果。"
            "第二天它又有力气了。{p}住在哪里？{p}住在")


def preset(name, lang, title, what, texts, expect, count):
    short = lang[:2]
    return {"id": f"{name}-{short}", "lang": lang, "title": title, "what": what, "expect": expect, "count": count,
            "texts": [w for t in texts for w in wordings(short, t)]}


PRESETS = [
    preset("key", "en", "Where is the key?", "The answer is read from the beginning of the story: watch which head looks back at the blue box.",
           KEY_EN, " blue box.", 240),
    preset("list", "en", "Say the list again", "The list is copied: an induction head finds the last item and looks at what came after it.",
           [LIST_EN], " lamp, fox, bread, Clara, bell.", 14),
    preset("stranger", "en", "A strange name", "The name is in no vocabulary: it can only be copied piece by piece from what was read before.",
           [STRANGER_EN], " Zimu Kafore.", 8),
    preset("facts", "en", "Three friends, three animals", "Three similar sentences are cached; the name decides which of them is read.",
           [FACTS_EN], " fox.", 3),
    preset("story", "en", "A story begins", "Free writing: the cache grows with every token, and the names keep coming back.", STORY_EN, "", 260),
    preset("key", "zh_CN", "钥匙在哪里？", "答案要从故事开头读出来：看哪个注意力头回望“蓝色的盒子”。", KEY_ZH, "蓝色的盒子里。", 240),
    preset("list", "zh_CN", "再念一遍清单", "清单是抄出来的：归纳头找到刚写的那一项，再看它后面是什么。", [LIST_ZH], "油灯、狐狸、面包、夏荷、铃铛。", 15),
    preset("stranger", "zh_CN", "陌生人的名字", "这个名字不在词表里，只能从前文一个字一个字地抄出来。", [STRANGER_ZH], "卡雷维。", 4),
    preset("facts", "zh_CN", "三个朋友三个家", "缓存里有三个相似的句子，由名字决定读哪一句。", [FACTS_ZH], "高塔。", 3),
    preset("story", "zh_CN", "故事的开头", "自由续写：每写一个词元缓存就增长，名字会一再出现。", STORY_ZH, "", 230),
]
