"""Makes tiny random generators and what the reference, the package transformers, says of them on the CPU in float32.

Usage: make_generator_values.py OUT_FOLDER [NAME...]   (made with transformers 5.17.0 and torch 2.15.0; seed 7)

A folder a model, as save_pretrained writes it, and golden.safetensors: input_ids [80]; logits; hidden.0 (embeddings) to
hidden.N (after the final norm); nll of each next token; greedy_from_37 (24 tokens after the first 37, read anew for each
token), greedy_cached_from_37 (the same with a cache) and greedy_margin (best minus second best logit of each step).
Weights are stored as bfloat16, and the values are those of exactly these numbers. A model is only kept if float64 says
the same to 1e-4 and no greedy step is within 0.002 of a tie.
"""
import copy
import os
import pathlib
import sys

import torch
import transformers
from safetensors.torch import save_file

N_IDS, N_PROMPT, N_ANSWER = 80, 37, 24
FIRST_SEED = 7
torch.use_deterministic_algorithms(True)
torch.set_num_threads(1)

BASE = dict(vocab_size=192, hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=128, bos_token_id=None, eos_token_id=None, pad_token_id=None)


def config(kind, **changes):
    return getattr(transformers, kind)(**{**BASE, **changes})


def llama(**changes):
    return transformers.LlamaForCausalLM(config("LlamaConfig", **changes))


def llama_linear():
    """Biases everywhere, too."""
    return llama(rope_parameters={"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}, attention_bias=True,
                 mlp_bias=True, tie_word_embeddings=True)


def llama_yarn():
    return llama(rope_parameters={"rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
                                  "original_max_position_embeddings": 32}, head_dim=24, tie_word_embeddings=False)


def llama_dynamic():
    """As many keys as queries, as in Llama 2."""
    return llama(rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0},
                 num_key_value_heads=4, tie_word_embeddings=False)


def qwen2_5():
    """The last layers slide, which no release does and the files may say."""
    return transformers.Qwen2ForCausalLM(config("Qwen2Config", num_hidden_layers=3, tie_word_embeddings=True,
                                                use_sliding_window=True, sliding_window=16, max_window_layers=1))


def qwen3_moe():
    return transformers.Qwen3MoeForCausalLM(
        config("Qwen3MoeConfig", num_hidden_layers=3, head_dim=16, num_experts=8, num_experts_per_tok=3,
               moe_intermediate_size=24, norm_topk_prob=True, mlp_only_layers=[1], tie_word_embeddings=False))


def smollm3():
    return transformers.SmolLM3ForCausalLM(
        config("SmolLM3Config", num_hidden_layers=4, intermediate_size=64, no_rope_layer_interval=2,
               rope_parameters={"rope_type": "default", "rope_theta": 5000000.0}))


MISTRAL = dict(head_dim=16, tie_word_embeddings=False)


def mistral():
    return transformers.MistralForCausalLM(config("MistralConfig", sliding_window=24, **MISTRAL))


def mistral3():
    vision = dict(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2, image_size=28,
                  patch_size=14, head_dim=8)
    return transformers.Mistral3ForConditionalGeneration(
        transformers.Mistral3Config(text_config=config("MistralConfig", sliding_window=None, **MISTRAL).to_dict(),
                                    vision_config=dict(vision, model_type="pixtral"), image_token_index=10,
                                    tie_word_embeddings=False))


def gemma2():
    return transformers.Gemma2ForCausalLM(
        config("Gemma2Config", num_hidden_layers=4, intermediate_size=64, head_dim=16, query_pre_attn_scalar=12,
               sliding_window=16, attn_logit_softcapping=2.0, final_logit_softcapping=3.0))


def gemma4_moe():
    """The shape of the 26B-A4B: mixtures beside dense layers, keys that are values in full layers."""
    from transformers.models.gemma4 import Gemma4ForCausalLM, Gemma4TextConfig
    return Gemma4ForCausalLM(Gemma4TextConfig(
        **{**BASE, "num_hidden_layers": 3, "head_dim": 16, "global_head_dim": 32, "num_global_key_value_heads": 1,
           "attention_k_eq_v": True, "hidden_size_per_layer_input": 0, "vocab_size_per_layer_input": 192,
           "num_kv_shared_layers": 0, "sliding_window": 16, "final_logit_softcapping": 3.0, "enable_moe_block": True,
           "num_experts": 6, "top_k_experts": 2, "moe_intermediate_size": 24,
           "layer_types": ["sliding_attention"] * 2 + ["full_attention"]}))


QWEN3_5 = dict(BASE, num_hidden_layers=4, head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4,
               linear_key_head_dim=16, linear_value_head_dim=16, linear_conv_kernel_dim=4,
               layer_types=["linear_attention"] * 3 + ["full_attention"], partial_rotary_factor=0.5,
               rope_parameters={"rope_type": "default", "rope_theta": 10000000.0, "partial_rotary_factor": 0.5,
                                "mrope_section": [2, 1, 1], "mrope_interleaved": True})
QWEN3_5_VISION = dict(depth=1, hidden_size=16, intermediate_size=16, num_heads=2, patch_size=4, spatial_merge_size=2,
                      temporal_patch_size=2, out_hidden_size=48, num_position_embeddings=16, in_channels=3)
QWEN3_5_TOKENS = dict(image_token_id=180, video_token_id=181, vision_start_token_id=182, vision_end_token_id=183)


def qwen3_5_vl_text():
    from transformers.models.qwen3_5 import Qwen3_5Config, Qwen3_5ForConditionalGeneration
    return Qwen3_5ForConditionalGeneration(
        Qwen3_5Config(text_config=dict(QWEN3_5, tie_word_embeddings=True), vision_config=QWEN3_5_VISION,
                      tie_word_embeddings=True, **QWEN3_5_TOKENS))


