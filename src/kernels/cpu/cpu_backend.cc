#include "kernels/cpu/cpu_backend.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "kernels/cpu/activation/activation.h"
#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/cpu_buffer.h"
#include "kernels/cpu/delta_net/delta_net.h"
#include "kernels/cpu/gates/gates.h"
#include "kernels/cpu/linear/linear.h"
#include "kernels/cpu/norm/norm.h"
#include "kernels/cpu/paged_attention/paged_attention.h"
#include "kernels/cpu/rope/rope.h"
#include "kernels/cpu/row_split.h"
#include "kernels/cpu/stored/experts.h"
#include "kernels/cpu/stored/stored_linear.h"
#include "kernels/cpu/stored/stored_table.h"
#include "lattice/check.h"

namespace lattice::kernels {
namespace {

class CpuBackend : public Backend {
 public:
  CpuBackend(ThreadPool& pool, CpuFeatures features)
      : pool_(pool),
        features_(features),
        norm_(SelectNorm(features)),
        activation_(SelectActivation(features)),
        rope_(SelectRope(features)),
        attention_(features),
        gates_(SelectGates(features)),
        paged_attention_(features),
        delta_net_(features) {}

  std::string Describe() const override {
    return "cpu " + features_.ToString() + ", " + std::to_string(pool_.n_threads()) + " threads";
  }

  Result<std::unique_ptr<LinearWeights>> MakeLinear(std::span<const HostTensor> matrices,
                                                    std::span<const HostTensor> biases,
                                                    Precision precision) override {
    return MakeCpuLinear(pool_, arena_, matrices, biases, precision, features_);
  }
  bool Packs(Dtype dtype, Precision precision) const override {
    return PacksStored(dtype, precision, features_);
  }
  Result<std::unique_ptr<Table>> MakeTable(const HostTensor& table) override {
    LATTICE_TRY(StoredTable stored, StoredTable::Make(table));
    return std::unique_ptr<Table>(std::make_unique<StoredTable>(std::move(stored)));
  }
  std::unique_ptr<Table> MakeTable(std::shared_ptr<const LinearWeights> rows) override {
    auto linear = std::static_pointer_cast<const CpuLinear>(std::move(rows));
    return linear->MakeTable(linear);
  }
  std::unique_ptr<Vector> MakeVector(std::span<const float> values) override {
    return std::make_unique<CpuVector>(values);
  }
  std::unique_ptr<Buffer> MakeBuffer() override { return std::make_unique<CpuBuffer>(); }

  void Embed(std::span<const Lookup> terms, float scale, Buffer& out) override;
  void LayerNorm(const Buffer& x, const Buffer* residual, const Vector& gain, const Vector* bias,
                 float eps, Buffer& out) override;
  void RmsNorm(const Buffer& x, const Vector& gain, float eps, Buffer& out) override;
  void RmsNormAdd(const Buffer& x, const Buffer& y, const Vector& gain, float eps,
                  Buffer& out) override;
  void HeadRmsNorm(Buffer& x, const HeadColumns& heads, const Vector& gain, float eps) override;
  void Linear(const Buffer& x, const LinearWeights& w, const Epilogue& epilogue,
              Buffer& y) override;
  void GatedLinear(const Buffer& x, const LinearWeights& w, Activation activation, Buffer& product,
                   Buffer& y) override;
  void Gate(const Buffer& x, Activation activation, GateHalf activated, Buffer& out) override;
  void Activate(Activation activation, Buffer& x) override;
  void ApplyRope(Buffer& x, const HeadColumns& heads, std::span<const std::int32_t> positions,
                 const Rope& rope) override;
  void Attention(const AttentionArgs& args, Buffer& out) override;
  void GatherRows(const Buffer& x, std::span<const std::uint32_t> rows, Buffer& out) override;
  void Write(std::span<const float> values, std::size_t rows, std::size_t cols, Buffer& x) override;
  void Read(const Buffer& x, std::span<float> values) override;

