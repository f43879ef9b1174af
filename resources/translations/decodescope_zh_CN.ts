<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN" sourcelanguage="en">
<context>
    <name>AttentionPanel</name>
    <message>
        <location filename="../../ui/panels/attention/attention_panel.cpp" line="35"/>
        <source>layers × heads: click to choose</source>
        <translation>层 × 头：点击选择</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/attention_panel.cpp" line="39"/>
        <source>mean over heads</source>
        <translation>各头平均</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/attention_panel.cpp" line="40"/>
        <source>hide below 0.02</source>
        <translation>隐藏低于 0.02 的</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/attention_panel.cpp" line="58"/>
        <source>rows: token being computed; columns: token it reads from; one fixed scale 0 to 1</source>
        <translation>行：正在计算的词元；列：它读取的词元；固定标尺 0 到 1</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/attention_panel.cpp" line="76"/>
        <source>Zoom out (−)</source>
        <translation>缩小 (−)</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/attention_panel.cpp" line="77"/>
        <source>Zoom in (+)</source>
        <translation>放大 (+)</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/attention_panel.cpp" line="78"/>
        <source>fit</source>
        <translation>适应</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/attention_panel.cpp" line="78"/>
        <source>Everything in view (0)</source>
        <translation>显示全部 (0)</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/attention_panel.cpp" line="108"/>
        <source>Attention of layer %1, mean over heads</source>
        <translation>第 %1 层的注意力，各头平均</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/attention_panel.cpp" line="109"/>
        <source>Attention of layer %1, head %2</source>
        <translation>第 %1 层第 %2 头的注意力</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/attention_panel.cpp" line="116"/>
        <source>Attention of all heads</source>
        <translation>所有头的注意力</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/attention_panel.cpp" line="164"/>
        <source>finds the earlier mention (induction, from the model card)</source>
        <translation>找到之前的出现（归纳头，据模型卡）</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/attention_panel.cpp" line="165"/>
        <source>reads the token before (from the model card)</source>
        <translation>读取前一个词元（据模型卡）</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/attention_panel.cpp" line="166"/>
        <source>rests on the first token (from the model card)</source>
        <translation>停在第一个词元上（据模型卡）</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/attention_panel.cpp" line="167"/>
        <source>no single role on the model card</source>
        <translation>模型卡上没有单一角色</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/attention_panel.cpp" line="174"/>
        <source>L%1: mean over its heads</source>
        <translation>L%1：各头平均</translation>
    </message>
</context>
<context>
    <name>CachePanel</name>
    <message>
        <location filename="../../ui/panels/cache/cache_panel.cpp" line="52"/>
        <source>layers down, positions right</source>
        <translation>纵向为层，横向为位置</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_panel.cpp" line="55"/>
        <source>positions above, memory below</source>
        <translation>上为位置，下为内存</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_panel.cpp" line="79"/>
        <source>layers</source>
        <translation>逐层</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_panel.cpp" line="79"/>
        <source>Keys and values, layer by layer</source>
        <translation>逐层查看键和值</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_panel.cpp" line="80"/>
        <source>map</source>
        <translation>内存图</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_panel.cpp" line="80"/>
        <source>Cache map: where each token lies in memory, and who owns it</source>
        <translation>缓存图：每个词元在内存中的位置，以及归谁所有</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_panel.cpp" line="86"/>
        <source>Zoom out (−)</source>
        <translation>缩小 (−)</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_panel.cpp" line="87"/>
        <source>Zoom in (+)</source>
        <translation>放大 (+)</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_panel.cpp" line="88"/>
        <source>fit</source>
        <translation>适应</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_panel.cpp" line="88"/>
        <source>Everything in view (0)</source>
        <translation>显示全部 (0)</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_panel.cpp" line="114"/>
        <source>KV cache: layers and positions</source>
        <translation>KV 缓存：层与位置</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_panel.cpp" line="122"/>
        <source>Cache map: positions and memory</source>
        <translation>缓存图：位置与内存</translation>
    </message>