def qwen3_5_moe_vl_text():
    from transformers.models.qwen3_5_moe import Qwen3_5MoeConfig, Qwen3_5MoeForConditionalGeneration
    text = dict(QWEN3_5, num_experts=6, num_experts_per_tok=2, moe_intermediate_size=16,
                shared_expert_intermediate_size=24, tie_word_embeddings=False)
    del text["intermediate_size"]
    return Qwen3_5MoeForConditionalGeneration(
        Qwen3_5MoeConfig(text_config=text, vision_config=QWEN3_5_VISION, tie_word_embeddings=False, **QWEN3_5_TOKENS))


MODELS = [llama_linear, llama_yarn, llama_dynamic, qwen2_5, qwen3_moe, smollm3, mistral, mistral3, gemma2, gemma4_moe,
          qwen3_5_vl_text, qwen3_5_moe_vl_text]


def draw(name, tensor, random):
    """New values of a parameter: gains near what they were, logarithms of decays in their range, the rest around 0."""
    normal = torch.randn(tensor.shape, generator=random)
    if name.endswith(("scale", "scalar")):
        return 1 + 0.3 * normal
    if tensor.dim() == 1 and "norm" in name:
        return tensor.mean().round() + 0.2 * normal
    if "A_log" in name:
        return torch.log(torch.rand(tensor.shape, generator=random) * 8 + 0.5)
    if "dt_bias" in name:
        return 0.5 * normal
    if "router.proj" in name or name.endswith("mlp.gate.weight"):
        return 0.5 * normal  # so that the experts' ranks are far apart
    scaled_embedding = "Gemma" in type(MODEL).__name__ and "embed_tokens" in name
    return (0.04 if scaled_embedding else 0.15) * normal


def randomise(model, seed):
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        tensors = dict(model.named_parameters())
        tensors.update((n, b) for n, b in model.named_buffers() if n.endswith("layer_scalar"))
        for name, tensor in sorted(tensors.items()):
            tensor.copy_(draw(name, tensor, random).to(torch.bfloat16).float())


def greedy(model, ids):
    """Tokens and margins, each from a text that is read anew."""
    answer, margins, text = [], [], ids
    for _ in range(N_ANSWER):
        best = model(input_ids=text, use_cache=False).logits[0, -1].topk(2)
        margins.append(float(best.values[0] - best.values[1]))
        answer.append(int(best.indices[0]))
        text = torch.cat([text, best.indices[:1].view(1, 1)], 1)
    return answer, margins


def cached(model, ids):
    answer, state, piece = [], None, ids
    for _ in range(N_ANSWER):
        out = model(input_ids=piece, past_key_values=state, use_cache=True)
        state, piece = out.past_key_values, out.logits[:, -1].argmax(-1, keepdim=True)
        answer.append(int(piece))
    return answer


def values(model, seed):
    """What goes into golden.safetensors; None if a step is near a tie, or float32 is not enough to tell."""
    ids = torch.randint(5, 180, (1, N_IDS), generator=torch.Generator().manual_seed(seed + 1))
    out = model(input_ids=ids, output_hidden_states=True, use_cache=False)
    exact = copy.deepcopy(model).double()(input_ids=ids, use_cache=False).logits
    error = float(((out.logits - exact) / (1 + exact.abs())).abs().max())
    answer, margins = greedy(model, ids[:, :N_PROMPT])
    print(f"  seed {seed}: {error:.1e} from float64, smallest margin {min(margins):.4f}, "
          f"{len(set(answer))} different tokens")
    if error > 1e-4 or min(margins) < 0.002 or len(set(answer)) < 3:
        return None
    with_cache = cached(model, ids[:, :N_PROMPT])
    if with_cache != answer:
        sys.exit(f"a cache changes the answer: {answer} {with_cache}")
    golden = {f"hidden.{i}": h[0].contiguous() for i, h in enumerate(out.hidden_states)}
    nll = torch.nn.functional.cross_entropy(out.logits[0, :-1], ids[0, 1:], reduction="none")
    return {**golden, "input_ids": ids[0].int(), "logits": out.logits[0].contiguous(), "nll": nll,
            "greedy_from_37": torch.tensor(answer, dtype=torch.int32),
            "greedy_cached_from_37": torch.tensor(with_cache, dtype=torch.int32),
            "greedy_margin": torch.tensor(margins)}


out_folder, names = pathlib.Path(sys.argv[1]), sys.argv[2:]
for make in MODELS:
    if names and make.__name__ not in names:
        continue
    print(make.__name__)
    MODEL = make().float().eval()
    MODEL.set_attn_implementation("eager")  # others leave out the soft caps
    MODEL.set_experts_implementation("eager")
    with torch.no_grad():
        for seed in range(FIRST_SEED, FIRST_SEED + 50):
            randomise(MODEL, seed)
            golden = values(MODEL, seed)
            if golden:
                break
        else:
            sys.exit("no seed gives values that can be told")
    folder = out_folder / make.__name__
    folder.mkdir(parents=True, exist_ok=True)
    MODEL.to(torch.bfloat16).save_pretrained(folder)
    save_file(golden, folder / "golden.safetensors")
    (folder / "generation_config.json").unlink(missing_ok=True)
    for file in folder.iterdir():
        os.chmod(file, 0o644)
    print(f"  {sum(f.stat().st_size for f in folder.iterdir())} bytes, {sum(p.numel() for p in MODEL.parameters())} weights")