  Result<std::unique_ptr<LinearWeights>> MakeStoredLinear(std::span<const HostTensor> matrices,
                                                          std::span<const HostTensor> biases,
                                                          Precision precision,
                                                          WeightMemory& memory) override {
    return MakeCpuStoredLinear(pool_, memory, matrices, biases, precision, features_);
  }
  Result<std::unique_ptr<ExpertWeights>> MakeExperts(std::span<const ExpertTensors> experts,
                                                     Precision precision,
                                                     WeightMemory& memory) override {
    return MakeCpuExperts(pool_, memory, experts, precision, features_);
  }
  void StoreKv(const Buffer& kv, std::size_t k_col, std::size_t v_col,
               std::span<const std::uint32_t> slots, KvPages& pages) override {
    paged_attention_.Store(pool_, AsCpu(kv), k_col, v_col, slots, AsCpu(pages));
  }
  void PagedAttention(const PagedAttentionArgs& args, Buffer& out) override {
    paged_attention_.Run(pool_, args, AsCpu(out));
  }
  void DeltaNet(const DeltaNetArgs& args, Buffer& out) override {
    delta_net_.Run(pool_, args, AsCpu(out));
  }
  void SigmoidGate(Buffer& x, const Buffer& gate, std::size_t gate_col) override;
  void AddSigmoidGated(const Buffer& x, const Buffer& gate, std::size_t gate_col,
                       Buffer& out) override;
  void ActivateMultiply(Activation activation, Buffer& x, const Buffer& y,
                        std::size_t y_col) override;
  void SoftCap(float c, Buffer& x) override;
  void AddScaled(Buffer& x, const Buffer* y, float scale) override;
  void Experts(const Buffer& x, const Buffer& router, const ExpertWeights& experts,
               const ExpertChoice& choice, Buffer& out) override {
    static_cast<const CpuExperts&>(experts).Run(pool_, AsCpu(x), AsCpu(router), choice, AsCpu(out));
  }
  Result<std::unique_ptr<KvPages>> MakeKvPages(const KvShape& shape, std::size_t n_pages) override {
    return CpuKvPages::Make(shape, n_pages);
  }
  void CopyKvPage(std::uint32_t from, std::uint32_t to, KvPages& pages) override;
  void ReadKvPage(const KvPages& pages, std::uint32_t page, std::span<std::byte> out) override;
  void WriteKvPage(std::span<const std::byte> bytes, std::uint32_t page, KvPages& pages) override;
  std::unique_ptr<DeltaNetState> MakeDeltaNetState(const DeltaNetShape& shape) override {
    return std::make_unique<CpuDeltaNetState>(shape);
  }
  void CopyDeltaNetState(const DeltaNetState& from, DeltaNetState& to) override {
    AsCpu(to).CopyFrom(AsCpu(from));
  }
  void TruncateDeltaNetState(std::size_t n, DeltaNetState& state) override {
    AsCpu(state).Truncate(n);
  }
  void ReadDeltaNetState(const DeltaNetState& state, std::span<std::byte> out) override {
    AsCpu(state).Read(out);
  }
  Status WriteDeltaNetState(std::span<const std::byte> bytes, DeltaNetState& state) override {
    return AsCpu(state).Write(bytes);
  }

