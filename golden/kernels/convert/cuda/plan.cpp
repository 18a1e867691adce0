#include "golden/kernels/convert/cuda/plan.h"

#include <bit>

#include "core/base/checked_math.h"
#include "golden/kernels/convert/group_scales.h"

namespace qsim::golden::cuda {
namespace {

DeviceLayout device_layout(const GroupLayout& layout, const Quantization& how) {
  DeviceLayout result{};
  result.rows = layout.rows;
  result.cols = layout.cols;
  result.row_bytes = layout.row_bytes;
  result.groups_per_row = how.group > 0 ? std::max<std::int64_t>(layout.groups_per_row, 1) : 1;
  result.group = how.group > 0 ? how.group : 0;
  result.per_tensor = layout.per_tensor;
  result.column_major = layout.order == ScaleOrder::kColumnMajor;
  return result;
}

// Joins dimensions whose elements follow each other.
DeviceRows device_rows(const HalfTensor& x) {
  DeviceRows rows{};
  rows.data = x.data;
  Shape strides = x.strides;
  if (strides.empty()) {
    strides.resize(x.shape.size());
    std::int64_t stride = 1;
    for (std::size_t i = x.shape.size(); i-- > 0;) {
      strides[i] = stride;
      stride *= x.shape[i];
    }
  }
  rows.step = strides.empty() ? 1 : strides.back();
  for (std::size_t i = 0; i + 1 < x.shape.size(); ++i) {
    if (x.shape[i] == 1) continue;
    const int last = rows.dims - 1;
    if (last >= 0 && rows.strides[last] == strides[i] * x.shape[i]) {
      rows.extents[last] *= x.shape[i];
      rows.strides[last] = strides[i];
      continue;
    }
    if (rows.dims == kMostDims) {
      throw_bad_input("convert: a tensor of " + std::to_string(x.shape.size()) +
                      " dimensions that do not join; allowed on a GPU: 64");
    }
    rows.extents[rows.dims] = x.shape[i];
    rows.strides[rows.dims++] = strides[i];
  }
  return rows;
}

bool is_aligned(const void* pointer, std::uintptr_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

// The rows follow each other without a gap.
bool is_contiguous(const DeviceRows& rows, const DeviceLayout& layout) {
  if (rows.step != 1 && layout.cols != 1) return false;
  return rows.dims == 0 || (rows.dims == 1 && rows.strides[0] == layout.cols);
}

// Whether the last chunk of every group, and so of every row, is full.
bool has_full_chunks(const DeviceLayout& layout, int chunk_elems) {
  const std::int64_t group = layout.group == 0 ? layout.cols : layout.group;
  return layout.cols % group == 0 && group % chunk_elems == 0;
}

DeviceScales device_scales(const DeviceQuantized& q) {
  return {q.scales, q.scale_codes, q.how.zero_point ? q.zero_points : nullptr, q.global_scale,
          q.how.scales};
}

void set_tiles(QuantizePlan& plan) {
  QuantizeParams& p = plan.params;
  if (p.layout.rows == 0 || p.layout.cols == 0) {
    plan.long_groups = true;
    p.groups = p.layout.per_tensor ? 1 : 0;
    return;
  }
  const std::int64_t group = p.layout.group == 0 ? p.layout.cols : p.layout.group;
  plan.long_groups = group > kMostGroup || (p.layout.per_tensor && p.layout.rows != 1);
  p.chunks_per_row = ceil_div(p.layout.cols, std::int64_t{kChunk});
  if (plan.long_groups) {
    p.groups = p.layout.per_tensor ? 1 : p.layout.rows;
    plan.tiles = ceil_div(checked_mul(p.layout.rows, p.chunks_per_row), std::int64_t{kLongTile});
    return;
  }
  p.groups = checked_mul(p.layout.rows, p.layout.groups_per_row);
  p.chunks_per_group = static_cast<std::int32_t>(
      std::max<std::int64_t>(1, ceil_div(std::min(group, p.layout.cols), std::int64_t{kChunk})));
  p.groups_per_tile = kTileChunks / p.chunks_per_group;
  p.team = static_cast<std::int32_t>(
      std::bit_floor(static_cast<std::uint32_t>(std::max(1, 32 / p.groups_per_tile))));
  p.group_magic = static_cast<std::uint32_t>(65536 / p.chunks_per_group + 1);
  plan.tiles = ceil_div(p.groups, std::int64_t{p.groups_per_tile});
}

// Groups of a tile are whole words of extents; a row is a block's.
bool fits_flat_kernel(const QuantizePlan& plan) {
  const QuantizeParams& p = plan.params;
  if (!plan.long_groups) return p.chunks_per_group % 2 == 0;
  if (p.layout.per_tensor) return true;
  return p.chunks_per_row <= kMostRowChunks && p.layout.rows <= kMostBlocks;
}

}  // namespace

QuantizePlan plan_quantize(const HalfTensor& x, const DeviceQuantized& out, void* workspace) {
  check(x);
  check(out.how);
  QuantizePlan plan{};
  QuantizeParams& p = plan.params;
  p.layout = device_layout(group_layout(x.shape, out.how), out.how);
  p.rows = device_rows(x);
  p.rule = scale_rule(x.format, out.how);
  p.scales = device_scales(out);
  p.range = integer_range(out.how.format, out.how.zero_point);
  p.values = out.values;
  p.percentile = out.how.clip_percentile;
  p.clips = out.how.clip_value < std::numeric_limits<float>::infinity() || p.percentile != kWhole;
  p.saturates = out.how.zero_point || out.how.scales != ScaleFormat::kFp32;
  p.stochastic = out.how.stochastic;
  p.seed = out.how.seed;
  p.workspace = static_cast<Workspace*>(workspace);
  set_tiles(plan);
  plan.flat = plan.tiles != 0 && out.how.clip_percentile == kWhole && !out.how.stochastic &&
              is_contiguous(p.rows, p.layout) && has_full_chunks(p.layout, kChunk) &&
              is_aligned(x.data, 16) && is_aligned(out.values, 8) && fits_flat_kernel(plan);
  return plan;
}

std::size_t quantize_workspace_bytes(const Shape& shape, const Quantization& how) {
  const HalfTensor x{ElementFormat::kHalf, nullptr, shape, {}};
  DeviceQuantized out;
  out.how = how;
  const QuantizePlan plan = plan_quantize(x, out, nullptr);
  if (!plan.long_groups) return how.scales == ScaleFormat::kE4m3 ? sizeof(Workspace) : 0;
  return sizeof(Workspace) + static_cast<std::size_t>(plan.params.groups) * 8;
}

DecodePlan plan_decode(const DeviceQuantized& q, int chunk_elems, bool with_scale, void* out) {
  check(q.how);
  DecodePlan plan{};
  DecodeParams& p = plan.params;
  p.layout = device_layout(group_layout(q.shape, q.how), q.how);
  p.scales = device_scales(q);
  p.values = q.values;
  p.out = out;
  p.with_scale = with_scale;
  p.chunks_per_row = ceil_div(p.layout.cols, std::int64_t{chunk_elems});
  // Groups are multiples of 16, so a chunk is in one.
  if (!p.layout.per_tensor) {
    p.chunks_per_group = p.layout.group == 0 ? p.chunks_per_row : p.layout.group / chunk_elems;
  }
  plan.chunks = checked_mul(p.layout.rows, p.chunks_per_row);
  constexpr std::int64_t kTile = kDecodeThreads * kDecodeChunks;
  const bool in_tile = p.chunks_per_group >= 1 && p.chunks_per_group <= 64;
  const bool in_order = p.layout.groups_per_row == 1 || !p.layout.column_major;
  plan.flat = plan.chunks != 0 && in_tile && has_full_chunks(p.layout, chunk_elems) && in_order &&
              is_aligned(out, 16) && is_aligned(q.values, 8);
  plan.tiles = ceil_div(plan.chunks, kTile);
  if (!plan.flat) return plan;
  p.groups = plan.chunks / p.chunks_per_group;
  p.groups_per_tile = static_cast<std::int32_t>(kTile / p.chunks_per_group);
  p.group_magic = static_cast<std::uint32_t>((std::int64_t{1} << 20) / p.chunks_per_group + 1);
  plan.tiles = ceil_div(p.groups, std::int64_t{p.groups_per_tile});
  return plan;
}

}  // namespace qsim::golden::cuda
