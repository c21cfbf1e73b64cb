#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "check_tokenizer.h"

namespace {

using lattice::tokenizers::Tokenizer;

// One small tokenizer.json of each kind; between them they use most components.
constexpr std::string_view kFiles[] = {
    // BERT: WordPiece.
    R"({"normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
        "added_tokens": [{"id": 1, "content": "[CLS]", "special": true},
                         {"id": 2, "content": "[MASK]", "special": true, "lstrip": true}],
        "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 1], "sep": ["[CLS]", 1]},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "[CLS]": 1,
            "[MASK]": 2, "a": 3, "##a": 4, "ab": 5, "##b": 6, "!": 7, "'": 8, "##ab": 9}}})",
    // Qwen: byte-level BPE behind a regular expression.
    R"({"normalizer": {"type": "NFC"}, "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
          {"type": "Split", "behavior": "Isolated", "pattern": {"Regex":
            "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"}},
          {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]},
        "added_tokens": [{"id": 9, "content": "<|e|>", "special": true}],
        "post_processor": {"type": "ByteLevel", "trim_offsets": true}, "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "Ġ": 2, "Ġa": 3, "ab": 4, "Ã": 5, "©": 6,
            "Ã©": 7, "Ġab": 8}, "merges": ["a b", "Ġ a", "Ã ©", "Ġa b"]}})",
    // GPT-2: the byte level's own expression; a normalised added token.
    R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true}, "decoder": {"type": "ByteLevel"},
        "added_tokens": [{"id": 5, "content": "ab", "normalized": true, "single_word": true}],
        "post_processor": {"type": "RobertaProcessing", "cls": ["a", 0], "sep": ["b", 1]},
        "model": {"type": "BPE", "unk_token": "?", "vocab": {"a": 0, "b": 1, "Ġ": 2, "Ġa": 3, "?": 4},
            "merges": ["Ġ a"]}})",
    // Gemma: the whole text is one word, bytes for what is unknown.
    R"({"normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
        "pre_tokenizer": {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious"},
        "decoder": {"type": "Sequence", "decoders": [
          {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
          {"type": "Fuse"}]},
        "model": {"type": "BPE", "unk_token": "<unk>", "byte_fallback": true, "fuse_unk": true, "vocab":
            {"<unk>": 0, "a": 1, "b": 2, "▁": 3, "ab": 4, "▁▁": 5, "▁ab": 6, "<0xC3>": 7, "<0xA9>": 8},
            "merges": [["a", "b"], ["▁", "▁"], ["▁", "ab"]]}})",
    // T5, XLM-R: Unigram.
    R"({"normalizer": {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"},
          {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
        "pre_tokenizer": {"type": "Metaspace", "prepend_scheme": "first"},
        "decoder": {"type": "Metaspace", "prepend_scheme": "first"},
        "post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}},
            {"SpecialToken": {"id": "</s>"}}], "pair": [{"Sequence": {"id": "A"}},
            {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"</s>": {"id": "</s>", "ids": [1]}}},
        "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["</s>", 0], ["▁", -2],
            ["a", -3], ["▁a", -3.5], ["ab", -4], ["b", -5], ["é", -6]]}})",
    // WordLevel behind every other way to cut.
    R"({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFD"}, {"type": "StripAccents"},
          {"type": "Lowercase"}, {"type": "Strip", "strip_left": true, "strip_right": true},
          {"type": "Prepend", "prepend": "_"}]},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"},
          {"type": "Punctuation", "behavior": "MergedWithNext"}, {"type": "Digits",
           "individual_digits": true}, {"type": "Whitespace"}]},
        "model": {"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "a": 1, "b": 2, "1": 3}}})",
};

std::vector<std::shared_ptr<const Tokenizer>> LoadAll() {
  std::vector<std::shared_ptr<const Tokenizer>> tokenizers;
  for (const std::string_view file : kFiles) {
    auto tokenizer = Tokenizer::FromJson(file);
    LATTICE_CHECK(tokenizer.has_value());
    tokenizers.push_back(*tokenizer);
  }
  return tokenizers;
}

}  // namespace

// The first byte chooses a tokenizer, the rest is its text.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto kTokenizers = LoadAll();
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  lattice::tokenizers::CheckTokenizer(*kTokenizers[data[0] % kTokenizers.size()], text);
  return 0;
}