 private:
  ThreadPool& pool_;
  PanelArena arena_;
  CpuFeatures features_;
  const NormKernels& norm_;
  const ActivationKernels& activation_;
  RopeFn rope_;
  CpuAttention attention_;
  const GateKernels& gates_;
  CpuPagedAttention paged_attention_;
  CpuDeltaNet delta_net_;
};

// Nanoseconds an element that kernels take, roughly: only decides when threads are worth waking.
constexpr double kMoveNs = 0.1, kNormNs = 0.2, kActivationNs = 0.5, kRopeNs = 0.3;

double RowNs(double element_ns, std::size_t cols) { return element_ns * static_cast<double>(cols); }

// The sum of row r's terms, in pieces that fit a small buffer.
void EmbedRow(std::span<const Lookup> terms, std::size_t r, float scale, std::span<float> out) {
  constexpr std::size_t kPiece = CpuTable::kPiece;
  float part[kPiece];
  for (std::size_t begin = 0; begin < out.size(); begin += kPiece) {
    const std::span<float> sum = out.subspan(begin, std::min(kPiece, out.size() - begin));
    for (const Lookup& term : terms) {
      const std::span<float> values = &term == &terms.front() ? sum : std::span(part, sum.size());
      AsCpu(*term.table).ReadRow(static_cast<std::size_t>(term.rows[r]), begin, values);
      if (&term == &terms.front()) continue;
      for (std::size_t c = 0; c < sum.size(); ++c) sum[c] += part[c];
    }
    for (float& v : sum) v *= scale;
  }
}

void CpuBackend::Embed(std::span<const Lookup> terms, float scale, Buffer& out) {
  LATTICE_CHECK(!terms.empty());
  CpuBuffer& y = AsCpu(out);
  const std::size_t n = terms[0].rows.size(), cols = terms[0].table->cols();
  for (const Lookup& term : terms) {
    LATTICE_CHECK(term.rows.size() == n && term.table->cols() == cols);
  }
  y.Reshape(n, cols);
  ForRows(pool_, n, RowNs(kMoveNs, cols * terms.size()), [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) EmbedRow(terms, r, scale, {y.row(r), cols});
  });
}

void CpuBackend::LayerNorm(const Buffer& x, const Buffer* residual, const Vector& gain,
                           const Vector* bias, float eps, Buffer& out) {
  const CpuBuffer& in = AsCpu(x);
  CpuBuffer& y = AsCpu(out);
  const std::size_t n = in.cols();
  LATTICE_CHECK(gain.size() == n && (bias == nullptr || bias->size() == n));
  LATTICE_CHECK(residual == nullptr || (residual->rows() == in.rows() && residual->cols() == n));
  y.Reshape(in.rows(), n);
  ForRows(pool_, in.rows(), RowNs(kNormNs, n), [&](std::size_t begin, std::size_t end) {
    norm_.layer_norm(in.row(begin), residual == nullptr ? nullptr : AsCpu(*residual).row(begin),
                     AsCpu(gain).data(), bias == nullptr ? nullptr : AsCpu(*bias).data(), eps,
                     end - begin, n, y.row(begin));
  });
}

void CpuBackend::RmsNorm(const Buffer& x, const Vector& gain, float eps, Buffer& out) {
  const CpuBuffer& in = AsCpu(x);
  CpuBuffer& y = AsCpu(out);
  const std::size_t n = in.cols();
  LATTICE_CHECK(gain.size() == n);
  y.Reshape(in.rows(), n);
  ForRows(pool_, in.rows(), RowNs(kNormNs, n), [&](std::size_t begin, std::size_t end) {
    norm_.rms_norm(in.row(begin), nullptr, AsCpu(gain).data(), eps, end - begin, n, n,
                   y.row(begin));
  });
}

void CpuBackend::RmsNormAdd(const Buffer& x, const Buffer& y, const Vector& gain, float eps,
                            Buffer& out) {
  const CpuBuffer& add = AsCpu(x);
  const CpuBuffer& in = AsCpu(y);
  CpuBuffer& sum = AsCpu(out);
  const std::size_t n = in.cols();
  LATTICE_CHECK(gain.size() == n && add.rows() == in.rows() && add.cols() == n);
  sum.Reshape(in.rows(), n);
  ForRows(pool_, in.rows(), RowNs(kNormNs, n), [&](std::size_t begin, std::size_t end) {
    norm_.rms_norm(in.row(begin), add.row(begin), AsCpu(gain).data(), eps, end - begin, n, n,
                   sum.row(begin));
  });
}

void CpuBackend::HeadRmsNorm(Buffer& x, const HeadColumns& heads, const Vector& gain, float eps) {
  CpuBuffer& in = AsCpu(x);
  const std::size_t dim = heads.head_dim;
  LATTICE_CHECK(gain.size() == dim && heads.first_col + heads.n_heads * dim <= in.cols());
  ForRows(pool_, in.rows(), RowNs(kNormNs, heads.n_heads * dim),
          [&](std::size_t begin, std::size_t end) {
            for (std::size_t r = begin; r < end; ++r) {
              float* first = in.row(r) + heads.first_col;
              norm_.rms_norm(first, nullptr, AsCpu(gain).data(), eps, heads.n_heads, dim, dim,
                             first);
            }
          });
}

void CpuBackend::Linear(const Buffer& x, const LinearWeights& w, const Epilogue& epilogue,
                        Buffer& y) {
  static_cast<const CpuLinear&>(w).Run(pool_, AsCpu(x), epilogue, AsCpu(y));
}

void CpuBackend::GatedLinear(const Buffer& x, const LinearWeights& w, Activation activation,
                             Buffer& product, Buffer& y) {
  const auto& weights = static_cast<const CpuLinear&>(w);
  if (weights.RunGated(pool_, AsCpu(x), activation, AsCpu(y))) return;
  weights.Run(pool_, AsCpu(x), {}, AsCpu(product));
  Gate(product, activation, GateHalf::kFirst, y);
}

void CpuBackend::Gate(const Buffer& x, Activation activation, GateHalf activated, Buffer& out) {
  const CpuBuffer& in = AsCpu(x);
  CpuBuffer& y = AsCpu(out);
  LATTICE_CHECK(in.cols() % 2 == 0 && activation != Activation::kNone && &in != &y);
  const std::size_t n = in.cols() / 2;
  const GateFn gate = GateOf(activation_, activation);
  const std::size_t a = activated == GateHalf::kFirst ? 0 : n, b = n - a;
  y.Reshape(in.rows(), n);
  ForRows(pool_, in.rows(), RowNs(kActivationNs, n), [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) gate(in.row(r) + a, in.row(r) + b, n, y.row(r));
  });
}

