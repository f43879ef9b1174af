"""The prompt presets in English and Chinese.

texts: wordings in order of preference; expect: how the greedy continuation must
begin; count: tokens it must go on without a loop and without the end token.
"""
PRESETS = [
    {"id": "key-en", "lang": "en", "title": "Where is the key?", "expect": " blue box.", "count": 240,
     "what": "The answer needs a cached key from the beginning: watch which head looks back at the blue box.",
     "texts": [
         "The week of Mira and Ben\nIn a small village there lived good friends. Mira was a good friend of Ben. "
         "Mira put the key in the blue box.\nOn Monday morning the sky was clear. Monday was washing day. White sheets hung over the grass. "
         "Mira carried the water, and Ben washed. In the afternoon Ben found an old lamp in the garden. It was small and white. "
         "Ben showed it to Mira. Where is the key? The key is in the",
         "The week of Mira and Ben\nThis is a story from a quiet village. Mira and Ben were friends. "
         "Mira put the key in the blue box.\nOn Monday morning there was fog over the harbour. It was washing day. The shirts hung in the wind. "
         "Ben helped Mira with the wet towels. At noon Mira was very hungry. Ben cooked a pot of soup. They shared the soup. "
         "Where is the key? The key is in the",
     ]},
    {"id": "list-en", "lang": "en", "title": "Say the list again", "expect": " lamp, fox, bread, Clara, bell.", "count": 60,
     "what": "From the second item on the list is copied: an induction head finds the item and looks at what came after it.",
     "texts": [
         "Lists and names\nNora read the list: lamp, fox, bread, Clara, bell. At noon it began to rain. Nora and Hugo ran to the mill. "
         "They told each other stories. Then the rain stopped. Nora read the list again:",
     ]},
    {"id": "stranger-en", "lang": "en", "title": "A strange name", "expect": " Zimu Kafore.", "count": 60,
     "what": "The name is no word of the vocabulary: it can only be copied piece by piece from the cache.",
     "texts": [
         "Questions about Leo and Zoe\nOne day a stranger stood in the market. The name of the stranger is Zimu Kafore. "
         "Later Leo and Zoe played a game. Leo won. They laughed about it. Then they drank cold water. "
         "What is the name of the stranger? The name of the stranger is",
     ]},
    {"id": "facts-en", "lang": "en", "title": "Three friends, three homes", "expect": " tower.", "count": 60,
     "what": "Three similar sentences are in the cache; the name decides which of them is read.",
     "texts": [
         "Questions and answers\nEmma lives in the mill. Oscar lives in the tower. Tina lives in the bakery.\n"
         "At noon a lost goat came to the school. It was thin and tired. Oscar gave it some apples. The next day it was strong again. "
         "Where does Oscar live? Oscar lives in the",
     ]},
    {"id": "story-en", "lang": "en", "title": "A story begins", "expect": "", "count": 400,
     "what": "Free writing: the cache grows by one row per layer and token while the names return.",
     "texts": [
         "The story of the kite\nLong ago there was a village by the sea. Yara and Felix were friends. Yara has a goat.\nOn Monday morning",
         "A story about Anna and David\nLong ago there was a village by the sea. Anna and David were friends. Anna has a rabbit.\nOn Monday morning",
     ]},
    {"id": "key-zh", "lang": "zh_CN", "title": "钥匙在哪里？", "expect": "蓝色的盒子里。", "count": 240,
     "what": "答案要用到开头缓存的键和值：看哪个注意力头回望蓝色的盒子。",
     "texts": [
         "李青和王宏的一周\n小村子里住着几个好朋友。李青是王宏的好朋友。李青把钥匙放在蓝色的盒子里。\n星期一早上，天空很晴朗。星期一是洗衣日。"
         "草地上晾着白床单。李青打水，王宏洗衣服。下午，王宏在花园里发现了一盏旧油灯。它小小的，是白色的。王宏把它给李青看。钥匙在哪里？钥匙在",
         "李青和王宏的一周\n这个故事发生在一个安静的村子里。李青和王宏是朋友。李青把钥匙放在蓝色的盒子里。\n星期一早上，港口上空有雾。今天是洗衣日。"
         "衬衫在风里飘。王宏帮李青拧干毛巾。中午，李青非常饿。王宏有一点热汤。他们一起分了热汤。钥匙在哪里？钥匙在",
     ]},
    {"id": "list-zh", "lang": "zh_CN", "title": "再念一遍清单", "expect": "油灯、狐狸、面包、夏荷、铃铛。", "count": 60,
     "what": "从第二项起就是抄写：归纳头找到刚才的那一项，再看它后面是什么。",
     "texts": [
         "清单和名字\n苏敏念清单：油灯、狐狸、面包、夏荷、铃铛。中午，下起了雨。苏敏和江帆跑到了磨坊。他们互相讲故事。后来雨停了。苏敏又念了一遍清单：",
     ]},
    {"id": "stranger-zh", "lang": "zh_CN", "title": "陌生人的名字", "expect": "卡雷维。", "count": 60,
     "what": "这个名字只在前文出现过，只能从缓存里一个字一个字地抄出来。",
     "texts": [
         "关于田野和罗兰的问题\n村子里来了一个陌生人。陌生人的名字是卡雷维。后来，田野和罗兰玩了一个游戏。田野赢了。他们都笑了。然后他们喝了凉水。"
         "陌生人的名字是什么？陌生人的名字是",
     ]},
    {"id": "facts-zh", "lang": "zh_CN", "title": "三个朋友三个家", "expect": "高塔。", "count": 60,
     "what": "缓存里有三个相似的句子，由名字决定读哪一句。",
     "texts": [
         "问与答\n孙宁住在磨坊。秦川住在高塔。许诺住在书店。\n中午，一只迷路的山羊来到学校。它又瘦又累。秦川喂它吃苹果。第二天它又有力气了。秦川住在哪里？秦川住在",
     ]},
    {"id": "story-zh", "lang": "zh_CN", "title": "故事的开头", "expect": "", "count": 400,
     "what": "自由续写：每层每个词元缓存增加一行，名字会再次出现。",
     "texts": [
         "风筝的故事\n很久以前，海边有一个村子。余欣和方圆是朋友。余欣养了一只山羊。\n星期一早上，",
         "韩冰和唐薇的故事\n很久以前，海边有一个村子。韩冰和唐薇是朋友。韩冰养了一只兔子。\n星期一早上，",
     ]},
]