</context>
<context>
    <name>CachePlacement</name>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="29"/>
        <source>owned by this conversation (%1) alone</source>
        <translation>只归本对话（%1）所有</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="31"/>
        <source>shared: owned by conversations %1; this one is %2</source>
        <translation>共享：归对话 %1 所有；本对话是 %2</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="35"/>
        <source>owned by conversation %1, not by this one</source>
        <translation>归对话 %1 所有，不归本对话</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="36"/>
        <source>free, but its tokens can still be found, until it is reclaimed</source>
        <translation>空闲，但在被回收之前仍可按词元找到</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="37"/>
        <source>free: nobody owns it any more</source>
        <translation>空闲：已无人拥有</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="38"/>
        <source>set aside, never written</source>
        <translation>已预留，从未写入</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="66"/>
        <source>Page %1, one slot</source>
        <translation>第 %1 页，一个槽位</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="67"/>
        <source>Page %1 · slots %2 to %3</source>
        <translation>第 %1 页 · 槽位 %2 到 %3</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="72"/>
        <source>holds position %1 · %2 in all layers [derived]</source>
        <translation>存放位置 %1 · 各层合计 %2 [推算]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="76"/>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="98"/>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="180"/>
        <source>%1 in all layers [derived]</source>
        <translation>各层合计 %1 [推算]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="79"/>
        <source>%1 of %2 tokens: positions %3 to %4 · %5 in all layers [derived]</source>
        <translation>%1 / %2 个词元：位置 %3 到 %4 · 各层合计 %5 [推算]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="86"/>
        <source>last page: %1 slots empty, %2 wasted [derived]</source>
        <translation>最后一页：%1 个槽位空着，浪费 %2 [推算]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="91"/>
        <source>reclaimed: it was free the longest, and what it held can no longer be found</source>
        <translation>已回收：它空闲得最久，原来的内容不能再被找到</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="96"/>
        <source>Slot %1</source>
        <translation>槽位 %1</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="99"/>
        <source>reserved, empty</source>
        <translation>预留，空</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="100"/>
        <source> · holds position %1 · </source>
        <translation> · 存放位置 %1 · </translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="108"/>
        <source>the next token needs a copy of the last page first: it is shared, and goes to page %1</source>
        <translation>最后一页是共享的，下一个词元要先把它复制到第 %1 页</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="111"/>
        <source>the next token goes to slot %1, over position %2</source>
        <translation>下一个词元写入槽位 %1，覆盖位置 %2</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="112"/>
        <source>the next token goes to slot %1</source>
        <translation>下一个词元写入槽位 %1</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="130"/>
        <source>where the rows lie is not captured in this recording</source>
        <translation>此记录未采集各行在内存中的位置</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="139"/>
        <source>%1 pages for %2 tokens, %3 shared [measured]</source>
        <translation>%1 页存放 %2 个词元，其中 %3 页共享 [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="142"/>
        <source>no slot wasted [derived]</source>
        <translation>没有浪费槽位 [推算]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="143"/>
        <source>last page: %1 empty, %2 wasted [derived]</source>
        <translation>最后一页：%1 个空位，浪费 %2 [推算]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="146"/>
        <source>%1 page copied: it was shared and had to be written</source>
        <translation>复制了 %1 页：它是共享的而又要写入</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="152"/>
        <source>one slab for all %1 layers</source>
        <translation>全部 %1 层共用一整块</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="153"/>
        <source>one allocation for each of %1 layers</source>
        <translation>%1 层各自分配</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="154"/>
        <source>%1 slots, %2</source>
        <translation>%1 个槽位，%2</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="155"/>
        <source>%1 pages of %2 slots, %3</source>
        <translation>%1 页，每页 %2 个槽位，%3</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="165"/>
        <source>Position %1 · </source>
        <translation>位置 %1 · </translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="169"/>
        <source>evicted in step %1: no later token reads it</source>
        <translation>第 %1 步淘汰：之后的词元读不到</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="170"/>
        <source>not stored</source>
        <translation>未存储</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="172"/>
        <source>lies in slot %1</source>
        <translation>在槽位 %1</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/placement_text.cpp" line="173"/>
        <source>lies in slot %1: page %2, place %3</source>
        <translation>在槽位 %1：第 %2 页第 %3 位</translation>
    </message>
</context>
<context>
    <name>CacheStory</name>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="56"/>
        <source>layer %1 of %2: each layer keeps tokens of its own</source>
        <translation>第 %1 层，共 %2 层：每层各自保留词元</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="60"/>
        <source>layer %1 of %2, which sees everything</source>
        <translation>第 %1 层，共 %2 层，可见全部词元</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="88"/>
        <source>%1 local</source>
        <translation>%1 个局部层</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="88"/>
        <source>%1 global</source>
        <translation>%1 个全局层</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="95"/>
        <source>every layer attends to the last %1 tokens and keeps no more</source>
        <translation>每层只关注并保留最近 %1 个词元</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="96"/>
        <source>%1 local layers keep the last %2 tokens only</source>
        <translation>%1 个局部层只保留最近 %2 个词元</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="107"/>
        <source>0 slots · nothing is kept [measured]</source>
        <translation>0 个槽位 · 什么都不保留 [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="111"/>
        <source>%1 global × %2 + %3 local × %4 rows · %5 of %6 used [measured]</source>
        <translation>%1 个全局层 × %2 行 + %3 个局部层 × %4 行 · 已用 %5，共 %6 [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="117"/>
        <source>%1 of %2 slots · %3 of %4 used [measured]</source>
        <translation>%1 / %2 个槽位 · 已用 %3 · 预留 %4 [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="141"/>
        <source>no cache: all %1 tokens are computed again each step, and nothing is kept</source>
        <translation>无缓存：每一步都重新计算全部 %1 个词元，什么都不保留</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="147"/>
        <source>nothing copied in this step · %1 copied in all [measured]</source>
        <translation>本步没有复制 · 累计复制 %1 [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="151"/>
        <source>set aside at the start, and full now: room for %1 tokens</source>
        <translation>开始时一次预留，现已占满：可容纳 %1 个词元</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="153"/>
        <source>set aside at the start: room for %1 tokens, %2 still empty · nothing is ever copied</source>
        <translation>开始时一次预留：可容纳 %1 个词元，还空着 %2 个 · 从不复制</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="158"/>
        <source>%1 of %2 tokens are kept in each layer; the others have left it</source>
        <translation>每层保留 %2 个词元中的 %1 个；其余已离开该层</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="161"/>
        <source>%1 of %2 tokens are kept; the others have left the cache</source>
        <translation>保留 %2 个词元中的 %1 个；其余已离开缓存</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="163"/>
        <source>layers that see everything keep all %1 tokens</source>
        <translation>可见全部词元的层保留全部 %1 个词元</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="164"/>
        <source>all %1 tokens are kept</source>
        <translation>全部 %1 个词元都保留着</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/cache_story.cpp" line="145"/>
        <source>%1 copied in this step, %2 in all · peak old + new %3 [measured]</source>
        <translation>本步复制 %1，累计 %2 · 新旧合计峰值 %3 [实测]</translation>
    </message>
</context>
<context>
    <name>CompareModel</name>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="21"/>
        <source>n/a</source>
        <translation>无</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="24"/>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="29"/>
        <source>%1 (%2 to %3)</source>
        <translation>%1（%2 至 %3）</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="36"/>
        <source>length</source>
        <translation>长度</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="37"/>
        <source>end token</source>
        <translation>结束词元</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="38"/>
        <source>context full</source>
        <translation>上下文已满</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="39"/>
        <source>cancelled</source>
        <translation>已取消</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="44"/>
        <source>none</source>
        <translation>无</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="49"/>
        <source>0, bit for bit</source>
        <translation>0，逐位相同</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="50"/>
        <source>%1 at %2</source>
        <translation>%1，长度 %2</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="56"/>
        <source>%1, mean %2</source>
        <translation>%1，平均 %2</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="64"/>
        <source>%1 %</source>
        <translation>%1 %</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="76"/>
        <source>ms per step</source>
        <translation>毫秒 / 步</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="76"/>
        <source>Median of the decode steps, lowest to highest; first uses left out</source>
        <translation>解码各步的中位数，最低至最高；不计首次使用</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="78"/>
        <source>times the step of 1</source>
        <translation>为 1 的多少倍</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="79"/>
        <source>Each step against the same step of configuration 1: median, and the middle half</source>
        <translation>每一步与配置 1 的同一步相比：中位数与中间一半的范围</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="84"/>
        <source>prefill, ms</source>
        <translation>预填充，毫秒</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="84"/>
        <source>Median of the prefills after one that warms up, lowest to highest</source>
        <translation>预热一次之后各次预填充的中位数，最低至最高</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="89"/>
        <source>KV used</source>
        <translation>KV 已用</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="89"/>
        <source>Bytes of the tokens that are stored at the end, all layers</source>
        <translation>结束时所存词元占用的字节，所有层</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="91"/>
        <source>KV reserved</source>
        <translation>KV 预留</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="91"/>
        <source>Bytes that were allocated for the cache at the end</source>
        <translation>结束时为缓存分配的字节</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="93"/>
        <source>KV peak</source>
        <translation>KV 峰值</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="93"/>
        <source>Highest bytes of the cache at any moment: old and new while it grows</source>
        <translation>任一时刻缓存的最大字节数：增长时新旧并存</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="95"/>
        <source>copied</source>
        <translation>已复制</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="95"/>
        <source>Bytes that were moved because the cache grew, over the whole run</source>
        <translation>整个运行中因缓存增长而搬动的字节</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="97"/>
        <source>weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="97"/>
        <source>Bytes of the weights as they are stored</source>
        <translation>权重实际存储的字节</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="103"/>
        <source>largest logit difference</source>
        <translation>logit 最大差</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="103"/>
        <source>To configuration 1 on the same tokens, and at which length</source>
        <translation>相同词元下与配置 1 之差，以及出现时的长度</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="105"/>
        <source>KL divergence, nats</source>
        <translation>KL 散度，奈特</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="106"/>
        <source>Of the next-token probabilities from those of configuration 1: largest, and mean</source>
        <translation>下一词元概率相对配置 1 的散度：最大值与平均值</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="108"/>
        <source>Relative L2 of the stored rows against those of configuration 1, layer by layer, where the formats are what differs</source>
        <translation>仅格式不同时，逐层给出所存的行与配置 1 相比的相对 L2 误差</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="110"/>
        <source>K rows off</source>
        <translation>K 行误差</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="111"/>
        <source>V rows off</source>
        <translation>V 行误差</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="112"/>
        <source>first different token</source>
        <translation>第一个不同的词元</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="113"/>
        <source>Of the new tokens, counted from 1, when each writes on its own</source>
        <translation>各自独立生成时，新词元中的序号，从 1 数起</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="114"/>
        <source>ended by</source>
        <translation>结束原因</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/compare_model.cpp" line="114"/>
        <source>Why the text of each ends</source>
        <translation>各配置的文本为何结束</translation>
    </message>
</context>
<context>
    <name>ComparePanel</name>
    <message>
        <location filename="../../ui/panels/compare/compare_panel.cpp" line="33"/>
        <source>Progress and messages of the comparison</source>
        <translation>比较的进度与消息</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_panel.cpp" line="41"/>
        <source>same prompt, same tokens, steps in turn</source>
        <translation>相同提示、相同词元、轮流逐步</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_panel.cpp" line="45"/>
        <source>%1 configurations, %2 steps [measured]</source>
        <translation>%1 个配置，%2 步 [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_panel.cpp" line="64"/>
        <source>Configurations compared</source>
        <translation>配置比较</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_panel.cpp" line="87"/>
        <source>The comparison in words</source>
        <translation>比较的文字说明</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_panel.cpp" line="90"/>
        <source>The comparison as a table</source>
        <translation>比较的表格</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_panel.cpp" line="123"/>
        <source>Export</source>
        <translation>导出</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_panel.cpp" line="124"/>
        <source>Save the figure or the table</source>
        <translation>保存图或表</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_panel.cpp" line="146"/>
        <source>Cancelled: what was measured before is shown.</source>
        <translation>已取消：显示已测得的结果。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_panel.cpp" line="195"/>
        <source>the same tokens as 1</source>
        <translation>词元与 1 相同</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_panel.cpp" line="197"/>
        <source>Text of configuration %1</source>
        <translation>配置 %1 的文本</translation>
    </message>
</context>
<context>
    <name>ComparisonFigure</name>
    <message>
        <location filename="../../ui/widgets/comparison_figure.cpp" line="27"/>
        <source>ms per step: median, middle half</source>
        <translation>毫秒 / 步：中位数与中间一半</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/comparison_figure.cpp" line="28"/>
        <source>KV bytes: used, reserved, line: peak</source>
        <translation>KV 字节：已用、预留，竖线：峰值</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/comparison_figure.cpp" line="29"/>
        <source>bytes copied to grow</source>
        <translation>为增长复制的字节</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/comparison_figure.cpp" line="30"/>
        <source>largest logit difference, log scale</source>
        <translation>logit 最大差，对数标尺</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/comparison_figure.cpp" line="48"/>
        <source>n/a: no step was timed</source>
        <translation>无：没有计时的步</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/comparison_figure.cpp" line="49"/>
        <source>%1 (%2 to %3)</source>
        <translation>%1（%2 至 %3）</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/comparison_figure.cpp" line="54"/>
        <source>%1 of %2, peak %3</source>
        <translation>%1 / %2，峰值 %3</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/comparison_figure.cpp" line="57"/>
        <source>nothing</source>
        <translation>没有</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/comparison_figure.cpp" line="59"/>
        <source>the reference</source>
        <translation>参照</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/comparison_figure.cpp" line="60"/>
        <source>0, bit for bit</source>
        <translation>0，逐位相同</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/comparison_figure.cpp" line="61"/>
        <source>%1, KL %2</source>
        <translation>%1，KL %2</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/comparison_figure.cpp" line="205"/>
        <source>Time, memory, copies and logits of every configuration</source>
        <translation>每个配置的时间、内存、复制量与 logits</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/comparison_figure.cpp" line="224"/>
        <source>Nothing compared yet</source>
        <translation>尚未比较</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/comparison_figure.cpp" line="225"/>
        <source>Choose up to four configurations and press Start: they run on the current prompt, step by step in turn.</source>
        <translation>最多选四个配置，按“开始”：它们在当前提示上轮流逐步运行。</translation>
    </message>
</context>
<context>
    <name>Glossary</name>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="14"/>
        <source>Token</source>
        <translation>词元</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="15"/>
        <source>The unit a model reads and writes: a word, a part of a word, or one character.</source>
        <translation>模型读写的单位：一个词、词的一部分或一个字。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="16"/>
        <source>Prompt</source>
        <translation>提示</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="17"/>
        <source>The text given to the model before it writes anything.</source>
        <translation>模型开始写之前给它的文字。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="18"/>
        <source>Prefill</source>
        <translation>预填充</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="19"/>
        <source>The first pass: all tokens of the prompt go through the model at once and fill the cache.</source>
        <translation>第一遍：提示的全部词元一次通过模型，填好缓存。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="21"/>
        <source>Decode</source>
        <translation>解码</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="22"/>
        <source>Writing: one token per step, each step reads what the cache kept.</source>
        <translation>书写：每步一个词元，每步读取缓存里保留的内容。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="23"/>
        <source>Step</source>
        <translation>步</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="24"/>
        <source>One pass through the model; step 0 is the prefill.</source>
        <translation>模型运行一遍；第 0 步是预填充。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="25"/>
        <source>Layer</source>
        <translation>层</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="26"/>
        <source>One block of the model: attention, then a feed-forward network. Each layer has its own K and V.</source>
        <translation>模型的一个模块：先注意力，后前馈网络。每层有自己的 K 和 V。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="29"/>
        <source>Head</source>
        <translation>头</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="30"/>
        <source>One of several attentions that run side by side in a layer, each looking for something else.</source>
        <translation>同一层里并排运行的多个注意力之一，各找各的东西。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="32"/>
        <source>KV head</source>
        <translation>KV 头</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="33"/>
        <source>A pair of K and V that several query heads share, so that the cache is smaller.</source>
        <translation>由几个查询头共用的一对 K 和 V，使缓存更小。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="34"/>
        <source>Position</source>
        <translation>位置</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="35"/>
        <source>The place of a token in the sequence, from 0.</source>
        <translation>词元在序列中的位置，从 0 数起。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="36"/>
        <source>Q (query)</source>
        <translation>Q（查询）</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="37"/>
        <source>What the token being computed asks for; used once, never kept.</source>
        <translation>正在计算的词元提出的查询；用一次，不保留。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="38"/>
        <source>K (key)</source>
        <translation>K（键）</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="39"/>
        <source>What a token offers to be found by; kept so that later tokens need not compute it again.</source>
        <translation>词元供人查找的标识；保留下来，后面的词元就不必重新计算。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="41"/>
        <source>V (value)</source>
        <translation>V（值）</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="42"/>
        <source>What a token hands over to those that read it; kept beside its key.</source>
        <translation>词元交给读取者的内容；与键一起保留。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="43"/>
        <source>Attention</source>
        <translation>注意力</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="44"/>
        <source>The share with which the token being computed reads each earlier token; a row sums to 1.</source>
        <translation>正在计算的词元读取之前各词元的比例；每行之和为 1。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="46"/>
        <source>KV cache</source>
        <translation>KV 缓存</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="47"/>
        <source>Keys and values of all earlier tokens, kept so that a step computes one token and not all of them.</source>
        <translation>之前所有词元的键和值；保留它们，每步只算一个词元，而不是全部。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="50"/>
        <source>Recompute</source>
        <translation>重算</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="51"/>
        <source>No cache: every step sends all tokens through the model again.</source>
        <translation>无缓存：每一步都让全部词元重新通过模型。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="52"/>
        <source>Growing</source>
        <translation>增长式</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="53"/>
        <source>A cache that is copied to a larger buffer for every token, as simple implementations do.</source>
        <translation>每来一个词元就复制到更大缓冲区的缓存，简单的实现就是这样。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="55"/>
        <source>Preallocated</source>
        <translation>预分配</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="56"/>
        <source>A cache whose room is set aside at the start; a step writes into the next free slot.</source>
        <translation>开始时就留好空间的缓存；每步写入下一个空槽位。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="58"/>
        <source>Slot</source>
        <translation>槽位</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="59"/>
        <source>Room for K and V of one token in every layer.</source>
        <translation>每一层中一个词元的 K 和 V 的位置。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="60"/>
        <source>Reserved</source>
        <translation>预留</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="61"/>
        <source>Memory that is set aside for tokens still to come, and empty so far.</source>
        <translation>为后续词元留出的内存，目前还空着。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="62"/>
        <source>Cache map</source>
        <translation>缓存图</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="63"/>
        <source>Where each token&apos;s K and V lie in memory, beside the order of the text.</source>
        <translation>每个词元的 K 和 V 在内存中的位置，与文本顺序对照。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="64"/>
        <source>Paged</source>
        <translation>分页</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="65"/>
        <source>A cache divided into pages; a conversation takes one when the last is full.</source>
        <translation>分成若干页的缓存；对话在最后一页写满时再取一页。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="66"/>
        <source>Page</source>
        <translation>页</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="67"/>
        <source>A fixed number of slots side by side that conversations own together or alone.</source>
        <translation>固定数目的相邻槽位，由一个或几个对话拥有。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="68"/>
        <source>Waste</source>
        <translation>浪费</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="69"/>
        <source>Slots of the last page that hold no token yet; at most one page less one slot.</source>
        <translation>最后一页中还没有词元的槽位；最多比一页少一个。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="70"/>
        <source>Shared page</source>
        <translation>共享页</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="71"/>
        <source>A page that several conversations own; whoever writes into it first takes a copy.</source>
        <translation>几个对话共同拥有的页；谁先写入，谁就先复制一份。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="73"/>
        <source>Reclaimed</source>
        <translation>回收</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="74"/>
        <source>A free page taken for something else: the one that has been free the longest.</source>
        <translation>改作他用的空闲页：空闲最久的那一页。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="75"/>
        <source>Slab</source>
        <translation>整块</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="76"/>
        <source>One allocation for all layers; otherwise each layer has its own.</source>
        <translation>所有层共用一次分配；否则每层各自分配。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="77"/>
        <source>Write pointer</source>
        <translation>写指针</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="78"/>
        <source>The slot that the next token takes; in a ring it goes round and round.</source>
        <translation>下一个词元要写入的槽位；在环形缓存中它循环前进。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="79"/>
        <source>Ring</source>
        <translation>环形</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="80"/>
        <source>A cache of fixed size: the newest token takes the slot of the oldest.</source>
        <translation>大小固定的缓存：最新的词元占用最旧词元的槽位。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="81"/>
        <source>Evicted</source>
        <translation>已淘汰</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="82"/>
        <source>K and V that were dropped to make room; later tokens cannot read them any more.</source>
        <translation>为腾出空间而丢弃的 K 和 V；之后的词元再也读不到。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="83"/>
        <source>Copied</source>
        <translation>复制量</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="84"/>
        <source>Bytes that were moved from the old buffer to the new one because the cache grew.</source>
        <translation>因缓存增长而从旧缓冲区搬到新缓冲区的字节数。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="85"/>
        <source>Peak</source>
        <translation>峰值</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="86"/>
        <source>The most cache memory alive at once during the step: old and new buffer together while growing.</source>
        <translation>本步中同时存在的最大缓存内存：增长时新旧缓冲区之和。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="89"/>
        <source>RMS</source>
        <translation>均方根</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="90"/>
        <source>Root mean square: the typical size of the numbers in a row of K or V.</source>
        <translation>均方根：一行 K 或 V 中数值的典型大小。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="91"/>
        <source>Mean over heads</source>
        <translation>各头平均</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="92"/>
        <source>The average of the maps of all heads in the layer.</source>
        <translation>该层所有头的图的平均。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="93"/>
        <source>Threshold</source>
        <translation>阈值</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="94"/>
        <source>Weights below it are drawn as 0, so that the strong ones stand out; the numbers stay exact.</source>
        <translation>低于它的权重按 0 绘制，让强的更醒目；数值本身不变。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="96"/>
        <source>Induction head</source>
        <translation>归纳头</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="97"/>
        <source>A head that finds an earlier mention of the token and reads what came after it.</source>
        <translation>找到该词元之前的出现，并读取其后内容的头。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="98"/>
        <source>Previous-token head</source>
        <translation>前一词元头</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="99"/>
        <source>A head that reads the token just before.</source>
        <translation>读取紧邻的前一个词元的头。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="100"/>
        <source>First-token head</source>
        <translation>首词元头</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="101"/>
        <source>A head that rests on the first token when it has nothing to look for.</source>
        <translation>没有要找的东西时停在第一个词元上的头。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="102"/>
        <source>[measured]</source>
        <translation>[实测]</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="103"/>
        <source>Counted or timed in this run.</source>
        <translation>在本次运行中计数或计时得到。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="104"/>
        <source>[derived]</source>
        <translation>[推算]</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="105"/>
        <source>Computed from a formula and the shapes.</source>
        <translation>由公式和形状计算得到。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="106"/>
        <source>[illustrative]</source>
        <translation>[示意]</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="107"/>
        <source>Drawn to explain; not a figure of this run.</source>
        <translation>为说明而画；不是本次运行的数字。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="108"/>
        <source>Not captured</source>
        <translation>未采集</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="109"/>
        <source>The weights were computed but not recorded; this is not a weight of 0.</source>
        <translation>权重算过但没有记录；并不是权重为 0。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="110"/>
        <source>Logits</source>
        <translation>Logits</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="111"/>
        <source>One score per token of the vocabulary; the sampler picks the next token from them.</source>
        <translation>词表中每个词元一个得分；采样器据此选出下一个词元。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="113"/>
        <source>Temperature</source>
        <translation>温度</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="114"/>
        <source>How freely the sampler picks: 0 takes the likeliest token, 1 follows the probabilities.</source>
        <translation>采样的自由程度：0 取最可能的词元，1 按概率抽取。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="116"/>
        <source>top-k</source>
        <translation>top-k</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="117"/>
        <source>Only the k likeliest tokens may be picked.</source>
        <translation>只能从最可能的 k 个词元中选。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="118"/>
        <source>top-p</source>
        <translation>top-p</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="119"/>
        <source>Only the likeliest tokens that together reach the probability p may be picked.</source>
        <translation>只能从概率合计达到 p 的最可能词元中选。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="120"/>
        <source>Seed</source>
        <translation>种子</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="121"/>
        <source>The number that the sampler&apos;s dice start from: the same seed gives the same text.</source>
        <translation>采样骰子的起点：同样的种子得到同样的文字。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="123"/>
        <source>Weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="124"/>
        <source>The numbers the model learned; read in every step, never changed.</source>
        <translation>模型学到的数；每步都读，从不改变。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="125"/>
        <source>Activations</source>
        <translation>激活</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="126"/>
        <source>Intermediate results of a pass; overwritten by the next one.</source>
        <translation>一遍计算的中间结果；会被下一遍覆盖。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="127"/>
        <source>FLOPs</source>
        <translation>FLOP</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="128"/>
        <source>Multiplications and additions of a pass, by the formula.</source>
        <translation>一遍计算的乘加次数，按公式。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="129"/>
        <source>Bandwidth</source>
        <translation>带宽</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="130"/>
        <source>Bytes per second between memory and processor; decoding mostly waits for it.</source>
        <translation>内存与处理器之间每秒的字节数；解码多半在等它。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="131"/>
        <source>Speed-up</source>
        <translation>加速比</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="132"/>
        <source>Time without the cache divided by time with it, at the same length.</source>
        <translation>同样长度下，无缓存的时间除以有缓存的时间。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="133"/>
        <source>Race</source>
        <translation>竞速</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="134"/>
        <source>The same tokens computed twice, with the cache and without it, each step timed.</source>
        <translation>同样的词元算两次，一次用缓存一次不用，每步计时。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="135"/>
        <source>Sweep</source>
        <translation>扫描</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="136"/>
        <source>Time per token at chosen lengths and with chosen caches, repeated, with medians.</source>
        <translation>在选定的长度和缓存下测每词元时间，多次重复取中位数。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="137"/>
        <source>RoPE</source>
        <translation>RoPE</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="138"/>
        <source>Rotary position embedding: K and Q are turned by an angle that grows with the position.</source>
        <translation>旋转位置编码：K 和 Q 按随位置增大的角度旋转。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="140"/>
        <source>MLP</source>
        <translation>MLP</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="141"/>
        <source>The feed-forward network of a layer; works on each token alone.</source>
        <translation>层中的前馈网络；对每个词元单独计算。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="142"/>
        <source>Embedding</source>
        <translation>嵌入</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="143"/>
        <source>The table with a row of numbers for each token; the row is where a pass begins.</source>
        <translation>每个词元一行数字的表；一次前向计算从这一行开始。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="144"/>
        <source>QK norm</source>
        <translation>QK 归一化</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="145"/>
        <source>Each head of Q and of K is scaled to a common size before the rotation; K is kept as it is then.</source>
        <translation>旋转之前，Q 和 K 的每个头缩放到统一大小；缓存的 K 就是这样的 K。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="147"/>
        <source>Local layer</source>
        <translation>局部层</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="148"/>
        <source>A layer of the model that attends to the newest tokens only, and whose cache keeps no more.</source>
        <translation>只关注最新若干词元的层，其缓存也只保留这些。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="150"/>
        <source>Global layer</source>
        <translation>全局层</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="151"/>
        <source>A layer that attends to every token so far; its cache grows with the text.</source>
        <translation>关注至今全部词元的层；其缓存随文本增长。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="152"/>
        <source>Window</source>
        <translation>窗口</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="153"/>
        <source>How many of the newest tokens are attended to, the token itself included.</source>
        <translation>关注最新的多少个词元，包括自身。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="154"/>
        <source>Tied head</source>
        <translation>共享输出头</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="155"/>
        <source>The head that gives the logits is the token embedding again: one matrix, read twice.</source>
        <translation>给出 logits 的输出头就是词元嵌入矩阵本身：一个矩阵，读两次。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="156"/>
        <source>Norm</source>
        <translation>归一化</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/glossary.cpp" line="157"/>
        <source>Scales a token&apos;s vector to a common size before each half of a layer.</source>
        <translation>在层的每一半之前把词元向量缩放到统一大小。</translation>
    </message>
</context>
<context>
    <name>HappenedPanel</name>
    <message>
        <location filename="../../ui/panels/happened/happened_panel.cpp" line="42"/>
        <source>slow motion</source>
        <translation>慢动作</translation>
    </message>
    <message>
        <location filename="../../ui/panels/happened/happened_panel.cpp" line="43"/>
        <source>Replay this step stage by stage</source>
        <translation>逐阶段回放这一步</translation>
    </message>
    <message>
        <location filename="../../ui/panels/happened/happened_panel.cpp" line="67"/>
        <source>What a step reads, writes and saves is told here. Press Space to play, or the right arrow key for one step.</source>
        <translation>这里说明每一步读了什么、写了什么、省了什么。按空格播放，按右方向键走一步。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/happened/happened_panel.cpp" line="75"/>
        <source>Stages of the step: choose one, or watch them in slow motion.</source>
        <translation>这一步的各阶段：点选一个，或用慢动作观看。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/happened/happened_panel.cpp" line="76"/>
        <source>Probabilities were not recorded for this step.</source>
        <translation>这一步没有记录概率。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/happened/happened_panel.cpp" line="85"/>
        <source>Probabilities of the next token</source>
        <translation>下一个词元的概率</translation>
    </message>
    <message>
        <location filename="../../ui/panels/happened/happened_panel.cpp" line="180"/>
        <source>%1: not part of this step.</source>
        <translation>%1：不在这一步中。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/happened/happened_panel.cpp" line="32"/>
        <source>The step in words</source>
        <translation>用文字说明这一步</translation>
    </message>
</context>
<context>
    <name>HappenedText</name>
    <message>
        <location filename="../../ui/viewmodels/happened_text.cpp" line="22"/>
        <source>step %1, prefill</source>
        <translation>第 %1 步，预填充</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/happened_text.cpp" line="23"/>
        <source>step %1, decode</source>
        <translation>第 %1 步，解码</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/happened_text.cpp" line="24"/>
        <source>step %1, fed again</source>
        <translation>第 %1 步，重新送入</translation>
    </message>
</context>
<context>
    <name>HelpPages</name>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="30"/>
        <source>play or pause</source>
        <translation>播放或暂停</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="31"/>
        <source>one step back (the view only), one step on</source>
        <translation>后退一步（只移动视图），前进一步</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="32"/>
        <source>to the first step, to the newest; End at the newest runs to the end</source>
        <translation>到第一步，到最新一步；在最新一步按 End 则运行到底</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="33"/>
        <source>clear what is pinned; leave the single panel; leave the presentation</source>
        <translation>清除固定的选择；离开单一面板；离开演示</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="34"/>
        <source>presentation: large type, chosen panels</source>
        <translation>演示：大字号，选定的面板</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="35"/>
        <source>step in the presentation (a clicker sends these)</source>
        <translation>在演示中步进（翻页笔发送的按键）</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="36"/>
        <source>larger, smaller, normal type</source>
        <translation>放大、缩小、恢复字号</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="37"/>
        <source>settings of the run</source>
        <translation>运行设置</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="38"/>
        <source>open a recording, save the run, export</source>
        <translation>打开录制、保存运行、导出</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="39"/>
        <source>go to a panel</source>
        <translation>转到面板</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="40"/>
        <source>menu</source>
        <translation>菜单</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="41"/>
        <source>to the next control; what has the focus is outlined</source>
        <translation>到下一个控件；有焦点的控件有外框</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="52"/>
        <source>Shows on real numbers why language models keep a KV cache: a real decoder writes token by token, and every panel shows what it computed, kept, read and paid.</source>
        <translation>用真实的数字说明语言模型为什么保留 KV 缓存：一个真实的解码器逐词元书写，每个面板显示它算了什么、留了什么、读了什么、花了多少。</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="54"/>
        <source>Free software under the GNU General Public License, version 3 or later, without any warranty. The text of the licence comes with the program in the file LICENSE.</source>
        <translation>自由软件，依据 GNU 通用公共许可证第 3 版或更高版本，不提供任何担保。许可证全文见随程序附带的 LICENSE 文件。</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="56"/>
        <source>Made with Qt, QCustomPlot, Highway, fmt, nlohmann/json, CLI11, xxHash and PCRE2.</source>
        <translation>使用 Qt、QCustomPlot、Highway、fmt、nlohmann/json、CLI11、xxHash 和 PCRE2 构建。</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="57"/>
        <source>Build %1</source>
        <translation>构建 %1</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="74"/>
        <source>Glossary</source>
        <translation>术语表</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="75"/>
        <source>Keyboard</source>
        <translation>键盘</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/help_pages.cpp" line="76"/>
        <source>About Decodescope</source>
        <translation>关于 Decodescope</translation>
    </message>
</context>
<context>
    <name>MemoryPanel</name>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="34"/>
        <source>Bytes by purpose over the run</source>
        <translation>运行中各用途的字节数</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="39"/>
        <source>Formula and counted bytes</source>
        <translation>公式与实测字节数</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="57"/>
        <source>as the allocator counted it</source>
        <translation>按分配器的计数</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="57"/>
        <source>what a cache would take</source>
        <translation>缓存需要多少内存</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="87"/>
        <source>Memory over the run</source>
        <translation>运行中的内存</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="98"/>
        <source>What a cache would take</source>
        <translation>缓存需要多少内存</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="122"/>
        <source>everything</source>
        <translation>全部</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="122"/>
        <source>Weights, activations and cache, stacked</source>
        <translation>权重、激活和缓存，堆叠显示</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="123"/>
        <source>cache only</source>
        <translation>仅缓存</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="123"/>
        <source>The cache alone, so that a small one can be seen</source>
        <translation>只看缓存，小缓存也能看清</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="124"/>
        <source>what if</source>
        <translation>假如</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="124"/>
        <source>The cache of this and of known models at 1k to 1M tokens</source>
        <translation>此模型与知名模型在 1k 到 1M 个词元时的缓存</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="136"/>
        <source>tokens in the sequence</source>
        <translation>序列中的词元数</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="138"/>
        <source>Step or play: memory by purpose appears here.</source>
        <translation>步进或播放：这里显示各用途的内存。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="158"/>
        <source>weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="159"/>
        <source>activations</source>
        <translation>激活</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="161"/>
        <source>KV used</source>
        <translation>KV 已用</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="162"/>
        <source>KV empty</source>
        <translation>KV 空闲</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="174"/>
        <source>%1 tokens: KV used %2 of %3</source>
        <translation>%1 个词元：KV 已用 %2 / %3</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="182"/>
        <source>The formula with its numbers appears with the first step: press Space.</source>
        <translation>第一步之后这里显示公式和数字：按空格。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/memory_panel.cpp" line="137"/>
        <source>Without a cache there is nothing to draw here.</source>
        <translation>没有缓存，这里无可绘制。</translation>
    </message>
</context>
<context>
    <name>MemoryText</name>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="38"/>
        <source>%1 in %2 pages of %3 tokens, %4 of it empty inside the last page (rows: %5)</source>
        <translation>%2 页、每页 %3 个词元，共 %1，其中最后一页内空着 %4（%5 行）</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="80"/>
        <source>%1 reserved: room for %2 tokens, %3 of them empty so far</source>
        <translation>预留 %1：可容纳 %2 个词元，目前空着 %3 个</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="109"/>
        <source> B [derived]</source>
        <translation> B [推算]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="110"/>
        <source>counted %1 used [measured]</source>
        <translation>实际计数已用 %1 [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="123"/>
        <source>This step copied %1 to grow the cache; old and new together took %2 [measured]</source>
        <translation>本步为增长缓存复制了 %1；新旧合计占用 %2 [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="131"/>
        <source>What this window keeps to draw: %1, not part of the run</source>
        <translation>本窗口为绘图保留：%1，不属于运行本身</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="27"/>
        <source>; %1 beside the formula: scales and padding of the format</source>
        <translation>；与公式相差 %1：格式的缩放因子与填充</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="28"/>
        <source>; %1 more than the formula: aligned addresses, second layouts</source>
        <translation>；比公式多 %1：地址对齐与第二种布局</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="29"/>
        <source>; %1 less than the formula: read where the file lies</source>
        <translation>；比公式少 %1：直接在文件映射处读取</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="45"/>
        <source>%1 beside the pages hold the newest rows in full precision</source>
        <translation>页之外另有 %1，以全精度保存最新的行</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="48"/>
        <source>%1 beside the pages hold the windows of the local layers</source>
        <translation>页之外另有 %1 存放局部层的窗口</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="51"/>
        <source>%1 of these pages belong to other branches as well and exist once</source>
        <translation>其中 %1 页也属于其他分支，只存在一份</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="52"/>
        <source>%1 allocated for the pool; outside this sequence&apos;s pages %2 are free</source>
        <translation>页池共分配 %1；此序列之外有 %2 页空闲</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="113"/>
        <source>Nothing is kept: K and V of a pass are scratch and count as activations.</source>
        <translation>什么都不保留：一遍中的 K 和 V 是草稿，计入激活。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="126"/>
        <source>weights %1 [measured]</source>
        <translation>权重 %1 [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="128"/>
        <source>activations %1 [measured]: buffers of the largest pass, used again by every step</source>
        <translation>激活 %1 [实测]：最大一遍的缓冲区，每步重复使用</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="77"/>
        <source>%1 reserved: room for %2 tokens, all of it in use</source>
        <translation>预留 %1：可容纳 %2 个词元，已全部使用</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="119"/>
        <source>K and V lie in host memory; on the device is room for one layer: %1 [measured]</source>
        <translation>K 和 V 在主机内存中；设备上只留一层的空间：%1 [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/memory_text.cpp" line="120"/>
        <source>K and V lie in a file; on the device is room for one layer: %1 [measured]</source>
        <translation>K 和 V 在文件中；设备上只留一层的空间：%1 [实测]</translation>
    </message>
</context>
<context>
    <name>ModelCard</name>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="54"/>
        <source>%1 · %2 layers · %3 wide · %4 parameters</source>
        <translation>%1 · %2 层 · 宽 %3 · %4 个参数</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="77"/>
        <source>%1, a row for each token</source>
        <translation>%1，每个词元一行</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="78"/>
        <source>, times %1</source>
        <translation>，乘以 %1</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="80"/>
        <source>Token embedding</source>
        <translation>词元嵌入</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="82"/>
        <source>Learned positions</source>
        <translation>学习的位置</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="83"/>
        <source>%1, added to the token&apos;s row</source>
        <translation>%1，加到词元的行上</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="88"/>
        <source>each query head has its own K and V</source>
        <translation>每个查询头有自己的 K 和 V</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="90"/>
        <source>all %1 query heads share one K and V</source>
        <translation>全部 %1 个查询头共用一组 K 和 V</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="91"/>
        <source>%1 query heads share each K and V</source>
        <translation>每 %1 个查询头共用一组 K 和 V</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="95"/>
        <source>before attention</source>
        <translation>注意力之前</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="98"/>
        <source>, with biases</source>
        <translation>，带偏置</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="99"/>
        <source>Q, K and V</source>
        <translation>Q、K 和 V</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="105"/>
        <source>QK norm</source>
        <translation>QK 归一化</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="106"/>
        <source>RMSNorm of each head of Q and of K, %1 wide</source>
        <translation>对 Q 和 K 的每个头做 RMSNorm，宽 %1</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="109"/>
        <source>Attention</source>
        <translation>注意力</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="110"/>
        <source>Output</source>
        <translation>输出</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="112"/>
        <source>, with a bias</source>
        <translation>，带偏置</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="114"/>
        <source>after attention, before it is added</source>
        <translation>注意力之后、相加之前</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="119"/>
        <source>base %1</source>
        <translation>基数 %1</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="121"/>
        <source>, in local layers %1</source>
        <translation>，局部层为 %1</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="123"/>
        <source>, the first %1 of %2 dimensions</source>
        <translation>，%2 维中的前 %1 维</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="124"/>
        <source>, frequencies stretched for long texts</source>
        <translation>，为长文本拉伸频率</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="125"/>
        <source>Rotation of Q and K</source>
        <translation>Q 和 K 的旋转</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="131"/>
        <source>every layer sees all tokens so far</source>
        <translation>每层可见至今全部词元</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="132"/>
        <source>%1 global layers see all tokens so far</source>
        <translation>%1 个全局层可见至今全部词元</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="134"/>
        <source>every layer sees the last %1 tokens</source>
        <translation>每层可见最近 %1 个词元</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="135"/>
        <source>%1 local layers see the last %2</source>
        <translation>%1 个局部层可见最近 %2 个</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="137"/>
        <source>; scores times %1</source>
        <translation>；分数乘以 %1</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="138"/>
        <source>; scores times 1 / √%1</source>
        <translation>；分数乘以 1 / √%1</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="148"/>
        <source>before the MLP</source>
        <translation>MLP 之前</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="151"/>
        <source>MLP, %1</source>
        <translation>MLP，%1</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="152"/>
        <source>with biases</source>
        <translation>带偏置</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="154"/>
        <source>gate</source>
        <translation>门</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="155"/>
        <source>up</source>
        <translation>升维</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="156"/>
        <source>down</source>
        <translation>降维</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="158"/>
        <source>after the MLP, before it is added</source>
        <translation>MLP 之后、相加之前</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="162"/>
        <source>final</source>
        <translation>最后</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="163"/>
        <source>Head</source>
        <translation>输出头</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="164"/>
        <source>the token embedding again (tied): %1 logits</source>
        <translation>再次使用词元嵌入（共享）：%1 个 logits</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="166"/>
        <source>%1: a logit for each token</source>
        <translation>%1：每个词元一个 logit</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="175"/>
        <source>token embedding and head, one matrix</source>
        <translation>词元嵌入与输出头，同一个矩阵</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="175"/>
        <source>token embedding</source>
        <translation>词元嵌入</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="177"/>
        <source>positions</source>
        <translation>位置</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="178"/>
        <source>Q and output</source>
        <translation>Q 与输出</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="181"/>
        <source>MLP</source>
        <translation>MLP</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="182"/>
        <source>norms</source>
        <translation>归一化</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="183"/>
        <source>head</source>
        <translation>输出头</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="202"/>
        <source>2 (K and V) · layers %1 · KV heads %2 · width %3 · bytes %4</source>
        <translation>2（K 和 V）· 层 %1 · KV 头 %2 · 宽 %3 · 字节 %4</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="207"/>
        <source>layers %1 · KV heads %2 · (bytes of a K row %3 + of a V row %4)</source>
        <translation>层 %1 · KV 头 %2 ·（K 行字节 %3 + V 行字节 %4）</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="217"/>
        <source>%1 = %2 per token</source>
        <translation>%1 = 每词元 %2</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="221"/>
        <source>%1 layers × %2 rows</source>
        <translation>%1 层 × %2 行</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="222"/>
        <source>%1 local layers × %2 rows</source>
        <translation>%1 个局部层 × %2 行</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="223"/>
        <source>%1 global layers × %2 rows</source>
        <translation>%1 个全局层 × %2 行</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="226"/>
        <source>at full context, %1 tokens: (%2) × %3 = %4</source>
        <translation>满上下文 %1 个词元：(%2) × %3 = %4</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="230"/>
        <source>at full context, %1 tokens, as %2: %3</source>
        <translation>满上下文 %1 个词元，以 %2：%3</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="235"/>
        <source>%1 if no layer had a window</source>
        <translation>若无带窗口的层则为 %1</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="238"/>
        <source>%1 times as much if every query head had its own K and V</source>
        <translation>若每个查询头各有 K 和 V，则为 %1 倍</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/model_card.cpp" line="275"/>
        <source>%1 times:</source>
        <translation>%1 次：</translation>
    </message>
</context>
<context>
    <name>ModelPanel</name>
    <message>
        <location filename="../../ui/panels/model/model_panel.cpp" line="26"/>
        <location filename="../../ui/panels/model/model_panel.cpp" line="56"/>
        <source>Model card</source>
        <translation>模型卡</translation>
    </message>
    <message>
        <location filename="../../ui/panels/model/model_panel.cpp" line="28"/>
        <source>The shapes of the model appear here when one is loaded.</source>
        <translation>载入模型后在此显示其形状。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/model/model_panel.cpp" line="38"/>
        <source>shapes, parameters and what the cache takes</source>
        <translation>形状、参数与缓存占用</translation>
    </message>
</context>
<context>
    <name>OperationTable</name>
    <message>
        <location filename="../../ui/viewmodels/operation_model.cpp" line="47"/>
        <source>This step has no times by operation.</source>
        <translation>这一步没有按运算计时。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/operation_model.cpp" line="48"/>
        <source>Operations are not timed in this run: switch &quot;Time every stage&quot; on in the settings.</source>
        <translation>此次运行没有按运算计时：请在设置中打开“为每个阶段计时”。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/operation_model.cpp" line="50"/>
        <source>Step %1, %2 tokens: operations %3 of %4 [measured]</source>
        <translation>第 %1 步，%2 个词元：运算共 %3，整步 %4 [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/operation_model.cpp" line="55"/>
        <source>this machine reads %1 GB/s and computes %2 GFLOP/s [measured]</source>
        <translation>本机读取 %1 GB/s，计算 %2 GFLOP/s [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/operation_model.cpp" line="59"/>
        <source>the machine&apos;s limits are measured at the next pause</source>
        <translation>本机的上限将在下次暂停时测量</translation>
    </message>
</context>
<context>
    <name>StageWalk</name>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="76"/>
        <source>token ids %1 → hidden %2</source>
        <translation>词元编号 %1 → 隐藏状态 %2</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="77"/>
        <source>hidden %1 → normed %1</source>
        <translation>隐藏状态 %1 → 归一化 %1</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="79"/>
        <source>normed %1 → q %2 · k %3 · v %3</source>
        <translation>归一化 %1 → q %2 · k %3 · v %3</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="81"/>
        <source>k %1 · v %1 → cache rows %2</source>
        <translation>k %1 · v %1 → 缓存行 %2</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="83"/>
        <source>q %1 · K %2 → weights %3 · V %2 → %4</source>
        <translation>q %1 · K %2 → 权重 %3 · V %2 → %4</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="87"/>
        <source>heads %1 → added to hidden %2</source>
        <translation>各头 %1 → 加到隐藏状态 %2</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="89"/>
        <source>hidden %1 → %2 → added to hidden %1</source>
        <translation>隐藏状态 %1 → %2 → 加到隐藏状态 %1</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="91"/>
        <source>last hidden row %1 → logits %2</source>
        <translation>最后一行隐藏状态 %1 → logits %2</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="92"/>
        <source>logits %1 → one token</source>
        <translation>logits %1 → 一个词元</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="101"/>
        <source>embed</source>
        <translation>嵌入</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="102"/>
        <source>norm</source>
        <translation>归一化</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="103"/>
        <source>QKV</source>
        <translation>QKV</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="104"/>
        <source>store</source>
        <translation>存入</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="105"/>
        <source>attend</source>
        <translation>注意</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="106"/>
        <source>output</source>
        <translation>输出</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="107"/>
        <source>MLP</source>
        <translation>MLP</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="108"/>
        <source>logits</source>
        <translation>logits</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="109"/>
        <source>sample</source>
        <translation>采样</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="136"/>
        <source>%1, layer %2: </source>
        <translation>%1，第 %2 层：</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="136"/>
        <source>%1: </source>
        <translation>%1：</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="138"/>
        <source>the last of %1 passes</source>
        <translation>%1 遍中的最后一遍</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="140"/>
        <source>%1 [measured]</source>
        <translation>%1 [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/stage_walk.cpp" line="141"/>
        <source>timed together with the stage before or after</source>
        <translation>与前后阶段一起计时</translation>
    </message>
</context>
<context>
    <name>SweepChart</name>
    <message>
        <location filename="../../ui/widgets/sweep_chart.cpp" line="35"/>
        <source>ms per token</source>
        <translation>毫秒 / 词元</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/sweep_chart.cpp" line="73"/>
        <source>tokens; marks: median, bars: range</source>
        <translation>词元数；点：中位数，竖线：范围</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/sweep_chart.cpp" line="75"/>
        <source>Choose lengths and caches, then press Start: each length is measured several times, lanes in turn.</source>
        <translation>选择长度和缓存，然后按“开始”：每个长度轮流测量多次。</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/sweep_chart.cpp" line="84"/>
        <source>%1: time grows as length^%2 (residual %3) [derived]</source>
        <translation>%1：时间按 长度^%2 增长（残差 %3）[推算]</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/sweep_chart.cpp" line="72"/>
        <source>tokens; marks: median, bars: range, lines: fitted</source>
        <translation>词元数；点：中位数，竖线：范围，线：拟合</translation>
    </message>
    <message>
        <location filename="../../ui/widgets/sweep_chart.cpp" line="35"/>
        <source>ms per token, median of %1</source>
        <translation>毫秒 / 词元，%1 次的中位数</translation>
    </message>
</context>
<context>
    <name>TimingChart</name>
    <message>
        <location filename="../../ui/panels/timing/timing_chart.cpp" line="87"/>
        <source>this run</source>
        <translation>本次运行</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_chart.cpp" line="87"/>
        <location filename="../../ui/panels/timing/timing_chart.cpp" line="105"/>
        <source>cached</source>
        <translation>缓存</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_chart.cpp" line="103"/>
        <location filename="../../ui/panels/timing/timing_chart.cpp" line="105"/>
        <location filename="../../ui/panels/timing/timing_chart.cpp" line="109"/>
        <source>recompute</source>
        <translation>重算</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_chart.cpp" line="118"/>
        <source>tokens in the sequence; points measured (outlined: attention captured too), thin lines expected</source>
        <translation>序列中的词元数；点为实测（空心：同时采集注意力），细线为预期</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_chart.cpp" line="120"/>
        <source>tokens in the sequence; points measured, thin lines expected</source>
        <translation>序列中的词元数；点为实测，细线为预期</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_chart.cpp" line="122"/>
        <source>seconds</source>
        <translation>秒</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_chart.cpp" line="122"/>
        <source>ms per token</source>
        <translation>毫秒 / 词元</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_chart.cpp" line="123"/>
        <source> (%1 slower points lie above)</source>
        <translation>（有 %1 个更慢的点在图外上方）</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_chart.cpp" line="124"/>
        <source>Step or play: each step adds a point for either lane.</source>
        <translation>步进或播放：每步为两条线各添一个点。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_chart.cpp" line="121"/>
        <source>tokens; points measured, thin lines expected</source>
        <translation>词元数；点为实测，细线为预期</translation>
    </message>
</context>
<context>
    <name>TimingPanel</name>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="45"/>
        <source>measured at chosen lengths</source>
        <translation>在选定长度上测量</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="46"/>
        <source>where the step&apos;s time goes</source>
        <translation>这一步的时间花在哪里</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="75"/>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="93"/>
        <source>Time per token against length</source>
        <translation>每词元时间与长度</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="77"/>
        <source>Time since the first step against length</source>
        <translation>累计时间与长度</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="122"/>
        <source>per token</source>
        <translation>每词元</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="122"/>
        <source>Time of each pass</source>
        <translation>每一遍的时间</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="123"/>
        <source>cumulated</source>
        <translation>累计</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="124"/>
        <source>Time since the first step: here recompute turns quadratic and worse</source>
        <translation>自第一步起的总时间：重算在这里变成平方级甚至更糟</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="125"/>
        <source>log</source>
        <translation>对数</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="125"/>
        <source>Logarithmic axes: a power of the length is a straight line</source>
        <translation>对数坐标：长度的幂是一条直线</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="126"/>
        <source>Sweep…</source>
        <translation>扫描…</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="126"/>
        <source>Measure chosen lengths and caches with repeats</source>
        <translation>对选定的长度和缓存重复测量</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="130"/>
        <source>operations</source>
        <translation>运算</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="131"/>
        <source>Where the time of the viewed step goes, and what share that is of what this machine can do</source>
        <translation>所看步骤的时间花在哪里，以及达到本机能力的几成</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="127"/>
        <source>Export</source>
        <translation>导出</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="127"/>
        <source>Save this chart or its data</source>
        <translation>保存此图或其数据</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="195"/>
        <source>%1 tokens: %2 %3</source>
        <translation>%1 个词元：%2 %3</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="199"/>
        <source>%1 tokens: recompute %2</source>
        <translation>%1 个词元：重算 %2</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="47"/>
        <source>since the first step</source>
        <translation>自第一步起</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="47"/>
        <source>live, both lanes</source>
        <translation>实时，两路</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/timing_panel.cpp" line="98"/>
        <source>Speed-up and same answer, in words</source>
        <translation>加速比与答案是否相同，用文字说明</translation>
    </message>
</context>
<context>
    <name>TimingText</name>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="32"/>
        <source>same answer: yes (largest logit difference %1)</source>
        <translation>答案相同：是（logit 最大差 %1）</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="38"/>
        <source>same answer: no, %1 of %2 tokens differ (largest logit difference %3)</source>
        <translation>答案相同：否，%2 个词元中有 %1 个不同（logit 最大差 %3）</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="43"/>
        <source>same answer: differs by design, %1 of %2 tokens agree (largest logit difference %3)</source>
        <translation>答案：按设计就会不同，%2 个词元中有 %1 个一致（logit 最大差 %3）</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="56"/>
        <source>No gain: this run recomputes every step. Choose a cache to see the difference.</source>
        <translation>没有收益：本次运行每步都重算。选一种缓存看看差别。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="59"/>
        <source>No gain yet (%1x): with %2 tokens a pass over all of them costs hardly more than a pass over one.</source>
        <translation>还没有收益（%1 倍）：只有 %2 个词元时，全部算一遍并不比算一个贵多少。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="63"/>
        <source>No gain yet (%1x): what a pass costs whatever its size is most of the time at %2 tokens.</source>
        <translation>还没有收益（%1 倍）：%2 个词元时，大部分时间是与大小无关的固定开销。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="67"/>
        <source>No gain yet (%1x): both lanes wait for the weights, which each reads once per pass.</source>
        <translation>还没有收益（%1 倍）：两条线都在等权重，每遍各读一次。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="71"/>
        <source>Only %1x: on this device a step of a model this small is launches, not bytes; %2 of its %3 are the same at any length.</source>
        <translation>只快 %1 倍：在此设备上，这么小的模型一步花在启动内核而非搬运字节；%3 中有 %2 与长度无关。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="76"/>
        <source>The gain shows from about %1 tokens on, and with a larger model, such as synthetic:tinyllama-1.1b.</source>
        <translation>约从 %1 个词元起才看得出收益，或换更大的模型，如 synthetic:tinyllama-1.1b。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="79"/>
        <source>The gain shows with a larger model, such as synthetic:tinyllama-1.1b, and texts of thousands of tokens.</source>
        <translation>换更大的模型（如 synthetic:tinyllama-1.1b）和数千词元的文本才看得出收益。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="90"/>
        <source>device %1 + launches and gaps %2 per step</source>
        <translation>每步设备 %1 + 启动与间隙 %2</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="92"/>
        <source>graphs recorded: %1</source>
        <translation>已录制的图：%1</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="108"/>
        <source>at %1 tokens: %2x</source>
        <translation>%1 个词元时：%2 倍</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="109"/>
        <source>%1x now</source>
        <translation>现在快 %1 倍</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="116"/>
        <source>%1 per token. Turn on Race to see what recomputing costs.</source>
        <translation>每词元 %1。打开“竞速”看看重算的代价。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="119"/>
        <source>total %1 against %2 [partly derived]</source>
        <translation>总计 %1 对 %2 [部分推算]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="119"/>
        <source>total %1 against %2</source>
        <translation>总计 %1 对 %2</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="34"/>
        <source>same answer: yes up to rounding (%1); %2 times two tokens were equally likely</source>
        <translation>答案相同：在舍入误差内是（%1）；有 %2 次两个词元同样可能</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/timing_text.cpp" line="112"/>
        <source>%1 per token; the recompute lane has not been measured yet</source>
        <translation>每词元 %1；重算一路尚未测量</translation>
    </message>
</context>
<context>
    <name>TokenText</name>
    <message>
        <location filename="../../ui/viewmodels/token_text.cpp" line="27"/>
        <source>part of a character: bytes %1</source>
        <translation>字符的一部分：字节 %1</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/token_text.cpp" line="42"/>
        <source>special token %1</source>
        <translation>特殊词元 %1</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/token_text.cpp" line="49"/>
        <source>a token without text</source>
        <translation>没有文字的词元</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/token_text.cpp" line="53"/>
        <source>a space</source>
        <translation>空格</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/token_text.cpp" line="53"/>
        <source>%1 spaces</source>
        <translation>%1 个空格</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/token_text.cpp" line="57"/>
        <source>a line break</source>
        <translation>换行</translation>
    </message>
</context>
<context>
    <name>WhatIfModel</name>
    <message>
        <location filename="../../ui/viewmodels/what_if_model.cpp" line="41"/>
        <source>%1 reserved for %2 of %3 tokens [derived]</source>
        <translation>为 %3 个词元中的 %2 个预留 %1 [推导]</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/what_if_model.cpp" line="46"/>
        <source>%1 global layers × %2 rows + %3 local layers × %4 rows</source>
        <translation>%1 个全局层 × %2 行 + %3 个局部层 × %4 行</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/what_if_model.cpp" line="52"/>
        <source>%1 while a token is added: old and new storage together</source>
        <translation>添加一个词元时 %1：新旧存储同时存在</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/what_if_model.cpp" line="56"/>
        <source>beyond the %1 tokens that this model was trained for</source>
        <translation>超出此模型训练时的 %1 个词元</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/what_if_model.cpp" line="57"/>
        <source>more than this machine has</source>
        <translation>超出这台机器的内存</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/what_if_model.cpp" line="93"/>
        <source>An article prints about 1.05 MB per layer and 33.6 MB for %1 tokens of this shape in f16. It is twice that, %2 per layer and %3 in all [derived]: only one of K and V was counted.</source>
        <translation>有文章称此形状在 f16 下 %1 个词元每层约 1.05 MB、共 33.6 MB。实际是其两倍：每层 %2，共 %3 [推导]；文章只计入了 K 和 V 之一。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/what_if_model.cpp" line="99"/>
        <source>Bytes reserved for as many tokens [derived]. Shaded: more than the %1 that this machine has free [measured].</source>
        <translation>为相应词元数预留的字节 [推导]。阴影：超出这台机器可用的 %1 [实测]。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/what_if_model.cpp" line="104"/>
        <source>All its layers attend to the last %1 tokens and keep no more, whatever the strategy.</source>
        <translation>其所有层只关注并保留最近 %1 个词元，与策略无关。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/what_if_model.cpp" line="107"/>
        <source>%1 of its %2 layers attend to the last %3 tokens and keep no more; the strategy rules the other %4.</source>
        <translation>其 %2 层中有 %1 层只关注并保留最近 %3 个词元；其余 %4 层由策略决定。</translation>
    </message>
</context>
<context>
    <name>decodescope::CacheView</name>
    <message>
        <location filename="../../ui/panels/cache/cache_paint.cpp" line="38"/>
        <source>Keys and values of every token appear here: layers down, positions right.</source>
        <translation>这里显示每个词元的键和值：纵向为层，横向为位置。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_paint.cpp" line="39"/>
        <source>Space plays, → makes one step.</source>
        <translation>空格播放，→ 走一步。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_paint.cpp" line="258"/>
        <location filename="../../ui/panels/cache/cache_view.cpp" line="77"/>
        <source>position</source>
        <translation>位置</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_paint.cpp" line="316"/>
        <source>computed again in this step, not kept</source>
        <translation>本步重新计算，不保留</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_paint.cpp" line="320"/>
        <source>filled K</source>
        <translation>已填 K</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_paint.cpp" line="321"/>
        <source>filled V</source>
        <translation>已填 V</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_paint.cpp" line="322"/>
        <source>just written</source>
        <translation>刚写入</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_paint.cpp" line="324"/>
        <source>reserved, empty</source>
        <translation>预留，空</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_paint.cpp" line="325"/>
        <source>evicted, with its step</source>
        <translation>已淘汰，标步数</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_paint.cpp" line="327"/>
        <source>shade: RMS of the row, per layer</source>
        <translation>深浅：该行的均方根，按层</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_view.cpp" line="31"/>
        <source>KV cache: layers down, positions right</source>
        <translation>KV 缓存：纵向为层，横向为位置</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_view.cpp" line="33"/>
        <location filename="../../ui/panels/cache/cache_view.cpp" line="168"/>
        <source>Arrow keys move the pinned cell, Enter shows its numbers, plus and minus zoom, 0 fits, Esc clears</source>
        <translation>方向键移动固定的格子，回车显示数值，加减缩放，0 适应，Esc 清除</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_view.cpp" line="232"/>
        <source>L%1 %2 · position %3</source>
        <translation>L%1 %2 · 位置 %3</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_view.cpp" line="235"/>
        <source>no room here: this layer keeps the last %1 tokens</source>
        <translation>此处无空间：这一层只保留最近 %1 个词元</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_view.cpp" line="237"/>
        <source>reserved, empty: a later token goes here</source>
        <translation>预留，空：留给后面的词元</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_view.cpp" line="242"/>
        <source>RMS %1 [measured]</source>
        <translation>均方根 %1 [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_view.cpp" line="242"/>
        <source>RMS not recorded</source>
        <translation>均方根未记录</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_view.cpp" line="244"/>
        <source>computed again in every step, then thrown away</source>
        <translation>每步重新计算，然后丢弃</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_view.cpp" line="248"/>
        <source>written by the prefill</source>
        <translation>由预填充写入</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_view.cpp" line="248"/>
        <source>written in step %1</source>
        <translation>第 %1 步写入</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_view.cpp" line="252"/>
        <source>local layer: %1 of %2 tokens kept, its window is %3</source>
        <translation>局部层：保留 %2 个词元中的 %1 个，窗口为 %3</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_view.cpp" line="253"/>
        <source>global layer: %1 of %2 tokens kept</source>
        <translation>全局层：保留 %2 个词元中的 %1 个</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_view.cpp" line="260"/>
        <source>evicted in step %1: no later token reads it</source>
        <translation>第 %1 步淘汰：之后的词元读不到</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_view.cpp" line="257"/>
        <source>click shows the numbers, Esc clears</source>
        <translation>点击显示数值，Esc 清除</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cache_view.cpp" line="259"/>
        <source>least attended to in this layer: %1 in all [measured]</source>
        <translation>在这一层得到的注意力最少：总共 %1 [实测]</translation>
    </message>
</context>
<context>
    <name>decodescope::CellView</name>
    <message>
        <location filename="../../ui/panels/cache/cell_view.cpp" line="32"/>
        <source>Numbers of the chosen cell</source>
        <translation>所选格子的数值</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cell_view.cpp" line="36"/>
        <source>Close (Esc)</source>
        <translation>关闭 (Esc)</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cell_view.cpp" line="37"/>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cell_view.cpp" line="112"/>
        <source>Layer %1 · position %2 · %3</source>
        <translation>第 %1 层 · 位置 %2 · %3</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cell_view.cpp" line="125"/>
        <source>as stored, %1 [measured]</source>
        <translation>按存储值，%1 [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cell_view.cpp" line="126"/>
        <source>as stored, K %1, V %2 [measured]</source>
        <translation>按存储值，K %1，V %2 [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cell_view.cpp" line="128"/>
        <source>KV head %1 of %2 · </source>
        <translation>KV 头 %1 / %2 · </translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cell_view.cpp" line="142"/>
        <source>KV head %1 [measured]</source>
        <translation>KV 头 %1 [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/cell_view.cpp" line="161"/>
        <source>head %1</source>
        <translation>头 %1</translation>
    </message>
</context>
<context>
    <name>decodescope::CompareForm</name>
    <message>
        <location filename="../../ui/panels/compare/compare_form.cpp" line="39"/>
        <source>Add</source>
        <translation>添加</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_form.cpp" line="39"/>
        <source>One more configuration, up to four</source>
        <translation>再加一个配置，最多四个</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_form.cpp" line="40"/>
        <source>Growing / preallocated / paged</source>
        <translation>增长 / 预分配 / 分页</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_form.cpp" line="41"/>
        <source>Copies, peak and time per step of the three ways to hold every token</source>
        <translation>保存全部词元的三种方式：复制量、峰值与每步时间</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_form.cpp" line="45"/>
        <source>Progress of the comparison</source>
        <translation>比较的进度</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_form.cpp" line="52"/>
        <source> new tokens</source>
        <translation> 个新词元</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_form.cpp" line="53"/>
        <source>New tokens of the comparison</source>
        <translation>比较生成的新词元数</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_form.cpp" line="55"/>
        <location filename="../../ui/panels/compare/compare_form.cpp" line="139"/>
        <source>Start</source>
        <translation>开始</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_form.cpp" line="55"/>
        <source>Run all of them on the prompt of the run, step by step in turn</source>
        <translation>在当前提示上轮流逐步运行所有配置</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/compare_form.cpp" line="139"/>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
</context>
<context>
    <name>decodescope::ConfigRow</name>
    <message>
        <location filename="../../ui/panels/compare/config_row.cpp" line="32"/>
        <source>Cache</source>
        <translation>缓存</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/config_row.cpp" line="32"/>
        <source>How keys and values are kept</source>
        <translation>键和值如何保存</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/config_row.cpp" line="36"/>
        <location filename="../../ui/panels/compare/config_row.cpp" line="51"/>
        <source>Parameters of the cache</source>
        <translation>缓存的参数</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/config_row.cpp" line="39"/>
        <source>K stored as</source>
        <translation>K 存储格式</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/config_row.cpp" line="39"/>
        <source>How keys are stored</source>
        <translation>键的存储格式</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/config_row.cpp" line="40"/>
        <source>V stored as</source>
        <translation>V 存储格式</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/config_row.cpp" line="40"/>
        <source>How values are stored</source>
        <translation>值的存储格式</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/config_row.cpp" line="41"/>
        <source>Weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/config_row.cpp" line="41"/>
        <source>What the weights are stored as</source>
        <translation>权重的存储格式</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/config_row.cpp" line="42"/>
        <source>Device</source>
        <translation>设备</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/config_row.cpp" line="42"/>
        <source>What computes</source>
        <translation>计算设备</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/config_row.cpp" line="47"/>
        <source>Leave this configuration out</source>
        <translation>去掉这个配置</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/config_row.cpp" line="82"/>
        <source>as in the file</source>
        <translation>与文件相同</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/config_row.cpp" line="95"/>
        <source>The others are compared with this one</source>
        <translation>其他配置都与它比较</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/config_row.cpp" line="138"/>
        <source>defaults</source>
        <translation>默认</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/config_row.cpp" line="141"/>
        <source>Parameters of the cache: %1</source>
        <translation>缓存的参数：%1</translation>
    </message>
    <message>
        <location filename="../../ui/panels/compare/config_row.cpp" line="141"/>
        <source>This cache has no parameters</source>
        <translation>这种缓存没有参数</translation>
    </message>
</context>
<context>
    <name>decodescope::DockArea</name>
    <message>
        <location filename="../../ui/main_window/dock_area.cpp" line="107"/>
        <source>Panels that share a place</source>
        <translation>共用一处的面板</translation>
    </message>
</context>
<context>
    <name>decodescope::EngineWorker</name>
    <message>
        <location filename="../../ui/session/engine_worker.cpp" line="153"/>
        <location filename="../../ui/session/engine_worker.cpp" line="310"/>
        <source>There is no run yet; choose a prompt first.</source>
        <translation>还没有运行；请先选择提示。</translation>
    </message>
    <message>
        <location filename="../../ui/session/engine_worker.cpp" line="156"/>
        <source>The run was interrupted by an error; reset starts it anew.</source>
        <translation>运行因错误中断；重置可重新开始。</translation>
    </message>
    <message>
        <location filename="../../ui/session/engine_worker.cpp" line="178"/>
        <source>The lane without the cache cannot run: %1</source>
        <translation>无缓存的一路无法运行：%1</translation>
    </message>
    <message>
        <location filename="../../ui/session/engine_worker.cpp" line="201"/>
        <source>The lane without the cache stopped: %1</source>
        <translation>无缓存的一路已停止：%1</translation>
    </message>
    <message>
        <location filename="../../ui/session/engine_worker.cpp" line="215"/>
        <source>Beyond %1 tokens, the model&apos;s context, the cached lane goes on alone: a pass without a cache would have to read all tokens at once.</source>
        <translation>超过模型的上下文 %1 个词元后，只有缓存一路继续：没有缓存的一遍必须同时读取全部词元。</translation>
    </message>
    <message>
        <location filename="../../ui/session/engine_worker.cpp" line="224"/>
        <source>A pass without the cache takes about %1 s here, so it is measured at 64, 128, 256, ... tokens only.</source>
        <translation>这里无缓存算一遍约需 %1 秒，因此只在 64、128、256…… 个词元处测量。</translation>
    </message>
    <message>
        <location filename="../../ui/session/engine_worker.cpp" line="234"/>
        <source>There is no step to go on from.</source>
        <translation>没有可以继续的步骤。</translation>
    </message>
    <message>
        <location filename="../../ui/session/engine_worker.cpp" line="249"/>
        <source>Branch %1 was given up: %2 branches are kept.</source>
        <translation>分支 %1 已放弃：最多保留 %2 个分支。</translation>
    </message>
    <message>
        <location filename="../../ui/session/engine_worker.cpp" line="262"/>
        <source>There is no branch %1.</source>
        <translation>没有分支 %1。</translation>
    </message>
    <message>
        <location filename="../../ui/session/engine_worker.cpp" line="294"/>
        <source>No model is loaded yet; choose one first.</source>
        <translation>还没有加载模型；请先选择一个。</translation>
    </message>
    <message>
        <location filename="../../ui/session/engine_worker.cpp" line="357"/>
        <source>There is no engine behind what is shown.</source>
        <translation>当前显示的内容背后没有引擎。</translation>
    </message>
    <message>
        <location filename="../../ui/session/engine_worker.cpp" line="40"/>
        <location filename="../../ui/session/engine_worker.cpp" line="365"/>
        <source>There is not enough memory for this.</source>
        <translation>内存不足。</translation>
    </message>
    <message>
        <location filename="../../ui/session/engine_worker.cpp" line="30"/>
        <source>Reset starts the run anew.</source>
        <translation>重置可重新开始运行。</translation>
    </message>
    <message>
        <location filename="../../ui/session/engine_worker.cpp" line="42"/>
        <source>An unexpected error stopped the work: %1.</source>
        <translation>意外错误中断了工作：%1。</translation>
    </message>
    <message>
        <location filename="../../ui/session/engine_worker.cpp" line="228"/>
        <source>Flat out, the pass without the cache is measured every %1 tokens from here on.</source>
        <translation>全速运行时，从这里起每 %1 个词元测一次无缓存。</translation>
    </message>
</context>
<context>
    <name>decodescope::ExportDialog</name>
    <message>
        <location filename="../../ui/main_window/export_dialog.cpp" line="57"/>
        <location filename="../../ui/main_window/export_dialog.cpp" line="81"/>
        <source>Export</source>
        <translation>导出</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/export_dialog.cpp" line="65"/>
        <source> px per unit of type</source>
        <translation> 像素/字号单位</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/export_dialog.cpp" line="71"/>
        <source>every row, in full precision</source>
        <translation>全部行，完整精度</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/export_dialog.cpp" line="75"/>
        <source>Choose…</source>
        <translation>选择…</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/export_dialog.cpp" line="76"/>
        <source>&amp;What</source>
        <translation>内容(&amp;W)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/export_dialog.cpp" line="77"/>
        <source>&amp;Format</source>
        <translation>格式(&amp;F)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/export_dialog.cpp" line="78"/>
        <source>&amp;Size</source>
        <translation>尺寸(&amp;S)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/export_dialog.cpp" line="79"/>
        <source>Save &amp;to</source>
        <translation>保存到(&amp;T)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/export_dialog.cpp" line="83"/>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/export_dialog.cpp" line="114"/>
        <source>PNG picture</source>
        <translation>PNG 图片</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/export_dialog.cpp" line="115"/>
        <source>SVG drawing, type as outlines</source>
        <translation>SVG 图形，文字转为轮廓</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/export_dialog.cpp" line="116"/>
        <source>PDF page</source>
        <translation>PDF 页面</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/export_dialog.cpp" line="118"/>
        <source>CSV data</source>
        <translation>CSV 数据</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/export_dialog.cpp" line="119"/>
        <source>JSON data</source>
        <translation>JSON 数据</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/export_dialog.cpp" line="136"/>
        <source>Export to</source>
        <translation>导出到</translation>
    </message>
</context>
<context>
    <name>decodescope::LiveRun</name>
    <message>
        <location filename="../../ui/session/live_run.cpp" line="121"/>
        <source>The prompt is empty.</source>
        <translation>提示为空。</translation>
    </message>
    <message>
        <location filename="../../ui/session/live_run.cpp" line="122"/>
        <source>Type some text or choose one of the prompts.</source>
        <translation>请输入文字或选择一个提示。</translation>
    </message>
</context>
<context>
    <name>decodescope::MainWindow</name>
    <message>
        <location filename="../../ui/main_window/main_window.cpp" line="113"/>
        <source>saved %1</source>
        <translation>已保存 %1</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/main_window_files.cpp" line="47"/>
        <source>Folder of a model</source>
        <translation>模型文件夹</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/main_window_files.cpp" line="55"/>
        <source>File of a model</source>
        <translation>模型文件</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/main_window_files.cpp" line="56"/>
        <source>Models (*.gguf *.safetensors config.json model.safetensors.index.json);;All files (*)</source>
        <translation>模型 (*.gguf *.safetensors config.json model.safetensors.index.json);;所有文件 (*)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/main_window_files.cpp" line="81"/>
        <source>Open a recording</source>
        <translation>打开录制</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/main_window_files.cpp" line="82"/>
        <source>Recordings (*.dscope);;All files (*)</source>
        <translation>录制 (*.dscope);;所有文件 (*)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/main_window_files.cpp" line="88"/>
        <source>Save the run as a recording</source>
        <translation>把运行保存为录制</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/main_window_files.cpp" line="89"/>
        <source>Recordings (*.dscope)</source>
        <translation>录制 (*.dscope)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/main_window_files.cpp" line="100"/>
        <source>There is nothing to export yet.</source>
        <translation>还没有可导出的内容。</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/main_window_files.cpp" line="100"/>
        <source>Play a few steps first.</source>
        <translation>请先播放几步。</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/main_window_files.cpp" line="112"/>
        <source>exported %1</source>
        <translation>已导出 %1</translation>
    </message>
</context>
<context>
    <name>decodescope::MapView</name>
    <message>
        <location filename="../../ui/panels/attention/map_paint.cpp" line="131"/>
        <source>What each token reads from appears here, a row per token.</source>
        <translation>这里显示每个词元从哪里读取，每个词元一行。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_paint.cpp" line="132"/>
        <source>Space plays, → makes one step.</source>
        <translation>空格播放，→ 走一步。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_paint.cpp" line="191"/>
        <source>not captured: byte budget</source>
        <translation>未采集：字节预算</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_paint.cpp" line="191"/>
        <source>not captured</source>
        <translation>未采集</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_paint.cpp" line="297"/>
        <location filename="../../ui/panels/attention/map_paint.cpp" line="300"/>
        <source>token being computed</source>
        <translation>正在计算的词元</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_paint.cpp" line="303"/>
        <source>reads from</source>
        <translation>读取自</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_paint.cpp" line="349"/>
        <source>point at a cell for its number</source>
        <translation>指向格子查看数值</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_view.cpp" line="28"/>
        <source>Attention of the chosen head: rows are tokens being computed, columns the tokens they read from</source>
        <translation>所选头的注意力：行是正在计算的词元，列是它们读取的词元</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_view.cpp" line="29"/>
        <location filename="../../ui/panels/attention/map_view.cpp" line="69"/>
        <source>Arrow keys move the pinned cell, plus and minus zoom, 0 fits, Esc clears</source>
        <translation>方向键移动固定的格子，加减缩放，0 适应，Esc 清除</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_view.cpp" line="175"/>
        <source>L%1, mean of %2 heads</source>
        <translation>L%1，%2 个头的平均</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_view.cpp" line="177"/>
        <source>%1, step %2 [measured]</source>
        <translation>%1，第 %2 步 [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_view.cpp" line="180"/>
        <location filename="../../ui/panels/attention/map_view.cpp" line="185"/>
        <source>%1 cannot read %2</source>
        <translation>%1 不能读取 %2</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_view.cpp" line="180"/>
        <source>%1 comes later</source>
        <translation>%1 在后面</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_view.cpp" line="182"/>
        <source>%1 reads %2: %3</source>
        <translation>%1 读取 %2：%3</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_view.cpp" line="183"/>
        <source>click pins, Esc clears</source>
        <translation>点击固定，Esc 清除</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_view.cpp" line="185"/>
        <source>its K and V had left the cache</source>
        <translation>它的 K 和 V 已离开缓存</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_view.cpp" line="187"/>
        <source>%1 reads %2: not captured</source>
        <translation>%1 读取 %2：未采集</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_view.cpp" line="188"/>
        <source>left out: the history&apos;s byte budget is used up</source>
        <translation>略去：历史的字节预算已用完</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/map_view.cpp" line="189"/>
        <source>computed, but not recorded: capture was off</source>
        <translation>算过但没有记录：采集已关</translation>
    </message>
</context>
<context>
    <name>decodescope::MessageBar</name>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="43"/>
        <source>Close the message</source>
        <translation>关闭消息</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="52"/>
        <source>Error: </source>
        <translation>错误：</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="53"/>
        <source>Note: </source>
        <translation>注意：</translation>
    </message>
</context>
<context>
    <name>decodescope::ModelOffer</name>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="52"/>
        <source>%1 [derived]</source>
        <translation>%1 [推算]</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="64"/>
        <source>%1 in %2</source>
        <translation>%1（%2）</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="67"/>
        <source>%1, and %2 made of the file&apos;s %3</source>
        <translation>%1，另有 %2 由文件的 %3 展开</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="70"/>
        <source>Architecture</source>
        <translation>结构</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="71"/>
        <source>%1, %2 layers, %3 wide, %4 query heads and %5 KV heads of %6</source>
        <translation>%1，%2 层，宽 %3，%4 个查询头和 %5 个 KV 头，每头 %6</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="74"/>
        <source>Context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="74"/>
        <source>%1 tokens</source>
        <translation>%1 个词元</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="75"/>
        <source>Parameters</source>
        <translation>参数</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="76"/>
        <source>Weights in memory</source>
        <translation>内存中的权重</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="77"/>
        <source>KV cache</source>
        <translation>KV 缓存</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="78"/>
        <source>%1 for the first token, %2 at full context, as %3</source>
        <translation>第一个词元 %1，满上下文 %2，格式 %3</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="82"/>
        <source>Attention</source>
        <translation>注意力</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="83"/>
        <source>%1 of %2 layers attend to the last %3 tokens and keep no more</source>
        <translation>%2 层中有 %1 层只关注并保留最近 %3 个词元</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="88"/>
        <source>Chat template</source>
        <translation>对话模板</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="89"/>
        <source>the file has one; it is not applied, text is sent as it is typed</source>
        <translation>文件中有模板；不套用，文本按输入原样送入</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="92"/>
        <source>Memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="94"/>
        <source>fits: %1 with a full context, %2 are free</source>
        <translation>放得下：满上下文需 %1，空闲 %2</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="96"/>
        <source>fits with a shorter text: %1 with a full context, %2 are free</source>
        <translation>文本较短时放得下：满上下文需 %1，空闲 %2</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="97"/>
        <source>does not fit: %1 with a full context, %2 are free</source>
        <translation>放不下：满上下文需 %1，空闲 %2</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="101"/>
        <source>Expected</source>
        <translation>预计</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="102"/>
        <source>about %1 per token at first [derived]: the weights are read once, at %2 GB/s [measured]</source>
        <translation>起初每个词元约 %1 [推算]：权重读一遍，速度 %2 GB/s [实测]</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="112"/>
        <source>Reading what the model needs…</source>
        <translation>正在读取模型需要什么…</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="116"/>
        <source>Open %1</source>
        <translation>打开 %1</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="120"/>
        <source>Load</source>
        <translation>加载</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="123"/>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="147"/>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/model_offer.cpp" line="150"/>
        <source>The running model stays until this one is ready.</source>
        <translation>在新模型就绪之前，正在运行的模型保持不变。</translation>
    </message>
</context>
<context>
    <name>decodescope::ModelView</name>
    <message>
        <location filename="../../ui/panels/model/model_view.cpp" line="56"/>
        <source>Model card: the shapes of the model and its cache</source>
        <translation>模型卡：模型及其缓存的形状</translation>
    </message>
    <message>
        <location filename="../../ui/panels/model/model_view.cpp" line="230"/>
        <source>%1 × this layer; attention and MLP read the same row</source>
        <translation>%1 × 这样的层；注意力与 MLP 读同一行</translation>
    </message>
    <message>
        <location filename="../../ui/panels/model/model_view.cpp" line="231"/>
        <source>%1 × this layer; attention first, then the MLP</source>
        <translation>%1 × 这样的层；先注意力，后 MLP</translation>
    </message>
    <message>
        <location filename="../../ui/panels/model/model_view.cpp" line="290"/>
        <source>Parameters</source>
        <translation>参数</translation>
    </message>
    <message>
        <location filename="../../ui/panels/model/model_view.cpp" line="292"/>
        <source>Layers: what each sees and keeps</source>
        <translation>各层：看到什么、保留什么</translation>
    </message>
    <message>
        <location filename="../../ui/panels/model/model_view.cpp" line="292"/>
        <source>Layers: all are alike</source>
        <translation>各层：全部相同</translation>
    </message>
    <message>
        <location filename="../../ui/panels/model/model_view.cpp" line="295"/>
        <source>KV cache [derived]</source>
        <translation>KV 缓存 [推算]</translation>
    </message>
    <message>
        <location filename="../../ui/panels/model/model_view.cpp" line="346"/>
        <source>%1 layers keep %2 rows each at full context: %3</source>
        <translation>满上下文时 %1 层各保留 %2 行：%3</translation>
    </message>
    <message>
        <location filename="../../ui/panels/model/model_view.cpp" line="348"/>
        <source>%1 local layers (part filled) keep the last %2 rows: %3</source>
        <translation>%1 个局部层（部分填充）保留最近 %2 行：%3</translation>
    </message>
    <message>
        <location filename="../../ui/panels/model/model_view.cpp" line="349"/>
        <source>%1 global layers (filled) keep %2 rows at full context: %3</source>
        <translation>%1 个全局层（填满）在满上下文时保留 %2 行：%3</translation>
    </message>
</context>
<context>
    <name>decodescope::OperationPage</name>
    <message>
        <location filename="../../ui/panels/timing/operation_page.cpp" line="43"/>
        <source>Operations of the viewed step, the longest first</source>
        <translation>所看步骤的运算，耗时最长的在前</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/operation_page.cpp" line="50"/>
        <source>operation</source>
        <translation>运算</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/operation_page.cpp" line="50"/>
        <source>time</source>
        <translation>时间</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/operation_page.cpp" line="50"/>
        <source>part</source>
        <translation>占比</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/operation_page.cpp" line="50"/>
        <source>bytes</source>
        <translation>字节</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/operation_page.cpp" line="50"/>
        <source>GB/s</source>
        <translation>GB/s</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/operation_page.cpp" line="50"/>
        <source>of the limit</source>
        <translation>达到上限</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/operation_page.cpp" line="54"/>
        <source>Measured, all layers together</source>
        <translation>实测，各层合计</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/operation_page.cpp" line="55"/>
        <source>Of the time of all operations</source>
        <translation>占全部运算时间的比例</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/operation_page.cpp" line="56"/>
        <source>Derived from the shapes: weights once, K and V read and written</source>
        <translation>由形状推算：权重各读一次，K 和 V 的读写</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/operation_page.cpp" line="58"/>
        <source>Of what this machine can do: reading memory, or, marked F, floating-point operations, whichever is nearer. More than 100 %: what is read lies in a processor&apos;s cache</source>
        <translation>占本机能力的比例：读内存，或（标 F 者）浮点运算，取更接近的一项。超过 100 %：所读数据在处理器缓存里</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/operation_page.cpp" line="106"/>
        <source>not known</source>
        <translation>未知</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/operation_page.cpp" line="118"/>
        <source>Operations of a step</source>
        <translation>一步的运算</translation>
    </message>
</context>
<context>
    <name>decodescope::OverviewView</name>
    <message>
        <location filename="../../ui/panels/attention/overview_view.cpp" line="33"/>
        <source>Attention of all heads: layers down, heads to the right</source>
        <translation>所有头的注意力：纵向为层，横向为头</translation>
    </message>
    <message>
        <location filename="../../ui/panels/attention/overview_view.cpp" line="34"/>
        <source>Arrow keys choose a head</source>
        <translation>方向键选择头</translation>
    </message>
</context>
<context>
    <name>decodescope::PlacementMap</name>
    <message>
        <location filename="../../ui/panels/cache/placement_map.cpp" line="28"/>
        <source>Cache map: positions above, memory below</source>
        <translation>缓存图：上为位置，下为内存</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_map.cpp" line="55"/>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="237"/>
        <source>position</source>
        <translation>位置</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_map.cpp" line="55"/>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="232"/>
        <source>sequence</source>
        <translation>序列</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_map.cpp" line="56"/>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="233"/>
        <source>memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_map.cpp" line="138"/>
        <source>Arrow keys move the pinned position, up and down by a page, plus and minus zoom, 0 fits, Esc clears</source>
        <translation>方向键移动固定的位置，上下键移动一页，加减键缩放，0 适应窗口，Esc 清除</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="79"/>
        <source>Where each token lies in memory appears here, with lines from its position.</source>
        <translation>这里将显示每个词元在内存中的位置，并与它在文本中的位置连线。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="80"/>
        <source>Space plays, → makes one step.</source>
        <translation>空格播放，→ 走一步。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="82"/>
        <source>Nothing is kept, so nothing lies anywhere.</source>
        <translation>什么都不保留，所以内存里什么也没有。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="83"/>
        <source>Choose a cache in the toolbar to see where its rows go.</source>
        <translation>在工具栏选择一种缓存，看它的行存放在哪里。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="84"/>
        <source>Not captured: this recording does not say where the rows lie.</source>
        <translation>未采集：此记录没有说明各行在内存中的位置。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="85"/>
        <source>It comes from an earlier version, or the cache is larger than the map.</source>
        <translation>它来自较早的版本，或者缓存大于此图的上限。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="235"/>
        <source>page</source>
        <translation>页</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="235"/>
        <source>slot</source>
        <translation>槽位</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="303"/>
        <source>this conversation</source>
        <translation>本对话</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="304"/>
        <source>shared</source>
        <translation>共享</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="306"/>
        <source>another&apos;s</source>
        <translation>其他对话</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="308"/>
        <source>free, can still be found</source>
        <translation>空闲，仍可找到</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="309"/>
        <source>free again: dotted</source>
        <translation>重新空闲：点状</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="310"/>
        <source>reclaimed: with a corner</source>
        <translation>被收回：带折角</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="312"/>
        <source>reserved, empty</source>
        <translation>预留，空</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="313"/>
        <source>just written</source>
        <translation>刚写入</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="315"/>
        <source>quantized group</source>
        <translation>量化组</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="316"/>
        <source>full precision</source>
        <translation>全精度</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="318"/>
        <source>next write</source>
        <translation>下一次写入</translation>
    </message>
    <message>
        <location filename="../../ui/panels/cache/placement_paint.cpp" line="320"/>
        <source>evicted, with its step</source>
        <translation>已淘汰，标步数</translation>
    </message>
</context>
<context>
    <name>decodescope::ProbabilityBars</name>
    <message>
        <location filename="../../ui/panels/happened/probability_bars.cpp" line="15"/>
        <source>Probabilities of the next token</source>
        <translation>下一个词元的概率</translation>
    </message>
    <message>
        <location filename="../../ui/panels/happened/probability_bars.cpp" line="27"/>
        <source> (chosen)</source>
        <translation>（选中）</translation>
    </message>
    <message>
        <location filename="../../ui/panels/happened/probability_bars.cpp" line="45"/>
        <location filename="../../ui/panels/happened/probability_bars.cpp" line="62"/>
        <source>  chosen</source>
        <translation>  选中</translation>
    </message>
</context>
<context>
    <name>decodescope::PromptPopover</name>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="270"/>
        <source>Start with this text</source>
        <translation>用这段文字开始</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="272"/>
        <source>Own text as the prompt</source>
        <translation>自己的文字作为提示</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="274"/>
        <source>Prompt</source>
        <translation>提示</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="275"/>
        <source>Text for the model to go on from. Ctrl+Enter starts.</source>
        <translation>让模型接着写的文字。Ctrl+回车开始。</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="282"/>
        <source>What is sent to the model</source>
        <translation>送入模型的内容</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="295"/>
        <source>The tokenizer puts %1 before the text.</source>
        <translation>分词器在文本前加上 %1。</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="297"/>
        <source>The model has a chat template. It is not applied: the text is sent as it is typed here.</source>
        <translation>模型带有对话模板，未套用：文本按此处输入原样送入。</translation>
    </message>
</context>
<context>
    <name>decodescope::RibbonView</name>
    <message>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="27"/>
        <source>Tokens</source>
        <translation>词元</translation>
    </message>
    <message>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="28"/>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="142"/>
        <source>Left and right move the pinned token, Esc clears</source>
        <translation>左右键移动固定的词元，Esc 清除</translation>
    </message>
    <message>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="135"/>
        <source>bars: what the newest token reads (%1)</source>
        <translation>柱：最新词元读取的内容（%1）</translation>
    </message>
    <message>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="136"/>
        <source>bars: what %1 reads (%2)</source>
        <translation>柱：%1 读取的内容（%2）</translation>
    </message>
    <message>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="146"/>
        <source>Token %1 of %2: %3</source>
        <translation>词元 %1 / %2：%3</translation>
    </message>
    <message>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="156"/>
        <source>The tokens of the text appear here, one chip each.</source>
        <translation>文字的词元显示在这里，每个一枚。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="157"/>
        <source>Space plays, → makes one step.</source>
        <translation>空格播放，→ 走一步。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="186"/>
        <source>PREFILL %1 tokens</source>
        <translation>预填充 %1 个词元</translation>
    </message>
    <message>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="188"/>
        <source>FED AGAIN %1 tokens</source>
        <translation>重新送入 %1 个词元</translation>
    </message>
    <message>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="188"/>
        <source>FED AGAIN 1 token</source>
        <translation>重新送入 1 个词元</translation>
    </message>
    <message>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="190"/>
        <source>DECODE step %1</source>
        <translation>解码 第 %1 步</translation>
    </message>
    <message>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="191"/>
        <source>DECODE</source>
        <translation>解码</translation>
    </message>
    <message>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="254"/>
        <source>%1 · position %2 · %3</source>
        <translation>%1 · 位置 %2 · %3</translation>
    </message>
    <message>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="257"/>
        <source>generated</source>
        <translation>生成</translation>
    </message>
    <message>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="257"/>
        <source>prompt</source>
        <translation>提示</translation>
    </message>
    <message>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="260"/>
        <source>attention of this token was not captured</source>
        <translation>该词元的注意力未采集</translation>
    </message>
    <message>
        <location filename="../../ui/panels/ribbon/ribbon_view.cpp" line="332"/>
        <source>%1 · token id %2 · position %3</source>
        <translation>%1 · 词元编号 %2 · 位置 %3</translation>
    </message>
</context>
<context>
    <name>decodescope::SameLight</name>
    <message>
        <location filename="../../ui/panels/timing/same_light.cpp" line="19"/>
        <source>Same answer: both lanes choose the same tokens</source>
        <translation>答案相同：两路选出同样的词元</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/same_light.cpp" line="21"/>
        <source>Different answer: the lanes choose different tokens</source>
        <translation>答案不同：两路选出不同的词元</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/same_light.cpp" line="22"/>
        <source>Differs by design: this strategy forgets on purpose</source>
        <translation>按设计就会不同：该策略有意遗忘</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/same_light.cpp" line="23"/>
        <source>Same answer: not compared yet</source>
        <translation>答案是否相同：尚未比较</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/same_light.cpp" line="20"/>
        <source>Same answer up to rounding: two tokens were equally likely</source>
        <translation>在舍入误差内答案相同：两个词元同样可能</translation>
    </message>
</context>
<context>
    <name>decodescope::SessionController</name>
    <message>
        <location filename="../../ui/session/session_controller_private.cpp" line="250"/>
        <source>Cancelled; what was there before is kept.</source>
        <translation>已取消；之前的内容保留。</translation>
    </message>
    <message>
        <location filename="../../ui/session/session_controller_private.cpp" line="258"/>
        <source>Loading the model</source>
        <translation>正在加载模型</translation>
    </message>
    <message>
        <location filename="../../ui/session/session_controller_private.cpp" line="259"/>
        <source>Prefill of the prompt</source>
        <translation>正在预填充提示</translation>
    </message>
    <message>
        <location filename="../../ui/session/session_controller_private.cpp" line="260"/>
        <source>Feeding the tokens again</source>
        <translation>正在重新送入词元</translation>
    </message>
    <message>
        <location filename="../../ui/session/session_controller_private.cpp" line="261"/>
        <source>Saving the recording</source>
        <translation>正在保存录制</translation>
    </message>
    <message>
        <location filename="../../ui/session/session_controller_private.cpp" line="262"/>
        <source>Opening the recording</source>
        <translation>正在打开录制</translation>
    </message>
    <message>
        <location filename="../../ui/session/session_controller_private.cpp" line="264"/>
        <source>Sweep: %1</source>
        <translation>扫描：%1</translation>
    </message>
    <message>
        <location filename="../../ui/session/session_controller_private.cpp" line="267"/>
        <source>Compare: %1</source>
        <translation>比较：%1</translation>
    </message>
    <message>
        <location filename="../../ui/session/session_controller.cpp" line="102"/>
        <source>Only a cache with pages shares them between branches; choose a paged cache first.</source>
        <translation>只有分页缓存才能在分支之间共享页；请先选择分页缓存。</translation>
    </message>
    <message>
        <location filename="../../ui/session/session_controller.cpp" line="107"/>
        <source>There is only this run; fork it to have branches.</source>
        <translation>只有这一次运行；分叉后才有分支。</translation>
    </message>
</context>
<context>
    <name>decodescope::SettingsPopover</name>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="77"/>
        <source>Settings of the run</source>
        <translation>运行设置</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="89"/>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="90"/>
        <source>Apply</source>
        <translation>应用</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="102"/>
        <source>Sampling</source>
        <translation>采样</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="105"/>
        <source>0 (greedy)</source>
        <translation>0（贪心）</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="106"/>
        <location filename="../../ui/main_window/settings_popover.cpp" line="190"/>
        <source>all</source>
        <translation>全部</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="110"/>
        <source>&amp;Temperature</source>
        <translation>温度(&amp;T)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="111"/>
        <source>Top-&amp;k</source>
        <translation>Top-&amp;k</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="112"/>
        <source>Top-&amp;p</source>
        <translation>Top-&amp;p</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="113"/>
        <source>&amp;Seed</source>
        <translation>种子(&amp;S)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="118"/>
        <source>Cache</source>
        <translation>缓存</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="135"/>
        <source>K stored as</source>
        <translation>K 存储格式</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="136"/>
        <source>V stored as</source>
        <translation>V 存储格式</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="183"/>
        <source>Run</source>
        <translation>运行</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="185"/>
        <source>until the context is full</source>
        <translation>直到上下文填满</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="187"/>
        <source>as in the file</source>
        <translation>与文件相同</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="191"/>
        <source>Stop at the end token</source>
        <translation>遇到结束词元时停止</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="192"/>
        <source>Read special tokens in the prompt</source>
        <translation>识别提示中的特殊词元</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="193"/>
        <source>Capture attention</source>
        <translation>采集注意力</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="195"/>
        <source>Keeps what every head reads. It costs a little time, so steps timed with it are marked in the charts.</source>
        <translation>保留每个头读取的内容。会多花一点时间，因此图中会标出这样计时的步。</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="196"/>
        <source>Time every stage</source>
        <translation>为每个阶段计时</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="197"/>
        <source>Slow motion and the table of operations then say how long each stage took.</source>
        <translation>慢动作和运算表会给出每个阶段的耗时。</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="198"/>
        <source>&amp;New tokens</source>
        <translation>新词元数(&amp;N)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="199"/>
        <source>&amp;Weights</source>
        <translation>权重(&amp;W)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="200"/>
        <source>T&amp;hreads</source>
        <translation>线程(&amp;H)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="127"/>
        <source>Tokens that int8-kivi quantizes together, with scales for each channel of the keys.</source>
        <translation>int8-kivi 一起量化的词元数，键的每个通道各有比例因子。</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="128"/>
        <source>Newest tokens that int8-kivi keeps in full precision at least.</source>
        <translation>int8-kivi 至少以全精度保留的最新词元数。</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="137"/>
        <source>Group</source>
        <translation>分组</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/settings_popover.cpp" line="138"/>
        <source>Residual</source>
        <translation>保留</translation>
    </message>
</context>
<context>
    <name>decodescope::SpeedSlider</name>
    <message>
        <location filename="../../ui/main_window/speed_slider.cpp" line="18"/>
        <source>Speed</source>
        <translation>速度</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/speed_slider.cpp" line="42"/>
        <source>as fast as it goes</source>
        <translation>全速</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/speed_slider.cpp" line="43"/>
        <source>one token in %1 s</source>
        <translation>每 %1 秒一个词元</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/speed_slider.cpp" line="44"/>
        <source>%1 tokens a second</source>
        <translation>每秒 %1 个词元</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/speed_slider.cpp" line="49"/>
        <source>Speed: %1</source>
        <translation>速度：%1</translation>
    </message>
</context>
<context>
    <name>decodescope::StageChips</name>
    <message>
        <location filename="../../ui/panels/happened/stage_chips.cpp" line="21"/>
        <source>Stages of a step</source>
        <translation>一步的各阶段</translation>
    </message>
</context>
<context>
    <name>decodescope::StateTable</name>
    <message>
        <location filename="../../ui/session/state_table.cpp" line="65"/>
        <source>No model is loaded yet; choose one first.</source>
        <translation>还没有加载模型；请先选择一个。</translation>
    </message>
    <message>
        <location filename="../../ui/session/state_table.cpp" line="66"/>
        <source>A model or a file is being opened; wait for it or cancel.</source>
        <translation>正在打开模型或文件；请等待或取消。</translation>
    </message>
    <message>
        <location filename="../../ui/session/state_table.cpp" line="67"/>
        <source>Nothing is running.</source>
        <translation>没有正在运行的内容。</translation>
    </message>
    <message>
        <location filename="../../ui/session/state_table.cpp" line="68"/>
        <source>A step is under way; wait for it or cancel.</source>
        <translation>正在执行一步；请等待或取消。</translation>
    </message>
    <message>
        <location filename="../../ui/session/state_table.cpp" line="69"/>
        <source>The run is playing; pause it first.</source>
        <translation>正在播放；请先暂停。</translation>
    </message>
    <message>
        <location filename="../../ui/session/state_table.cpp" line="70"/>
        <source>A measurement is running; wait for it or cancel.</source>
        <translation>正在扫描；请等待或取消。</translation>
    </message>
    <message>
        <location filename="../../ui/session/state_table.cpp" line="72"/>
        <source>A recording is shown and there is no engine; reset to go back to a live run.</source>
        <translation>当前显示的是录制，没有引擎；重置可回到实时运行。</translation>
    </message>
    <message>
        <location filename="../../ui/session/state_table.cpp" line="93"/>
        <source>The recording is being saved; wait for it or cancel.</source>
        <translation>正在保存录制；请等待或取消。</translation>
    </message>
    <message>
        <location filename="../../ui/session/state_table.cpp" line="95"/>
        <location filename="../../ui/session/state_table.cpp" line="104"/>
        <source>There is no run yet; choose a prompt first.</source>
        <translation>还没有运行；请先选择提示。</translation>
    </message>
    <message>
        <location filename="../../ui/session/state_table.cpp" line="96"/>
        <source>This is the first step; there is nothing before it.</source>
        <translation>这是第一步；前面没有了。</translation>
    </message>
    <message>
        <location filename="../../ui/session/state_table.cpp" line="100"/>
        <source>The recording is playing; pause it first.</source>
        <translation>录制正在播放；请先暂停。</translation>
    </message>
    <message>
        <location filename="../../ui/session/state_table.cpp" line="101"/>
        <source>This is the newest step; there is nothing after it.</source>
        <translation>这是最新一步；后面没有了。</translation>
    </message>
    <message>
        <location filename="../../ui/session/state_table.cpp" line="103"/>
        <source>The run has ended; reset it or go on from an earlier step.</source>
        <translation>运行已结束；请重置或从较早的一步继续。</translation>
    </message>
</context>
<context>
    <name>decodescope::StatusLine</name>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="85"/>
        <source>Facts of the run</source>
        <translation>运行信息</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="88"/>
        <source>Messages</source>
        <translation>消息</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="92"/>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="100"/>
        <location filename="../../ui/main_window/message_bar.cpp" line="106"/>
        <location filename="../../ui/main_window/message_bar.cpp" line="158"/>
        <source>no message</source>
        <translation>没有消息</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="130"/>
        <source>opening the model</source>
        <translation>正在打开模型</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="130"/>
        <source>no run yet</source>
        <translation>还没有运行</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="140"/>
        <source>%1, %2 weights, %3 cache</source>
        <translation>%1，%2 权重，%3 缓存</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="141"/>
        <source>seeded weights: the text means nothing</source>
        <translation>随机权重：文字没有意义</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="142"/>
        <source>greedy, seed %1</source>
        <translation>贪心，种子 %1</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="143"/>
        <source>temperature %1, seed %2</source>
        <translation>温度 %1，种子 %2</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="146"/>
        <source>recording of %1</source>
        <translation>%1 的录制</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="147"/>
        <source>capture on: timings marked</source>
        <translation>采集开：计时有标记</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="147"/>
        <source>capture off</source>
        <translation>采集关</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="139"/>
        <source>1 thread</source>
        <translation>1 线程</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/message_bar.cpp" line="139"/>
        <source>%1 threads</source>
        <translation>%1 线程</translation>
    </message>
</context>
<context>
    <name>decodescope::StrategyForm</name>
    <message>
        <location filename="../../ui/widgets/strategy_form.cpp" line="75"/>
        <source>chosen from the run</source>
        <translation>由运行决定</translation>
    </message>
</context>
<context>
    <name>decodescope::SweepPage</name>
    <message>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="30"/>
        <source>&quot;%1&quot; is no length: whole numbers from 2 on.</source>
        <translation>“%1”不是长度：需为不小于 2 的整数。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="33"/>
        <source>Length %1 does not fit the model&apos;s context of %2 tokens.</source>
        <translation>长度 %1 超出模型的上下文 %2 个词元。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="41"/>
        <source>Name at least one length, for example 64, 128, 256.</source>
        <translation>请至少给出一个长度，例如 64, 128, 256。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="52"/>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="247"/>
        <source>Sweep: time per token against length</source>
        <translation>扫描：每词元时间与长度</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="54"/>
        <source>Sweep: table of medians and speed-ups</source>
        <translation>扫描：中位数与加速比表</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="78"/>
        <source>&amp;Lengths</source>
        <translation>长度(&amp;L)</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="80"/>
        <source>Lengths to measure, in tokens</source>
        <translation>要测量的长度（词元）</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="87"/>
        <source> repeats</source>
        <translation> 次重复</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="88"/>
        <source>Repeats of each measurement</source>
        <translation>每次测量的重复次数</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="90"/>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="156"/>
        <source>Start</source>
        <translation>开始</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="104"/>
        <source>Progress of the sweep</source>
        <translation>扫描进度</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="124"/>
        <source>Choose at least one cache to measure.</source>
        <translation>请至少选择一种缓存。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="156"/>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="187"/>
        <source>speed-up</source>
        <translation>加速比</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="219"/>
        <source> (%1 more: point here)</source>
        <translation>（另有 %1 条：指向此处）</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="222"/>
        <source>Cancelled: what was measured before is shown.</source>
        <translation>已取消：显示已测得的结果。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/timing/sweep_page.cpp" line="185"/>
        <source>length</source>
        <translation>长度</translation>
    </message>
</context>
<context>
    <name>decodescope::TransportBar</name>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="40"/>
        <source>&amp;Model</source>
        <translation>模型(&amp;M)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="40"/>
        <source>The model that runs</source>
        <translation>运行的模型</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="41"/>
        <source>&amp;Device</source>
        <translation>设备(&amp;D)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="41"/>
        <source>What computes</source>
        <translation>计算设备</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="42"/>
        <source>&amp;Cache</source>
        <translation>缓存(&amp;C)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="42"/>
        <source>How keys and values are kept; every token stays when you switch</source>
        <translation>键和值如何保留；切换时所有词元都不变</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="43"/>
        <source>Prom&amp;pt</source>
        <translation>提示(&amp;P)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="43"/>
        <source>What the model goes on from</source>
        <translation>模型接着写的开头</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="134"/>
        <source>To the first step</source>
        <translation>到第一步</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="135"/>
        <source>To the first step (Home). At the first step: start again with the same prompt</source>
        <translation>到第一步 (Home)。已在第一步时：用同样的提示重新开始</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="142"/>
        <source>Step back</source>
        <translation>后退一步</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="142"/>
        <source>One step back: only the view moves (Left)</source>
        <translation>后退一步：只移动视图（左方向键）</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="144"/>
        <location filename="../../ui/main_window/transport_bar.cpp" line="222"/>
        <source>▶ Play</source>
        <translation>▶ 播放</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="144"/>
        <source>Play or pause</source>
        <translation>播放或暂停</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="144"/>
        <source>Play or pause (Space)</source>
        <translation>播放或暂停（空格）</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="147"/>
        <location filename="../../ui/main_window/transport_bar.cpp" line="214"/>
        <source>Step ▶|</source>
        <translation>步进 ▶|</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="147"/>
        <source>Step</source>
        <translation>步进</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="148"/>
        <source>One step: shown again while the view is back, generated at the end (Right)</source>
        <translation>前进一步：视图靠后时回放，在末尾则生成（右方向键）</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="150"/>
        <location filename="../../ui/main_window/transport_bar.cpp" line="215"/>
        <source>▶▶ End</source>
        <translation>▶▶ 到底</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="150"/>
        <source>Run to the end</source>
        <translation>运行到底</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="150"/>
        <source>Run to the end as fast as it goes (End)</source>
        <translation>全速运行到底 (End)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="152"/>
        <source>speed</source>
        <translation>速度</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="163"/>
        <source>Race</source>
        <translation>竞速</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="164"/>
        <source>Race: after each step the same tokens go once more through the whole model without a cache</source>
        <translation>竞速：每步之后，同样的词元不用缓存再通过整个模型一次</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="168"/>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="169"/>
        <source>Sampler, seed, KV format, weights, threads, capture, length (Ctrl+,)</source>
        <translation>采样、种子、KV 格式、权重、线程、采集、长度 (Ctrl+,)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="172"/>
        <location filename="../../ui/main_window/transport_bar.cpp" line="216"/>
        <source>Present F11</source>
        <translation>演示 F11</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="173"/>
        <source>Large type and chosen panels, for a lecture hall (F11)</source>
        <translation>大字号和选定的面板，适合课堂 (F11)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="178"/>
        <source>Menu</source>
        <translation>菜单</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="179"/>
        <source>Menu (F10)</source>
        <translation>菜单 (F10)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="230"/>
        <source>Model folder…</source>
        <translation>模型文件夹…</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="278"/>
        <source>%1 It is chosen as %2.</source>
        <translation>%1 选用时取 %2。</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="292"/>
        <source>Own text…</source>
        <translation>自己的文字…</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="294"/>
        <source>As recorded</source>
        <translation>如录制</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/transport_bar.cpp" line="221"/>
        <source>❚❚ Pause</source>
        <translation>❚❚ 暂停</translation>
    </message>
</context>
<context>
    <name>decodescope::WhatIfPage</name>
    <message>
        <location filename="../../ui/panels/memory/what_if_page.cpp" line="39"/>
        <source>Shape</source>
        <translation>形状</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/what_if_page.cpp" line="39"/>
        <source>Model whose cache is computed</source>
        <translation>计算其缓存的模型</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/what_if_page.cpp" line="40"/>
        <source>K and V</source>
        <translation>K 与 V</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/what_if_page.cpp" line="40"/>
        <source>Format of K and V</source>
        <translation>K 与 V 的格式</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/what_if_page.cpp" line="45"/>
        <source>Bytes of the cache: strategies down, tokens to the right</source>
        <translation>缓存字节数：策略向下，词元数向右</translation>
    </message>
    <message>
        <location filename="../../ui/panels/memory/what_if_page.cpp" line="121"/>
        <source>Asking every strategy what it would keep …</source>
        <translation>正在询问每种策略会保留什么…</translation>
    </message>
</context>
<context>
    <name>decodescope::WindowActions</name>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="23"/>
        <source>&amp;File</source>
        <translation>文件(&amp;F)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="24"/>
        <source>&amp;Run</source>
        <translation>运行(&amp;R)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="25"/>
        <source>&amp;View</source>
        <translation>视图(&amp;V)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="26"/>
        <source>&amp;Help</source>
        <translation>帮助(&amp;H)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="57"/>
        <source>Open &amp;model folder…</source>
        <translation>打开模型文件夹(&amp;M)…</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="59"/>
        <source>Open model &amp;file…</source>
        <translation>打开模型文件(&amp;F)…</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="60"/>
        <source>&amp;Recent models</source>
        <translation>最近的模型(&amp;R)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="68"/>
        <source>&amp;Open recording…</source>
        <translation>打开录制(&amp;O)…</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="69"/>
        <source>&amp;Save recording…</source>
        <translation>保存录制(&amp;S)…</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="71"/>
        <source>&amp;Export…</source>
        <translation>导出(&amp;E)…</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="73"/>
        <source>&amp;Quit</source>
        <translation>退出(&amp;Q)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="87"/>
        <source>&amp;Start again</source>
        <translation>重新开始(&amp;S)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="88"/>
        <source>&amp;Continue from here</source>
        <translation>从这里继续(&amp;C)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="90"/>
        <source>Drops what comes after the viewed step and goes on from there</source>
        <translation>丢弃所看步骤之后的内容，从那里继续</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="91"/>
        <source>&amp;Fork here</source>
        <translation>从此处分叉(&amp;F)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="93"/>
        <source>Goes on from the viewed step in a branch; the run so far keeps its pages, shared where the text is equal</source>
        <translation>从所看的一步另起分支继续；此前的运行保留它的页，文本相同之处共享</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="94"/>
        <source>&amp;Branches</source>
        <translation>分支(&amp;B)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="96"/>
        <source>C&amp;ancel what runs</source>
        <translation>取消正在运行的(&amp;A)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="98"/>
        <source>Se&amp;ttings of the run…</source>
        <translation>运行设置(&amp;T)…</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="107"/>
        <source>%1 · shown, %2 tokens</source>
        <translation>%1 · 正在显示，%2 个词元</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="108"/>
        <source>%1 · %2 tokens · …%3</source>
        <translation>%1 · %2 个词元 · …%3</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="120"/>
        <source>&amp;Presentation</source>
        <translation>演示(&amp;P)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="126"/>
        <source>&amp;Reset layout</source>
        <translation>重置布局(&amp;R)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="130"/>
        <source>Pa&amp;nels</source>
        <translation>面板(&amp;N)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="131"/>
        <source>Panels in the presentati&amp;on</source>
        <translation>演示中的面板(&amp;O)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="158"/>
        <source>Go to %1</source>
        <translation>转到 %1</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="177"/>
        <source>&amp;Theme</source>
        <translation>主题(&amp;T)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="179"/>
        <source>&amp;Light</source>
        <translation>浅色(&amp;L)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="180"/>
        <source>&amp;Dark</source>
        <translation>深色(&amp;D)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="181"/>
        <source>As the &amp;system</source>
        <translation>跟随系统(&amp;S)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="186"/>
        <source>&amp;Language</source>
        <translation>语言(&amp;L)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="189"/>
        <source>As the s&amp;ystem</source>
        <translation>跟随系统(&amp;Y)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="201"/>
        <source>T&amp;ype</source>
        <translation>字号(&amp;Y)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="202"/>
        <source>&amp;Larger</source>
        <translation>放大(&amp;L)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="204"/>
        <source>&amp;Smaller</source>
        <translation>缩小(&amp;S)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="205"/>
        <source>&amp;Normal</source>
        <translation>正常(&amp;N)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="209"/>
        <source>&amp;Glossary</source>
        <translation>术语表(&amp;G)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="210"/>
        <source>&amp;Keyboard</source>
        <translation>键盘(&amp;K)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="211"/>
        <source>&amp;About Decodescope</source>
        <translation>关于 Decodescope(&amp;A)</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="216"/>
        <source>Play or pause</source>
        <translation>播放或暂停</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="217"/>
        <source>Step back</source>
        <translation>后退一步</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="220"/>
        <source>Step</source>
        <translation>步进</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="223"/>
        <source>To the first step</source>
        <translation>到第一步</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="226"/>
        <source>To the newest step, then to the end</source>
        <translation>到最新一步，再到底</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="230"/>
        <source>Clear or leave</source>
        <translation>清除或离开</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="231"/>
        <source>Page back</source>
        <translation>上一页</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="232"/>
        <source>Page on</source>
        <translation>下一页</translation>
    </message>
    <message>
        <location filename="../../ui/main_window/window_actions.cpp" line="233"/>
        <source>Menu</source>
        <translation>菜单</translation>
    </message>
</context>
<context>
    <name>engine</name>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="13"/>
        <source>Computed Q, K and V for the {0} tokens of the prompt together, in {1} layers.</source>
        <translation>在 {1} 层中为提示的 {0} 个词元一起计算 Q、K、V。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="14"/>
        <source>Computed Q, K and V for the single token of the prompt, in {1} layers.</source>
        <translation>在 {1} 层中为提示唯一的词元计算 Q、K、V。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="15"/>
        <source>Computed Q, K and V for {0} tokens in {1} layers.</source>
        <translation>在 {1} 层中为 {0} 个词元计算 Q、K、V。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="16"/>
        <source>Computed Q, K and V for {0} token in {1} layers.</source>
        <translation>在 {1} 层中为 {0} 个词元计算 Q、K、V。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="17"/>
        <source>Fed {0} known tokens again, in {1} layers; nothing of the text changed.</source>
        <translation>在 {1} 层中重新送入 {0} 个已知词元；文字没有变化。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="18"/>
        <source>Fed {0} known token again, in {1} layers; nothing of the text changed.</source>
        <translation>在 {1} 层中重新送入 {0} 个已知词元；文字没有变化。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="19"/>
        <source>Computed Q, K and V again for all {0} tokens in {1} layers: nothing had been kept.</source>
        <translation>在 {1} 层中为全部 {0} 个词元重新计算 Q、K、V：之前什么都没保留。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="20"/>
        <source>Read {0} cached rows per layer, wrote {1}.</source>
        <translation>每层读取 {0} 行缓存，写入 {1} 行。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="21"/>
        <source>Wrote {0} rows into the cache of every layer at once; none had to be read from before.</source>
        <translation>一次向每层的缓存写入 {0} 行；无需读取以前的行。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="23"/>
        <source>Computed Q, K and V for the {0} tokens of the prompt in {2} passes, in {1} layers.</source>
        <translation>为提示的 {0} 个词元计算 Q、K、V，分 {2} 遍，共 {1} 层。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="25"/>
        <source>Fed {0} known tokens again in {2} passes, in {1} layers; nothing of the text changed.</source>
        <translation>已知的 {0} 个词元重新输入，分 {2} 遍，共 {1} 层；文本没有变化。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="27"/>
        <source>Computed {0} rows of K and V for every layer at once; none had to be read from before, and {1} of them stay in the cache.</source>
        <translation>一次为每一层计算 {0} 行 K 和 V；无需读取之前的行，其中 {1} 行留在缓存中。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="30"/>
        <source>Wrote {0} rows into the cache of every layer; each pass read what the ones before it had left there.</source>
        <translation>向每一层的缓存写入 {0} 行；每一遍都读取前几遍留下的行。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="33"/>
        <source>Computed {0} rows of K and V for every layer; each pass read what the ones before it had left in the cache, and {1} rows stay there.</source>
        <translation>为每一层计算 {0} 行 K 和 V；每一遍都读取前几遍留在缓存中的行，最后留下 {1} 行。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="36"/>
        <source>The cache keeps nothing: no rows written, none to read in the next step.</source>
        <translation>缓存什么都不保留：没有写入，下一步也无可读取。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="37"/>
        <source>The cache grew: {0} were copied into longer buffers; at the peak, old and new took {1} together.</source>
        <translation>缓存增长：{0} 被复制到更长的缓冲区；峰值时新旧合计 {1}。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="39"/>
        <source>{0} of {1} reserved rows are in use; the reserve holds {2}.</source>
        <translation>预留的 {1} 行中已用 {0} 行；预留共 {2}。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="51"/>
        <source>Of {0} ms that the host waited, the device worked {1} ms; launches and gaps took {2} ms.</source>
        <translation>主机等待的 {0} ms 中，设备工作 {1} ms；启动与间隙占 {2} ms。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="53"/>
        <source>Its kernels were recorded as {0} new graphs, which later steps of this kind run as one launch.</source>
        <translation>其内核被录制成 {0} 个新图，之后同类步骤一次启动即可运行。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="55"/>
        <source>Its kernels were recorded as a graph, which later steps of this kind run as one launch.</source>
        <translation>其内核被录制成一个图，之后同类步骤一次启动即可运行。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="57"/>
        <source>{0} positions left the cache: {1}.</source>
        <translation>{0} 个位置离开缓存：{1}。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="58"/>
        <source>Position {1} left the cache.</source>
        <translation>位置 {1} 离开缓存。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="59"/>
        <source>Read {0} cached rows in every layer that sees everything and {2} in those with a window, wrote {1}.</source>
        <translation>看到全部的层各读取 {0} 行缓存，带窗口的层各读取 {2} 行，写入 {1} 行。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="61"/>
        <source>The {0} layers with a window of {1} tokens let go of {2} positions: {3}.</source>
        <translation>窗口为 {1} 个词元的 {0} 层放走了 {2} 个位置：{3}。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="62"/>
        <source>The {0} layers with a window of {1} tokens let go of position {3}.</source>
        <translation>窗口为 {1} 个词元的 {0} 层放走了位置 {3}。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="69"/>
        <source>Without the cache: {0} tokens through every layer, {1} times the products.</source>
        <translation>若无缓存：{0} 个词元要通过每一层，乘法是现在的 {1} 倍。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="70"/>
        <source>With a cache, one token would have been enough: {0} times fewer products.</source>
        <translation>若有缓存，算一个词元就够：乘法少到 1/{0}。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="71"/>
        <source>The pass took {0} ms.</source>
        <translation>这一遍用了 {0} 毫秒。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="72"/>
        <source>The pass took {0} ms, with attention captured.</source>
        <translation>这一遍用了 {0} 毫秒，含采集注意力。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="73"/>
        <source>The pass took {0} ms; it used its buffers for the first time and stays out of medians.</source>
        <translation>这一遍用了 {0} 毫秒；缓冲区首次使用，不计入中位数。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="75"/>
        <source>Next token: {0}, with {1} % by the plain softmax.</source>
        <translation>下一个词元：{0}，softmax 概率 {1} %。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="76"/>
        <source>The run ends here: the wanted number of tokens is reached.</source>
        <translation>运行到此结束：已达到要求的词元数。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="77"/>
        <source>The run ends here: the model wrote its end token.</source>
        <translation>运行到此结束：模型写出了结束词元。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="78"/>
        <source>The run ends here: the context of {0} tokens is full.</source>
        <translation>运行到此结束：{0} 个词元的上下文已满。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="79"/>
        <source>The run was stopped here.</source>
        <translation>运行在此停止。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="80"/>
        <source>{0} and {1} at {2} tokens: no difference that this measurement can show, {3} times ({4} to {5}).</source>
        <translation>{2} 个词元时 {0} 与 {1}：这次测量看不出差别，{3} 倍（{4} 到 {5}）。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="83"/>
        <source>The recompute lane has not run yet; there is nothing to compare.</source>
        <translation>重算一路还没有运行；无从比较。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="84"/>
        <source>This run keeps no cache: both lanes do the same work.</source>
        <translation>本次运行没有缓存：两路做同样的工作。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="85"/>
        <source>{0} times faster with the cache at {1} tokens: {2} ms instead of {3} ms.</source>
        <translation>{1} 个词元时用缓存快 {0} 倍：{2} 毫秒，而不是 {3} 毫秒。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="86"/>
        <source>No benefit at this length: {0} times at {1} tokens ({2} ms and {3} ms), because so few tokens are computed again almost for free.</source>
        <translation>这个长度没有收益：{1} 个词元时 {0} 倍（{2} 毫秒与 {3} 毫秒），因为这么少的词元重算几乎不花时间。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="89"/>
        <source>No benefit at this length: {0} times at {1} tokens ({2} ms and {3} ms), because reading the weights takes most of both passes.</source>
        <translation>这个长度没有收益：{1} 个词元时 {0} 倍（{2} 毫秒与 {3} 毫秒），因为两遍都主要花在读取权重上。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="92"/>
        <source>No benefit at this length: {0} times at {1} tokens ({2} ms and {3} ms), because starting a pass costs more here than the products that the cache saves.</source>
        <translation>这个长度没有收益：{1} 个词元时 {0} 倍（{2} 毫秒与 {3} 毫秒），因为启动一遍的开销比缓存省下的乘法还大。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="95"/>
        <source>There is no comparison yet.</source>
        <translation>还没有比较。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="96"/>
        <source>Same answer in all {0} comparisons; the largest logit difference is {1}.</source>
        <translation>{0} 次比较答案都相同；logit 最大差 {1}。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="97"/>
        <source>Same logits up to {1} in {0} comparisons, but the likeliest token changed in {2} of them: two tokens were equally likely.</source>
        <translation>{0} 次比较中 logits 相差不超过 {1}，但其中 {2} 次最可能的词元变了：两个词元同样可能。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="100"/>
        <source>Different answer in {2} of {0} comparisons; the largest logit difference is {1}.</source>
        <translation>{0} 次比较中有 {2} 次答案不同；logit 最大差 {1}。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="101"/>
        <source>Differs by design: rows have left the cache or are stored coarsely. The largest logit difference is {1} in {0} comparisons.</source>
        <translation>按设计就会不同：有的行已离开缓存，或存储较粗。{0} 次比较中 logit 最大差 {1}。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="104"/>
        <source>{0}: {1} ms per step, {2} times the time of {3} ({4} to {5} in the middle half of {6} pairs of steps; faster in {7}).</source>
        <translation>{0}：每步 {1} 毫秒，为 {3} 的 {2} 倍（{6} 对步的中间一半为 {4} 至 {5}，其中 {7} 对更快）。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="107"/>
        <source>{0}: {1} ms per step; no difference from {3} that {6} pairs of steps can show, {2} times ({4} to {5} in the middle half; faster in {7}).</source>
        <translation>{0}：每步 {1} 毫秒；{6} 对步显示不出与 {3} 的差别，{2} 倍（中间一半为 {4} 至 {5}，其中 {7} 对更快）。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="110"/>
        <source>{0}: the logits equal those of {1} bit for bit in all {2} passes.</source>
        <translation>{0}：全部 {2} 遍的 logits 与 {1} 逐位相同。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="111"/>
        <source>{0}: the logits differ from those of {1} by {2} at most, which is rounding.</source>
        <translation>{0}：logits 与 {1} 最多相差 {2}，属于舍入。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="112"/>
        <source>{0}: the logits differ from those of {1} by up to {2} (at {3} tokens); KL divergence up to {4}, on average {5} nats.</source>
        <translation>{0}：logits 与 {1} 最多相差 {2}（{3} 个词元时）；KL 散度最大 {4}，平均 {5} 奈特。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="115"/>
        <source>{0}: the stored rows are off from those of {3} by up to {1} % in K and {2} % in V (relative L2 of a layer).</source>
        <translation>{0}：所存的行与 {3} 相比，K 最多差 {1} %，V 最多差 {2} %（单层的相对 L2）。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="117"/>
        <source>Warning: {0} does not suit this model. The K rows of layer {1} are off by {2} %; more than {3} % is much.</source>
        <translation>警告：{0} 不适合该模型。第 {1} 层的 K 行相差 {2} %；超过 {3} % 就算多。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="120"/>
        <source>Warning: {0} does not suit this model. The V rows of layer {1} are off by {2} %; more than {3} % is much.</source>
        <translation>警告：{0} 不适合该模型。第 {1} 层的 V 行相差 {2} %；超过 {3} % 就算多。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="123"/>
        <source>Warning: {0} changes what is likely, by a KL divergence of {1} nats at one token; more than {2} is much.</source>
        <translation>警告：{0} 改变了概率分布，在某个词元处 KL 散度达 {1} nat；超过 {2} 就算多。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="126"/>
        <source>{0} writes the same {1} tokens as {2}.</source>
        <translation>{0} 写出的 {1} 个词元与 {2} 相同。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="127"/>
        <source>{0} writes another text: the first different token is number {1} of the new ones.</source>
        <translation>{0} 写出不同的文本：第一个不同的是第 {1} 个新词元。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="128"/>
        <source>{0} copied {1} to grow; at its peak it held {2}, for {3} that are used at the end.</source>
        <translation>{0} 为增长复制了 {1}；峰值占用 {2}，而结束时只用 {3}。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="129"/>
        <source>{0} ended early: {1}</source>
        <translation>{0} 提前结束：{1}</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="130"/>
        <source>A source article says that preallocation is about 20 % faster. Measured here up to {6} tokens: a step takes {0} % less time than with a growing cache ({1} to {2} % in the middle half of {3} pairs of steps, less in {7} of them), {4} ms instead of {5} ms.</source>
        <translation>原文章称预分配约快 20 %。本机实测，至 {6} 个词元：每步用时比增长式少 {0} %（{3} 对步的中间一半为 {1} 至 {2} %，其中 {7} 对更少），{4} 毫秒而不是 {5} 毫秒。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="134"/>
        <source>A source article says that preallocation is about 20 % faster. Measured here up to {6} tokens: a step takes {0} % more time than with a growing cache ({1} to {2} % in the middle half of {3} pairs of steps, more in {7} of them), {4} ms instead of {5} ms.</source>
        <translation>原文章称预分配约快 20 %。本机实测，至 {6} 个词元：每步用时比增长式多 {0} %（{3} 对步的中间一半为 {1} 至 {2} %，其中 {7} 对更多），{4} 毫秒而不是 {5} 毫秒。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="138"/>
        <source>A source article says that preallocation is about 20 % faster. Measured here up to {6} tokens: no difference that {3} pairs of steps can show; a step takes {0} % less time than with a growing cache ({1} to {2} % in the middle half, less in {7} pairs), {4} ms and {5} ms.</source>
        <translation>原文章称预分配约快 20 %。本机实测，至 {6} 个词元：{3} 对步显示不出差别；每步用时比增长式少 {0} %（中间一半为 {1} 至 {2} %，其中 {7} 对更少），{4} 毫秒与 {5} 毫秒。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="142"/>
        <source>Growing</source>
        <translation>增长式</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="143"/>
        <source>Every step makes a new buffer that is longer by the new rows, copies the old rows into it and frees the old one. Nothing is reserved in advance, but the copies add up and for a moment old and new lie side by side.</source>
        <translation>每一步都新建一个加长的缓冲区，把旧行复制过去，再释放旧的。不预先占用内存，但复制会累积，而且新旧缓冲区会短暂并存。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="147"/>
        <source>Preallocated</source>
        <translation>预分配</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="148"/>
        <source>Room for all tokens is allocated at the start and every row is written at its own position. Nothing is copied, but what is reserved and not used yet is taken all the same.</source>
        <translation>一开始就为所有词元分配空间，每行写在自己的位置上。从不复制，但预留而未用的内存同样被占着。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="151"/>
        <source>Tokens that the cache has room for; 0 takes prompt and new tokens together, at most the model&apos;s context.</source>
        <translation>缓存可容纳的词元数；0 表示提示与新词元之和，最多为模型的上下文。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="154"/>
        <source>One allocation for all layers instead of one for each layer.</source>
        <translation>所有层合用一次分配，而不是每层一次。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="155"/>
        <source>Paged</source>
        <translation>分页</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="156"/>
        <source>The cache is divided into pages that a sequence takes one by one when it needs them. Branches of a conversation share pages and copy one only when they write into it.</source>
        <translation>缓存分成若干页，序列需要时一页一页地取用。对话的分支共享页，只在写入时才复制那一页。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="159"/>
        <source>Tokens of one page, a power of two: small pages waste less and share more, large ones need fewer entries.</source>
        <translation>每页的词元数，为二的幂：小页浪费少、共享多，大页所需的表项少。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="162"/>
        <source>Pages of the pool; 0 takes what prompt and new tokens need together, at most the model&apos;s context, and more when branches need them.</source>
        <translation>页池的页数；0 表示取提示与新词元合计所需（至多为模型的上下文），分支需要时再增加。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="165"/>
        <source>Ring (sliding window)</source>
        <translation>环形（滑动窗口）</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="166"/>
        <source>Only the last tokens stay: a new row takes the slot of the oldest, so memory and the work of a step stop growing. Deeper layers still carry what earlier rows read from tokens that have left, so the answer is neither that of full attention nor that of a run over the last tokens alone.</source>
        <translation>只保留最后的词元：新的一行占用最旧一行的槽位，因此内存和每一步的工作量不再增长。更深的层仍带有早先的行从已离开的词元读到的内容，所以答案既不同于完整注意力，也不同于只对最后的词元运行一遍。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="172"/>
        <source>Tokens that stay and that a token attends to, itself included.</source>
        <translation>保留下来并可被关注的词元数，包括自身。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="173"/>
        <source>Window with sinks</source>
        <translation>带汇聚点的窗口</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="174"/>
        <source>The first tokens and the last ones stay (StreamingLLM): the first take up attention that has nowhere else to go, and a plain window breaks down when they leave. Positions are those of the text, or are counted inside the cache, which lets a rotary model run on beyond its context without remembering more of the text.</source>
        <translation>保留最前面和最后面的词元（StreamingLLM）：最前面的词元承接无处可去的注意力，它们一离开，普通窗口就会失效。位置可以是文本中的位置，也可以在缓存内计数；后者让使用旋转位置的模型超出上下文继续运行，但并不会记住更多文本。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="180"/>
        <source>absolute: every token keeps its position in the text; rebased: positions count from 0 inside the cache.</source>
        <translation>absolute：每个词元保持它在文本中的位置；rebased：位置在缓存内从 0 数起。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="182"/>
        <source>Tokens at the beginning of the sequence that always stay.</source>
        <translation>序列开头始终保留的词元数。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="183"/>
        <source>Last tokens that stay beside the sinks, the newest included.</source>
        <translation>除汇聚点外保留的最后词元数，包括最新的一个。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="192"/>
        <source>No cache (recompute)</source>
        <translation>无缓存（重算）</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="193"/>
        <source>Nothing is kept: every step runs all tokens of the sequence through the model again and uses the last row only. This is what a decoder costs without a cache.</source>
        <translation>什么都不保留：每一步都让序列的全部词元重新通过模型，只用最后一行。这就是没有缓存时解码器的代价。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="196"/>
        <source>Bundled model</source>
        <translation>内置模型</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="197"/>
        <source>a small LLaMA that writes short stories in English and Chinese</source>
        <translation>一个用中英文写短故事的小 LLaMA</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="198"/>
        <source>4 bytes per element, as computed</source>
        <translation>每个元素 4 字节，与计算时相同</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="199"/>
        <source>2 bytes per element, 11 bits of precision</source>
        <translation>每个元素 2 字节，11 位精度</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="200"/>
        <source>2 bytes per element, 8 bits of precision and the range of f32</source>
        <translation>每个元素 2 字节，8 位精度，范围与 f32 相同</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="201"/>
        <source>1 byte per element and an f32 scale per token and head</source>
        <translation>每个元素 1 字节，每个词元和每个头另有一个 f32 比例因子</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="202"/>
        <source>1 byte per element, keys with scales per channel and group of tokens, values per token, the newest in f32; options: int8-kivi(group=32,residual=32)</source>
        <translation>每个元素 1 字节：键按通道、每组词元共用比例因子，值按词元，最新的词元保留为 f32；选项：int8-kivi(group=32,residual=32)</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="205"/>
        <source>A window drops tokens one by one, and int8-kivi keeps groups of tokens behind common scales: a group would have to stay until its last token leaves.</source>
        <translation>窗口逐个丢弃词元，而 int8-kivi 让一组词元共用比例因子：整组必须保留到最后一个词元离开为止。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="208"/>
        <source>Eviction by score takes single tokens from the middle, and int8-kivi keeps groups of tokens behind common scales.</source>
        <translation>按得分淘汰会从中间取走单个词元，而 int8-kivi 让一组词元共用比例因子。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="211"/>
        <source>A page must hold whole groups of int8-kivi: its size has to be a multiple of the group.</source>
        <translation>一页必须装下 int8-kivi 的整组：页的大小必须是组大小的倍数。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="213"/>
        <source>Pages found by their tokens hold int8-kivi rows only, and a conversation that begins there would need its newest tokens in full precision: it would not give what it gives alone.</source>
        <translation>按词元找到的页里只有 int8-kivi 的行，而从那里开始的对话需要最新词元的全精度行：结果会与单独运行时不同。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="217"/>
        <source>Offloaded rows are moved one by one, and int8-kivi keeps groups of tokens behind common scales and its newest tokens apart.</source>
        <translation>卸载的行逐行搬运，而 int8-kivi 让一组词元共用比例因子，并把最新的词元另行存放。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="220"/>
        <source>Eviction by score reads the attention of each pass, and the joint pass of a batch does not hand it out by sequence.</source>
        <translation>按得分淘汰要读取每一遍的注意力，而批次的合并计算不会按序列给出注意力。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="223"/>
        <source>Layers of this model attend to a window and keep only that, and int8-kivi keeps groups of tokens behind common scales: a group would have to stay until its last token leaves.</source>
        <translation>这个模型有些层只看一个窗口，也只保留窗口内的行；int8-kivi 把若干词元编成一组共用缩放：一组要等最后一个词元离开才能释放。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="226"/>
        <source>A batch shares the pages of one table of all layers, and layers of this model that attend to a window have a table of their own.</source>
        <translation>批处理中各序列共享一张覆盖所有层的页表，而这个模型中只看窗口的层各有自己的页表。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="229"/>
        <source>Offloaded rows are fetched into a pool with room for one layer of one sequence, and a batch computes a layer of all its sequences at once.</source>
        <translation>卸载的行会取到只容一个序列一层的池中，而批次会同时计算所有序列的同一层。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="232"/>
        <source>Positions cannot be rebased in a model with learned positions: they are added to a token before its K and V are computed, so every row that stays would have to be computed again.</source>
        <translation>使用学习式位置的模型无法重排位置：位置在计算 K 和 V 之前就加到了词元上，留下的每一行都必须重新计算。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="63"/>
        <source>Layer {0} dropped position {1}: least attended to, {2} in all.</source>
        <translation>第 {0} 层丢弃了位置 {1}：得到的注意力最少，总共 {2}。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="64"/>
        <source>In the same way {0} more rows left, of {1} layers in all.</source>
        <translation>同样地，还有 {0} 行离开，共涉及 {1} 层。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="65"/>
        <source>Each layer dropped what it had attended to least, one row after each token beyond its budget: {0} rows of {1} layers.</source>
        <translation>每一层都丢弃得到注意力最少的行，超出预算后每个词元之后丢弃一行：{1} 层共 {0} 行。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="184"/>
        <source>Heavy hitters (H2O)</source>
        <translation>重击者（H2O）</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="185"/>
        <source>Each layer keeps the newest tokens and those that have been attended to most; what has got the least attention leaves. Which tokens those are is known only after each row, so beyond the budget a prompt is fed token by token.</source>
        <translation>每一层保留最新的词元和得到注意力最多的词元；得到注意力最少的离开。要等每一行算完才知道是哪些词元，所以超出预算后提示词要逐个词元送入。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="190"/>
        <source>Tokens that each layer keeps, the recent ones included.</source>
        <translation>每一层保留的词元数，包括最近的词元。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="191"/>
        <source>Newest tokens that always stay.</source>
        <translation>始终保留的最新词元数。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="40"/>
        <source>K and V lie in host memory: {0} were moved, layer by layer, in {1} ms; at {2} GB/s, the fastest so far, it takes {3} ms at least.</source>
        <translation>K 和 V 放在主机内存：逐层搬运 {0}，用时 {1} ms；按目前最快的 {2} GB/s，至少需要 {3} ms。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="44"/>
        <source>K and V lie in a file: {0} were moved, layer by layer, in {1} ms; at {2} GB/s, the fastest so far, it takes {3} ms at least.</source>
        <translation>K 和 V 放在文件中：逐层搬运 {0}，用时 {1} ms；按目前最快的 {2} GB/s，至少需要 {3} ms。</translation>
    </message>
    <message>
        <location filename="../../ui/viewmodels/engine_words.cpp" line="48"/>
        <source>Where K and V lie when not on the device: each layer is fetched into a pool of one layer before it runs.</source>
        <translation>K 和 V 不在设备上时放在哪里：每一层运行之前，先取到只容一层的池中。</translation>
    </message>
</context>
<context>
    <name>panels</name>
    <message>
        <location filename="../../ui/panels/catalogue.cpp" line="16"/>
        <source>Tokens</source>
        <translation>词元</translation>
    </message>
    <message>
        <location filename="../../ui/panels/catalogue.cpp" line="17"/>
        <source>Every token as a chip: prompt and generated, prefill apart from decode.</source>
        <translation>每个词元一枚：提示与生成、预填充与解码分开。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/catalogue.cpp" line="19"/>
        <source>KV cache</source>
        <translation>KV 缓存</translation>
    </message>
    <message>
        <location filename="../../ui/panels/catalogue.cpp" line="20"/>
        <source>Which keys and values are kept, layer by layer, position by position.</source>
        <translation>逐层逐位置显示保留了哪些键和值。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/catalogue.cpp" line="22"/>
        <source>Attention</source>
        <translation>注意力</translation>
    </message>
    <message>
        <location filename="../../ui/panels/catalogue.cpp" line="23"/>
        <source>What each token reads from, for every head of every layer.</source>
        <translation>每层每个头中，各词元从哪里读取。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/catalogue.cpp" line="25"/>
        <source>Timing</source>
        <translation>计时</translation>
    </message>
    <message>
        <location filename="../../ui/panels/catalogue.cpp" line="26"/>
        <source>Milliseconds per token with and without the cache.</source>
        <translation>有缓存与无缓存时每词元的毫秒数。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/catalogue.cpp" line="28"/>
        <source>Memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <location filename="../../ui/panels/catalogue.cpp" line="29"/>
        <source>Bytes by purpose over the run, beside the formula.</source>
        <translation>运行中各用途的字节数，与公式对照。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/catalogue.cpp" line="31"/>
        <source>What just happened</source>
        <translation>刚刚发生了什么</translation>
    </message>
    <message>
        <location filename="../../ui/panels/catalogue.cpp" line="32"/>
        <source>The viewed step in words and numbers, stage by stage.</source>
        <translation>用文字和数字逐阶段说明所看的一步。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/catalogue.cpp" line="34"/>
        <source>Compare</source>
        <translation>比较</translation>
    </message>
    <message>
        <location filename="../../ui/panels/catalogue.cpp" line="35"/>
        <source>Up to four configurations on the same prompt: time, memory, logits and text.</source>
        <translation>同一提示上最多四个配置：时间、内存、logits 与文本。</translation>
    </message>
    <message>
        <location filename="../../ui/panels/catalogue.cpp" line="37"/>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <location filename="../../ui/panels/catalogue.cpp" line="38"/>
        <source>The shapes of the model as a diagram, its parameters, and its cache in numbers.</source>
        <translation>以图示意模型的形状、参数，以及缓存的数字。</translation>
    </message>
</context>
</TS>