void CpuBackend::Activate(Activation activation, Buffer& x) {
  const MapFn map = MapOf(activation_, activation);
  if (map == nullptr) return;
  CpuBuffer& in = AsCpu(x);
  ForRows(
      pool_, in.rows(), RowNs(kActivationNs, in.cols()),
      [&](std::size_t begin, std::size_t end) { map(in.row(begin), (end - begin) * in.cols()); });
}

void CpuBackend::ApplyRope(Buffer& x, const HeadColumns& heads,
                           std::span<const std::int32_t> positions, const Rope& rope) {
  CpuBuffer& in = AsCpu(x);
  const std::size_t half = rope.inv_freq.size(), dim = heads.head_dim;
  LATTICE_CHECK(positions.size() == in.rows() && 2 * half <= dim);
  LATTICE_CHECK(heads.first_col + heads.n_heads * dim <= in.cols());
  ForRows(pool_, in.rows(), RowNs(kRopeNs, heads.n_heads * dim),
          [&](std::size_t begin, std::size_t end) {
            rope_({.x = in.row(begin) + heads.first_col,
                   .stride = in.cols(),
                   .n_rows = end - begin,
                   .n_heads = heads.n_heads,
                   .head_dim = dim,
                   .positions = positions.data() + begin,
                   .inv_freq = rope.inv_freq.data(),
                   .half = half,
                   .scale = rope.scale});
          });
}

void CpuBackend::Attention(const AttentionArgs& args, Buffer& out) {
  attention_.Run(pool_, args, AsCpu(out));
}

void CpuBackend::GatherRows(const Buffer& x, std::span<const std::uint32_t> rows, Buffer& out) {
  const CpuBuffer& in = AsCpu(x);
  CpuBuffer& y = AsCpu(out);
  LATTICE_CHECK(&in != &y);
  y.Reshape(rows.size(), in.cols());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    LATTICE_CHECK(rows[i] < in.rows());
    std::copy_n(in.row(rows[i]), in.cols(), y.row(i));
  }
}

void CpuBackend::Write(std::span<const float> values, std::size_t rows, std::size_t cols,
                       Buffer& x) {
  LATTICE_CHECK(values.size() == rows * cols);
  AsCpu(x).Reshape(rows, cols);
  std::copy(values.begin(), values.end(), AsCpu(x).data());
}

void CpuBackend::Read(const Buffer& x, std::span<float> values) {
  LATTICE_CHECK(values.size() == x.rows() * x.cols());
  std::copy_n(AsCpu(x).data(), values.size(), values.data());
}

