"""The prose of the model card; card.py fills in the figures."""

ROLE_TEXT = {
    "previous": "Previous token (looks one token back)",
    "induction": "Induction (finds the earlier mention and looks at what followed it)",
    "first": "First token (rests on the start of the text)",
}

CARD = """# Model card: the bundled model

A small language model in the LLaMA architecture that tells short stories and
dialogues in English and Chinese. It is made to be looked at: it recalls facts
and copies lists through its KV cache, and the heads that do so can be named.
It knows nothing beyond the small invented world it was trained on.

This file is written by `card.py` from measurements; run it again to check them.

## Facts

| | |
|---|---|
| parameters | {parameters} |
| layers | {config[num_hidden_layers]} |
| query heads, KV heads, head dimension | {config[num_attention_heads]}, {config[num_key_value_heads]}, {config[head_dim]} |
| hidden size, MLP size | {config[hidden_size]}, {config[intermediate_size]} |
| context | {config[max_position_embeddings]} tokens |
| position | rotary, half-split, base {config[rope_theta]:.0f} |
| vocabulary | {entries} entries, byte-level BPE, every Han character cut off by itself, embedding tied |
| special token | `<|endoftext|>`, id 0: end of a document. No token is needed at the start |
| format | Hugging Face layout, `model.safetensors`, F16, {bytes} bytes |
| SHA-256 of model.safetensors | `{sha256}` |
| made | {date} |
| training text | written by `tales.py`, no other text; no weights of other models |

## Recipe

{steps} steps, {tokens} tokens, {minutes} minutes on one to two CPU cores that other work shared, seed {seed}.
`recipe.json`:

```json
{recipe}
```

- Stages go from short windows to long ones; `drill` is the share of windows with
  blocks of random tokens said twice, `copy` the share of documents with lists and
  names said again, `rate` the factor of the learning rate from the start of the stage to its end.
- Muon for the weight matrices, AdamW for embedding and norms, gradient clipping at 1.
- Answers, copies and what a scene has named already ("again": its people, its thing, its animal) weigh more in the
  loss (`loss_weight`).
- Rate 1 stands for {recipe_rates}.

Some weights are set by hand, at the start and on the way; everything is trained after that.
What the heads do in the end is measured below, not assumed.

- At the start (`network.initialise`) the three query heads of the first group in layer 0 look a fixed
  step back, and feature 0 of the embedding is a constant which their keys read. Without such heads copying
  by induction forms only late in so short a training.
- Stage `subjects`: the rotary base goes from 10000 to 500000, and the second group of layer 0 is set to heads
  that rest on the latest name or object; stage `match`: once more, and three heads of layer 1 start by looking
  where the subject is the same (`subject_heads.py`). This gained little.
- Stage `context`: the second group of layer 0 is set to look 3, 4 and 5 tokens back (the head that looks two
  back, turned further), and three heads of layer 1 start as induction heads that also compare the token
  three back (`context_heads.py`). Before it the model chose among values of the right sort without regard to
  whose they were.
- From stage `pairs` on the world is smaller: two people act in a story, what stands before the value of a fact is the same
  where it is stated and where it is asked for, and a colour tells the box. Three heads of layer 2 start as induction
  heads that also compare the token four back, and every ten steps the queries of heads whose largest score is above 80
  are scaled down (`largest_score`): scores of 1500 had grown, at which single precision itself moves an attention weight
  by 1e-4. "again" was no kind of its own before.
- Stage `even` weighs all text alike, so that sampling is not drawn to copies; at stage `varied` scenes came to have more
  wordings, and at stage `twice` a list is said again once and not more often: before, a run of 24 tokens came three times
  in one of ten texts. These three were added after looking at texts of the seeds that are measured below.
- The rule that no character and no invented syllable comes twice in one list came in at stage `context` too; the
  steps before it saw lists without that rule, and up to stage `facts` documents of many facts did not exist. So a run from the start with
  the files as they are now sees a little other text in those stages.

## Loss curve

Loss per token and share of arg max right in training batches (no window is seen
twice). Recall and copy count only the tokens of answers and of things said again; again those of what a scene has
named already.

{losses}
Held-out stories, loss per token: English {loss_en}, Chinese {loss_zh}.

## Heads

Average attention weight. *previous*, *two back*, *three back* and *first token* on held-out stories;
*induction* on blocks of random tokens said twice: weight on the token that followed the earlier
occurrence of the current one. The largest of previous, first and induction names the role if it is
at least {threshold}.

{heads}
## Recall

Held-out stories with three to five facts; one is asked for. Right: every token of the answer and the
mark after it are the arg max. {cases} questions per row.

{recall}
## Copying

A list of three to seven items or an invented name, said again word for word. {cases} cases per row, half lists, half names.

{copy}
## Repetition

{length} tokens after five held-out openings per language, going on past the end of
the story. How often the most frequent run of 24 tokens occurs.

{repetition}
## Samples

Temperature 0.8, unpicked: seeds 100 to 104. The text in ⟦ ⟧ is the model's.

{samples}
## Limits

- It writes only about its world: {config[num_hidden_layers]} layers and this vocabulary hold no other knowledge. Other text is
  continued with sentences of that world.
- What is told follows patterns: a scene comes from some twenty kinds, and it does not remember that the same scene was
  told before. Greedy text repeats its favourite scene sooner or later; the presets are checked not to loop within 230 tokens or more.
- A fact is found again because the words before its value are the same as where it was stated. What the model says when
  asked in other words was not measured.
- The plan of the stages was changed while training; `recipe.json` is what was run, up to small differences of the rate within a stage.
- Recall is measured on facts stated once; facts that change are rare in the training text.
- Names and words outside the world cost many tokens, for they are spelled in bytes.
"""
