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

{steps} steps, {tokens} tokens, {minutes} minutes on two CPU cores, seed {seed}.
`recipe.json`:

```json
{recipe}
```

- Stages go from short windows to long ones; `drill` is the share of windows with
  blocks of random tokens said twice, `copy` the share of documents with lists and
  names said again, `rate` the factor of the learning rate from the start of the stage to its end.
- Muon for the weight matrices, AdamW for embedding and norms, gradient clipping at 1.
- Answers and copies weigh more in the loss (`loss_weight`).
- One part of the initial weights is set by hand: the three query heads of the first
  group in layer 0 start as heads that look 1, 2 and 3 tokens back, and feature 0 of the embedding
  starts as a constant which their keys read (`network.initialise`). All else is random. Without
  such heads copying by induction forms only late in so short a training. What the heads do
  after training is measured below, not assumed.

## Loss curve

Loss per token and share of arg max right in training batches (no window is seen
twice). Recall and copy count only the tokens of answers and of things said again.

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

{length} tokens (the context less the prompt) from five held-out openings per language, going on past the end of
the story. How often the most frequent run of 24 tokens occurs.

{repetition}
## Samples

Temperature 0.8, unpicked: seeds 100 to 104. The text in ⟦ ⟧ is the model's.

{samples}
## Limits

- It writes only about its world: {config[num_hidden_layers]} layers and this vocabulary hold no other knowledge. Other text is
  continued with sentences of that world.
- Recall is measured on facts stated once; facts that change are rare in the training text.
- Names and words outside the world cost many tokens, for they are spelled in bytes.
"""