void CpuBackend::SigmoidGate(Buffer& x, const Buffer& gate, std::size_t gate_col) {
  CpuBuffer& in = AsCpu(x);
  const CpuBuffer& gates = AsCpu(gate);
  LATTICE_CHECK(gates.rows() == in.rows() && gate_col + in.cols() <= gates.cols());
  ForRows(pool_, in.rows(), RowNs(kActivationNs, in.cols()),
          [&](std::size_t begin, std::size_t end) {
            for (std::size_t r = begin; r < end; ++r) {
              gates_.sigmoid_multiply(gates.row(r) + gate_col, in.row(r), in.cols());
            }
          });
}

void CpuBackend::AddSigmoidGated(const Buffer& x, const Buffer& gate, std::size_t gate_col,
                                 Buffer& out) {
  const CpuBuffer& in = AsCpu(x);
  const CpuBuffer& gates = AsCpu(gate);
  CpuBuffer& sum = AsCpu(out);
  LATTICE_CHECK(gates.rows() == in.rows() && gate_col < gates.cols());
  LATTICE_CHECK(sum.rows() == in.rows() && sum.cols() == in.cols());
  ForRows(pool_, in.rows(), RowNs(kMoveNs, in.cols()), [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) {
      gates_.add_gated(gates.row(r)[gate_col], in.row(r), sum.row(r), in.cols());
    }
  });
}

void CpuBackend::ActivateMultiply(Activation activation, Buffer& x, const Buffer& y,
                                  std::size_t y_col) {
  CpuBuffer& in = AsCpu(x);
  const CpuBuffer& factor = AsCpu(y);
  LATTICE_CHECK(activation != Activation::kNone && factor.rows() == in.rows());
  LATTICE_CHECK(y_col + in.cols() <= factor.cols());
  const GateFn gate = GateOf(activation_, activation);
  ForRows(pool_, in.rows(), RowNs(kActivationNs, in.cols()),
          [&](std::size_t begin, std::size_t end) {
            for (std::size_t r = begin; r < end; ++r) {
              gate(in.row(r), factor.row(r) + y_col, in.cols(), in.row(r));
            }
          });
}

void CpuBackend::SoftCap(float c, Buffer& x) {
  LATTICE_CHECK(c > 0);
  CpuBuffer& in = AsCpu(x);
  ForRows(pool_, in.rows(), RowNs(kActivationNs, in.cols()),
          [&](std::size_t begin, std::size_t end) {
            gates_.soft_cap(c, in.row(begin), (end - begin) * in.cols());
          });
}

void CpuBackend::AddScaled(Buffer& x, const Buffer* y, float scale) {
  CpuBuffer& in = AsCpu(x);
  LATTICE_CHECK(y == nullptr || (y->rows() == in.rows() && y->cols() == in.cols()));
  ForRows(pool_, in.rows(), RowNs(kMoveNs, in.cols()), [&](std::size_t begin, std::size_t end) {
    const std::size_t n = (end - begin) * in.cols();
    if (y == nullptr) {
      gates_.scale(scale, in.row(begin), n);
    } else {
      gates_.add_scale(scale, AsCpu(*y).row(begin), in.row(begin), n);
    }
  });
}

void CpuBackend::CopyKvPage(std::uint32_t from, std::uint32_t to, KvPages& pages) {
  LATTICE_CHECK(from < pages.n_pages() && to < pages.n_pages());
  std::ranges::copy(AsCpu(pages).page(from), AsCpu(pages).page(to).begin());
}

void CpuBackend::ReadKvPage(const KvPages& pages, std::uint32_t page, std::span<std::byte> out) {
  LATTICE_CHECK(page < pages.n_pages() && out.size() == pages.page_bytes());
  std::ranges::copy(AsCpu(pages).page(page), out.begin());
}

void CpuBackend::WriteKvPage(std::span<const std::byte> bytes, std::uint32_t page, KvPages& pages) {
  LATTICE_CHECK(page < pages.n_pages() && bytes.size() == pages.page_bytes());
  std::ranges::copy(bytes, AsCpu(pages).page(page).begin());
}

}  // namespace

std::unique_ptr<Backend> MakeCpuBackend(ThreadPool& pool, CpuFeatures features) {
  return std::make_unique<CpuBackend>(pool, features);
}

}  // namespace lattice::kernels
