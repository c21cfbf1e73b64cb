// Embeds two sentences and prints how alike they are. Usage: embed_example [MODEL]
#include <cstdio>

#include "lattice/embedding.h"
#include "lattice/vectors.h"

int main(int argc, char** argv) {
  const std::vector<std::string> texts{"A cat sits on the mat.", "A kitten rests on the rug."};
  const auto service = lattice::MakeEmbeddingService();
  if (!service) return std::fprintf(stderr, "%s\n", service.error().message.c_str()), 1;
  const auto vectors = (*service)->Embed(texts, {.model = argc > 1 ? argv[1] : ""});
  if (!vectors) return std::fprintf(stderr, "%s\n", vectors.error().message.c_str()), 1;
  const auto cosine = lattice::VectorOps().Cosine((*vectors)[0], (*vectors)[1]);
  if (!cosine) return std::fprintf(stderr, "%s\n", cosine.error().message.c_str()), 1;
  std::printf("%.4f  \"%s\" / \"%s\"\n", *cosine, texts[0].c_str(), texts[1].c_str());
}
